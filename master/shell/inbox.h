#pragma once

// Received frames that wait for the master's loop. Each user has a queue, and in it each connection
// has one. The next user is the one with the least loop time since it began to wait, and so is the
// next connection of that user (start-time fair queueing: Goyal, Vin and Cheng, SIGCOMM 1996). So a
// flood delays the connection that sends it; another user, or another connection of the same user,
// that sends little waits for one frame of the flood at most (ADR 0068, ADR 0167).
//
// What is paced, a user or a connection, gets only a part of the loop's time, even if nothing else
// needs it, unless its frames start tasks or change their state: useless work would take processor
// time from the whole machine (ADR 0139). Its frames wait until it may be served again.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
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
#include "net/peer_loss.h"
#include "net/received_frame.h"

namespace proffer::master {

// Who has only a part of the loop's time.
enum class Pace : uint8_t { kNone, kConnection, kUser };

class Inbox {
 public:
  struct Item {
    std::string user = {};
    Pace pace = Pace::kNone;
    PeerId peer = {};
    ReceivedFrame frame = {};  // empty: the connection is lost, after its earlier frames
    PeerLoss loss = PeerLoss::kDisconnected;  // why, if it is lost
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
  // The oldest frame of the next connection of the next user that may be served. A call of took()
  // must follow.
  std::optional<Item> take(Time now);
  // Charges the effort for the last item from take().
  void took(const Effort& effort, Time now);
  // For paced frames that skip the queue: whether the item may be served, and the charge for it.
  bool may_serve(const Item& item, Time now) const;
  void served(const Item& item, const Effort& effort, Time now);
  // The paced connection of the user with the most frames, or with the most bytes if these are
  // nearer to their bound; PeerId() if it has none. O(connections).
  PeerId fullest(const std::string& user) const;
  // Whether as much waits of this connection as of an average one of its user.
  bool is_average(const std::string& user, PeerId peer) const;
  // Forgets the frames of a connection whose session ends. O(log connections).
  void drop(const std::string& user, PeerId peer, Time now);

  bool empty() const { return frames_ == 0; }
  // Whether take() would return a frame.
  bool is_ready(Time now) const {
    return !order_.ready.empty() || (!order_.paused.empty() && order_.paused.begin()->first <= now);
  }
  // The time when take() will return a frame, if it does not now; none if nothing is paused.
  std::optional<Time> next_at() const {
    return order_.paused.empty() ? std::nullopt : std::optional(order_.paused.begin()->first);
  }
  size_t frames() const { return frames_; }
  size_t bytes() const { return bytes_; }
  // The number of waiting frames of one connection.
  size_t waiting(PeerId peer) const;

 private:
  // The order of those that wait: by loop time since the wait began.
  template <class Key>
  struct Order {
    std::set<std::pair<Duration, Key>> ready = {};
    std::set<std::pair<Time, Key>> paused = {};  // with the end of the pause
    Duration begins_at = {};                     // the initial `used` of one that begins to wait

    void add(const Key& key, Duration used, Time from, Time now);
  };
  struct Lane {
    std::deque<Item> items = {};
    size_t bytes = 0;
    Duration used = {};
    Time from = {};  // the end of its pause
  };
  struct Queue {
    std::map<PeerId, Lane> lanes = {};
    Order<PeerId> order = {};
    size_t frames = 0;
    size_t bytes = 0;
    Duration used = {};
    Time from = {};
  };
  void line_up(PeerId peer, Queue& queue, Lane& lane, Time now);
  void line_up(const std::string& user, Queue& queue, Time now);
  void step_out(const std::string& user, const Queue& queue);
  template <class Key, class UsedOf>
  static void wake(Order<Key>& order, Time now, const UsedOf& used_of);
  void forget_waiting(Queue& queue, PeerId peer, size_t frames, size_t bytes);
  bool is_served(const std::string& user) const;

  std::unordered_map<std::string, Queue> queues_;  // for users that wait or are being served
  Order<std::string> order_;
  Allowances pace_{{.burst = kLoopTimeAtOnce.micros(),
                    .per_second = 10'000 * kLoopPercentPerUser}};  // in microseconds
  std::unordered_map<PeerId, size_t> waiting_;
  size_t frames_ = 0;
  size_t bytes_ = 0;
  std::optional<Item> served_ = {};  // without its frame
};

}  // namespace proffer::master
