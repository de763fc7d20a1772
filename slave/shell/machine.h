#pragma once

// The resources of this machine, and the paths of the agent on it.

#include <string>

#include "common/ids.h"
#include "common/resources.h"
#include "common/result.h"

namespace proffer::agent {

// What is kept for the system unless an operator says otherwise: a tenth of the memory, at most
// 1 GiB.
ResourceVector system_reserve();
// The CPUs and the memory that this process may use, within the limits of its own cgroup, and the
// free disk of `work_dir` less a tenth, all without `reserved`; and the ports 31000 to 32000.
Resources detect_resources(const std::string& work_dir, const ResourceVector& reserved);
// The memory of the machine that all tasks together may use.
int64_t bytes_for_tasks(const ResourceVector& reserved);

// The ports in `ports` on which no task could listen now: they are in use, or not allowed to this
// user. O(ports).
PortSet ports_in_use(const PortSet& ports);

// 8 hexadecimal digits for the agent in `work_dir` (an absolute path), which never change.
std::string hash_of(const std::string& work_dir);

// Lets other users pass through `work_dir` to their sandboxes and sockets, if this process is root
// and may run their tasks. Warns if a parent directory prevents this. Errors: kUnavailable.
Result<void> let_others_pass(const std::string& work_dir);

// The socket for executors of the agent in `work_dir` (an absolute path): executors.sock in it. If
// that path is too long for a socket, it is <8 hex>.sock in a folder that this function makes:
// /run/proffer/agent for root, else proffer-<uid> in $XDG_RUNTIME_DIR or the temporary directory,
// which only this user may enter. Errors: kFailedPrecondition if the folder belongs to another user
// or is open to others, or if that path is also too long; kUnavailable.
Result<std::string> executor_socket(const std::string& work_dir);

// Executors of an agent version before tasks had users look for the socket at <8 hex>.sock in the
// second of these folders, for any user. If `is_wanted` and the folder exists, a link there leads
// them to `socket`; otherwise such a link is removed. If this fails, these executors are lost.
void lead_former_executors(const std::string& work_dir, const std::string& socket, bool is_wanted);

// The machine's host name; characters that are invalid in a name are replaced by '-'.
std::string host_name();

// The directory of this program, or $PROFFER_BIN_DIR.
std::string bin_dir();

}  // namespace proffer::agent
