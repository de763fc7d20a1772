#pragma once

#include <sys/types.h>

namespace proffer {

// Sends a warning to a process group: to its members that handle the signal; if none does, to all
// of them, as a kill. So a shell without a trap does not end before the command that it waits for.
// Reads the whole of /proc.
void warn_group(pid_t group, int signal);

}  // namespace proffer
