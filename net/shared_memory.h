#pragma once

// Memory that outlives the processes that use it: files in /dev/shm, and the segments, semaphores
// and queues of System V. An executor of an agent that is root has both for itself, within the
// limits of its group (docs/adr/0171).

#include <sys/types.h>

namespace proffer {

// In the environment of an executor that has its own.
inline constexpr const char* kSharedMemoryVariable = "PROFFER_SHARED_MEMORY";
inline constexpr const char* kOwnSharedMemory = "own";

// Gives this process, which has one thread and is root, a mount and an IPC namespace with an empty
// tmpfs at /dev/shm. The directory `kept` of the former /dev/shm stays where it is; nullptr: none.
// Returns 0 or an errno; then this process must end, since it may be half-way.
int make_own_shared_memory(const char* kept);
// Whether this machine permits that. Tries it in a child.
bool can_have_own_shared_memory();
// Enters the mount and the IPC namespace of a process. The working directory is `/` then. Returns 0
// or an errno.
int enter_shared_memory_of(pid_t pid);
// Removes all that this process may remove of it; only for a process that has its own.
void empty_shared_memory();

}  // namespace proffer
