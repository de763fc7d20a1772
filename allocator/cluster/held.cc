#include "allocator/cluster/held.h"

#include <algorithm>
#include <utility>

#include "common/check.h"

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
  // A reported task that holds GPUs without named devices leaves less by amount than by device.
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

namespace {

int64_t& gpus_of(ResourceVector& amounts) { return amounts[ResourceKind::kGpus]; }

}  // namespace

Resources Shortage::add(const Resources& total, const Held& allocated, const Held& offered) {
  const ResourceVector left = total.amounts - allocated.amounts() - offered.amounts();
  ResourceVector missing = (ResourceVector() - left).max({});
  Resources free{.amounts = left.max({})};
  std::map<int32_t, int64_t> held = allocated.devices();
  for (const auto& [index, milli] : offered.devices()) held[index] += milli;
  gpus_of(missing) = (allocated.amounts() + offered.amounts())[ResourceKind::kGpus];
  for (const auto& [index, milli] : held) gpus_of(missing) -= milli;
  gpus_of(free.amounts) = 0;
  for (const GpuDevice& device : total.gpus) {
    int64_t& of_it = held[device.index];
    const int64_t rest = std::max<int64_t>(device.milli - of_it, 0);
    of_it = std::max<int64_t>(of_it - device.milli, 0);
    if (rest == 0) continue;
    free.gpus.push_back({device.index, static_cast<int32_t>(rest)});
    gpus_of(free.amounts) += rest;
  }
  for (const auto& [index, milli] : held) devices_[index] += milli;
  amounts_ += missing;
  return free;
}

void Shortage::take_devices_from(Resources& free) {
  for (GpuDevice& device : free.gpus) {
    int64_t& missing = devices_[device.index];
    const int64_t less = std::min<int64_t>(device.milli, missing);
    missing -= less;
    device.milli -= static_cast<int32_t>(less);
    gpus_of(free.amounts) -= less;
  }
  std::erase_if(free.gpus, [](const GpuDevice& device) { return device.milli == 0; });
}

void Shortage::take_amounts_from(Resources& free) {
  for (auto& [index, milli] : devices_) gpus_of(amounts_) += std::exchange(milli, 0);
  const ResourceVector less = free.amounts.min(amounts_);
  free.amounts -= less;
  amounts_ -= less;
  int64_t gpus = less[ResourceKind::kGpus];
  for (GpuDevice& device : free.gpus) {
    const int64_t of_it = std::min<int64_t>(device.milli, gpus);
    device.milli -= static_cast<int32_t>(of_it);
    gpus -= of_it;
  }
  std::erase_if(free.gpus, [](const GpuDevice& device) { return device.milli == 0; });
}

}  // namespace proffer::fair
