#pragma once

// The open connections, and as what each has registered.

#include <deque>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "common/ids.h"
#include "common/indexed_map.h"
#include "common/limits.h"
#include "common/principal.h"
#include "proto/channel.h"
#include "proto/messages.h"

namespace proffer::master {

enum class PeerKind : uint8_t {
  kNew,          // has not registered
  kRegistering,  // an agent; further parts of its registration follow
  kAgent,
  kScheduler,
};

// An agent's registration, which comes in parts.
struct Registration {
  proto::RegisterAgent first = {};
  std::vector<proto::AgentTask> tasks = {};
  uint32_t messages_left = 0;
};

struct Peer {
  PeerId id = {};
  PeerKind kind = PeerKind::kNew;
  AgentId agent = {};          // if it is an agent
  FrameworkId framework = {};  // if it is a scheduler
  PrincipalPtr by = {};        // from its first frame; it does not change later
  proto::Channel channel = {};
  Time heard_at = {};
  Time said_at = {};
  std::unique_ptr<Registration> registration = {};  // while registering
};

class Sessions {
 public:
  Peer* find(PeerId peer);
  const Peer* find(PeerId peer) const;
  // A new connection; nullptr if there are kPeersMax.
  Peer* open(PeerId peer, Time now);
  // The connection has ended. For a while, late frames on it are recognized.
  void close(PeerId peer);
  bool was_closed(PeerId peer) const { return closed_.contains(peer); }

  size_t size() const { return peers_.size(); }
  const std::map<PeerId, Peer>& all() const { return peers_.map(); }

 private:
  // Needed only to distinguish late frames of a closed connection from the first frames of a new
  // one.
  static constexpr size_t kClosedKept = 4'096;

  IndexedMap<PeerId, Peer> peers_;
  std::set<PeerId> closed_;
  std::deque<PeerId> closed_order_;
};

}  // namespace proffer::master
