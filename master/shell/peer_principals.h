#pragma once

// On whose behalf each connection of a master acts: the user that the kernel names, or what the
// registry says of its key. Looked up once, with the first frame, and kept until the connection or
// the key has ended.

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
  // What its connection says of a peer.
  struct Origin {
    std::optional<PeerProcess> process = {};  // of one that came by a Unix socket
    PublicKey key = {};                       // of one that came by CURVE
    std::string host = {};                    // by TCP: its address, numeric
  };
  struct Sources {
    std::function<Origin(PeerId)> origin_of = {};
    // nullptr: the registry does not know it, or this master does not lead.
    std::function<const KnownKey*(const PublicKey&)> find_key = {};
    std::function<Time()> now = {};
  };

  explicit PeerPrincipals(Sources sources) : sources_(std::move(sources)) {}

  // Other machines are served by this key of the master's own; without one, TCP peers from this
  // machine are taken for the user of this process.
  void serve_by(const PublicKey& own) { own_key_ = own; }

  // With the groups that the user had when the connection began, or a second before. nullptr if the
  // kernel names no user (a peer that speaks an old ZMTP has no address), and if its key is not
  // known, or not any more.
  PrincipalPtr of(PeerId peer);
  // Whether of() was asked for it, and it was not forgotten.
  bool knows(PeerId peer) const { return known_.contains(peer); }
  void forget(PeerId peer) { known_.erase(peer); }
  // Forgets and returns those that came with this key. O(connections).
  std::vector<PeerId> forget_key(const PublicKey& key);

 private:
  PrincipalPtr look_up(PeerId peer);
  PrincipalPtr of_key(const Origin& origin) const;
  PrincipalPtr taken_for_own();

  Sources sources_;
  PublicKey own_key_ = {};
  UserCache users_;
  std::unordered_map<PeerId, PrincipalPtr> known_ = {};
  PrincipalPtr own_ = {};       // this process's user
  PrincipalPtr unproven_ = {};  // a peer that is taken for it
};

}  // namespace proffer::master
