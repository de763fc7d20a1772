#pragma once

// What the keys of peers mean on this machine, and where other machines find this one.

#include <string>
#include <vector>

#include "common/keys.h"
#include "common/principal.h"
#include "net/address.h"

namespace proffer::master {

// The principal of a peer that came with this key. Of a user's key, the same value as the kernel's
// word gives, by the user's name: with the groups that this machine's user database says, or none
// and kNoUid if it does not know the name. May read files.
Principal principal_of(const KnownKey& key);

// As host:port, for join tokens: those that an operator named, else where the socket is bound; of
// one that is bound to all addresses, those of this machine, the loopback ones only if there are no
// others. At most kAddressesMax.
std::vector<std::string> reachable_at(const Address& bound, const std::vector<Address>& named);
inline constexpr size_t kAddressesMax = 8;

}  // namespace proffer::master
