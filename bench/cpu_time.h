#pragma once

// CPU time of processes, as the kernel counts it.

#include <cstdint>

#include <sys/resource.h>
#include <sys/types.h>

namespace proffer::bench {

// CPU of a process, user and system, in microseconds: of all its threads, and of all children that
// it has reaped. The kernel counts in hundredths of seconds.
struct CpuTime {
  int64_t own = 0;
  int64_t children = 0;
};
CpuTime cpu_time_of(pid_t pid);
int64_t micros_of(const rusage& used);  // likewise, user and system
int64_t cpu_time_of_children();         // of this process's reaped children

}  // namespace proffer::bench
