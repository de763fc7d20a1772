#pragma once

// The connections of a Router that libzmq does not show: those that have not said anything whole.
//
// libzmq holds the parts of a message until its last one is there, without any bound, so a peer
// that sends parts for ever takes all memory (PITFALLS.md): nothing is ever received from it. And
// a connection that says nothing keeps its descriptor. So each is noted when it is accepted, and
// shut
//   * if it is one too many of its user,
//   * if its first message does not come in time,
//   * if more has come of it than whole messages can be, and was not received as such.
// Connections are known by their descriptors, which libzmq closes and the kernel gives again at any
// time: in the worst case another one is shut, whose peer connects again.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "common/limits.h"
#include "common/time.h"
#include "net/loop.h"

namespace proffer {

class ConnectionWatch {
 public:
  struct Options {
    Duration first_message_max = kFirstMessageMax;
    // Unix sockets; of root and of this process's user there may be more.
    size_t connections_per_user_max = kConnectionsPerUserMax;
  };
  struct Counters {
    uint64_t of_one_user = 0;  // shut, by cause
    uint64_t silent = 0;
    uint64_t unfinished = 0;
    bool operator==(const Counters&) const = default;
  };

  // A line for the log.
  using OnShut = std::function<void(const std::string& what)>;

  ConnectionWatch(Loop& loop, Options options, OnShut on_shut);
  ConnectionWatch(const ConnectionWatch&) = delete;
  ConnectionWatch& operator=(const ConnectionWatch&) = delete;

  void accepted(int fd);
  void ended(int fd);
  // A whole message has come from it. O(1), for each message.
  void spoke(int fd);
  // No whole message of any connection is left to read.
  void read_all() { has_read_all_ = true; }

  size_t connections() const { return open_; }
  const Counters& counters() const { return counts_; }

 private:
  struct Connection {
    uint64_t number = 0;                // of its acceptance; 0: none
    std::optional<uint32_t> user = {};  // of a Unix socket
    bool is_counted = false;            // among those of its user
    bool has_spoken = false;
    // received_bytes(): when a whole message was read last, and at the last look.
    uint64_t at_message = 0;
    uint64_t at_look = 0;
  };
  struct Waiting {
    int fd = -1;
    uint64_t number = 0;
    Time due = {};
  };

  Connection* find(int fd);
  void shut(int fd, uint64_t& count, const std::string& why);
  void check();
  void check_first_messages(Time now);
  // Whether more has come of one than a message that is not whole may have.
  bool look_for_unfinished();

  Loop& loop_;
  Options options_;
  OnShut on_shut_;
  Timer timer_;
  std::vector<Connection> by_fd_;
  size_t open_ = 0;
  uint64_t numbers_ = 0;
  std::deque<Waiting> first_messages_;  // in order of time
  std::unordered_map<uint32_t, size_t> by_user_;
  // Since the last look.
  bool has_read_all_ = false;
  size_t messages_ = 0;
  std::optional<Time> trim_at_ = {};
  Counters counts_;
};

}  // namespace proffer
