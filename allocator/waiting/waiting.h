#pragma once

// All waiting: claims of asks that starve, room below limits, and reclaims of what was lent.
// Together where one event concerns several of them.

#include "allocator/waiting/claims.h"
#include "allocator/waiting/gate.h"
#include "allocator/waiting/headroom.h"
#include "allocator/waiting/lending.h"
#include "allocator/waiting/reclaims.h"

namespace proffer::fair {

class Waiting {
 public:
  explicit Waiting(Cluster& cluster)
      : gate(cluster),
        claims(cluster),
        headroom(cluster, claims),
        reclaims(cluster, claims),
        cluster_(cluster) {}
  Waiting(const Waiting&) = delete;

  // The ask is met, gone, or not wanted for now. Whether an agent was set aside for it.
  bool stop(AskEntry& ask);
  // The ask is not declared any more.
  void forget(AskEntry& ask);
  // As Cluster::imply(), whatever is set aside for the implied ask.
  void imply(Leaf& leaf, const Cluster::Implied& implied);
  // An open offer to the leaf has expired: that is an answer that takes nothing.
  void note_open_expiry(Leaf& leaf);
  // The agent is not there for the asks that it is set aside for.
  void leave(Agent& agent);
  // The framework does not want the agent: what it does not want, it does not wait for.
  void refuse(const Framework& framework, Agent& agent);
  std::optional<Time> next_deadline() const;
  void check(std::vector<Violation>& found) const;

  Gate gate;
  Claims claims;
  Headroom headroom;
  Reclaims reclaims;

 private:
  Cluster& cluster_;
};

}  // namespace proffer::fair
