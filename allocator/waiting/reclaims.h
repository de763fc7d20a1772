#pragma once

// Takes lent resources back. A claimant is an ask that fits into no free resources, although an
// unmet guarantee (or, with reclaim=fair_share, its entitlement) covers it. If it would fit after
// some tasks above their entitlement end, these get notice, and the agent is kept for the claimant.
// Read reclaim() first; reclaim_plan.h and rules/victims.h choose the tasks.
//
// Why it does not flap: entitlements depend on demand, not on use, and a preempted task is wanted
// again. Where the two paths part in the role tree, the claimant's side stays within its
// entitlement, and the victim's side used more than its entitlement of a resource that the victim
// held. With the victim it would be above its entitlement again, so it has no claim to what was
// taken. Use above entitlements becomes smaller there; below, siblings may go on until it is
// smaller there too.

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "allocator/cluster/ask_table.h"
#include "allocator/cluster/cluster.h"
#include "allocator/waiting/reclaim_plan.h"
#include "allocator/waiting/spared.h"

namespace proffer::fair {

class Claims;
class Withheld;

// The reclaim on one agent for one ask: victims have notice, and the agent is kept for the ask.
struct Reclaim {
  AskEntry* ask = nullptr;
  int64_t tasks = 0;      // of the claimant that will fit there
  Time until = {};        // the end of the reclaim
  bool is_short = false;  // more tasks must get notice, when the limit on notices allows it
  bool waits = false;     // no task got notice: some end by themselves
};

class Reclaims {
 public:
  Reclaims(Cluster& cluster, Claims& claims, Withheld& withheld)
      : cluster_(cluster), claims_(claims), withheld_(withheld) {}

  // --- questions --------------------------------------------------------------------------------
  // Agents with victims for this ask; other asks may come first there.
  const AgentSet& agents_of(const AskEntry& ask) const { return cases_[ask].agents; }
  // The number of its tasks that will fit there.
  int64_t coming(const AskEntry& ask) const { return cases_[ask].coming; }
  // The resources that reclaims will bring to leaves at or below the node.
  ResourceVector awaited(const Node& node) const;
  // The reclaims on the agent, in order. The agent is kept for the first ask; each other ask waits
  // for those before it.
  const std::vector<Reclaim>& on(const Agent& agent) const;
  const Reclaim* find(const Agent& agent, const AskEntry& ask) const;
  // Whether the ask could use more than its victims will free.
  bool lacks_more(const AskEntry& ask) const;
  // Whether the ask needs further victims on one of its agents, which have no notice yet.
  bool is_short(const AskEntry& ask) const;
  // Whether the ask may wait for tasks that end by themselves. It did not do so in vain since it
  // was given something.
  bool may_wait(const AskEntry& ask) const { return !cases_[ask].waited_in_vain; }
  // Until when the ask may wait for younger tasks, to spare others: for the minimum runtime from
  // its first such wait, and not again within a minute after that.
  Time may_spare_until(const AskEntry& ask, Time now) const;
  // Whether tasks of the ask were preempted lately (spared.h).
  bool is_spared(const FrameworkId& framework, const AskName& ask, Time now) const {
    return spared_.is_spared(framework, ask, now);
  }
  // The ask did not use the resources that were reclaimed for it.
  bool is_refused(const AskEntry& ask) const { return cases_[ask].is_refused; }
  // Until when an ask that claims by its share alone waits for tasks that end by themselves.
  std::optional<Time> patient_until(const AskEntry& ask) const { return cases_[ask].patient_until; }
  // The time from which `count` victims may get notice.
  Time cap_open(int64_t count, Time now) const;
  std::optional<Time> next_deadline() const { return again_at_; }

