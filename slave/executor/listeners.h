#pragma once

// Finds the ports on which a task's own processes listen, from /proc. A test connection is no
// proof, since another process could accept it.

#include <string>
#include <vector>

#include <sys/types.h>

#include "slave/executor/readiness.h"

namespace proffer::executor {

struct TaskProcesses {
  pid_t root = 0;
  // The root is a process of the task itself; otherwise it is only the parent of the task's
  // processes.
  bool has_root = true;
};

// Fills in the listener on each of `ports`, for TCP on any address. The task's processes are the
// root and its descendants. Descriptors are read only if a socket listens. Reads the listening
// sockets of the machine, then the descriptors of the task's processes until all are found.
void find_listeners(const TaskProcesses& task, std::vector<PortSeen>& ports,
                    const std::string& proc = "/proc");

}  // namespace proffer::executor
