#pragma once

// What this process uses of its machine, as the kernel counts it.

#include <cstdint>
#include <optional>

#include "common/time.h"
#include "net/loop.h"

namespace proffer {

struct ProcessFigures {
  Duration cpu = {};  // user and system, to the clock tick
  int64_t resident_bytes = 0;
  int64_t virtual_bytes = 0;
  int64_t threads = 0;
  std::optional<int64_t> descriptors_max = {};  // none: as many as it likes
  Time started_at = {};
};

// Reads /proc. Any thread. What cannot be read is zero.
ProcessFigures read_process_figures();

// How many descriptors this process has open, as they were counted last, at first now. Counting
// takes a microsecond for each on kernels before 6.2, so a worker does it again meanwhile, one at a
// time: where all workers wait for a disk, the answer is old, and it comes. The loop's thread only.
int64_t open_descriptors(Loop& loop);

}  // namespace proffer