  // --- changes ----------------------------------------------------------------------------------
  // Returns whether more can be given: a claim had to give way, or an ask now fits the resources
  // that are kept for it.
  bool reclaim(Time now);
  // Called at the beginning of a decision, with the entitlements of the last one. An ask that was
  // at its entitlement, and fell below it because its tasks ended, is patient for a while.
  void note_ends(Time now);
  // Likewise: ends the reclaims for which no claimant waits any more.
  void end_idle(Time now);
  // The claimant has been given `count` tasks there. Returns whether the agent is no longer kept
  // for it.
  bool note_given(AskEntry& ask, Agent& agent, int64_t count);
  // The ask has been given tasks, there or elsewhere: it may wait again.
  void note_served(const AskEntry& ask) { cases_[ask].waited_in_vain = false; }
  // Notes whether the ask uses the resources that were reclaimed for it. If not, nothing more is
  // reclaimed for it until it is declared anew.
  void note_answer(const AskEntry& ask, int64_t offered, int64_t launched);
  // The same for an answer to an open offer. A framework may refuse several pieces before its first
  // launch, since the size of its tasks is a guess.
  void note_open_answer(const AskEntry& implied, int64_t launched);
  // The framework refused a piece of the agent as too little. If its larger guess may be reclaimed,
  // the agent is kept, and the next decision reclaims the rest of the guess there.
  void grow(Leaf& leaf, Agent& agent, Time now);
  // The ask no longer waits for anything. Returns whether it did.
  bool stop(AskEntry& ask);
  // The agent is no longer available to its claimants.
  void end_on(Agent& agent);
  void forget(const AskEntry& ask) { cases_.forget(ask); }

  void check(std::vector<Violation>& found) const;

 private:
  // The reclaims for one ask, and their outcome.
  struct Case {
    AgentSet agents = {};
    int64_t coming = 0;
    uint64_t seen = 0;  // version of the state in which no plan was found; 0: none
    Time after = {};    // no new search before this
    std::optional<Time> patient_until = {};
    std::optional<Time> ripe_at = {};  // when a task is old enough to get notice
    bool is_on_trial = false;          // it was given reclaimed resources and has not answered
    bool is_refused = false;
    bool waited_in_vain = false;  // for tasks that did not end by themselves
    std::optional<Time> may_spare_until = {};
    int64_t refused_pieces = 0;  // answers to reclaimed open offers since the last launch
    int64_t launched = 0;        // tasks from open offers since it last wanted none
  };
  struct Claimant {
    AskEntry* ask = nullptr;
    Right right = {};
    Rank rank = {};
    bool comes_before(const Claimant& o) const;
  };

  // Guesses a task for each framework with open offers that may reclaim and has not launched any.
  void guess_first_tasks();
  static bool is_guess(const AskEntry& ask);
  std::vector<Claimant> claimants(Time now);
  // The leaves that may have a right to reclaim.
  void visit_claimants(const std::function<void(Leaf&)>& visit) const;
  std::optional<Claimant> claimant(AskEntry& ask) const;
  bool is_due(const AskEntry& ask, Time now) const;
  void carry_out(AskEntry& ask, const Right& right, const ReclaimPlan& plan, int64_t most,
                 Time now);
  void reclaim_eagerly(const std::vector<Claimant>& waiting, Time now);
  int64_t revokes_most() const;
  int64_t revokes_left(Time now);
  Time revokes_open(int64_t count, Time now) const;
  void look_again_at(Time at);
  void set_aside(AskEntry& ask, Agent& agent, int64_t tasks, Time until);
  Reclaim& at(Agent& agent, const AskEntry& ask);
  void await(Agent& agent, AskEntry& ask, int64_t tasks);
  void end(Agent& agent, AskEntry& ask);

  void check_victim(const Agent& agent, const TaskRef& task, const AskEntry& claimant, Time now);
  void check_set_aside(std::vector<Violation>& found) const;
  void check_sums(std::vector<Violation>& found) const;

  Cluster& cluster_;
  Claims& claims_;
  Withheld& withheld_;
  AskTable<Case> cases_;
  Spared spared_;
  std::map<Agent*, std::vector<Reclaim>, AgentById> reclaims_;  // none is empty
  std::unordered_map<const Node*, ResourceVector> awaited_;     // looked up only; none is zero
  std::deque<Time> notices_;                                    // of the last minute
  Time cap_wait_until_;                                         // no notices before this
  std::optional<Time> again_at_;                                // time of the next search
  std::vector<Violation> wrong_victims_;                        // of the last decision
};

}  // namespace proffer::fair
