#pragma once

// What a decision leaves behind, for violations() alone: valid until the next event.

#include <vector>

#include "allocator/cluster/cluster.h"
#include "allocator/waiting/gate.h"

namespace proffer::fair {

struct DecisionRecord {
  // How the last task of a batch, or an open piece, was given.
  struct Given {
    const Leaf* leaf = nullptr;
    const Agent* agent = nullptr;
    std::vector<Slice> last = {};  // that task's
    Rank before = {};              // of the leaf, before that task
    bool promised = false;         // a guarantee was the reason
    bool from_claim = false;       // or the place of a task of the same ask
    bool owed = false;             // it was within what the ask is entitled to (waiting/gate.h)
    ResourceVector keep = {};      // what was kept on the agent for a claim that may have ended
  };
  std::vector<Given> given = {};
};

// The laws of a decision: no leaf got resources that a leaf before it could have used, limits hold,
// and no permitted ask is left that fits the free resources outside claims.
void check_decision(const Cluster& cluster, const Gate& gate, const DecisionRecord& record,
                    std::vector<Violation>& found);

}  // namespace proffer::fair
