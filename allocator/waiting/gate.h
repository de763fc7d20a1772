#pragma once

// The entitlement gate: while demand exceeds the cluster, an ask is *owed* a task if its running
// tasks and one more are within its entitlement plus its arrears. Owed tasks come first:
//
//   * The place of an ended task goes first to the task's own ask, if that ask is owed a task. So
//     places keep their size and are not fragmented. But the place is not kept if another ask that
//     is owed a task suits the agent better, or fits only there.
//   * Then asks that are owed a task are filled, by share.
//   * An ask that is owed a task and fits nowhere gets a claim at once, of exactly its shape, on an
//     agent where resources have become free and asks above their entitlement use the rest. An ask
//     that lacks two tasks may also have a claim where asks with a larger fraction of their
//     entitlement use the rest: if tasks do not fill the agents, all asks are below their
//     entitlement, and places would return to the same asks forever.
//     Places of asks that are within their entitlement still go back to these asks while asks above
//     theirs use enough for the claim.
//     The rest may be in use by tasks without end, so a claim for which nothing more becomes free
//     is given up (holds.h): after claim_after, the next one after twice that.
//   * All other asks may have the remainder.
//
// Entitlements assume divisible tasks: an ask may be entitled to 2.9 tasks, and runs 2 or 3.
// Arrears even this out over time: while an ask runs less than its entitlement, its arrears grow by
// the difference: for each missing task by one task in kArrearsPeriod. Arrears are never negative:
// the use of resources that are owed to no other ask has no later cost.

#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "allocator/cluster/ask_table.h"
#include "allocator/cluster/cluster.h"

namespace proffer::fair {

class Gate {
 public:
  explicit Gate(Cluster& cluster) : cluster_(cluster) {}

  // Called at the beginning of a decision: updates entitlements, and ends claims of asks that are
  // not owed a task.
  void review(Time now);
  // Updates Cluster::owed_leaves to the grants and rescinds so far.
  void update_orders(Time now);
  // Called at the end of a decision: from now on arrears grow with the new use.
  void close(Time now);
  // The time at which the next claim ends without other events, as an idle cluster must not keep
  // claims forever; or at which entitlements are updated.
  std::optional<Time> next_deadline() const { return review_at_; }
  // Whether the whole demand fits the cluster: then no ask is owed a task before others.
  bool is_open() const { return !cluster_.some_lack; }
  // Whether the ask is entitled to one more task, or gang, after `ended` of its tasks have ended.
  bool is_owed(const AskEntry& ask, Time now, int64_t ended = 0) const;
  // Whether the claim on the agent can be served without the place of a task of the ask that has
  // just ended there, by free resources and the ends of tasks of asks above their entitlement.
  // O(tasks on the agent).
  bool is_claim_served_without(const AskEntry& ask, const Agent& agent, Time now) const;
  // Whether an ask of another leaf is owed a task that it may have. O(asks).
  bool is_another_owed(const Leaf& besides, Time now) const;
  // The asks that may be owed a task, in no order.
  const std::vector<AskEntry*>& owed() const { return owed_; }
  // The number of owed tasks, at most `most`.
  int64_t owed_tasks(const AskEntry& ask, int64_t most, Time now) const;
  bool has_claim(const AskEntry& ask) const { return claims_of(ask) > 0; }
  // Assigns claims on agents that have grown to asks that are owed a task and fit nowhere.
  void assign(Time now);
  // The ask got resources on the agent. Returns whether a claim of it on another agent has ended.
  bool note_given(AskEntry& ask, Agent& agent, Time now);
  // The ask is met, or not wanted now. Returns whether it had a claim.
  bool stop(AskEntry& ask);
  void forget(AskEntry& ask);

  void check(std::vector<Violation>& found) const;

 private:
  // The arrears of an ask at `since`, in units of kTaskOne, and its number of placed tasks then:
  // entitlement and tasks are constant from then on.
  struct Arrears {
    int64_t amount = 0;
    Time since = {};
    int64_t placed = 0;
  };
  // The ask's index in `owed_`, and the next time when it may be owed a task.
  struct Mark {
    size_t place = 0;
    std::optional<Time> look_at = {};
  };

  static int64_t owed_from(const AskEntry& ask, int64_t ended);
  static int64_t arrears_max(const AskEntry& ask);
  // Updates AskEntry::is_owed, and notes when to look again.
  void note_owed(AskEntry& ask, Time now);
  void note_all_owed(Time now);
  void set_owed(AskEntry& ask, bool is_owed);
  std::optional<Time> owed_at(const AskEntry& ask) const;
  void set_look_at(AskEntry& ask, std::optional<Time> at);
  Duration hold_on(const Agent& agent) const;
  bool is_held_in_vain(Agent& agent, Time now);
  static bool is_expected(const AskEntry& ask, const Agent& agent, Time now);
  void review_later(const Agent& agent);
  int64_t arrears(const AskEntry& ask, Time now) const;
  // Called just before the ask's entitlement or tasks change, or just after its tasks changed.
  void settle_arrears(const AskEntry& ask, Time now);
  void settle_recounted(Time now);
  bool is_above(const AskEntry& ask, Time now) const;
  bool is_ahead(const AskEntry& other, const AskEntry& ask, Time now) const;
  // The ended use of each role; looked up, never walked.
  using EndedBelow = std::map<const Role*, ResourceVector>;
  ResourceVector soon_free(const Agent& agent, const AskEntry* behind, const AskEntry* claimant,
                           Time now) const;
  static bool is_promised(const Task& task, const AskEntry& claimant, EndedBelow& ended);
  bool may_claim(const AskEntry& ask, const Agent& agent, const ResourceVector& soon,
                 Time now) const;
  static int64_t claims_of(const AskEntry& ask);

  Cluster& cluster_;
  AskTable<Arrears> arrears_;
  // how long its claims are held without progress; zero: not tried yet
  AskTable<Duration> patience_;
  AskTable<Mark> marks_;
  // Asks that are owed a task, in no order: a decision examines only these. Some may no longer be
  // owed a task, since time has passed.
  std::vector<AskEntry*> owed_;
  std::vector<AskEntry*> turned_;  // asks whose AskEntry::is_owed has changed since update_orders()
  // The next times at which asks may be owed a task; asks of one instant come in any order.
  std::set<std::pair<Time, AskEntry*>> soon_owed_;
  std::optional<Time> review_at_ = {};  // may be too early
  Time found_at_ = {};
  uint64_t agents_then_ = 0;
  uint64_t settings_then_ = 0;
  uint64_t asks_then_ = 0;
};

}  // namespace proffer::fair
