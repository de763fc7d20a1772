#pragma once

// The entitlement gate: while more is wanted than there is, an
// ask is *owed* a task as long as what runs of it and one task more is within its entitlement and
// its arrears. What is owed comes first:
//
//   * The place of a task that has ended is the first choice of its own ask, if that is owed one.
//     So what fits stays where it fits, and nothing is broken into pieces. But the place is not
//     kept if another ask that is owed a task suits the agent better, or fits only there.
//   * Then asks that are owed are filled, by share.
//   * An ask that is owed a task and fits nowhere gets a claim at once, of exactly its shape, on an
//     agent where something has become free and where asks above their entitlement use the rest.
//     One that lacks two tasks may have it also where asks with more of their part use the rest:
//     where tasks do not fill the agents, all are below their part, and places would go back to
//     their asks for ever.
//     What has no end may use it, so a claim for which nothing more becomes free is given up
//     (holds.h): after claim_after, the next one after twice that.
//   * All others may have what is left.
//
// Entitlements are of divisible tasks: an ask is entitled to 2.9, and runs 2 or 3. Arrears make it
// even over time: while an ask runs less than it is entitled to, they grow by the difference, a
// whole task in kArrearsPeriod for a whole task too few. They are never less than zero: to use what
// nobody else is owed costs nothing later.

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

  // At the beginning of a decision: entitlements are those of now, and claims of asks that are not
  // owed anything end.
  void review(Time now);
  // Cluster::owed_leaves is as it should be by what has been given, or taken back, so far.
  void update_orders(Time now);
  // At the end of it: arrears grow by what runs from now on.
  void close(Time now);
  // When claims will have been kept long enough, if nothing happens before: an idle cluster must
  // not keep them for ever.
  std::optional<Time> next_deadline() const { return review_at_; }
  // Whether all that is wanted fits what there is: then nobody is owed anything before others.
  bool is_open() const { return !cluster_.some_lack; }
  // Whether the ask is entitled to one task more, or to one gang, once so many have ended.
  bool is_owed(const AskEntry& ask, Time now, int64_t ended = 0) const;
  // Whether an ask of another leaf is owed a task that it may have. O(asks).
  bool is_another_owed(const Leaf& besides, Time now) const;
  // The asks that may be owed a task, in no order.
  const std::vector<AskEntry*>& owed() const { return owed_; }
  // How many, at most `most`.
  int64_t owed_tasks(const AskEntry& ask, int64_t most, Time now) const;
  bool has_claim(const AskEntry& ask) const { return claims_of(ask) > 0; }
  // Claims on agents that have grown, for asks that are owed something and fit nowhere.
  void assign(Time now);
  // The ask was given something on the agent. Whether a claim of it on another has ended.
  bool note_given(AskEntry& ask, Agent& agent, Time now);
  // It is met, or not wanted for now. Whether it had a claim.
  bool stop(AskEntry& ask);
  void forget(AskEntry& ask);

  void check(std::vector<Violation>& found) const;

 private:
  // What an ask should have had and had not until `since`, in parts of kTaskOne, and the tasks that
  // were placed then: from then on it is entitled to the same, and runs the same.
  struct Arrears {
    int64_t amount = 0;
    Time since = {};
    int64_t placed = 0;
  };
  // Where the ask is in `owed_`, and when it may be owed a task next.
  struct Mark {
    size_t place = 0;
    std::optional<Time> look_at = {};
  };

  static int64_t owed_from(const AskEntry& ask, int64_t ended);
  static int64_t arrears_max(const AskEntry& ask);
  // AskEntry::is_owed is as it should be now, and noted is when to look again.
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
  // Its tasks or its entitlement are about to be others, or its tasks just are.
  void settle_arrears(const AskEntry& ask, Time now);
  void settle_recounted(Time now);
  bool is_above(const AskEntry& ask, Time now) const;
  bool is_ahead(const AskEntry& other, const AskEntry& ask, Time now) const;
  // What has ended of the use of each role; looked up only.
  using EndedBelow = std::map<const Role*, ResourceVector>;
  ResourceVector soon_free(const Agent& agent, const AskEntry* behind, const AskEntry* claimant,
                           Time now) const;
  static bool is_promised(const Task& task, const AskEntry& claimant, EndedBelow& ended);
  bool may_claim(const AskEntry& ask, const Agent& agent, const ResourceVector& soon,
                 Time now) const;
  static int64_t claims_of(const AskEntry& ask);

  Cluster& cluster_;
  AskTable<Arrears> arrears_;
  AskTable<Duration> patience_;  // how long its claims are held in vain; zero: not tried yet
  AskTable<Mark> marks_;
  // Asks that are owed a task, in no order: a decision looks at these only, not at all asks. Some
  // may be owed none any more, since time has passed.
  std::vector<AskEntry*> owed_;
  std::vector<AskEntry*> turned_;  // their AskEntry::is_owed has changed since update_orders()
  // When asks may be owed a task next; of those at one instant the order does not matter.
  std::set<std::pair<Time, AskEntry*>> soon_owed_;
  std::optional<Time> review_at_ = {};  // may be earlier than true
  Time found_at_ = {};
  uint64_t agents_then_ = 0;
  uint64_t settings_then_ = 0;
  uint64_t asks_then_ = 0;
};

}  // namespace proffer::fair
