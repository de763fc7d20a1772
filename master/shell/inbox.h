#pragma once

// Frames of peers that wait for their turn in the master's loop, in a queue for each user.
// Next is the user that had the least of the loop's time since it began to wait (start-time fair
// queueing: Goyal, Vin and Cheng, SIGCOMM 1996). So a flood of one user waits behind itself,
// however many connections it has and whatever its frames cost, and a user that sends little waits
// for one frame of another at most (ADR 0068).

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
#include "net/received_frame.h"

namespace proffer::master {

class Inbox {
 public:
  struct Item {
    std::string user = {};
    PeerId peer = {};
    ReceivedFrame frame = {};  // empty: the connection is lost, after what came before
  };

  // Whether the user may have a frame of so many bytes more in here.
  bool has_room(const std::string& user, size_t bytes) const;
  void add(Item item);
  // The oldest frame of the next user. took() must follow.
  std::optional<Item> take();
  // How long the loop was busy with the item that was taken last.
  void took(Duration time);

  bool empty() const { return frames_ == 0; }
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

  std::unordered_map<std::string, Queue> queues_;  // of users that wait, or are being served
  std::set<std::pair<Duration, std::string>> order_;
  std::unordered_map<PeerId, size_t> waiting_;
  size_t frames_ = 0;
  size_t bytes_ = 0;
  Duration begins_at_ = {};  // the `used` of a user that begins to wait
  std::optional<std::string> served_ = {};
};

}  // namespace proffer::master
