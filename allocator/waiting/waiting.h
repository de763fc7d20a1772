#pragma once

// All waiting: claims of asks that starve, room below limits, reclaims, and rescinds of unanswered
// offers. This class handles events that concern several of them.

#include "allocator/waiting/claims.h"
#include "allocator/waiting/gate.h"
#include "allocator/waiting/headroom.h"
#include "allocator/waiting/lending.h"
#include "allocator/waiting/reclaims.h"
#include "allocator/waiting/unanswered.h"
#include "allocator/waiting/withheld.h"

namespace proffer::fair {

class Waiting {
 public:
  explicit Waiting(Cluster& cluster)
      : gate(cluster),
        claims(cluster),
        headroom(cluster, claims),
        withheld(cluster),
        reclaims(cluster, claims, withheld),
        unanswered(cluster),
        cluster_(cluster) {}
  Waiting(const Waiting&) = delete;

  // The ask is met, gone, or not wanted now. Returns whether an agent was set aside for it.
  bool stop(AskEntry& ask);
  // The ask is no longer declared.
  void forget(AskEntry& ask);
  // Like Cluster::imply(), but first ends what is set aside for the implied ask.
  void imply(Leaf& leaf, const Cluster::Implied& implied);
  // An open offer to the leaf has expired: this counts as an answer that takes nothing.
  void note_open_expiry(Leaf& leaf);
  // The agent is no longer available for the ask for which it is set aside.
  void leave(Agent& agent);
  // The framework refuses the agent: it no longer waits for the agent's resources.
  void refuse(const Framework& framework, Agent& agent);
  std::optional<Time> next_deadline() const;
  void check(std::vector<Violation>& found) const;

  Gate gate;
  Claims claims;
  Headroom headroom;
  Withheld withheld;
  Reclaims reclaims;
  Unanswered unanswered;

 private:
  Cluster& cluster_;
};

}  // namespace proffer::fair
