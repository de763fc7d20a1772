#pragma once

// Schedules the readiness checks of a task and decides which results are reported. Pure: the shell
// reads the listeners (listeners.h) and has the clock.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "proto/messages.h"

namespace proffer::executor {

// The listener of a port.
enum class Listener : uint8_t {
  kNobody,
  kTask,     // one of the task's own processes
  kAnother,  // a process that is not of the task
  // The port has a listener, but some of the task's processes do not show their descriptors,
  // because they changed their rights.
  kHidden,
};

struct PortSeen {
  std::string name = {};
  uint16_t port = 0;
  Listener listener = Listener::kNobody;
  bool operator==(const PortSeen&) const = default;
};

// Reported in an update of the running task.
struct ReadyNews {
  bool ready = false;
  std::string message = {};  // why it is not ready, for people
  bool operator==(const ReadyNews&) const = default;
};

// The first check is due when the task has run for its `after`. The next one follows after a
// quarter of the time since then, at least kReadyLookMin and at most kReadyLookMax. So readiness is
// reported at most that late, and a slow start costs little. Once the task is ready, checks end.
inline constexpr Duration kReadyLookMin = milliseconds(10);
inline constexpr Duration kReadyLookMax = milliseconds(500);
// The reason why a task is not ready is reported after this time, and then, if the reason has
// changed, again after each such time.
inline constexpr Duration kWhyNotReadyAfter = seconds(3);

class ReadinessWatch {
 public:
  // `readiness` must have passed proto::check_readiness with the names of `ports`; a name that is
  // not among `ports` is a port without a listener.
  ReadinessWatch(const proto::Readiness& readiness, const std::map<std::string, uint16_t>& ports,
                 Time started);

  bool is_ready() const { return ready_; }
  // The ports whose listeners a check must find.
  const std::vector<PortSeen>& ports() const { return ports_; }
  // True: find the listeners now, and call on_looked() with the result.
  bool on_tick(Time now) const { return !ready_ && now >= due_; }
  // `seen` are ports() with their listeners.
  std::optional<ReadyNews> on_looked(const std::vector<PortSeen>& seen, Time now);
  std::optional<Time> next_deadline() const {
    return ready_ ? std::nullopt : std::optional<Time>(due_);
  }

 private:
  std::vector<PortSeen> ports_;
  Time from_;  // the time of the first check
  Time due_;
  bool ready_ = false;
  std::string told_;  // the last reported reason
  Time told_at_;
};

// "does not listen on port http (31000)", for the ports without a listener of the task; empty if
// there are none.
std::string why_not_ready(const std::vector<PortSeen>& seen);

// --- texts of the kernel -----------------------------------------------------------------------

// One line of /proc/net/tcp or tcp6. None for the header and for malformed lines.
struct TcpSocket {
  uint16_t port = 0;  // the local one
  bool is_listening = false;
  uint64_t inode = 0;
  bool operator==(const TcpSocket&) const = default;
};
std::optional<TcpSocket> parse_tcp_socket(std::string_view line);

// The inode of a link in /proc/<pid>/fd, "socket:[4711]". Nothing for other descriptors.
std::optional<uint64_t> parse_socket_link(std::string_view link);

}  // namespace proffer::executor
