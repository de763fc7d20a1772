#include "bench/cluster/shared.h"

#include <algorithm>
#include <ctime>

#include <sys/mman.h>

#include "common/check.h"

namespace proffer::bench {

int64_t monotonic_nanos() {
  timespec now{};
  CHECK_EQ(clock_gettime(CLOCK_MONOTONIC, &now), 0);
  return int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

std::vector<int64_t> Samples::values() const {
  const size_t kept = std::min<size_t>(count.load(), kSamplesMax);
  return {nanos.begin(), nanos.begin() + static_cast<std::ptrdiff_t>(kept)};
}

// Fresh anonymous pages are zero, which is the initial state of every member. Nothing is
// constructed, so unused parts take no memory.
SharedMapping::SharedMapping() {
  void* memory =
      mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  CHECK(memory != MAP_FAILED);
  shared_ = static_cast<Shared*>(memory);
}

SharedMapping::~SharedMapping() { munmap(shared_, sizeof(Shared)); }

}  // namespace proffer::bench
