#pragma once

// What is held of one agent: amounts, and parts of its GPU devices.

#include <map>

#include "common/resources.h"

namespace proffer::fair {

// Unlike Resources it may exceed what there is: an agent that comes back says what it runs, and
// that counts whatever its total says now. Ports are not kept: the master knows them.
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
  void remove(const Held& other);  // CHECKs that it is in here

  bool operator==(const Held&) const = default;

 private:
  ResourceVector amounts_;
  std::map<int32_t, int64_t> devices_;  // milli by index; none is zero
};

// Total less what is held, zero where more is held than there is, with the devices that are left.
// The ports are left empty.
Resources what_is_free(const Resources& total, const Held& allocated, const Held& offered);

// The same for one machine in several states (reserved for this role, for that): what is held of
// one beyond its total is missing in the others. First add() of each gives what is free there by
// itself, then take_devices_from() each, then take_amounts_from() each.
class Shortage {
 public:
  Resources add(const Resources& total, const Held& allocated, const Held& offered);
  void take_devices_from(Resources& free);
  // Whatever is held of devices that are nowhere now is missing by amount, of any device.
  void take_amounts_from(Resources& free);

 private:
  ResourceVector amounts_;  // of gpus: held without a named device
  std::map<int32_t, int64_t> devices_;
};

}  // namespace proffer::fair
