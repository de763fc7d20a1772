#pragma once

// The cluster as the allocator knows it: agents, roles, frameworks with their asks, offers, tasks,
// filters, and what is set aside for asks. Each event updates the books at once and marks what a
// decision must look at again; deciding is left to round/.
//
//   agent_events.cc      an agent comes, changes, leaves
//   framework_events.cc  a framework and its asks change
//   role_events.cc       roles and their settings; which leaves want offers, and their use
//   implied.cc           what answers to open offers say about the next ones
//   answers.cc           offers are answered or end; tasks end or are found running
//   filters.cc           declines and what they keep away
//   wants.cc             how long and where asks want to run: expiry, waits, counts of tasks
//   violations.cc, place_violations.cc   the laws of the books
//
// What is public and no function is for those above to read. They change it through functions, but
// for marks: what has been tried, denied, or is remembered of a rule.

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
#include "allocator/cluster/role_tree.h"
#include "allocator/cluster/workload.h"
#include "allocator/values.h"
#include "common/indexed_map.h"

namespace proffer::fair {

// now + duration, but never beyond the end of time: peers may say any duration.
Time later(Time now, Duration duration);

// What all agents have together: exact, also of agents that say wild things.
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

  // --- events: as in allocator.h, where nothing else is said ------------------------------------
  Agent& set_agent(const AgentId& id, AgentResources resources);
  Agent& set_agent_active(const AgentId& id, bool active);
  Agent& set_agent_draining(const AgentId& id, bool draining);
  // It is about to be removed: its offers are rescinded, and there are no new ones.
  void withdraw_agent(Agent& agent);
  // After withdraw_agent(), when nothing is set aside there any more.
  void remove_agent(Agent& agent);
  void add_framework(const FrameworkId& id, const RoleName& role, OfferMode mode);
  void set_framework_active(Framework& framework, bool active);
  // It is about to be removed: its offers are gone.
  void withdraw_framework(Framework& framework);
  // After withdraw_framework(), when nothing is set aside for it any more.
  void remove_framework(const FrameworkId& id);
  // Those that are not declared any more, or otherwise; forget_ask() is to be called for each.
  std::vector<std::unique_ptr<AskEntry>> declare_asks(const FrameworkId& id, std::vector<Ask> asks,
                                                      Time now);
  void forget_ask(const AskEntry& ask);
  void pause(Framework& framework, bool paused);
  void pause(AskEntry& ask, bool paused);
  void suppress(Framework& framework);
  void revive(Framework& framework);
  void set_role(const RoleName& role, const RoleSettings& settings);
  void set_knows_all_tasks(bool knows);
  // What became of what was offered to an ask.
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
    std::vector<Answer> answers = {};     // by those of its asks that are still declared
    std::vector<AskEntry*> met = {};      // asks that lack nothing any more
    Agent* filtered_on = nullptr;         // the agent that the framework refuses for a while
    std::optional<Implied> implied = {};  // for imply(), when nothing is set aside for the ask
  };
  Settled settle(const std::vector<OfferId>& ids, std::vector<RunningTask> tasks,
                 const Refusal& refusal, Time now);
  // An answer to open offers of one agent.
  struct OpenAnswer {
    ResourceVector task = {};     // the last that was launched; zero: none was
    ResourceVector offered = {};  // what was not taken
    std::vector<ResourceKind> too_little = {};
    bool wrong_agent = false;
  };
  // What the answer says about the tasks of the framework: nothing if that is known. A refusal of
  // too little implies an ask for a task of the shape that was launched last; before a first launch
  // the shape is a guess, twice the piece that was refused. An answer that takes nothing and gives
  // no reason ends the ask until the next launch.
  std::optional<Implied> note_open_answer(Leaf& leaf, const OpenAnswer& answer,
                                          const AgentState& on);
  // Offers of so many tasks of the ask were answered, or have expired.
  void note_answer(AskEntry& ask, int64_t offered, int64_t launched);
  // Nothing may be set aside for the implied ask if it changes.
  void imply(Leaf& leaf, const Implied& implied);
  void release(const AgentId& id, const FrameworkId& framework, const TaskId& task);
  void adopt(const AgentId& id, const FrameworkId& framework, RunningTask task);
  // An outstanding offer is taken back, with the rest of its gang.
  void rescind(OfferId id, RescindReason reason);
  // A task is to end for a role's sake, and counts as ended where something is taken back.
  void tell_to_end(Agent& agent, const TaskRef& ref, RevokeReason reason,
                   const RoleName& beneficiary, Time now);
  // What a decision gives is offered from now on; and it is an offer. `ask`: nullptr if it is an
  // open offer. `backfills`: of what is kept for a claim.
  void note_granted(Leaf& leaf, Agent& agent, const std::vector<Slice>& slices, AskEntry* ask,
                    int64_t count, bool backfills);

  // --- time passes ------------------------------------------------------------------------------
  // Filters that end, and asks that may go anywhere now.
  void end_filters(Time now);
  // Returns the asks that have expired.
  std::vector<AskEntry*> fire_alarms(Time now);
  // Before a decision: what events only marked.
  void catch_up();
  // How long tasks ran that have ended.
  void note_runs(Time now);
  void remove_doubtful(Time now);

  // --- filters ----------------------------------------------------------------------------------
  // The newest counts. What is set aside there for the framework is the caller's to give up.
  void add_filter(Leaf& leaf, Agent& agent, Filter filter);
  void remove_filter(Leaf& leaf, Agent& agent);
  void clear_filters(Framework& framework);
  // The leaf, which takes open offers, may have at most so much: if that is more than a piece which
  // it declined, it may look at the agent again. O(pieces that it declined).
  void end_filters_of_pieces(Leaf& leaf, const ResourceVector& most);

  // --- what is set aside ------------------------------------------------------------------------
  // What becomes free on the agent is for the ask alone; with `keep`, up to so much of it.
  void set_aside(Agent& agent, AskEntry& ask, Purpose purpose, const ResourceVector& keep = {});
  // So much, from now on; refresh() is to follow.
  void change_keep(Agent& agent, const ResourceVector& keep);
  // It is nobody's; refresh() is to follow.
  void end_set_aside(Agent& agent);
  // Nothing is kept there any more.
  void end_keep(Agent& agent);

  // --- small steps that keep everything consistent ----------------------------------------------
  Agent& agent(const AgentId& id) const;
  Framework& framework(const FrameworkId& id) const;
  void mark_dirty();
  // Recomputes what is free on the agent and its place in the index. `grew`: it may have more than
  // before, so those that were denied should look again.
  void refresh(Agent& agent, bool grew);
  // In or out of the orders, as the leaf wants offers now or not. `untried`: something of it has
  // not been tried.
  void update_demand(Leaf& leaf, bool untried);
  // Out of all orders but `open`, for a part of a decision; update_demand() is to follow.
  void leave_orders(Leaf& leaf);
  // Something that is said by AskEntry::is_owed is otherwise now.
  void note_owed(Leaf& leaf);
  void prefer_again(AskEntry& ask, Time now);  // its wait for where it would rather be begins anew
  void wake_all();                             // everybody should look at everything
  void wake_denied();                          // leaves whose denial may have ended
  void wake_denied_by(Role& role);             // leaves that the role's limit stopped
  void wake_held_back();
  // Limits leave the leaf, which takes open offers, nothing of these kinds (kinds_lacking()).
  void stop(Leaf& leaf, size_t kinds);
  // Those of the stopped leaves for which there may be something now. Whether there are any.
  bool wake_stopped();
  void rebuild_shares();
  // For pictures between decisions: shares as the books say now.
  void know_shares() const;
  ResourceVector total_now() const { return total_now_.amounts(); }
  // What entitlements are of: what there is, but of an agent that is being drained only what still
  // runs there. What goes away can be promised to nobody.
  ResourceVector usable_total() const;
  RoleSettings settings_of(const RoleName& role) const;
  // How long an offer to the leaf is held.
  Duration lease_of(const Leaf& leaf) const;
  bool promises_any() const { return !tree.root().promised.empty(); }
  // The tasks of a gang, with their agents.
  std::vector<std::pair<Agent*, TaskRef>> gang_of(const FrameworkId& framework,
                                                  uint64_t number) const;
  std::optional<Time> next_deadline() const;

  // What is wrong with the books. O(everything).
  void check(std::vector<Violation>& found) const;

  // --- what there is ----------------------------------------------------------------------------
  const AllocatorOptions options;
  RoleTable role_table;
  bool knows_all_tasks = true;
  IndexedMap<AgentId, std::unique_ptr<Agent>> agents;
  mutable RoleTree tree;  // see knowshares()
  IndexedMap<FrameworkId, std::unique_ptr<Framework>> frameworks;
  std::map<LeafId, std::unique_ptr<Leaf>> leaves;
  int64_t open_frameworks = 0;  // of these, those that take open offers
  OutstandingOffers outstanding;
  std::vector<Rescind> rescinds;  // for the next decision
  std::vector<Revoke> revokes;
  ResourceVector total;       // of the cluster, as the shares know it; total_now() is ahead of it
  bool shares_dirty = false;  // a total or a weight changed: shares are rebuilt in the decision
  bool dirty = false;         // something happened since the decision

  // --- indices over it --------------------------------------------------------------------------
  FreeAgents free_agents{options.placement};
  Workload workload;  // of the placement policy fgd
  // Leaves that want offers, but for those for which nothing fits in the decision that is made.
  LeafOrder demanding{tree, 0};
  // Of these, those that should look at more than the agents that grew.
  LeafOrder untried{tree, 1};
  // Those that take open offers, but for those that are stopped, and for those to which no agent is
  // open in the decision that is made.
  LeafOrder open{tree, 2};
  // Of those that are demanding and take asks, while some lack something: those with an ask that is
  // owed a task, or below a guarantee.
  LeafOrder owed_leaves{tree, 3};
  bool some_lack = false;  // more is wanted than there is: kept by the gate
  // The leaves of `open` have looked at all agents that were stamped until then, but for those that
  // are untried.
  uint64_t open_tried_at = 0;
  // By what limits leave them nothing of (kinds_lacking()): leaves that take open offers and wait
  // until that is otherwise, or an agent that has none of it changes. The order does not matter.
  std::array<std::set<Leaf*>, kLackingCount> stopped;
  // Leaves that something other than a limit denied more, which may be otherwise in the next
  // decision.
  std::set<Leaf*> held_back;  // only emptied, the order does not matter
  AgentSet estimating;        // agents with an estimated part
  AgentSet draining;
  AgentSet owed;                  // agents on which something is kept for an ask that is owed it
  int64_t speculative_holds = 0;  // agents whose Agent::hold is speculative
  // Something became free there since the last decision. In no order; they are marked so.
  std::vector<Agent*> grown;
  void clear_grown();
  // Places that tasks have left since the last decision; not those of agents and frameworks that
  // are not there any more. Its ask may not be.
  struct Vacated {
    Agent* agent = nullptr;
    Framework* framework = nullptr;
    Leaf* leaf = nullptr;  // until the next decision
    AskName ask = {};
    Time since = {};        // when the task began
    bool was_told = false;  // it had had a notice
  };
  std::vector<Vacated> vacated;
  // Asks whose count of placed tasks has changed since the gate looked; each is marked so.
  std::vector<AskEntry*> recounted;
  // Whose standing to its entitlement may be another than its lag knows (rules/lags.h); each is
  // marked so.
  std::vector<AskEntry*> asks_with_lag_due;
  std::vector<Leaf*> leaves_with_lag_due;
  void note_lag_due(AskEntry& ask);
  void note_lag_due(Leaf& leaf);
  void clear_lags_due();
  // The least of each kind over all declared asks: where this does not fit, none does.
  std::optional<ResourceVector> least_shape;
  bool some_inflexible = false;  // an ask that not every agent is for is declared

  // --- versions and counts ----------------------------------------------------------------------
  uint64_t agents_version = 1;     // of the set of agents and their resources
  uint64_t settings_version = 0;   // of the roles
  uint64_t claimable_version = 1;  // of all that decides where a claim may be
  uint64_t asks_version = 1;       // of the declared asks of frameworks that want offers
  uint64_t changes = 1;            // version of everything
  uint64_t grants = 0;             // for the order of asks of one priority
  uint64_t last_gang = 0;          // the last number given, or found running
  // Of the last decision, while nothing has happened since: when it was, and the last number of an
  // offer before it.
  Time decided_at;
  uint64_t offers_before = 0;

  // --- remembered of rules ----------------------------------------------------------------------
  mutable bool entitlements_known = false;
  bool entitlements_old = false;       // an ask wants so many more or fewer that others have others
  mutable bool entitled_anew = false;  // find_entitled_tasks() has run since note_lags()

 private:
  // Of those that end at one instant the order does not matter.
  struct FilterTimer {
    Time at = {};
    Framework* framework = nullptr;
    Agent* agent = nullptr;
    bool operator<(const FilterTimer& o) const { return o.at < at; }  // the first one on the heap
  };
  // Whether the filter for which it was set is still there.
  static bool is_due_once(const FilterTimer& timer);
  void forget_ended_filter_timers() const;
  void forget_filter_timers(const std::function<bool(const FilterTimer&)>& which) const;
  struct Alarm {
    Time at = {};
    AskEntry* ask = nullptr;
    bool operator<(const Alarm& o) const;
  };
  // What of a leaf's use changes in one step, to be told the tree at once.
  struct UseLater {
    Leaf* leaf = nullptr;
    ResourceVector allocated = {};
    ResourceVector offered = {};
  };

  void find_rank(Agent& agent);  // of one that is new
  void end_hold(Agent& agent);
  bool may_be_owed(const Leaf& leaf) const;
  // The leaf of the framework in the role, which must be within its own; it is made if need be.
  Leaf& leaf_in(Framework& of, const RoleName& role);
  std::unique_ptr<AskEntry> make_ask(Framework& of, const Ask& ask);
  void remove_leaf(Leaf& leaf, Time now);
  // It may be needed no more: looked at before the next decision.
  void doubt(const Leaf& leaf);
  // Changes what the leaf and the roles above it hold or are offered, and their places.
  void change_use(Leaf& leaf, const ResourceVector& allocated, const ResourceVector& offered);
  void wake_promised(const Role& role);

  // The task is allocated from now on; it must not be there.
  // `lent_until`: as Task::Times::lent_until.
  void add_task(Agent& on, Leaf& leaf, RunningTask task, std::optional<Time> lent_until = {});
  // What is known of a task beside what it holds, when it is not there any more.
  // Returns its ask, or nullptr if that is not declared any more.
  AskEntry* forget_task(Agent& on, const HeldTask& ref, const Task& task);
  void forget_notice(Agent& on, const HeldTask& ref, const Task& task);
  // An outstanding offer ends, its resources are nobody's.
  OutstandingOffer end_offer(const OfferId& id);
  void rescind_one(OfferId id, RescindReason reason);
  void rescind_all(const std::vector<OfferId>& ids, RescindReason reason);
  void rescind_what_does_not_fit(Agent& on);
  void break_gang(uint64_t gang);
  void forget_too_little(Agent& on);

  // Some more tasks of the ask, or fewer, are on the agent.
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
  void end_ask(AskEntry& ask);  // it is not declared any more
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
  std::vector<LeafId> doubtful_;                  // leaves that may be needed no more
  // The tasks of each gang, with their agents.
  std::map<std::pair<FrameworkId, uint64_t>, std::set<std::pair<AgentId, TaskId>>> gang_tasks_;
  std::multiset<Time> lent_until_;  // of all tasks that backfill
  UseLater use_later_;              // empty but in settle()
  uint64_t attributes_version_ = 0;
  bool least_shape_dirty_ = false;
  std::array<uint64_t, kLackingCount> lacking_seen_ = {};  // by wake_stopped()
  // A heap. Those whose filters were removed go when they come first, or when they are most of it.
  mutable std::vector<FilterTimer> filter_timers_;
  size_t timed_filters_ = 0;
  std::set<Alarm> alarms_;
  std::vector<size_t> free_agent_slots_;  // of agents that are no more
  ClusterTotal total_now_;
  std::vector<size_t> free_slots_;  // of asks that are no more
  size_t slots_ = 0;
};

}  // namespace proffer::fair
