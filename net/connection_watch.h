#pragma once

// Watches connections of a Router that have not sent a complete message yet, which libzmq does not
// show.
//
// libzmq keeps the parts of a message until the last part arrives, without a limit. So a peer that
// sends parts for ever takes all memory (PITFALLS.md), and the Router never receives anything. A
// silent connection also keeps its descriptor. So each connection is recorded when it is accepted,
// and closed
//   * if its user has too many,
//   * if its first message does not come in time,
//   * if it has sent more bytes than complete messages can have, without a received message.
// Connections are identified by their descriptors, which libzmq may close and the kernel reuse at
// any time: in the worst case another connection is closed, whose peer reconnects.

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
    // For Unix sockets; root and the user of this process may have more.
    size_t connections_per_user_max = kConnectionsPerUserMax;
  };
  struct Counters {
    uint64_t of_one_user = 0;  // closed connections, by cause
    uint64_t silent = 0;
    uint64_t unfinished = 0;
    bool operator==(const Counters&) const = default;
  };

  // Gets a line for the log.
  using OnShut = std::function<void(const std::string& what)>;

  ConnectionWatch(Loop& loop, Options options, OnShut on_shut);
  ConnectionWatch(const ConnectionWatch&) = delete;
  ConnectionWatch& operator=(const ConnectionWatch&) = delete;

  void accepted(int fd);
  void ended(int fd);
  // A complete message has come from it. O(1), called for each message.
  void spoke(int fd);
  // No complete message is left to read on any connection.
  void read_all() { has_read_all_ = true; }

  size_t connections() const { return open_; }
  const Counters& counters() const { return counts_; }

 private:
  struct Connection {
    uint64_t number = 0;                // of the accepted connection; 0: none
    std::optional<uint32_t> user = {};  // for a Unix socket
    bool is_counted = false;            // counted for its user
    bool has_spoken = false;
    // Values of received_bytes(): after the last complete message, and at the last check.
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
  // Whether a connection has received more than an incomplete message may have.
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
  // Since the last check.
  bool has_read_all_ = false;
  size_t messages_ = 0;
  std::optional<Time> trim_at_ = {};
  Counters counts_;
};

}  // namespace proffer
