#pragma once

// Prevents starvation. An ask that has waited for claim_after and whose leaf is first by share gets
// a claim: on one agent, or for a gang on as many agents as it needs, freed resources are kept for
// the ask until it fits. (On an agent with reservations all freed resources are kept.) Begin with
// assign().
//
// A claim gets all of its agents at once, and each agent has at most one claim, so a later claim
// takes nothing from an earlier one: two gangs that could each hold half of their agents do not
// block each other. A leaf has one claim. Kept resources are lent meanwhile: lending.h.
//
// Tasks that never end must not decide which ask is served, nor keep resources from others. So a
// claim is on agents where tasks are expected to end (rules/prospect.h). If there are not enough of
// these, the claim keeps only the resources that tasks of unknown end would have to leave, and the
// rest after they have left; tasks that never end count as part of the machine. If nothing becomes
// free on an agent of a claim for claim_after, nothing is expected to, and the agent does not yet
// suffice, then it is replaced by another, or the claim is given up. The agent gets no claim for
// nine times as long, and the next claim of the ask is kept for twice as long. So an ask is served
// within some multiple of the longest task, and an agent where nothing ends is claimed in vain for
// a tenth of the time.

#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "allocator/cluster/ask_table.h"
#include "allocator/cluster/cluster.h"

namespace proffer::fair {

class Gate;
class Reclaims;

class Claims {
 public:
  explicit Claims(Cluster& cluster) : cluster_(cluster) {}

  // --- questions --------------------------------------------------------------------------------
  bool has_claim(const AskEntry& ask) const { return !waits_[ask].claim.empty(); }
  // The ask has waited for claim_after, or its last task came from a claim.
  bool is_due(const AskEntry& ask) const { return waits_[ask].due; }
  // The ask has fitted nowhere since it last got resources.
  bool is_waiting(const AskEntry& ask) const { return is_due(ask) || waits_[ask].timer; }
  // The ask's claim was given up, or waits for tasks of unknown end.
  bool is_stuck(const AskEntry& ask) const { return waits_[ask].is_stuck; }
  std::vector<Agent*> agents_of(const AskEntry& ask) const;
  // When the claim will be complete if tasks run as long as declared (would_fit_at). Empty: never,
  // or there is no claim. O(tasks on its agents).
  std::optional<Time> complete_at(const AskEntry& ask, Time now) const;
  // The leaf's ask that has a claim, or nullptr: at most one.
  AskEntry* claimed_in(const Leaf& leaf) const;
  // Asks with a claim, earliest first.
  const std::map<uint64_t, AskEntry*>& all() const { return claimed_; }
  std::optional<Time> next_deadline() const;

  // --- changes ----------------------------------------------------------------------------------
  // Leaves with a due ask, with their rank when they were first in a decision.
  using FirstWithDue = std::vector<std::pair<Leaf*, Rank>>;
  // Called at the end of a decision. Goes through the leaves by share, until one comes first that
  // could be served without a claim, or already has one: leaves with a larger share wait for it.
  // Each of several equal leaves may get a claim.
  void assign(const FirstWithDue& first_with_due, const Reclaims& reclaims, Gate& gate, Time now);
  // Called at the beginning of a decision: asks that have waited long enough become due; claims end
  // or move.
  void review(Time now);
  // The asks of the leaf fit nowhere now.
  void start_waiting(Leaf& leaf, Time now);
  // The ask got resources; unless it stays due, its wait starts anew. Returns whether it had a
  // claim.
  bool note_given(AskEntry& ask, bool stays_due, Time now);
  // The ask is met, gone, or not wanted now. Returns whether it had a claim.
  bool stop_waiting(AskEntry& ask);
  void drop(AskEntry& ask);
  void forget(const AskEntry& ask) { waits_.forget(ask); }

  void check(std::vector<Violation>& found) const;

 private:
  // One agent of a claim.
  struct Claimed {
    Agent* agent = nullptr;
    int64_t tasks = 0;         // of the ask, that will run there
    ResourceVector keep = {};  // zero: everything that becomes free there
    uint64_t growths = 0;      // of the agent, at the last review
  };
  // The agents for the tasks of an ask; empty if no agents suit.
  struct Plan {
    std::vector<Claimed> on = {};
    bool is_expected = false;           // all tasks that are in the way are expected to end
    std::optional<Time> again_at = {};  // without agents: when there may be some
  };
  // The waiting state of an ask, before and with a claim.
  struct Wait {
    Time since = {};
    std::optional<Time> timer = {};  // as in the queue of deadlines; may be too early
    bool due = false;
    std::vector<Claimed> claim = {};  // usually one
    uint64_t order = 0;               // earlier claims first
    bool is_expected = false;         // as in the plan
    bool is_stuck = false;
    Duration hold = {};  // how long the claim is kept if nothing ends; zero: the initial time
    uint64_t tried = 0;  // version of the claimable state in which no agent was found for it
  };
  struct Timer {
    Time at = {};
    AskEntry* ask = nullptr;
    bool operator<(const Timer& o) const;
  };

  AskEntry* claimable_ask(const Leaf& leaf, const Reclaims& reclaims, Gate& gate, Time now) const;
  bool may_be_served_later(const Leaf& leaf, Time now) const;
  Plan plan(const AskEntry& ask, const std::vector<Agent*>& kept, Time now) const;
  bool claim(AskEntry& ask, Time now);
  void hold_for(AskEntry& ask, const Plan& plan, uint64_t order, Time now);
  void give_up(AskEntry& ask, std::optional<Time> again_at);
  void fire_timers(Time now);
  void review_stuck(Time now);
  void review_claim(AskEntry& ask, Time now);
  bool has_progressed(const AskEntry& ask, const Claimed& claimed, Time now) const;
  Duration hold_of(const Wait& wait) const;
  void set_timer(AskEntry& ask, std::optional<Time> at);

  Cluster& cluster_;
  AskTable<Wait> waits_;
  std::set<Timer> timers_;
  std::set<AskEntry*> due_;  // without a claim; only counted and searched, never walked
  std::map<uint64_t, AskEntry*> claimed_;  // by order
  uint64_t claims_ = 0;
};

}  // namespace proffer::fair
