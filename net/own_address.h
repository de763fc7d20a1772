#pragma once

// The address at which other machines reach this one.

#include <optional>
#include <string>

#include "net/address.h"

namespace proffer {

// The address of the interface towards `other`, numeric; none if it is unreachable, or its name is
// unknown. May block to resolve the name. Sends nothing.
std::optional<std::string> own_address_towards(const Address& other);

}  // namespace proffer
