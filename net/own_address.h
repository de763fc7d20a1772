#pragma once

// By which address other machines reach this one.

#include <optional>
#include <string>

#include "net/address.h"

namespace proffer {

// That of the interface over which `other` is reached, numeric; none if it is not reached, or its
// name is not known. May block while the name is looked up. Nothing is sent.
std::optional<std::string> own_address_towards(const Address& other);

}  // namespace proffer
