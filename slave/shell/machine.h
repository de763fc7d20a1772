#pragma once

// What this machine has to offer, and where things of the agent are on it.

#include <string>

#include "common/ids.h"
#include "common/resources.h"
#include "common/result.h"

namespace proffer::agent {

// CPUs that this process may use, memory less a reserve for the system, free disk of `work_dir`
// less a tenth, and the ports 31000 to 32000. Limits of the own cgroup count.
Resources detect_resources(const std::string& work_dir);

// Those of `ports` that no task could listen on now: another process does, or this user may not.
// O(ports).
PortSet ports_in_use(const PortSet& ports);

// The socket of the executors of the agent in `work_dir` (an absolute path):
// $XDG_RUNTIME_DIR or the temporary directory, proffer-<uid>/<8 hex>.sock. Makes the folder, which
// only this user may enter. Errors: kFailedPrecondition if it is somebody else's or open to others,
// or if the path is too long for a socket; kUnavailable.
Result<std::string> executor_socket(const std::string& work_dir);

// The machine's host name, with what may not be in a name replaced by '-'.
std::string host_name();

// The directory of this program, or $PROFFER_BIN_DIR.
std::string bin_dir();

}  // namespace proffer::agent
