#pragma once

// The state of the cluster: agents, roles, frameworks with their asks, offers, tasks, filters, and
// resources set aside for asks. Each event updates the books at once and marks what the next
// decision must examine; round/ decides.
//
//   agent_events.cc      an agent comes, changes, leaves
//   framework_events.cc  a framework and its asks change
//   role_events.cc       roles and their settings; which leaves want offers, and their use
//   implied.cc           the asks that answers to open offers imply
//   answers.cc           offers are answered or end; tasks end or are reported as running
//   filters.cc           declines and their filters
//   wants.cc             expiry and locality waits of asks, counts of tasks
//   violations.cc, place_violations.cc   the laws of the books
//
// Layers above read the public data members. They change them through functions, except marks:
// tried and denied asks, and caches of rules.

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "allocator/cluster/free_agents.h"
#include "allocator/cluster/leaves.h"
#include "allocator/cluster/outstanding.h"
#include "allocator/cluster/pools.h"
#include "allocator/cluster/role_tree.h"
#include "allocator/cluster/workload.h"
#include "allocator/values.h"
#include "common/indexed_map.h"

namespace proffer::fair {

// now + duration, capped at the end of time, since a peer may send any duration.
Time later(Time now, Duration duration);

// The total of all agents; exact even if agents report extreme amounts.
class ClusterTotal {
 public:
  void add(const ResourceVector& agent);
  void remove(const ResourceVector& agent);
  // At most kAmountMax of each kind.
  ResourceVector amounts() const;

 private:
  __extension__ using Sum = __int128;
  std::array<Sum, kResourceKindCount> sums_{};
};

class Cluster {
 public:
  explicit Cluster(AllocatorOptions options);
  Cluster(const Cluster&) = delete;

  // --- events: as in allocator.h, except where noted --------------------------------------------
  Agent& set_agent(const AgentId& id, AgentResources resources);
  Agent& set_agent_active(const AgentId& id, bool active);
  Agent& set_agent_draining(const AgentId& id, bool draining);
  // First step of a removal: rescinds the agent's offers and prevents new ones.
  void withdraw_agent(Agent& agent);
  // Call after withdraw_agent(), when nothing is set aside on the agent any more.
  void remove_agent(Agent& agent);
  void add_framework(const FrameworkId& id, const RoleName& role, OfferMode mode);
  void set_framework_active(Framework& framework, bool active);
  // First step of a removal: ends the framework's offers.
  void withdraw_framework(Framework& framework);
  // Call after withdraw_framework(), when nothing is set aside for the framework any more.
  void remove_framework(const FrameworkId& id);
  // Returns the asks that are no longer declared or have changed; the caller must pass each to
  // forget_ask().
  std::vector<std::unique_ptr<AskEntry>> declare_asks(const FrameworkId& id, std::vector<Ask> asks,
                                                      Time now);
  void forget_ask(const AskEntry& ask);
  void pause(Framework& framework, bool paused);
  void pause(AskEntry& ask, bool paused);
  void suppress(Framework& framework);
  void revive(Framework& framework);
  void set_role(const RoleName& role, const RoleSettings& settings);
  void set_knows_all_tasks(bool knows);
  // The answer to the offers of one ask.
  struct Answer {
    AskEntry* ask = nullptr;
    int64_t offered = 0;
    int64_t launched = 0;
  };
  // The implied ask of a framework that takes open offers.
  struct Implied {
    ResourceVector shape = {};
    bool is_wanted = false;
  };
  struct Settled {
    Leaf* leaf = nullptr;
    std::vector<Answer> answers = {};     // of the asks that are still declared
    std::vector<AskEntry*> met = {};      // asks that lack no task any more
    Agent* filtered_on = nullptr;         // the agent with a new filter
    std::optional<Implied> implied = {};  // for imply(), once nothing is set aside for the ask
  };
  Settled settle(const std::vector<OfferId>& ids, std::vector<RunningTask> tasks,
                 const Refusal& refusal, Time now);
  // An answer to open offers of one agent.
  struct OpenAnswer {
    ResourceVector task = {};     // the last launched task; zero: none
    ResourceVector offered = {};  // the resources that were not taken
    std::vector<ResourceKind> too_little = {};
    bool wrong_agent = false;
  };
  // The ask that the answer implies; empty if it says nothing new. A "too little" refusal implies
  // an ask for one task of the last launched shape; before a first launch the shape is a guess,
  // twice the refused piece, or a first amount of a kind that the piece had none of. An answer that
  // takes nothing and gives no reason ends the implied ask until the next launch.
  std::optional<Implied> note_open_answer(Leaf& leaf, const OpenAnswer& answer,
                                          const AgentState& on);
  // Offers of `offered` tasks of the ask were answered, or have expired.
  void note_answer(AskEntry& ask, int64_t offered, int64_t launched);
  // If the implied ask changes, nothing may be set aside for it.
  void imply(Leaf& leaf, const Implied& implied);
  void release(const AgentId& id, const FrameworkId& framework, const TaskId& task);
  void adopt(const AgentId& id, const FrameworkId& framework, RunningTask task);
  // The framework held an offer and did not use it: the patience with it falls.
  void note_unused(Framework& framework, Time now);
  // The framework launched tasks on an offer that had just been rescinded since it stayed
  // unanswered: it would have used it, and wants tasks.
  void note_late_use(Framework& framework, OfferId offer, Time now);
  // Rescinds an outstanding offer and the rest of its gang.
  void rescind(OfferId id, RescindReason reason);
  // Revokes a task for a role. From now on it counts as ended where reclaims are planned.
  void tell_to_end(Agent& agent, const TaskRef& ref, RevokeReason reason,
                   const RoleName& beneficiary, Time now);
  // Records a grant as offered; the caller makes the offer. `ask`: nullptr for an open offer.
  // `backfills`: the slices are kept for a claim.
  void note_granted(Leaf& leaf, Agent& agent, const std::vector<Slice>& slices, AskEntry* ask,
                    int64_t count, bool backfills);

