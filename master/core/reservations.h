#pragma once

// The slices of an agent: those that it declares, split by the reservations made since.

#include <map>
#include <vector>

#include "common/offers.h"

namespace proffer::master {

// The reserved amounts per role, without ports; never empty.
using Reserved = std::map<RoleName, Resources>;

// Splits the unreserved part of `own` by `reserved`. The sum stays the same, with one slice per
// reservation state. If there is not enough, the roles that come first in order get their part, and
// the missing amounts are not reserved.
std::vector<Slice> with_reserved(const std::vector<Slice>& own, const Reserved& reserved);

// The smaller amount of each kind and of each gpu device; ports are ignored.
Resources common_part(const Resources& a, const Resources& b);

// The part of slices in this state, without ports.
Resources part_of(const std::vector<Slice>& slices, const RoleName& reserved_for,
                  bool revocable = false);

}  // namespace proffer::master
