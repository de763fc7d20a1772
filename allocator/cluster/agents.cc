#include "allocator/cluster/agents.h"

#include <algorithm>
#include <tuple>
#include <utility>

namespace proffer::fair {

Resources Booked::unreserved() const {
  if (others.empty()) return resources;
  Resources rest = resources;
  for (const Slice& slice : others) {
    if (!slice.revocable) rest -= slice.resources;
  }
  return rest;
}

ResourceVector Booked::estimated() const {
  ResourceVector sum;
  for (const Slice& slice : others) {
    if (slice.revocable) sum += slice.resources.amounts;
  }
  return sum;
}

size_t TaskTermsHash::operator()(const TaskTerms& terms) const {
  const ResourceVector& amounts = terms.booked.resources.amounts;
  return hashed(terms.ask, terms.claim.role, terms.claim.priority, terms.claim.gang,
                amounts[ResourceKind::kCpus], amounts[ResourceKind::kMem],
                amounts[ResourceKind::kDisk], amounts[ResourceKind::kGpus]);
}

namespace {

// Up to `wanted` out of `free`. For GPUs, the devices that a task would take; if there are not
// enough: whole devices if whole ones are wanted, and none if a part of a device is wanted.
Resources part_of(const Resources& free, const ResourceVector& wanted) {
  if (fits(wanted, free)) return carve(wanted, free);
  Resources part{.amounts = free.amounts.min(wanted)};
  int64_t left = part.amounts[ResourceKind::kGpus];
  part.amounts[ResourceKind::kGpus] = 0;
  for (const GpuDevice& device : free.gpus) {
    if (device.milli < kWholeDevice || left < kWholeDevice) continue;
    part.gpus.push_back(device);
    part.amounts[ResourceKind::kGpus] += device.milli;
    left -= device.milli;
  }
  return part;
}

}  // namespace

Resources Books::free_and_kept() const {
  Resources all = free;
  all += kept;
  return all;
}

void Books::compute_free() {
  kept = {};
  if (parts.empty()) {
    free = what_is_free(total, allocated, offered);
    if (keep.is_zero()) return;
    kept = part_of(free, (keep - lent).max(ResourceVector()));
    free -= kept;
    return;
  }
  // A shortage reduces the unreserved part first.
  Shortage missing;
  std::vector<Resources*> there = {&free};
  free = missing.add(total, allocated, offered);
  for (Part& part : parts) {
    if (part.revocable) {
      part.free = what_is_free(part.total, part.allocated, part.offered);
      continue;
    }
    part.free = missing.add(part.total, part.allocated, part.offered);
    there.push_back(&part.free);
  }
  for (Resources* one : there) missing.take_devices_from(*one);
  for (Resources* one : there) missing.take_amounts_from(*one);
}

std::vector<Slice> Books::usable(const RoleName& role) const {
  std::vector<Slice> slices;
  for (const Part& part : parts) {
    if (part.revocable || !is_within(role, part.reserved_for)) continue;
    add_slice(slices, {.resources = part.free, .reserved_for = part.reserved_for});
  }
  add_slice(slices, {.resources = free});
  return slices;
}

std::vector<Slice> Books::usable_total(const RoleName& role) const {
  std::vector<Slice> slices;
  for (const Part& part : parts) {
    if (part.revocable || !is_within(role, part.reserved_for)) continue;
    add_slice(slices, {.resources = part.total, .reserved_for = part.reserved_for});
  }
  add_slice(slices, {.resources = total});
  return slices;
}

ResourceVector Books::counted_total() const {
  ResourceVector sum = total.amounts;
  for (const Part& part : parts) {
    if (!part.revocable) sum += part.total.amounts;
  }
  return sum;
}

ResourceVector Books::counted_allocated() const {
  ResourceVector sum = allocated.amounts();
  for (const Part& part : parts) {
    if (!part.revocable) sum += part.allocated.amounts();
  }
  return sum;
}

ResourceVector Books::counted_offered() const {
  ResourceVector sum = offered.amounts();
  for (const Part& part : parts) {
    if (!part.revocable) sum += part.offered.amounts();
  }
  return sum;
}

Resources Books::counted_free() const {
  Resources sum = free;
  for (const Part& part : parts) {
    if (!part.revocable) sum += part.free;
  }
  return sum;
}

int64_t Books::counted_free_of(ResourceKind kind) const {
  int64_t sum = free.amounts[kind];
  for (const Part& part : parts) {
    if (!part.revocable) sum += part.free.amounts[kind];
  }
  return sum;
}

int64_t Books::counted_total_of(ResourceKind kind) const {
  int64_t sum = total.amounts[kind];
  for (const Part& part : parts) {
    if (!part.revocable) sum += part.total.amounts[kind];
  }
  return sum;
}

const Part* Books::estimate() const {
  return !parts.empty() && parts.back().revocable ? &parts.back() : nullptr;
}

Part* Books::estimate() {
  return !parts.empty() && parts.back().revocable ? &parts.back() : nullptr;
}

Part& Books::part(const RoleName& reserved_for, bool revocable) {
  const auto at = std::lower_bound(parts.begin(), parts.end(), std::pair(revocable, reserved_for),
                                   [](const Part& part, const auto& wanted) {
                                     return std::tie(part.revocable, part.reserved_for) <
                                            std::tie(wanted.first, wanted.second);
                                   });
  if (at != parts.end() && at->revocable == revocable && at->reserved_for == reserved_for) {
    return *at;
  }
  return *parts.insert(at, Part{.reserved_for = reserved_for, .revocable = revocable});
}

void Books::forget_empty_parts() {
  std::erase_if(parts, [](const Part& part) {
    return part.total.is_zero() && part.allocated.is_zero() && part.offered.is_zero();
  });
}

bool Books::is_offered_beyond_total() const {
  // GPUs of one state are compared by device: a task may hold a device that the state no longer
  // has.
  const auto beyond = [](const Resources& there, const Held& held, const Held& offers,
                         bool is_all = true) {
    for (const ResourceKind kind : kResourceKinds) {
      if (kind == ResourceKind::kGpus && !is_all) continue;
      const int64_t wanted = offers.amounts()[kind];
      if (wanted > 0 && wanted + held.amounts()[kind] > there.amounts[kind]) return true;
    }
    for (const auto& [index, milli] : offers.devices()) {
      const auto device = std::find_if(there.gpus.begin(), there.gpus.end(),
                                       [&, i = index](const GpuDevice& d) { return d.index == i; });
      const int64_t has = device == there.gpus.end() ? 0 : device->milli;
      if (milli > 0 && milli + held.of_device(index) > has) return true;
    }
    return false;
  };
  if (parts.empty()) return beyond(total, allocated, offered);
  Resources all = total;
  Held all_allocated = allocated;
  Held all_offered = offered;
  bool one_is = beyond(total, allocated, offered, false);
  for (const Part& part : parts) {
    one_is = one_is || beyond(part.total, part.allocated, part.offered, false);
    if (part.revocable) continue;
    all += part.total;
    all_allocated.add(part.allocated);
    all_offered.add(part.offered);
  }
  return one_is || beyond(all, all_allocated, all_offered);
}

Booked Books::book(const std::vector<Slice>& slices) const {
  Booked booked;
  for (const Slice& slice : slices) {
    if (!slice.revocable && slice.reserved_for.empty() && booked.resources.is_zero()) {
      booked.resources.amounts = slice.resources.amounts;
      booked.resources.gpus = slice.resources.gpus;
      continue;
    }
    Slice plain{.resources = {.amounts = slice.resources.amounts, .gpus = slice.resources.gpus},
                .reserved_for = slice.reserved_for};
    // An agent that estimates lends nothing else, so all revocable use there is its estimate.
    if (slice.revocable && slice.reserved_for.empty()) {
      plain.revocable = estimate() != nullptr;
      if (!plain.revocable) booked.lent = true;
    }
    if (!plain.revocable) booked.resources += plain.resources;
    if (plain.revocable || !plain.reserved_for.empty()) add_slice(booked.others, plain);
  }
  return booked;
}

void Books::change(const Booked& booked, Held Books::*unreserved, Held Part::*other, bool add) {
  const auto apply = [&](Held& held, const Resources& resources) {
    if (add) {
      held.add(resources);
    } else {
      held.remove(resources);
    }
  };
  if (booked.lent)
    lent += add ? booked.resources.amounts : ResourceVector() - booked.resources.amounts;
  if (booked.others.empty()) return apply(this->*unreserved, booked.resources);
  apply(this->*unreserved, booked.unreserved());
  for (const Slice& slice : booked.others) {
    apply(part(slice.reserved_for, slice.revocable).*other, slice.resources);
  }
  if (!add) forget_empty_parts();
}

void Books::allocate(const Booked& booked) {
  change(booked, &Books::allocated, &Part::allocated, true);
}
void Books::end_allocated(const Booked& booked) {
  change(booked, &Books::allocated, &Part::allocated, false);
}
void Books::offer(const Booked& booked) { change(booked, &Books::offered, &Part::offered, true); }
void Books::end_offered(const Booked& booked) {
  change(booked, &Books::offered, &Part::offered, false);
}

int64_t count_that_fits(const ResourceVector& shape, const Books& books, const RoleName& role,
                        int64_t count_max) {
  if (books.parts.empty()) return count_that_fits(shape, books.free, count_max);
  std::vector<Slice> slices = books.usable(role);
  int64_t count = 0;
  while (count < count_max && take(shape, slices)) ++count;
  return count;
}

bool fits(const ResourceVector& shape, const Books& books, const RoleName& role) {
  if (books.parts.empty()) return fits(shape, books.free);
  std::vector<Slice> slices = books.usable(role);
  return take(shape, slices).has_value();
}

void Agent::count_free_ports() {
  free_ports = ports;
  for (const auto& [ref, task] : tasks) {
    if (!task.ports->empty()) free_ports -= *task.ports;
  }
  free_port_count = free_ports.size();
}

void Agent::note_allocated(const Framework& framework, const ResourceVector& more) {
  const auto at = std::find_if(allocated_to.begin(), allocated_to.end(),
                               [&](const Use& use) { return use.framework == &framework; });
  if (at == allocated_to.end()) {
    allocated_to.push_back({&framework, more});
    return;
  }
  at->amounts += more;
  if (!at->amounts.is_zero()) return;
  *at = allocated_to.back();
  allocated_to.pop_back();
}

const std::string& value_of(const AgentState& agent, const std::string& attribute) {
  static const std::string kNone;
  if (attribute == "host") return agent.id.str();
  const auto at = agent.attributes.find(attribute);
  return at == agent.attributes.end() ? kNone : at->second;
}

}  // namespace proffer::fair