  // --- passage of time --------------------------------------------------------------------------
  // Ends filters and locality waits that are over.
  void end_filters(Time now);
  // Expires asks that are due and returns them.
  std::vector<AskEntry*> fire_alarms(Time now);
  // Called before a decision: does the work that events only marked.
  void catch_up();
  // Notes the run times of ended tasks.
  void note_runs(Time now);
  void remove_doubtful(Time now);

  // --- filters ----------------------------------------------------------------------------------
  // Replaces an earlier filter. The caller must give up resources set aside there for the
  // framework.
  void add_filter(Leaf& leaf, Agent& agent, Filter filter);
  void remove_filter(Leaf& leaf, Agent& agent);
  void clear_filters(Framework& framework);
  // The leaf, which takes open offers, may now have at most `most`: if that is more than a piece
  // that it declined, the filter of that agent ends. O(pieces that it declined).
  void end_filters_of_pieces(Leaf& leaf, const ResourceVector& most);

  // --- resources set aside ----------------------------------------------------------------------
  // Resources that become free on the agent are for the ask only; with `keep`, at most this much of
  // them.
  void set_aside(Agent& agent, AskEntry& ask, Purpose purpose, const ResourceVector& keep = {});
  // Changes the kept amount; the caller must call refresh() next.
  void change_keep(Agent& agent, const ResourceVector& keep);
  // Ends the set-aside; the caller must call refresh() next.
  void end_set_aside(Agent& agent);
  // Ends the set-aside and refreshes the agent.
  void end_keep(Agent& agent);

