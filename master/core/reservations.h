#pragma once

// What of an agent is whose: the slices that it brings, with what was reserved of them since.

#include <map>
#include <vector>

#include "common/offers.h"

namespace proffer::master {

// By role, without ports; never empty.
using Reserved = std::map<RoleName, Resources>;

// The slices of an agent that brings `own`, of whose unreserved part this is reserved: together the
// same, one of each reservation state. Of what is not there (any more) nothing is reserved, the
// roles in their order.
std::vector<Slice> with_reserved(const std::vector<Slice>& own, const Reserved& reserved);

// What both have, amounts by kind and gpus by device; ports are ignored.
Resources common_part(const Resources& a, const Resources& b);

// The part of slices in this state, without ports.
Resources part_of(const std::vector<Slice>& slices, const RoleName& reserved_for,
                  bool revocable = false);

}  // namespace proffer::master
