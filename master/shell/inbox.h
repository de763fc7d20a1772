#pragma once

// Received frames that wait for the master's loop, with a queue for each user. The next user is the
// one with the least loop time since it began to wait (start-time fair queueing: Goyal, Vin and
// Cheng, SIGCOMM 1996). So a flood of frames from one user delays only that user, on any number of
// connections and at any cost per frame; a user that sends little waits for one frame of another
// user at most (ADR 0068).
//
// A paced user gets only a part of the loop's time, even if no other user needs it, unless its
// frames start tasks or change their state: useless work would take processor time from the whole
// machine (ADR 0139). Its frames wait until it may be served again.

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
    ReceivedFrame frame = {};  // empty: the connection is lost, after its earlier frames
  };

  // The cost and the effect of one frame.
  struct Effort {
    Duration time = {};
    size_t tasks = 0;  // tasks that it launched or whose state it changed
    size_t bytes = 0;
  };

  // Whether a frame of this size of the user fits.
  bool has_room(const std::string& user, size_t bytes) const;
  void add(Item item, Time now);
  // The oldest frame of the next user that may be served. A call of took() must follow.
  std::optional<Item> take(Time now);
  // Charges the effort for the last item from take().
  void took(const Effort& effort, Time now);
  // For frames of a paced user that skip the queue: whether it may be served, and the charge for
  // it.
  bool may_serve(const std::string& user, Time now) const { return pace_.has_left(user, now); }
  void served(const std::string& user, const Effort& effort, Time now);

  bool empty() const { return frames_ == 0; }
  // Whether take() would return a frame.
  bool is_ready(Time now) const {
    return !order_.empty() || (!paused_.empty() && paused_.begin()->first <= now);
  }
  // The time when take() will return a frame, if it does not now; none if no user is paused.
  std::optional<Time> next_at() const {
    return paused_.empty() ? std::nullopt : std::optional(paused_.begin()->first);
  }
  size_t frames() const { return frames_; }
  size_t bytes() const { return bytes_; }
  // The number of waiting frames of one connection.
  size_t waiting(PeerId peer) const;

 private:
  struct Queue {
    std::deque<Item> items = {};
    size_t bytes = 0;
    Duration used = {};  // the user's loop time, on top of the value at which its wait began
  };
  void line_up(const std::string& user, const Queue& queue, Time now);

  std::unordered_map<std::string, Queue> queues_;     // for users that wait or are being served
  std::set<std::pair<Duration, std::string>> order_;  // users that may be served
  std::set<std::pair<Time, std::string>> paused_;     // all others, with the end of their pause
  Allowances pace_{{.burst = kLoopTimeAtOnce.micros(),
                    .per_second = 10'000 * kLoopPercentPerUser}};  // in microseconds
  std::unordered_map<PeerId, size_t> waiting_;
  size_t frames_ = 0;
  size_t bytes_ = 0;
  Duration begins_at_ = {};  // the initial `used` of a user that begins to wait
  std::optional<std::string> served_ = {};
  bool is_served_paced_ = false;
};

}  // namespace proffer::master
