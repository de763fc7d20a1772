#pragma once

// Which of a task's ports its own processes listen on, read from /proc. A connection would not
// tell, since anybody may answer it.

#include <string>
#include <vector>

#include <sys/types.h>

#include "slave/executor/readiness.h"

namespace proffer::executor {

struct TaskProcesses {
  pid_t root = 0;
  // The root is a process of the task itself, and not only its parent.
  bool has_root = true;
};

// Fills in the listener on each of `ports`, TCP, on any address. Processes of the task are the root
// and its descendants. Descriptors are read only if somebody listens. Reads listening sockets of
// the machine, then descriptors of the task's processes until all are found.
void find_listeners(const TaskProcesses& task, std::vector<PortSeen>& ports,
                    const std::string& proc = "/proc");

}  // namespace proffer::executor
