#pragma once

// Reads processes from /proc. Each answer may be outdated when it is used.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

namespace proffer::agent {

struct Process {
  pid_t pid = 0;
  pid_t parent = 0;
  pid_t session = 0;
  uint64_t start_ticks = 0;  // since boot; with the pid it identifies the process until the reboot
  bool zombie = false;
};

// None if there is no such process.
std::optional<Process> find_process(pid_t pid);
// All processes that this process may see. O(processes).
std::vector<Process> all_processes();
// The children of this process; as it is a subreaper, they include orphaned descendants.
std::vector<pid_t> own_children();
// The value of a variable in the initial environment of the process; empty if it has none, or is
// not readable.
std::string started_with(pid_t pid, std::string_view variable);
// A descriptor that becomes readable when the process ends, also if it is not a child; the caller
// closes it. -1 if there is no such process or the system does not support this.
int watch_process(pid_t pid);
// The id of the machine's current boot; empty if the system has none.
std::string boot_id();

}  // namespace proffer::agent
