// Aging counts of shapes. Begin with note().

#include "allocator/cluster/workload.h"

#include <algorithm>

namespace proffer::fair {

bool Workload::ShapeOrder::operator()(const ResourceVector& a, const ResourceVector& b) const {
  for (const ResourceKind kind : kResourceKinds) {
    if (a[kind] != b[kind]) return a[kind] < b[kind];
  }
  return false;
}

void Workload::note(const ResourceVector& shape, int64_t tasks) {
  tasks = std::min(tasks, kTasksMax);
  if (tasks <= 0) return;
  counts_[shape] += tasks;
  total_ += tasks;
  noted_ += tasks;
  while (total_ > kWorkloadMax) age();
  if (noted_ * 8 >= total_) find_typical();
}

void Workload::age() {
  total_ = 0;
  for (auto at = counts_.begin(); at != counts_.end();) {
    at->second /= 2;
    total_ += at->second;
    at = at->second == 0 ? counts_.erase(at) : std::next(at);
  }
}

void Workload::find_typical() {
  noted_ = 0;
  ++version_;
  typical_.clear();
  for (const auto& [shape, count] : counts_) typical_.push_back({shape, count});
  // Shapes of equal count stay in their order.
  std::stable_sort(typical_.begin(), typical_.end(),
                   [](const Typical& a, const Typical& b) { return a.count > b.count; });
  if (typical_.size() > kTypicalMax) typical_.resize(kTypicalMax);
}

}  // namespace proffer::fair