  // --- steps that keep the books consistent -----------------------------------------------------
  Agent& agent(const AgentId& id) const;
  Framework& framework(const FrameworkId& id) const;
  void mark_dirty();
  // Recomputes the agent's free resources and its place in the index. `grew`: it may have more than
  // before, so denied asks must look again.
  void refresh(Agent& agent, bool grew);
  // Moves the leaf into or out of the orders, as it wants offers or not. `untried`: the leaf has
  // something that no decision has tried.
  void update_demand(Leaf& leaf, bool untried);
  // Removes the leaf from all orders but `open`, for a part of a decision; the caller must call
  // update_demand() later.
  void leave_orders(Leaf& leaf);
  // AskEntry::is_owed of an ask of the leaf has changed.
  void note_owed(Leaf& leaf);
  void prefer_again(AskEntry& ask, Time now);  // restarts its locality wait
  void wake_all();                             // all leaves look at all agents again
  void wake_denied();                          // leaves whose denial may have ended look again
  void wake_denied_by(Role& role);             // leaves that the role's limit stopped look again
  void wake_held_back();
  // Stops a leaf that takes open offers, because limits leave it nothing of these kinds
  // (kinds_lacking()).
  void stop(Leaf& leaf, size_t kinds);
  // Wakes the stopped leaves that may now get an offer. Returns whether there are any.
  bool wake_stopped();
  void rebuild_shares();
  // Updates shares to the current books, for status reports between decisions.
  void know_shares() const;
  ResourceVector total_now() const { return total_now_.amounts(); }
  // The total that entitlements divide: the cluster's total, but on a draining agent only the use
  // of its tasks, since the rest cannot be promised.
  ResourceVector usable_total() const;
  ResourceVector mean_agent() const;
  RoleSettings settings_of(const RoleName& role) const;
  // The lease of an offer to the leaf.
  Duration lease_of(const Leaf& leaf) const;
  bool promises_any() const { return !tree.root().promised.empty(); }
  // The tasks of a gang, with their agents.
  std::vector<std::pair<Agent*, TaskRef>> gang_of(const FrameworkId& framework,
                                                  uint64_t number) const;
  std::optional<Time> next_deadline() const;

  // Adds the violated invariants of the books. O(everything).
  void check(std::vector<Violation>& found) const;

  // --- the state --------------------------------------------------------------------------------
  const AllocatorOptions options;
  RoleTable role_table;
  bool knows_all_tasks = true;
  IndexedMap<AgentId, std::unique_ptr<Agent>> agents;
  mutable RoleTree tree;  // see know_shares()
  IndexedMap<FrameworkId, std::unique_ptr<Framework>> frameworks;
  std::map<LeafId, std::unique_ptr<Leaf>> leaves;
  int64_t open_frameworks = 0;  // the number of frameworks that take open offers
  OutstandingOffers outstanding;
  std::vector<Rescind> rescinds;  // for the next decision
  std::vector<Revoke> revokes;
  ResourceVector total;       // the cluster's total used by the shares; total_now() may be newer
  bool shares_dirty = false;  // a total or a weight changed: the next decision rebuilds shares
  bool dirty = false;         // an event came after the last decision

