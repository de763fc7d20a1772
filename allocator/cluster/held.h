#pragma once

// The held resources of one agent: amounts, and parts of its GPU devices.

#include <map>

#include "common/resources.h"

namespace proffer::fair {

// Unlike Resources it may exceed the total: the tasks that a reregistered agent reports count even
// above its present total. Ports are not included: Agent::free_ports has them.
class Held {
 public:
  const ResourceVector& amounts() const { return amounts_; }
  int64_t of_device(int32_t index) const;
  const std::map<int32_t, int64_t>& devices() const { return devices_; }
  bool is_zero() const { return amounts_.is_zero() && devices_.empty(); }
  bool contains(const Resources& resources) const;

  void add(const Resources& resources);
  void remove(const Resources& resources);  // CHECKs contains()
  void add(const Held& other);
  void remove(const Held& other);  // CHECKs that it is contained

  bool operator==(const Held&) const = default;

 private:
  ResourceVector amounts_;
  std::map<int32_t, int64_t> devices_;  // milli-GPUs by index; none is zero
};

// The total minus the held amounts, at least zero, with the remaining devices. The ports are empty.
Resources what_is_free(const Resources& total, const Held& allocated, const Held& offered);

// The same for one machine with several reservation states: if one state holds more than its total,
// the excess is missing in the others. First call add() for each state, which returns its own free
// resources; then take_devices_from() for each, then take_amounts_from() for each.
class Shortage {
 public:
  Resources add(const Resources& total, const Held& allocated, const Held& offered);
  void take_devices_from(Resources& free);
  // Held devices that no state has any more are subtracted as an amount, from any device.
  void take_amounts_from(Resources& free);

 private:
  ResourceVector amounts_;  // GPUs: held without a named device
  std::map<int32_t, int64_t> devices_;
};

}  // namespace proffer::fair
