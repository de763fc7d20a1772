#pragma once

// Decides whether an ask would fit after a change: applies the rules of a decision (rules/) to
// changed copies. The order of turns is not considered.

#include <map>
#include <string>
#include <vector>

#include "allocator/rules/denial.h"
#include "allocator/rules/fit.h"
#include "common/explanation.h"

namespace proffer::fair {

class Waiting;

// A copy of the agent without resources kept for a claim.
AgentState without_keep(const AgentState& agent);

// One ask, as declared or changed, and the agents that it could use now.
class Fitting {
 public:
  // O(agents), both. `waits`: apply its locality wait, if it is in one.
  Fitting(const Cluster& cluster, const AskEntry& entry, Time now, bool waits = true);
  // As if its framework declared it like this now: then its locality wait restarts, and filters
  // with a reason end.
  Fitting(const Cluster& cluster, const AskEntry& entry, Ask declared, Time now);

  // False for gangs with two or more `max_per` limits: whether one fits depends on the order in
  // which agents are tried.
  bool can_tell() const { return entry_.ask.gang == 1 || entry_.ask.max_per.size() <= 1; }
  // Whether it could be granted now, if it were its turn. O(depth).
  bool fits() const { return fits(as_if_); }
  // The same with other uses and settings of roles, and with a changed agent, which its framework
  // declines or not.
  bool fits(const Supposed& as_if) const;
  bool fits(const AgentState& then, bool is_declined, const Supposed& as_if) const;
  bool fits(const AgentState& then, bool is_declined) const {
    return fits(then, is_declined, as_if_);
  }
  // Whether agents have enough for it, regardless of limits and guarantees.
  bool has_places() const { return can_tell() && places_ >= entry_.ask.gang; }
  Denial denied() const { return denied_of(entry_.ask.shape); }
  // The same for a task with other amounts.
  Denial denied_of(const ResourceVector& shape) const { return denied_of(shape, {}, as_if_); }
  // Whether a filter of its framework would still hold for the agent in this state.
  bool is_declined(const AgentState& agent) const;
  // The agent's free amounts for the ask, including those kept for it.
  ResourceVector free_for(const AgentState& agent) const;
  // Whether the agent is set aside for another ask.
  bool is_claimed(const AgentState& agent) const {
    return agent.is_set_aside() && !entry_.claims(agent);
  }
  // The agents with room for it.
  const std::vector<const Agent*>& usable() const { return usable_; }
  const AskEntry& entry() const { return entry_; }

 private:
  // Agents with the same value of the attribute of its max_per; without max_per, all agents.
  struct Group {
    int64_t room = 0;
    int64_t most = 0;
    int64_t count() const { return std::min(room, most); }
  };
  void look_around();
  std::string group_of(const AgentState& agent) const;
  int64_t most_in_group(const AgentState& agent) const;
  // The number of its tasks, at most a gang, that fit there.
  int64_t room(const AgentState& agent, bool is_declined) const;
  // The part of the agent's free amounts that the ask may count where headroom is held.
  ResourceVector part_of_free(const AgentState& agent) const;
  // amounts to add to the free ones.
  Denial denied_of(const ResourceVector& shape, const ResourceVector& freed,
                   const Supposed& as_if) const;

  const Cluster& cluster_;
  const AskEntry& known_;  // the ask in the allocator's books
  AskEntry entry_;         // a copy, perhaps changed
  const Time now_;
  const bool is_anew_;
  Supposed as_if_ = {};  // the effect of its new declaration
  std::map<std::string, Group> groups_ = {};
  std::map<size_t, int64_t> rooms_ = {};  // by the agents' slots; looked up, never walked
  std::vector<const Agent*> usable_ = {};
  int64_t places_ = 0;
};

// The single changes that would make the ask fit: see remedies.cc.
std::vector<Remedy> remedies_for(const Cluster& cluster, const Waiting& waiting,
                                 const AskEntry& entry, Time now);

}  // namespace proffer::fair