  // --- indices of the state ---------------------------------------------------------------------
  FreeAgents free_agents{options.placement};
  Workload workload;  // for the placement policy fgd
  // Leaves that want offers, except those for which nothing fits in the current decision.
  LeafOrder demanding{tree, 0};
  // The demanding leaves that must look at more than the grown agents.
  LeafOrder untried{tree, 1};
  // Leaves that take open offers, except stopped leaves and leaves to which no agent is open in the
  // current decision.
  LeafOrder open{tree, 2};
  // While some ask lacks tasks: the demanding leaves with an ask that is owed a task or is below a
  // guarantee.
  LeafOrder owed_leaves{tree, 3};
  bool some_lack = false;  // demand exceeds the cluster; maintained by the gate
  // The leaves of `open` that are not untried have looked at all agents stamped until then.
  uint64_t open_tried_at = 0;
  // Leaves that take open offers and whose limits leave them nothing of some kinds, by these kinds
  // (kinds_lacking()). They wait until a limit allows more, or an agent without these kinds
  // changes. The order does not matter.
  std::array<std::set<Leaf*>, kLackingCount> stopped;
  // Leaves that got a denial for a reason other than a limit; the next decision may lift it.
  std::set<Leaf*> held_back;  // only emptied, the order does not matter
  AgentSet estimating;        // agents with an estimated part
  AgentSet draining;
  AgentSet owed;                  // agents with resources kept for an ask that is owed a task
  AgentSet withholding;           // agents with an AgentState::withheld
  int64_t speculative_holds = 0;  // agents whose Agent::hold is speculative
  // Agents on which resources became free since the last decision, in no order; each is marked.
  std::vector<Agent*> grown;
  void clear_grown();
  // Places of tasks that have ended since the last decision, on agents and of frameworks that still
  // exist. Their asks may have ended.
  struct Vacated {
    Agent* agent = nullptr;
    Framework* framework = nullptr;
    Leaf* leaf = nullptr;  // until the next decision
    AskName ask = {};
    Time since = {};        // when the task began
    bool was_told = false;  // it had a revoke notice
  };
  std::vector<Vacated> vacated;
  // Asks whose count of placed tasks has changed since the last look of the gate; each is marked.
  std::vector<AskEntry*> recounted;
  // Asks and leaves whose lag must be updated, as their use or entitlement may have changed
  // (rules/lags.h); each is marked.
  std::vector<AskEntry*> asks_with_lag_due;
  std::vector<Leaf*> leaves_with_lag_due;
  void note_lag_due(AskEntry& ask);
  void note_lag_due(Leaf& leaf);
  void clear_lags_due();
  // The minimum of each kind over all declared asks: where this does not fit, no ask fits.
  std::optional<ResourceVector> least_shape;
  bool some_inflexible = false;  // an ask that not every agent can serve is declared

  // --- versions and counts ----------------------------------------------------------------------
  uint64_t agents_version = 1;     // of the set of agents and their resources
  uint64_t settings_version = 0;   // of the roles
  uint64_t claimable_version = 1;  // of all state that decides where a claim may be
  uint64_t asks_version = 1;       // of the declared asks of frameworks that want offers
  uint64_t changes = 1;            // version of everything
  uint64_t grants = 0;             // for the order of asks of one priority
  uint64_t last_gang = 0;          // the highest number that was given, or that a running task has
  // The time of the last decision, and the last offer number before it; valid until the next event.
  Time decided_at;
  uint64_t offers_before = 0;

  // --- caches of rules --------------------------------------------------------------------------
  mutable bool entitlements_known = false;
  mutable Pools pools;
  bool entitlements_old = false;  // the wanted counts of asks changed enough to change entitlements
  mutable bool entitled_anew = false;  // find_entitled_tasks() has run since note_lags()

 private:
  // Filters that end at one instant may end in any order.
  struct FilterTimer {
    Time at = {};
    Framework* framework = nullptr;
    Agent* agent = nullptr;
    // the earliest is first on the heap
    bool operator<(const FilterTimer& o) const { return o.at < at; }
  };
  // Whether the filter of the timer still exists.
  static bool is_due_once(const FilterTimer& timer);
  void forget_ended_filter_timers() const;
  void forget_filter_timers(const std::function<bool(const FilterTimer&)>& which) const;
  struct Alarm {
    Time at = {};
    AskEntry* ask = nullptr;
    bool operator<(const Alarm& o) const;
  };
  // Usage delta of one leaf, applied to the tree in one update.
  struct UseLater {
    Leaf* leaf = nullptr;
    ResourceVector allocated = {};
    ResourceVector offered = {};
  };

