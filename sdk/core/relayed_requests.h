#pragma once

// Requests to the framework that the master relayed, and their answers. The key is the user and the
// id that the caller chose. A retry gets the same answer without another call to the author. Pure.

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "proto/messages.h"

namespace proffer::sdk {

class RelayedRequests {
 public:
  // The most ids that are remembered. Beyond it the id that was answered longest ago is forgotten,
  // or, if none was answered, the oldest.
  static constexpr size_t kKeptMax = 400;
  // The most bytes of all their answers together.
  static constexpr size_t kKeptBytesMax = size_t{16} << 20;
  // The most retries of one request that wait for its answer. An older retry is left to its
  // timeout.
  static constexpr size_t kTriesMax = 16;

  // What to do with a request from the master.
  struct Heard {
    std::optional<proto::FrameworkRequest> fresh = {};   // for the author, with our number
    std::optional<proto::FrameworkResponse> again = {};  // to be sent to the master
  };
  Heard hear(proto::FrameworkRequest request);
  // The author's answer, to the driver's number. Returns one response for each retry that waits for
  // it.
  std::vector<proto::FrameworkResponse> answer(proto::FrameworkResponse response);
  // The connection is lost, so no retry waits on it any more.
  void lose();

  std::vector<Violation> violations() const;

 private:
  struct Kept {
    uint64_t number = 0;                 // the driver's number, which the author knows
    std::vector<uint64_t> waiting = {};  // the master's numbers of the retries
    std::optional<proto::FrameworkResponse> response = {};
  };

  void make_room();
  void forget(const std::string& key);

  std::map<std::string, Kept> kept_;             // by "user id"; an id has no spaces
  std::map<uint64_t, std::string> in_progress_;  // keys by the driver's number
  std::deque<std::string> answered_;             // oldest first
  size_t bytes_ = 0;
  uint64_t numbers_ = 0;
};

}  // namespace proffer::sdk
