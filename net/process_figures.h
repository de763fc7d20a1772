#pragma once

// Resource use of this process, from the kernel.

#include <cstdint>
#include <optional>

#include "common/time.h"
#include "net/loop.h"

namespace proffer {

struct ProcessFigures {
  Duration cpu = {};  // user and system time, rounded to clock ticks
  int64_t resident_bytes = 0;
  int64_t virtual_bytes = 0;
  int64_t threads = 0;
  std::optional<int64_t> descriptors_max = {};  // none: unlimited
  Time started_at = {};
};

// Reads /proc. Any thread. Unreadable values are zero.
ProcessFigures read_process_figures();

// The number of open descriptors of this process at the last count, which is made now the first
// time. Before Linux 6.2 counting takes a microsecond per descriptor, so a worker then counts
// again, one at a time. If all workers wait for a disk, the result is old, but it is returned at
// once. Loop thread only.
int64_t open_descriptors(Loop& loop);

}  // namespace proffer