  void find_rank(Agent& agent);  // for a new agent
  void end_hold(Agent& agent);
  bool may_be_owed(const Leaf& leaf) const;
  // The leaf of the framework in the role, which must be the framework's or below it; created if it
  // does not exist.
  Leaf& leaf_in(Framework& of, const RoleName& role);
  std::unique_ptr<AskEntry> make_ask(Framework& of, const Ask& ask);
  void remove_leaf(Leaf& leaf, Time now);
  // Marks a leaf that may be unneeded; the next decision begins with a check of it.
  void doubt(const Leaf& leaf);
  // Changes the use of the leaf and the roles above it, and their places in the orders.
  void change_use(Leaf& leaf, const ResourceVector& allocated, const ResourceVector& offered);
  void wake_promised(const Role& role);

  // Allocates a task, which must be new on the agent. `lent_until`: as Task::Times::lent_until.
  void add_task(Agent& on, Leaf& leaf, RunningTask task, std::optional<Time> lent_until = {});
  // Offers of this age were answered, and tasks took a part of them.
  void note_use(Framework& framework, const ResourceVector& offered, const ResourceVector& taken,
                Duration age, Time now);
  // Forgets the data of an ended task besides its resources. Returns its ask, or nullptr if the ask
  // is no longer declared.
  AskEntry* forget_task(Agent& on, const HeldTask& ref, const Task& task);
  void forget_notice(Agent& on, const HeldTask& ref, const Task& task);
  // Ends an outstanding offer and releases its resources.
  OutstandingOffer end_offer(const OfferId& id);
  void rescind_one(OfferId id, RescindReason reason);
  void rescind_all(const std::vector<OfferId>& ids, RescindReason reason);
  void rescind_what_does_not_fit(Agent& on);
  void break_gang(uint64_t gang);
  void forget_too_little(Agent& on);

  // The number of the ask's tasks on the agent has changed.
  void note_recounted(AskEntry& ask);
  void note_lags_due(const Framework& framework);
  void recount_implied(const Leaf& leaf);
  void count_tasks(AskEntry& ask, const Agent& on, int64_t count);
  void count_together(AskEntry& ask, const Agent& on, int64_t count);
  void count_all_tasks(AskEntry& ask) const;
  void recount_groups(Framework& framework);
  int64_t count_running(const AskEntry& ask) const;
  void recount_tasks_on(const Agent& on);
  void begin_ask(AskEntry& ask, Time now);
  void end_ask(AskEntry& ask);  // the ask is no longer declared
  void set_alarm(AskEntry& ask, Time now);

  void check_agents(std::vector<Violation>& found) const;
  void check_leaves(std::vector<Violation>& found) const;
  void check_notices(std::vector<Violation>& found) const;
  void check_gang_tasks(std::vector<Violation>& found) const;
  void check_set_aside(std::vector<Violation>& found) const;
  void check_parts(std::vector<Violation>& found) const;
  void check_gangs(std::vector<Violation>& found) const;
  void check_places(std::vector<Violation>& found) const;
  void check_tree(std::vector<Violation>& found) const;

  SharedValues<TaskTerms, TaskTermsHash> terms_;  // of tasks
  std::vector<LeafId> doubtful_;                  // leaves that may be unneeded
  // The tasks of each gang, with their agents.
  std::map<std::pair<FrameworkId, uint64_t>, std::set<std::pair<AgentId, TaskId>>> gang_tasks_;
  std::multiset<Time> lent_until_;  // the ends of all tasks that backfill
  UseLater use_later_;              // empty outside settle()
  uint64_t attributes_version_ = 0;
  bool least_shape_dirty_ = false;
  std::array<uint64_t, kLackingCount> lacking_seen_ = {};  // by wake_stopped()
  // A heap. A timer without a filter is dropped when it is first, or when such timers are the
  // majority.
  mutable std::vector<FilterTimer> filter_timers_;
  size_t timed_filters_ = 0;
  std::set<Alarm> alarms_;
  std::vector<size_t> free_agent_slots_;  // of removed agents
  ClusterTotal total_now_;
  std::vector<size_t> free_slots_;  // of ended asks
  size_t slots_ = 0;
};

}  // namespace proffer::fair
