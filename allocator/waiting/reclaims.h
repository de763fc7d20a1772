#pragma once

// What is lent comes back. A claimant is an ask that nothing free fits though an unmet guarantee
// covers it (or, with reclaim=fair_share, what it is entitled to). If it fits once some tasks
// above their entitlement end, these get notice, and the agent is set aside for it. Read reclaim()
// first; reclaim_plan.h and rules/victims.h choose the tasks.
//
// Why it does not flap: entitlements depend on demand, not on use, and a task that is ended is
// wanted again. Where the two paths part, the claimant's side stays within its
// entitlement, and the victim's used more than its own of something that the victim held: with the
// victim again it would be above again, so it has no claim to what was taken from it. What is held
// above entitlements becomes less there; below, siblings may go on until it is less there too.

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "allocator/cluster/ask_table.h"
#include "allocator/cluster/cluster.h"
#include "allocator/waiting/reclaim_plan.h"

namespace proffer::fair {

class Claims;

// What was told to end on an agent for an ask, for which the agent is set aside until then.
struct Reclaim {
  AskEntry* ask = nullptr;
  int64_t tasks = 0;      // of the claimant that will fit there
  Time until = {};        // then it is nobody's
  bool is_short = false;  // more must be told to end, when more may
};

class Reclaims {
 public:
  Reclaims(Cluster& cluster, Claims& claims) : cluster_(cluster), claims_(claims) {}

  // --- questions --------------------------------------------------------------------------------
  // Agents on which tasks were told to end for it; it may be behind others there.
  const AgentSet& agents_of(const AskEntry& ask) const { return cases_[ask].agents; }
  // How many tasks of it will fit there.
  int64_t coming(const AskEntry& ask) const { return cases_[ask].coming; }
  // Of the nodes on its way up, what will come to those below.
  ResourceVector awaited(const Node& node) const;
  // The asks that wait for something on the agent, in their order. It is set aside for the first;
  // each waits for those before it.
  const std::vector<Reclaim>& on(const Agent& agent) const;
  const Reclaim* find(const Agent& agent, const AskEntry& ask) const;
  // Whether it lacks something beyond what was told to end for it, and would use it.
  bool lacks_more(const AskEntry& ask) const;
  // Whether not all that it needs on one of its agents has been told to end.
  bool is_short(const AskEntry& ask) const;
  // It did not use what was taken back for it.
  bool is_refused(const AskEntry& ask) const { return cases_[ask].is_refused; }
  // Until when an ask that claims by its share alone waits for tasks that end by themselves.
  std::optional<Time> patient_until(const AskEntry& ask) const { return cases_[ask].patient_until; }
  // When so many victims may be told to end.
  Time cap_open(int64_t count, Time now) const;
  std::optional<Time> next_deadline() const { return again_at_; }

  // --- changes ----------------------------------------------------------------------------------
  // Returns whether there is more to give: a claim had to give way, or an ask now fits what is set
  // aside for it.
  bool reclaim(Time now);
  // At the beginning of a decision, while entitlements are those of the last one: asks that had
  // what they are entitled to, and have not since tasks of them ended, are patient for a while.
  void note_ends(Time now);
  // Likewise: whatever no claimant waits for any more.
  void end_idle(Time now);
  // The claimant has been given so many tasks there. Whether the agent is not set aside for it any
  // more.
  bool note_given(AskEntry& ask, Agent& agent, int64_t count);
  // Whether it uses what was taken from others for it: if not, nothing is any more, until it is
  // declared anew.
  void note_answer(const AskEntry& ask, int64_t offered, int64_t launched);
  // It waits for nothing any more. Whether it did.
  bool stop(AskEntry& ask);
  // The agent is not there for its claimants any more.
  void end_on(Agent& agent);
  void forget(const AskEntry& ask) { cases_.forget(ask); }

  void check(std::vector<Violation>& found) const;

 private:
  // What others were told to end for an ask, and how it went.
  struct Case {
    AgentSet agents = {};
    int64_t coming = 0;
    uint64_t seen = 0;  // version of everything in which there was no way; 0: none
    Time after = {};    // not looked at again before this
    std::optional<Time> patient_until = {};
    std::optional<Time> ripe_at = {};  // when something is old enough to be told to end
    bool is_on_trial = false;          // it was given what was taken back and has not answered
    bool is_refused = false;
  };
  struct Claimant {
    AskEntry* ask = nullptr;
    Right right = {};
    Rank rank = {};
    bool comes_before(const Claimant& o) const;
  };

  std::vector<Claimant> claimants(Time now);
  std::optional<Claimant> claimant(AskEntry& ask) const;
  bool is_due(const AskEntry& ask, Time now) const;
  void carry_out(AskEntry& ask, const ReclaimPlan& plan, int64_t most, Time now);
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
  AskTable<Case> cases_;
  std::map<Agent*, std::vector<Reclaim>, AgentById> reclaims_;  // none is empty
  std::unordered_map<const Node*, ResourceVector> awaited_;     // looked up only; none is zero
  std::deque<Time> notices_;                                    // of the last minute
  Time cap_wait_until_;                   // until when no more may be told to end
  std::optional<Time> again_at_;          // when there may be something to tell
  std::vector<Violation> wrong_victims_;  // of the last decision
};

}  // namespace proffer::fair
