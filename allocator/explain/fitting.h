#pragma once

// Whether an ask would fit if something were otherwise: the rules of a decision (rules/), applied
// to books that are changed a little. Whether it would be its turn is not looked at.

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "allocator/rules/denial.h"
#include "allocator/rules/fit.h"
#include "common/explanation.h"

namespace proffer::fair {

class Gate;

// Uses and settings of roles as if something had ended or were set, until this goes out of scope.
// What is offered of asks too, so that entitlements are as they would be; the orders by share are
// not touched. Nothing else may use the allocator meanwhile.
class Supposed {
 public:
  explicit Supposed(const Cluster& cluster) : cluster_(cluster) {}
  ~Supposed();
  Supposed(const Supposed&) = delete;
  Supposed& operator=(const Supposed&) = delete;

  void end(const Agent& agent, const Task& task);
  void end(const OutstandingOffer& offer);  // and the others of its gang
  void set(Role& role, const RoleSettings& settings);
  // The room that is kept for the ask below limits.
  void give_up_headroom(const AskEntry& entry);

 private:
  void change_use(Node& leaf, const ResourceVector& allocated, const ResourceVector& offered);
  void note(std::function<void()> undo);

  const Cluster& cluster_;
  std::vector<std::function<void()>> undo_;
};

// As if nothing were kept there for a claim.
Books without_keep(const Books& books);

// One ask, as it is or as it would be declared, and the agents that it could use now.
class Fitting {
 public:
  // An agent, with what may be otherwise there.
  struct There {
    const Agent* agent = nullptr;
    const Books* books = nullptr;
    int64_t ports_left = 0;
    bool serves = true;
    bool is_declined = false;
    bool is_claimed = false;  // for another ask
  };

  // O(agents), both.
  Fitting(const Cluster& cluster, const AskEntry& entry, Time now, bool waits = true);
  // As if its framework declared it like this now: then it begins anew to wait for where it would
  // rather be, and what was declined for a reason is not any more.
  Fitting(const Cluster& cluster, const AskEntry& entry, Ask declared, Time now);

  // Gangs whose tasks two attributes or more keep apart are not looked at: whether one fits depends
  // on the order in which agents are tried.
  bool can_tell() const { return ask_.gang == 1 || ask_.max_per.size() <= 1; }
  // Whether it could be given now, if it were its turn. O(depth).
  bool fits() const { return has_places() && denied().is_none(); }
  bool fits(const There& there) const;
  // Whether agents have enough for it, whatever limits and guarantees say.
  bool has_places() const { return can_tell() && places_ >= ask_.gang; }
  // `freed`: so much more is free than is.
  Denial denied(const ResourceVector& freed = {}) const { return denied_of(ask_.shape, freed); }
  // The same of other amounts, for a task.
  Denial denied_of(const ResourceVector& shape, const ResourceVector& freed = {}) const;
  // How many of its tasks, at most a gang, could be there, by all but a single max_per.
  int64_t room(const There& there) const;
  int64_t room(const There& there, const ResourceVector& shape) const;
  There there(const Agent& agent) const;
  // Whether its framework would still decline the agent if this were what is free there.
  bool is_declined(const Agent& agent, const Books& books) const;
  // Whether its constraints are met and it is near enough.
  bool suits(const Agent& agent) const;
  int64_t places() const { return can_tell() ? places_ : 0; }
  // The agents on which there is room for it.
  const std::vector<const Agent*>& usable() const { return usable_; }
  const Ask& ask() const { return ask_; }

 private:
  // Agents with the same value of what limits its tasks, or all.
  struct Group {
    int64_t room = 0;
    int64_t most = 0;
    int64_t count() const { return std::min(room, most); }
  };
  void look_around();
  std::string group_of(const Agent& agent) const;
  int64_t most_in_group(const Agent& agent) const;
  ResourceVector part_of_free(const There& there) const;
  ResourceVector more_free(const There& there) const;

  const Cluster& cluster_;
  const AskEntry& entry_;
  const Ask ask_;
  const Time now_;
  const bool is_anew_;
  const bool waits_;
  std::optional<ConstraintMatcher> matcher_ = {};  // none: the entry's
  std::map<std::string, Group> groups_ = {};
  std::map<const Agent*, int64_t> rooms_ = {};  // looked up only
  // Of agents where something is kept for the ask: as if it were not. Looked up only.
  std::map<const Agent*, Books> own_ = {};
  std::vector<const Agent*> usable_ = {};
  int64_t places_ = 0;
};

// What would make the ask fit: see remedies.cc.
std::vector<Remedy> remedies_for(const Cluster& cluster, const Gate& gate, const AskEntry& entry,
                                 Time now);

}  // namespace proffer::fair
