// Reservations change the state of parts of an agent, never their sum. Begin with with_reserved().

#include "master/core/reservations.h"

#include <algorithm>

namespace proffer::master {

Resources common_part(const Resources& a, const Resources& b) {
  Resources part{.amounts = a.amounts.min(b.amounts)};
  part.amounts[ResourceKind::kGpus] = 0;
  for (const GpuDevice& device : a.gpus) {
    const auto other = std::find_if(b.gpus.begin(), b.gpus.end(),
                                    [&](const GpuDevice& d) { return d.index == device.index; });
    if (other == b.gpus.end()) continue;
    const int32_t milli = std::min(device.milli, other->milli);
    part.gpus.push_back({device.index, milli});
    part.amounts[ResourceKind::kGpus] += milli;
  }
  return part;
}

Resources part_of(const std::vector<Slice>& slices, const RoleName& reserved_for, bool revocable) {
  Resources part;
  for (const Slice& slice : slices) {
    if (slice.reserved_for != reserved_for || slice.revocable != revocable) continue;
    part += {.amounts = slice.resources.amounts, .gpus = slice.resources.gpus};
  }
  return part;
}

std::vector<Slice> with_reserved(const std::vector<Slice>& own, const Reserved& reserved) {
  std::vector<Slice> slices;
  for (const Slice& slice : own) add_slice(slices, slice);
  for (const auto& [role, wanted] : reserved) {
    const auto unreserved = std::find_if(slices.begin(), slices.end(), [](const Slice& slice) {
      return slice.reserved_for.empty() && !slice.revocable;
    });
    if (unreserved == slices.end()) break;
    const Resources part = common_part(unreserved->resources, wanted);
    if (part.is_zero()) continue;
    unreserved->resources -= part;
    if (unreserved->resources.is_zero()) slices.erase(unreserved);
    add_slice(slices, {.resources = part, .reserved_for = role});
  }
  return slices;
}

}  // namespace proffer::master
