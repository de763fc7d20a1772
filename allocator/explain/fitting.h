#pragma once

// Whether an ask would fit if something were otherwise: the rules of a decision (rules/), applied
// to copies that are changed a little. Whether it would be its turn is not looked at.

#include <map>
#include <string>
#include <vector>

#include "allocator/rules/denial.h"
#include "allocator/rules/fit.h"
#include "common/explanation.h"

namespace proffer::fair {

class Waiting;

// As if nothing were kept there for a claim.
AgentState without_keep(const AgentState& agent);

// One ask, as it is or as it would be declared, and the agents that it could use now.
class Fitting {
 public:
  // O(agents), both. `waits`: for where it would rather be, if it does.
  Fitting(const Cluster& cluster, const AskEntry& entry, Time now, bool waits = true);
  // As if its framework declared it like this now: then it begins anew to wait for where it would
  // rather be, and what was declined for a reason is not any more.
  Fitting(const Cluster& cluster, const AskEntry& entry, Ask declared, Time now);

  // Gangs whose tasks two attributes or more keep apart are not looked at: whether one fits depends
  // on the order in which agents are tried.
  bool can_tell() const { return entry_.ask.gang == 1 || entry_.ask.max_per.size() <= 1; }
  // Whether it could be given now, if it were its turn. O(depth).
  bool fits() const { return fits(as_if_); }
  // The same if uses and settings of roles were these; and an agent, which its framework declines
  // or not.
  bool fits(const Supposed& as_if) const;
  bool fits(const AgentState& then, bool is_declined, const Supposed& as_if) const;
  bool fits(const AgentState& then, bool is_declined) const {
    return fits(then, is_declined, as_if_);
  }
  // Whether agents have enough for it, whatever limits and guarantees say.
  bool has_places() const { return can_tell() && places_ >= entry_.ask.gang; }
  Denial denied() const { return denied_of(entry_.ask.shape); }
  // The same of other amounts, for a task.
  Denial denied_of(const ResourceVector& shape) const { return denied_of(shape, {}, as_if_); }
  // Whether its framework would still decline the agent if it were like this.
  bool is_declined(const AgentState& agent) const;
  // What is free there for the ask, with what is kept for it.
  ResourceVector free_for(const AgentState& agent) const;
  // Whether it is set aside for another ask.
  bool is_claimed(const AgentState& agent) const {
    return agent.is_set_aside() && !entry_.claims(agent);
  }
  // The agents on which there is room for it.
  const std::vector<const Agent*>& usable() const { return usable_; }
  const AskEntry& entry() const { return entry_; }

 private:
  // Agents with the same value of what limits its tasks, or all.
  struct Group {
    int64_t room = 0;
    int64_t most = 0;
    int64_t count() const { return std::min(room, most); }
  };
  void look_around();
  std::string group_of(const AgentState& agent) const;
  int64_t most_in_group(const AgentState& agent) const;
  // How many of its tasks, at most a gang, could be there.
  int64_t room(const AgentState& agent, bool is_declined) const;
  // What counts of it as free for the ask where headroom is held.
  ResourceVector part_of_free(const AgentState& agent) const;
  // `freed`: so much more is free than is.
  Denial denied_of(const ResourceVector& shape, const ResourceVector& freed,
                   const Supposed& as_if) const;

  const Cluster& cluster_;
  const AskEntry& known_;  // as the allocator knows it
  AskEntry entry_;         // a copy, perhaps declared otherwise
  const Time now_;
  const bool is_anew_;
  Supposed as_if_ = {};  // by its being declared anew
  std::map<std::string, Group> groups_ = {};
  std::map<size_t, int64_t> rooms_ = {};  // by the agents' slots; looked up only
  std::vector<const Agent*> usable_ = {};
  int64_t places_ = 0;
};

// What would make the ask fit: see remedies.cc.
std::vector<Remedy> remedies_for(const Cluster& cluster, const Waiting& waiting,
                                 const AskEntry& entry, Time now);

}  // namespace proffer::fair
