#include "allocator/held.h"

#include <algorithm>

namespace proffer::fair {

int64_t Held::of_device(int32_t index) const {
  const auto at = devices_.find(index);
  return at == devices_.end() ? 0 : at->second;
}

bool Held::contains(const Resources& resources) const {
  return resources.amounts.fits_in(amounts_) &&
         std::all_of(resources.gpus.begin(), resources.gpus.end(),
                     [&](const GpuDevice& d) { return of_device(d.index) >= d.milli; });
}

void Held::add(const Resources& resources) {
  amounts_ += resources.amounts;
  for (const GpuDevice& device : resources.gpus) devices_[device.index] += device.milli;
}

void Held::remove(const Resources& resources) {
  CHECK(contains(resources)) << to_text(resources) << " is not in " << to_text(amounts_);
  amounts_ -= resources.amounts;
  for (const GpuDevice& device : resources.gpus) {
    const auto at = devices_.find(device.index);
    at->second -= device.milli;
    if (at->second == 0) devices_.erase(at);
  }
}

void Held::add(const Held& other) {
  amounts_ += other.amounts_;
  for (const auto& [index, milli] : other.devices_) devices_[index] += milli;
}

void Held::remove(const Held& other) {
  CHECK(other.amounts_.fits_in(amounts_));
  amounts_ -= other.amounts_;
  for (const auto& [index, milli] : other.devices_) {
    CHECK_GE(of_device(index), milli) << "gpu device " << index;
    const auto at = devices_.find(index);
    at->second -= milli;
    if (at->second == 0) devices_.erase(at);
  }
}

Resources what_is_free(const Resources& total, const Held& allocated, const Held& offered) {
  Resources free;
  free.amounts = (total.amounts - allocated.amounts() - offered.amounts()).max(ResourceVector());
  // Whoever adopts gpus without saying which leaves fewer by amount than by device.
  int64_t gpus = free.amounts[ResourceKind::kGpus];
  for (const GpuDevice& device : total.gpus) {
    const int64_t held = allocated.of_device(device.index) + offered.of_device(device.index);
    const int64_t left = std::min<int64_t>(device.milli - held, gpus);
    if (left <= 0) continue;
    free.gpus.push_back({device.index, static_cast<int32_t>(left)});
    gpus -= left;
  }
  free.amounts[ResourceKind::kGpus] -= gpus;
  return free;
}

}  // namespace proffer::fair
