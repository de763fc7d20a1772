#include "master/shell/peer_principals.h"

#include <memory>
#include <utility>

#include <unistd.h>

#include "master/shell/key_principals.h"
#include "net/address.h"

namespace proffer::master {

PrincipalPtr PeerPrincipals::of(PeerId peer) {
  PrincipalPtr& known = known_[peer];
  if (known == nullptr) known = look_up(peer);
  return known;
}

PrincipalPtr PeerPrincipals::look_up(PeerId peer) {
  const Origin origin = sources_.origin_of(peer);
  if (!origin.key.empty()) return of_key(origin);
  if (origin.process) return users_.principal_of(origin.process->uid, sources_.now());
  // TCP peers without a key exist only with --insecure_tcp, and only from this machine.
  return own_key_.empty() && is_loopback(origin.host) ? taken_for_own() : nullptr;
}

PrincipalPtr PeerPrincipals::of_key(const Origin& origin) const {
  Principal principal{.user = "master", .uid = kNoUid, .key = origin.key, .is_master = true};
  if (origin.key != own_key_) {
    const KnownKey* const found = sources_.find_key(origin.key);
    if (found == nullptr) return nullptr;
    principal = principal_of(*found);
  }
  principal.host = origin.host;
  return std::make_shared<Principal>(std::move(principal));
}

PrincipalPtr PeerPrincipals::taken_for_own() {
  if (PrincipalPtr user = users_.principal_of(geteuid(), sources_.now()); user != own_) {
    own_ = std::move(user);
    auto peer_of_own = std::make_shared<Principal>(*own_);
    peer_of_own->is_unproven = true;
    unproven_ = std::move(peer_of_own);
  }
  return unproven_;
}

std::vector<PeerId> PeerPrincipals::forget_key(const PublicKey& key) {
  std::vector<PeerId> forgotten;
  for (const auto& [peer, by] : known_) {
    if (by != nullptr && by->key == key) forgotten.push_back(peer);
  }
  for (const PeerId peer : forgotten) known_.erase(peer);
  return forgotten;
}

}  // namespace proffer::master
