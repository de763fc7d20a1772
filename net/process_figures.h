#pragma once

// What this process uses of its machine, as the kernel counts it.

#include <cstdint>
#include <optional>

#include "common/time.h"

namespace proffer {

struct ProcessFigures {
  Duration cpu = {};  // user and system, to the clock tick
  int64_t resident_bytes = 0;
  int64_t virtual_bytes = 0;
  int64_t threads = 0;
  int64_t descriptors = 0;
  std::optional<int64_t> descriptors_max = {};  // none: as many as it likes
  Time started_at = {};
};

// Reads /proc. Takes a microsecond for each open descriptor on kernels before 6.2: with thousands
// of them it belongs on a worker thread. Any thread. What cannot be read is zero.
ProcessFigures read_process_figures();

}  // namespace proffer
