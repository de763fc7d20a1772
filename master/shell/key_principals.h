#pragma once

// The principals of keys on this machine, and the addresses at which other machines reach this
// master.

#include <string>
#include <vector>

#include "common/keys.h"
#include "common/principal.h"
#include "net/address.h"

namespace proffer::master {

// The principal of a peer with this key. For a user's key, it equals the principal that the kernel
// gives for the user's name: with the groups of this machine's user database, or without groups and
// with kNoUid if the name is unknown. May read files.
Principal principal_of(const KnownKey& key);

// host:port values for join tokens: the named ones of the operator, or else the bound address. If
// that is the wildcard address, the addresses of this machine, with loopback only if there are no
// others. At most kAddressesMax.
std::vector<std::string> reachable_at(const Address& bound, const std::vector<Address>& named);
inline constexpr size_t kAddressesMax = 8;

}  // namespace proffer::master
