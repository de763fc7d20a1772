#pragma once

// Requests to the framework that the master relayed, and their answers, by the user and the id that
// their caller chose: a second try gets the same answer, and the author is not troubled. Pure.

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
  // Ids that are remembered; then those that were answered longest ago are forgotten, or, if none
  // was, the oldest.
  static constexpr size_t kKeptMax = 400;
  // Of their answers together.
  static constexpr size_t kKeptBytesMax = size_t{16} << 20;
  // Tries of one request that wait for its answer; an older one is left to its timeout.
  static constexpr size_t kTriesMax = 16;

  // What is to be done with a request from the master.
  struct Heard {
    std::optional<proto::FrameworkRequest> fresh = {};   // for the author, with our own number
    std::optional<proto::FrameworkResponse> again = {};  // for the master
  };
  Heard hear(proto::FrameworkRequest request);
  // The author's answer, to our number: one response for each try that waits for it.
  std::vector<proto::FrameworkResponse> answer(proto::FrameworkResponse response);
  // The connection is gone: nobody waits on it any more.
  void lose();

  std::vector<Violation> violations() const;

 private:
  struct Kept {
    uint64_t number = 0;                 // ours, which the author knows
    std::vector<uint64_t> waiting = {};  // the master's numbers of its tries
    std::optional<proto::FrameworkResponse> response = {};
  };

  void make_room();
  void forget(const std::string& key);

  std::map<std::string, Kept> kept_;             // "user id": an id has no spaces
  std::map<uint64_t, std::string> in_progress_;  // keys by our number
  std::deque<std::string> answered_;             // oldest first
  size_t bytes_ = 0;
  uint64_t numbers_ = 0;
};

}  // namespace proffer::sdk
