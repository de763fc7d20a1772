#pragma once

// What the author wants of the framework's store and has no answer to yet. Pure.
//
// Requests are sent in their order, a few at a time, so that the answers never fill the connection.
// When it is lost, nobody knows whether those that were sent were done. Without `expected` they are
// sent again, before all others: what they do is the same whether done once or twice. With it, a
// second try would be refused for what the first one did, so their author is told instead.

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "proto/messages.h"

namespace proffer::sdk {

class StoreRequests {
 public:
  // Waiting and sent together; further ones are refused.
  static constexpr size_t kKeptMax = 1'000;
  static constexpr size_t kKeptBytesMax = size_t{16} << 20;
  // Sent and not answered: their answers together stay far below kOutgoingBytesPerPeerMax.
  static constexpr size_t kSentMax = 16;

  // Errors: kInvalidArgument, kResourceExhausted: it could not be sent, or there is no room.
  Result<void> add(proto::StoreRequest request);
  // The next to be sent on this connection, with a number of our own as its id; it counts as sent.
  std::optional<proto::StoreRequest> next();
  // The author's request to which this is the answer, under its author's id; none if nobody waits
  // for it.
  std::optional<proto::StoreResult> answer(proto::StoreResult result);
  // The connection is gone. The answers that are to be given now.
  std::vector<proto::StoreResult> lose();
  // Nothing is sent any more: all are answered with `error`.
  std::vector<proto::StoreResult> give_up(const proto::ErrorMessage& error);
  void clear();

  size_t size() const { return sent_.size() + waiting_.size(); }
  std::vector<Violation> violations() const;

 private:
  struct Kept {
    proto::StoreRequest request = {};  // under its author's id
    uint64_t number = 0;               // under which it was sent
    size_t bytes = 0;
  };

  std::deque<Kept> waiting_;
  std::deque<Kept> sent_;  // in the order in which they were sent
  size_t bytes_ = 0;       // of both
  uint64_t numbers_ = 0;
};

}  // namespace proffer::sdk
