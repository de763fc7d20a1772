#pragma once

// Rescinds offers that stay unanswered while a demand below its share waits for their resources.
//
//   * The *demand* is an ask, declared or implied, or a framework with open offers that has not
//     answered yet. It is below its share if its leaf, and each role above it up to the one that
//     also contains the holder, is below its entitlement by a task, rounded; or if the leaf has
//     nothing at all.
//   * The *holder* is the leaf with the offer. Its patience (cluster/patience.h) has ended, and it
//     is above its entitlement, as is each role above it up to the common one. So offers within the
//     share of their framework stay until their lease ends.
//   * Only as many offers are rescinded as the demand needs, oldest first, and only if it then
//     fits.
//
// The framework may be offered the same resources again at once, up to its share. If a rescind did
// not serve the demand, its leaf causes no other rescind for a while.

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "allocator/cluster/cluster.h"

namespace proffer::fair {

class Unanswered {
 public:
  explicit Unanswered(Cluster& cluster) : cluster_(cluster) {}

  // Called when all free resources have been given. Returns whether offers were rescinded: then
  // their resources must be given, and this must be called again. Without an offer that is due it
  // costs O(1); else, at most every 250 ms, O(nodes + offers of the holders above their share), and
  // a bounded number of looks at an agent.
  bool rescind(Time now);
  std::optional<Time> next_deadline() const;
  // Whether the leaf, which takes nothing of its offers, gets no probe of the agent for now: offers
  // of the agent were rescinded for a demand, and such leaves come first with the least share.
  bool is_withheld(const Leaf& leaf, const Agent& agent) const {
    return leaf.refuses && !unprobed_.empty() && unprobed_.count(agent.id) > 0;
  }
  // Called at the beginning of a decision.
  void let_time_pass(Time now);
  // Answers may be on the way that were not read yet: no rescinds before this time.
  void spare(Time until) { spared_until_ = until; }

 private:
  class Look;
  void note_vain(Time now);

  Cluster& cluster_;
  std::optional<Time> looked_at_;
  Time spared_until_ = {};
  bool is_postponed_ = false;  // an offer is due, and it is too early for the next look
  LeafId from_ = {};           // the leaf with which the next look begins
  // The leaves for which offers were rescinded, and the holders, with their use before that.
  std::vector<std::pair<LeafId, ResourceVector>> served_;
  std::map<LeafId, ResourceVector> holders_;
  std::map<AgentId, Time> unprobed_;  // see is_withheld(); until when
  // The leaves that were not served by a rescind, and until when they cause no other one.
  std::map<LeafId, Time> vain_until_;
};

}  // namespace proffer::fair
