#pragma once

// The principal of each connection of a master: the user that the kernel reports, or the owner of
// its key in the registry. It is looked up once, with the first frame, and kept until the
// connection or the key ends.

#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "common/ids.h"
#include "common/keys.h"
#include "common/principal.h"
#include "common/time.h"
#include "net/peer_process.h"
#include "net/users.h"

namespace proffer::master {

class PeerPrincipals {
 public:
  // The facts that a connection gives about its peer.
  struct Origin {
    std::optional<PeerProcess> process = {};  // for a Unix socket
    PublicKey key = {};                       // for CURVE
    std::string host = {};                    // for TCP: the numeric address
  };
  struct Sources {
    std::function<Origin(PeerId)> origin_of = {};
    // nullptr: the key is not in the registry, or this master does not lead.
    std::function<const KnownKey*(const PublicKey&)> find_key = {};
    std::function<Time()> now = {};
  };

  explicit PeerPrincipals(Sources sources) : sources_(std::move(sources)) {}

  // Other machines use this key to reach the master. Without a key, TCP peers from this machine
  // count as the user of this process.
  void serve_by(const PublicKey& own) { own_key_ = own; }

  // Has the groups of the user at the begin of the connection, or a second earlier. nullptr if the
  // kernel reports no user (a peer with an old ZMTP has no address), or if the key is unknown or
  // revoked.
  PrincipalPtr of(PeerId peer);
  // Whether of() was called for the peer, and the result was not forgotten.
  bool knows(PeerId peer) const { return known_.contains(peer); }
  void forget(PeerId peer) { known_.erase(peer); }
  // Forgets and returns the peers with this key. O(connections).
  std::vector<PeerId> forget_key(const PublicKey& key);

 private:
  PrincipalPtr look_up(PeerId peer);
  PrincipalPtr of_key(const Origin& origin) const;
  PrincipalPtr taken_for_own();

  Sources sources_;
  PublicKey own_key_ = {};
  UserCache users_;
  std::unordered_map<PeerId, PrincipalPtr> known_ = {};
  PrincipalPtr own_ = {};       // the user of this process
  PrincipalPtr unproven_ = {};  // a peer that counts as that user without proof
};

}  // namespace proffer::master
