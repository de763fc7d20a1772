#pragma once

// Rivals of an ask for the resources that a change makes available: other asks that come before it
// in the order of a decision, and that could use some of them. If the order after the change is
// not known, the other ask counts as one that comes before.

#include <map>
#include <string>
#include <vector>

#include "allocator/rules/denial.h"
#include "allocator/waiting/gate.h"

namespace proffer::fair {

class Rivals {
 public:
  // The resources that become available, and the possible changes of the order.
  struct Change {
    std::vector<const AgentState*> more = {};  // agents with more free resources, after the change
    const Supposed* as_if = nullptr;           // uses and settings
    std::map<const AskEntry*, int64_t> ended = {};  // the number of ended tasks, by ask
    const Framework* only = nullptr;                // only this framework gets more
    bool entitles_anew = false;  // agents, settings or asks change, so entitlements do
    bool declares_anew = false;  // the ask is declared anew, without arrears
  };

  // O(asks).
  Rivals(const Cluster& cluster, const Gate& gate, const AskEntry& ask, Time now);

  // The rivals' frameworks, at most kRemedyEndsMax. O(asks * agents of the change).
  std::vector<std::string> before(const Change& change) const;

 private:
  View view_after(const Change& change) const;
  bool comes_before(const AskEntry& rival, const Change& change) const;
  bool is_owed(const AskEntry& ask, const Change& change) const;
  bool could_take(const AskEntry& rival, const Change& change) const;
  bool could_take(const AskEntry& rival, const AgentState& on, const Change& change) const;
  bool could_take_open(const Leaf& rival, const Change& change) const;

  const Cluster& cluster_;
  const Gate& gate_;
  const AskEntry& ask_;
  const Time now_;
  std::map<const AskEntry*, Denial> denied_ = {};  // before the change; looked up, never walked
};

}  // namespace proffer::fair
