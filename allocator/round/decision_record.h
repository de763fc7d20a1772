#pragma once

// The record of a decision, only for violations(); valid until the next event.

#include <vector>

#include "allocator/cluster/cluster.h"
#include "allocator/waiting/waiting.h"

namespace proffer::fair {

struct DecisionRecord {
  // The conditions under which the last task of a batch, or an open piece, was granted.
  struct Given {
    const Leaf* leaf = nullptr;
    const Agent* agent = nullptr;
    std::vector<Slice> last = {};  // the slices of that task
    Rank before = {};              // the leaf's rank before that task
    bool promised = false;         // the turn came from a guarantee
    bool from_claim = false;       // from a claim, or from the place of a task of the same ask
    bool owed = false;             // the task was owed (waiting/gate.h)
    ResourceVector keep = {};      // the amounts kept on the agent for a claim that may have ended
    std::vector<AgentState::Withheld> withheld = {};  // on the agent, at that time
  };
  std::vector<Given> given = {};
};

// The laws of a decision: no leaf got resources that a leaf before it could have used, limits hold,
// and no permitted ask is left that fits the free resources outside claims.
void check_decision(const Cluster& cluster, const Waiting& waiting, const DecisionRecord& record,
                    std::vector<Violation>& found);

}  // namespace proffer::fair
