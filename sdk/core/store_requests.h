#pragma once

// Requests to the framework's store that have no answer yet. Pure.
//
// Requests are sent in order, a few at a time, so that the answers never fill the connection. If
// the connection is lost, it is unknown whether the sent requests were done. A request without
// `expected` is sent again, before all others, since doing it twice has the same effect as once. A
// request with `expected` could fail because its first try succeeded, so its author gets an error
// instead.

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "proto/messages.h"

namespace proffer::sdk {

class StoreRequests {
 public:
  // The most requests that wait or are sent. Further requests are refused.
  static constexpr size_t kKeptMax = 1'000;
  static constexpr size_t kKeptBytesMax = size_t{16} << 20;
  // The most requests without an answer. Their answers together stay far below
  // kOutgoingBytesPerPeerMax.
  static constexpr size_t kSentMax = 16;

  // Errors: kInvalidArgument: the request cannot be sent; kResourceExhausted: there is no room.
  Result<void> add(proto::StoreRequest request);
  // The next request to send on this connection. Its id is the driver's number. It counts as sent.
  std::optional<proto::StoreRequest> next();
  // The result with the author's id of the request; none if no request waits for it.
  std::optional<proto::StoreResult> answer(proto::StoreResult result);
  // The connection is lost. Returns the results to report now.
  std::vector<proto::StoreResult> lose();
  // Nothing more is sent. All requests are answered with `error`.
  std::vector<proto::StoreResult> give_up(const proto::ErrorMessage& error);
  void clear();

  size_t size() const { return sent_.size() + waiting_.size(); }
  std::vector<Violation> violations() const;

 private:
  struct Kept {
    proto::StoreRequest request = {};  // with the author's id
    uint64_t number = 0;               // the number under which it was sent
    size_t bytes = 0;
  };

  std::deque<Kept> waiting_;
  std::deque<Kept> sent_;  // in the order in which they were sent
  size_t bytes_ = 0;       // of waiting and sent requests
  uint64_t numbers_ = 0;
};

}  // namespace proffer::sdk
