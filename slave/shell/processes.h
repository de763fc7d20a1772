#pragma once

// What /proc says of processes. Every answer may be out of date when it is read.

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
  uint64_t start_ticks = 0;  // since boot; with the pid a name for the process until the reboot
  bool zombie = false;
};

// Nothing if there is no such process.
std::optional<Process> find_process(pid_t pid);
// All that this process may see. O(processes).
std::vector<Process> all_processes();
// The children of this process, which as a subreaper are also the orphans of its descendants.
std::vector<pid_t> own_children();
// The value of a variable in the environment that the process was started with; empty if it has
// none, or may not be read.
std::string started_with(pid_t pid, std::string_view variable);
// A descriptor that becomes readable when the process ends, also if it is no child; the caller
// closes it. -1 if there is no such process or the system cannot do it.
int watch_process(pid_t pid);
// Which boot of the machine this is; empty if the system does not say.
std::string boot_id();

}  // namespace proffer::agent
