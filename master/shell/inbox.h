#pragma once

// Frames of peers that wait for their turn in the master's loop, in a queue for each user.
// Next is the user that had the least of the loop's time since it began to wait (start-time fair
// queueing: Goyal, Vin and Cheng, SIGCOMM 1996). So a flood of one user waits behind itself,
// however many connections it has and whatever its frames cost, and a user that sends little waits
// for one frame of another at most (ADR 0068).
//
// A user that is paced gets a part of the loop's time only, whether others want it or not, unless
// its frames move tasks on: what nobody gains by would take the processor from all others
// (ADR 0139). Its frames wait until it may be served again.

#include <cstddef>
#include <deque>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "common/ids.h"
#include "common/limits.h"
#include "common/load_limits.h"
#include "common/time.h"
#include "net/allowances.h"
#include "net/received_frame.h"

namespace proffer::master {

class Inbox {
 public:
  struct Item {
    std::string user = {};
    bool is_paced = false;
    PeerId peer = {};
    ReceivedFrame frame = {};  // empty: the connection is lost, after what came before
  };

  // What the loop did for one frame.
  struct Effort {
    Duration time = {};
    size_t tasks = 0;  // that were launched by it or changed their state
    size_t bytes = 0;
  };

  // Whether the user may have a frame of so many bytes more in here.
  bool has_room(const std::string& user, size_t bytes) const;
  void add(Item item, Time now);
  // The oldest frame of the next user that may be served. took() must follow.
  std::optional<Item> take(Time now);
  // How long the loop was busy with the item that was taken last.
  void took(const Effort& effort, Time now);
  // Of a paced user: whether it may be served, and that it was, without having waited.
  bool may_serve(const std::string& user, Time now) const { return pace_.has_left(user, now); }
  void served(const std::string& user, const Effort& effort, Time now);

  bool empty() const { return frames_ == 0; }
  // Whether take() has one.
  bool is_ready(Time now) const {
    return !order_.empty() || (!paused_.empty() && paused_.begin()->first <= now);
  }
  // When it has one, if it has none now; none if all that waits may be served.
  std::optional<Time> next_at() const {
    return paused_.empty() ? std::nullopt : std::optional(paused_.begin()->first);
  }
  size_t frames() const { return frames_; }
  size_t bytes() const { return bytes_; }
  // Of one connection.
  size_t waiting(PeerId peer) const;

 private:
  struct Queue {
    std::deque<Item> items = {};
    size_t bytes = 0;
    Duration used = {};  // of the loop, and what it had when it began to wait
  };
  void line_up(const std::string& user, const Queue& queue, Time now);

  std::unordered_map<std::string, Queue> queues_;     // of users that wait, or are being served
  std::set<std::pair<Duration, std::string>> order_;  // of those that may be served
  std::set<std::pair<Time, std::string>> paused_;     // until then, all others
  Allowances pace_{{.burst = kLoopTimeAtOnce.micros(),
                    .per_second = 10'000 * kLoopPercentPerUser}};  // microseconds
  std::unordered_map<PeerId, size_t> waiting_;
  size_t frames_ = 0;
  size_t bytes_ = 0;
  Duration begins_at_ = {};  // the `used` of a user that begins to wait
  std::optional<std::string> served_ = {};
  bool is_served_paced_ = false;
};

}  // namespace proffer::master
