// Fragments of agents, and their cache. fragments() is the formula.

#include "allocator/rules/fragmentation.h"

#include <algorithm>
#include <limits>

namespace proffer::fair {
namespace {

constexpr int64_t kNotKnown = std::numeric_limits<int64_t>::min();

// The index of the ask's shape among the typical shapes, or their number if it is none.
size_t typical_place(const Workload& workload, const AskEntry& ask) {
  if (ask.typical_at != workload.version()) {
    const auto& all = workload.typical();
    const auto same = [&](const auto& typical) { return typical.shape == ask.ask.shape; };
    ask.typical_place =
        static_cast<size_t>(std::find_if(all.begin(), all.end(), same) - all.begin());
    ask.typical_at = workload.version();
  }
  return ask.typical_place;
}

}  // namespace

int64_t fragments(const Workload& workload, const Fractions& fractions, const Resources& free) {
  const int64_t all = fractions.sum_of(free.amounts);
  int64_t sum = 0;
  for (const Workload::Typical& typical : workload.typical()) {
    if (!fits(typical.shape, free)) {
      sum += typical.count * all;
      continue;
    }
    const int64_t wanted = std::min<int64_t>(typical.shape[ResourceKind::kGpus], kWholeDevice);
    int64_t too_little = 0;
    for (const GpuDevice& device : free.gpus) {
      if (device.milli < wanted) too_little += device.milli;
    }
    sum += typical.count * fractions.of(too_little, ResourceKind::kGpus);
  }
  return sum;
}

int64_t fragments_growth(const Cluster& cluster, const AskEntry& ask, const Agent& a) {
  const Workload& workload = cluster.workload;
  Agent::Fragments& known = a.fragments;
  const size_t place = typical_place(workload, ask);
  const bool is_typical = place < workload.typical().size();
  if (known.version == workload.version() && is_typical && known.growth[place] != kNotKnown) {
    return known.growth[place];
  }
  const Fractions fractions(cluster.total);
  Resources free = a.parts.empty() ? a.free : a.counted_free();
  if (known.version != workload.version()) {
    known.version = workload.version();
    known.now = fragments(workload, fractions, free);
    known.growth.assign(workload.typical().size(), kNotKnown);
  }
  // A task on resources kept for the ask changes no other resources.
  if (!fits(ask.ask.shape, free)) return 0;
  free -= carve(ask.ask.shape, free);
  const int64_t growth = fragments(workload, fractions, free) - known.now;
  if (is_typical) known.growth[place] = growth;
  return growth;
}

}  // namespace proffer::fair
