#pragma once

// When to look whether a task is ready, and what of it is told. Pure: the shell looks
// (listeners.h) and keeps the clock.

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
  // Somebody, but not all of the task's processes show their descriptors: one that took other
  // rights than its executor has.
  kHidden,
};

struct PortSeen {
  std::string name = {};
  uint16_t port = 0;
  Listener listener = Listener::kNobody;
  bool operator==(const PortSeen&) const = default;
};

// To be told as an update of the running task.
struct ReadyNews {
  bool ready = false;
  std::string message = {};  // why not, for people
  bool operator==(const ReadyNews&) const = default;
};

// The first look is due when the task has run for its `after`. A further one follows after a
// quarter of the time that the task has been waited for since, from kReadyLookMin to kReadyLookMax:
// so a task is told as ready at most that much too late, and one that starts for long costs little.
// Once the task is ready, there are no more probes.
inline constexpr Duration kReadyLookMin = milliseconds(10);
inline constexpr Duration kReadyLookMax = milliseconds(500);
// Why a task is not ready is told when it was waited for so long, and then, if the reason is
// another, again as often.
inline constexpr Duration kWhyNotReadyAfter = seconds(3);

class ReadinessWatch {
 public:
  // `readiness` must have passed proto::check_readiness with the names of `ports`; a name that is
  // not among `ports` is a port without a listener.
  ReadinessWatch(const proto::Readiness& readiness, const std::map<std::string, uint16_t>& ports,
                 Time started);

  bool is_ready() const { return ready_; }
  // The ports that a look is to find listeners of.
  const std::vector<PortSeen>& ports() const { return ports_; }
  // True: look now, and call on_looked() with the result.
  bool on_tick(Time now) const { return !ready_ && now >= due_; }
  // `seen` are ports() with their listeners.
  std::optional<ReadyNews> on_looked(const std::vector<PortSeen>& seen, Time now);
  std::optional<Time> next_deadline() const {
    return ready_ ? std::nullopt : std::optional<Time>(due_);
  }

 private:
  std::vector<PortSeen> ports_;
  Time from_;  // the first look
  Time due_;
  bool ready_ = false;
  std::string told_;  // why not
  Time told_at_;
};

// "does not listen on port http (31000)", for the ports that are not the task's own; empty if all
// are.
std::string why_not_ready(const std::vector<PortSeen>& seen);

// --- texts of the kernel -----------------------------------------------------------------------

// One line of /proc/net/tcp or tcp6. Nothing for its first line, and for what is none.
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
