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

// 8 hexadecimal digits for the agent in `work_dir` (an absolute path), always the same.
std::string hash_of(const std::string& work_dir);

// Lets other users pass through `work_dir` to the sandboxes and sockets there that are theirs, if
// this process is root and may run their tasks. Warns if a directory above keeps them out. Errors:
// kUnavailable.
Result<void> let_others_pass(const std::string& work_dir);

// The socket of the executors of the agent in `work_dir` (an absolute path): executors.sock in it,
// or, where that is longer than a socket's path may be, <8 hex>.sock in a folder that this makes:
// /run/proffer/agent for root, else proffer-<uid> in $XDG_RUNTIME_DIR or the temporary directory,
// which only this user may enter. Errors: kFailedPrecondition if the folder is somebody else's or
// open to others, or if that path is too long, too; kUnavailable.
Result<std::string> executor_socket(const std::string& work_dir);

// Executors of an agent of before tasks had users look for it at <8 hex>.sock in the second of
// these folders, whatever user runs it. If `is_wanted`, and there is such a folder, a link there
// leads them to `socket`; else such a link is removed. If that fails, they are not found again.
void lead_former_executors(const std::string& work_dir, const std::string& socket, bool is_wanted);

// The machine's host name, with what may not be in a name replaced by '-'.
std::string host_name();

// The directory of this program, or $PROFFER_BIN_DIR.
std::string bin_dir();

}  // namespace proffer::agent
