#pragma once

// All that the allocator knows. One class, since a decision touches everything, told in several
// files by verb:
//
//   agent_events.cc      an agent comes, changes, leaves
//   framework_events.cc  a framework and its asks change
//   role_events.cc       roles and their settings; who wants offers, who holds what
//   answers.cc           offers answered or ended; tasks ended or found running
//   filters.cc           declines and what they keep away
//   decide.cc            one decision from beginning to end: read this first
//   filling.cc           progressive filling over the asks
//   turns.cc             whose turn it is: guarantees, then shares
//   permits.cc           what limits, guarantees of others and entitlements allow
//   open_offers.cc       the part of frameworks without asks
//   placement.cc         which agent an ask goes to
//   gangs.cc             several tasks at once or none
//   claims.cc            nobody starves
//   headroom.cc          nor below limits
//   lending.cc           what is set aside, or only estimated to be free, is used meanwhile
//   wants.cc             how long and where asks want to run: expiry, waits, counts of tasks
//   reclaim.cc           what is lent comes back
//   reclaim_plan.cc      what would have to end for an ask to fit
//   reclaim_outlook.cc   why nothing is taken back for an ask
//   explain.cc           why a framework has no offer
//   explain_role.cc, explain_task.cc   why a role has no more; whether a task would have to end
//   fitting.h, remedies.cc   what would make an ask fit
//   status.cc, violations.cc   pictures and laws

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "allocator/allocator.h"
#include "allocator/cluster/free_agents.h"
#include "allocator/cluster/leaves.h"
#include "allocator/cluster/outstanding.h"
#include "allocator/cluster/role_tree.h"
#include "allocator/rules/victims.h"
#include "common/indexed_map.h"

namespace proffer {

class Allocator::State {
 public:
  explicit State(AllocatorOptions options);

  // As in allocator.h.
  void set_agent(const AgentId& id, AgentResources resources);
  void set_agent_active(const AgentId& id, bool active);
  void set_agent_draining(const AgentId& id, bool draining);
  void remove_agent(const AgentId& id);
  void set_free_ports(const AgentId& id, PortSet free);
  void add_framework(const FrameworkId& id, const RoleName& role, OfferMode mode);
  void set_framework_active(const FrameworkId& id, bool active);
  void remove_framework(const FrameworkId& id);
  void declare_asks(const FrameworkId& id, std::vector<Ask> asks, Time now);
  void suppress(const FrameworkId& id);
  void revive(const FrameworkId& id);
  void set_role(const RoleName& role, const RoleSettings& settings);
  const RoleTable& role_table() const { return role_table_; }
  void set_knows_all_tasks(bool knows);
  const Grant* find_offer(const OfferId& id, const FrameworkId& framework) const;
  void settle(const std::vector<OfferId>& ids, std::vector<RunningTask> tasks,
              const Refusal& refusal, Time now);
  void release(const AgentId& agent, const FrameworkId& framework, const TaskId& task);
  void adopt(const AgentId& agent, const FrameworkId& framework, RunningTask task);
  std::vector<const Grant*> offers() const;
  std::vector<const Grant*> gang_offers(uint64_t gang) const;
  std::optional<Time> next_decision(Time now) const;
  Decision decide(Time now);
  ResourceVector total() const;
  std::vector<RoleStatus> roles() const;
  std::vector<LeafStatus> leaves() const;
  std::vector<AskStatus> asks(const FrameworkId& id) const;
  uint64_t fit_version() const { return agents_version_ + settings_version_; }
  std::vector<AgentUse> agents() const;
  std::vector<EndingTask> ending() const;
  FrameworkExplanation explain(const FrameworkId& id, Time now) const;
  std::optional<RoleExplanation> explain_role(const RoleName& name, Time now) const;
  std::optional<TaskStanding> explain_task(const AgentId& on, const FrameworkId& framework,
                                           const TaskId& id, Time now) const;
  ReclaimOutlook reclaim_outlook(const FrameworkId& framework, const AskName& ask, Time now) const;
  std::vector<Violation> violations() const;

 private:
  using Agent = fair::Agent;
  using AskEntry = fair::AskEntry;
  using Filter = fair::Filter;
  using Framework = fair::Framework;
  using Leaf = fair::Leaf;
  using Rank = fair::Rank;
  using Role = fair::Role;

  // What this decision gives of one agent to one leaf; becomes an offer at its end. Gangs and what
  // is revocable are gifts of their own.
  struct Gift {
    Leaf* leaf = nullptr;
    Agent* agent = nullptr;
    std::vector<Slice> slices = {};
    std::vector<AskFill> fills = {};
    int64_t ports = 0;
    uint64_t gang = 0;
    bool revocable = false;
  };
  // For violations(): how the last task of a batch, or an open piece, was given.
  struct Given {
    const Leaf* leaf = nullptr;
    const Agent* agent = nullptr;
    std::vector<Slice> last = {};  // that task's
    Rank before = {};              // of the leaf, before that task
    bool promised = false;         // a guarantee was the reason
    bool from_claim = false;
  };
  // Whose turn it is, and the roles because of whose unmet guarantees, the one at the top first.
  struct Turn {
    Leaf* leaf = nullptr;
    std::vector<Role*> within = {};
  };
  // What stands between a leaf and more resources, whatever agent they are on.
  struct Bar {
    enum class Why : uint8_t { kNone, kLimit, kTasksUnknown, kGuarantees, kEntitlement };
    Why why = Why::kNone;
    const Role* role = nullptr;               // whose limit or entitlement
    ResourceKind kind = ResourceKind::kCpus;  // of which there is too little
    int64_t left = 0;                         // of it, at most
    bool is_none() const { return why == Why::kNone; }
  };
  // What of a leaf's use changes in one step, to be told the tree at once.
  struct UseLater {
    Leaf* leaf = nullptr;
    ResourceVector allocated = {};
    ResourceVector offered = {};
  };
  // On whose account an ask may take something back.
  struct Right {
    const Role* promise = nullptr;  // whose unmet guarantee covers it; nullptr: its share alone
    Share filled = {};              // how much of that guarantee is
    // For each node on its way up, whether what is held by siblings of that node may be taken.
    std::vector<bool> reaches = {};
    bool any() const;
  };
  struct Claimant {
    AskEntry* ask = nullptr;
    Right right = {};
    Rank rank = {};
    bool comes_before(const Claimant& o) const;
  };
  // A task, or the tasks of a gang.
  using Victim = std::vector<std::pair<Agent*, fair::TaskRef>>;
  struct ReclaimPlan {
    struct Place {
      Agent* agent = nullptr;
      int64_t tasks = 0;  // of the claimant, beyond those that are awaited there
    };
    std::vector<Place> places = {};  // none: nothing would do
    std::vector<Victim> victims = {};
    std::optional<Time> ripe_at = {};  // if nothing would do now: when something may
    bool somebody_borrows = false;
    int64_t tasks() const;  // of the victims
  };
  class Planner;
  class Supposed;
  class Fitting;
  class RemedySearch;
  struct AskTimer {
    Time at = {};
    AskEntry* ask = nullptr;
    bool operator<(const AskTimer& o) const;
  };
  struct FilterTimer {
    Time at = {};
    FrameworkId framework = {};
    AgentId agent = {};
    auto operator<=>(const FilterTimer&) const = default;
  };

  // --- small steps that keep everything consistent ---------------------------------------------
  Agent& agent(const AgentId& id);
  Framework& framework_at(const FrameworkId& id);
  // The leaf of the framework in the role, which must be within its own; it is made if need be.
  Leaf& leaf_in(Framework& framework, const RoleName& role);
  std::unique_ptr<AskEntry> make_ask(Framework& framework, const Ask& ask);
  void remove_leaf(Leaf& leaf);
  // It may be needed no more: looked at before the next decision.
  void doubt(const Leaf& leaf);
  void remove_doubtful();
  void mark_dirty();
  // Recomputes what is free on the agent and its place in the index. `grew`: it may have more than
  // before, so the blocked should look again.
  void refresh(Agent& agent, bool grew);
  // Changes what the leaf and the roles above it hold or are offered, and their places.
  void change_use(Leaf& leaf, const ResourceVector& allocated, const ResourceVector& offered);
  // In or out of hungry_, as it wants offers now or not. `anew`: something of it has not been
  // tried.
  void update_hunger(Leaf& leaf, bool anew);
  void wake_all();  // everybody should look at everything
  void wake_blocked();
  void wake_blocked_by(Role& role);
  void wake_held_back();
  void wake_promised(const Role& role);
  bool less_is_held(uint64_t gifts_before);
  void rebuild_shares();
  // For pictures between decisions: shares as the books say now.
  void know_shares() const;
  ResourceVector compute_total() const;
  ResourceVector usable_total() const;
  RoleSettings settings_of(const RoleName& role) const;

  // now + duration, but never beyond the end of time: peers may say any duration.
  static Time later(Time now, Duration duration);

  // --- answers.cc ------------------------------------------------------------------------------
  // The task is allocated from now on; it must not be there.
  void add_task(Agent& agent, Leaf& leaf, RunningTask task);
  // What is known of a task beside what it holds, when it is not there any more.
  void forget_task(Agent& agent, const fair::TaskRef& ref, const fair::Task& task);
  void forget_notice(Agent& agent, const fair::TaskRef& ref, const fair::Task& task);
  // An outstanding offer ends, its resources are nobody's.
  fair::OutstandingOffer end_offer(const OfferId& id);
  // With the rest of its gang.
  void rescind(OfferId id, RescindReason reason);
  void rescind_one(OfferId id, RescindReason reason);
  void rescind_all(std::set<OfferId> ids, RescindReason reason);
  void rescind_what_does_not_fit(Agent& agent);
  void break_gang(uint64_t gang);

  // --- wants.cc --------------------------------------------------------------------------------
  // Some more tasks of the ask, or fewer, are on the agent.
  void count_tasks(AskEntry& ask, const Agent& agent, int64_t count);
  void count_all_tasks(AskEntry& ask) const;
  void recount_tasks_on(const Agent& agent);
  void begin_ask(AskEntry& ask, Time now);
  void end_ask(AskEntry& ask);  // it is not declared any more
  void prefer_again(AskEntry& ask, Time now);
  void set_alarm(AskEntry& ask, Time now);
  void fire_alarms(Time now);

  // --- filters.cc ------------------------------------------------------------------------------
  void add_filter(Leaf& leaf, Agent& agent, Filter filter);
  void remove_filter(Leaf& leaf, const AgentId& agent);
  bool is_filtered(const Leaf& leaf, const Agent& agent, Time now) const;
  void forget_too_little(Agent& a);
  void end_filters(Time now);

  // --- filling.cc, placement.cc ----------------------------------------------------------------
  void fill_asks(Time now);
  void fill(Time now);
  bool give_to_asks(const Turn& turn, const fair::LeafOrder& order, Time now);
  void give(AskEntry& ask, Agent& agent, const Turn& turn, const fair::LeafOrder& order, Time now);
  int64_t tasks_in_turn(const Leaf& leaf, const AskEntry& ask, int64_t count_max,
                        const fair::LeafOrder& order, Rank* before_last) const;
  void note_given(AskEntry& ask, bool from_claim, bool preferred, Time now);
  void add_gift(Leaf& leaf, Agent& agent, const std::vector<Slice>& slices, AskEntry* ask,
                int64_t count, uint64_t gang = 0);
  Gift* find_gift(const Leaf& leaf, const Agent& agent, uint64_t gang, bool revocable);
  bool has_gift(const Leaf& leaf, const Agent& agent) const;
  void freeze(Leaf& leaf, Time now);
  void thaw(bool more_is_free);

  // --- turns.cc, permits.cc --------------------------------------------------------------------
  Turn next_turn(const fair::LeafOrder& order);
  Leaf* next_below(const Role& role, const fair::LeafOrder& order, bool promised_only,
                   std::vector<Role*>& within);
  fair::Node* least_flexible(const Role& role, const fair::LeafOrder& order) const;
  int64_t flexibility(const fair::Node& node, const fair::LeafOrder& order) const;
  std::vector<std::pair<Share, Role*>> promised_below(const Role& role,
                                                      const fair::LeafOrder& order) const;
  const Role* exceeded(const Turn& turn, const ResourceVector& more) const;
  void set_beyond(Leaf& leaf, const Role& role);
  bool is_beyond(const Leaf& leaf, const std::vector<Role*>& within) const;
  // Entitlements and demands of all nodes are as of now, or of this decision.
  void know_entitlements() const;
  bool is_within_entitlement(const Role& role, const ResourceVector& more) const;
  ResourceVector attainable(const fair::Node& node) const;
  ResourceVector left_by_others(const Role& role) const;
  std::vector<Holder> others_entitled(const Role& role, ResourceKind kind) const;
  std::vector<Holder> kept_for(const Role& role, const AskEntry* claimant, ResourceKind kind) const;
  // Why the leaf may not have so much more, if it may not.
  // `freed`: so much more is free than is.
  Bar barred(const Leaf& leaf, const ResourceVector& more, bool borrow, const AskEntry* claimant,
             const ResourceVector& freed = {}) const;
  Bar barred(const AskEntry& ask) const;
  // How many tasks of the ask may be given at once, at most count_max, which may be.
  int64_t permitted_count(const AskEntry& ask, const Turn& turn, int64_t count_max) const;
  // The most of each kind that the leaf may be given.
  ResourceVector permitted(const Leaf& leaf) const;
  ResourceVector held_for_others(const Leaf& leaf) const;
  Bar exceeded_limit(const AskEntry& ask) const;
  bool is_guarantee_met(const Role& role) const;
  // It is to be looked at again when what bars it may have changed.
  void note_barred(Leaf& leaf, const Bar& bar);
  bool may_fit_someone(const Agent& agent) const;
  bool suits(const AskEntry& ask, const Agent& agent, Time now) const;
  bool is_usable(const AskEntry& ask, const Agent& agent, Time now) const;
  Agent* place(AskEntry& ask, Time now);
  Agent* place_in_claims(const AskEntry& ask, Time now) const;
  Agent* place_anywhere(const AskEntry& ask, Time now) const;
  Agent* better(const AskEntry& ask, Agent* a, Agent* b) const;
  void visit_free(const AskEntry& ask, const std::function<bool(Agent*)>& visit) const;
  int64_t room_for(const AskEntry& ask, const Agent& agent, int64_t count_max) const;
  std::vector<Slice> carve_tasks(const Leaf& leaf, const Agent& agent, const ResourceVector& shape,
                                 int64_t count, std::vector<Slice>* last) const;

  // --- gangs.cc --------------------------------------------------------------------------------
  std::vector<fair::Seat> plan_gang(const AskEntry& ask, Time now) const;
  std::vector<fair::Seat> spread_gang(const AskEntry& ask, const std::vector<Agent*>& agents) const;
  bool give_gang(AskEntry& ask, const Turn& turn, const fair::LeafOrder& order, Time now);

  // --- open_offers.cc --------------------------------------------------------------------------
  bool give_fair_piece(const Turn& turn, const fair::LeafOrder& order, Time now);
  bool give_whole_agent(const Turn& turn, Time now, std::vector<Leaf*>& refused);
  void note_permitted(Leaf& leaf, const Agent& agent);
  // What of the agent's rest is at most so much; nothing if that is of no use to anybody.
  static std::vector<Slice> piece_for(const Leaf& leaf, const Agent& agent,
                                      const ResourceVector& most);
  bool fill_open(Time now);
  bool is_open_to(const Leaf& leaf, const Agent& agent, Time now) const;
  Agent* place_open(Leaf& leaf, Time now);

  // --- status.cc -------------------------------------------------------------------------------
  void add_statuses(const Leaf& leaf, std::vector<AskStatus>& statuses) const;

  // --- claims.cc -------------------------------------------------------------------------------
  void start_waiting(Leaf& leaf, Time now);
  void stop_waiting(AskEntry& ask);
  void set_timer(AskEntry& ask, std::optional<Time> at);
  void fire_claim_timers(Time now);
  void assign_claims(Time now);
  bool could_ever_fit(const AskEntry& ask, const Agent& agent) const;
  // On all agents together: its whole gang.
  bool could_ever_be_met(const AskEntry& ask, bool only_serving) const;
  bool could_be_served(const AskEntry& ask) const;
  int64_t capacity(const AskEntry& ask, const Agent& agent) const;
  std::vector<Agent*> claimable_agents(const AskEntry& ask, std::vector<Agent*> kept,
                                       Time now) const;
  AskEntry* claimable_ask(Leaf& leaf, Time now) const;
  bool may_be_served_later(const Leaf& leaf, Time now) const;
  bool claim(AskEntry& ask, Time now);
  void hold_for(AskEntry& ask, const std::vector<Agent*>& agents, uint64_t order, Time now);
  void drop_claim(AskEntry& ask);
  void review_claim(AskEntry& ask, Time now);

  // --- headroom.cc -----------------------------------------------------------------------------
  ResourceVector kept_below(const Role& role, const AskEntry* claimant) const;
  bool keep_headroom(AskEntry& ask, Time now);
  void drop_headroom(AskEntry& ask);
  void drop_useless_headroom(const Role& role);
  void review_headroom(Time now);
  bool moves(const AskEntry& ask) const;
  void check_headroom(std::vector<Violation>& found) const;

  // --- lending.cc ------------------------------------------------------------------------------
  // What would have to end for the claimant to be served.
  struct Obstacles {
    bool would_do = false;  // if all of these ended, and what has had its notice
    std::vector<OfferId> offers = {};
    std::vector<std::pair<Agent*, fair::TaskRef>> tasks = {};
  };
  Obstacles obstacles_of(const AskEntry& ask) const;
  bool take_back_lent(Time now);
  void take_back_estimates(Time now);
  bool lend(Time now);
  bool lend_to(Leaf& leaf, Time now);

  // --- reclaim.cc ------------------------------------------------------------------------------
  bool reclaim(Time now);
  std::vector<Claimant> claimants(Time now);
  void visit_promised(const Role& role, const std::function<void(Leaf&)>& visit);
  static bool lacks_more(const AskEntry& ask);
  static bool is_short(const AskEntry& ask);
  bool is_reclaim_due(const AskEntry& ask, Time now) const;
  std::optional<Claimant> claimant(AskEntry& ask) const;
  void carry_out(AskEntry& ask, const ReclaimPlan& plan, int64_t most, Time now);
  // The task is told to end, and counts as ended where shares are taken back.
  void revoke(Agent& agent, const fair::TaskRef& task, RevokeReason reason,
              const RoleName& beneficiary, Time now);
  int64_t revokes_most() const;
  int64_t revokes_left(Time now);
  Time revokes_open(int64_t count, Time now) const;
  void look_again_at(Time at);
  void set_aside(AskEntry& ask, Agent& agent, int64_t tasks, Time until);
  void await(Agent& agent, AskEntry& ask, int64_t tasks);
  void end_reclaim(Agent& agent, AskEntry& ask);
  void end_claim_on(Agent& agent);
  void note_reclaimed(AskEntry& ask, Agent& agent, int64_t count);
  void end_idle_reclaims(Time now);
  static void note_answer(AskEntry& ask, int64_t offered, int64_t launched);
  void reclaim_eagerly(const std::vector<Claimant>& waiting, Time now);

  // --- reclaim_plan.cc -------------------------------------------------------------------------
  Right right_of(const AskEntry& ask) const;
  std::vector<Victim> victims_on(const Agent& agent) const;
  Victim gang_of(const FrameworkId& framework, uint64_t number) const;
  // Tasks that began by `ripe` may be told to end.
  ReclaimPlan plan_reclaim(const AskEntry& ask, const Right& right, Time now, Time ripe) const;
  ReclaimPlan plan_anywhere(const AskEntry& ask, const Right& right) const;

  // --- explain.cc ------------------------------------------------------------------------------
  void explain_place(const Framework& framework, const ResourceVector& total,
                     FrameworkExplanation& found) const;
  void name_rivals(const AskEntry* entry, std::vector<HinderedAgents>& hindered) const;
  AskExplanation explain_ask(const AskEntry& entry, Time now) const;
  void explain_changes(const AskEntry& entry, AskExplanation& found) const;
  Bar bar_to(const Leaf& leaf, const AskEntry* entry, const Agent& agent) const;
  HinderedAgents hindrance(const Leaf& leaf, const AskEntry* entry, const Agent& agent,
                           Time now) const;

  // --- explain_role.cc, explain_task.cc --------------------------------------------------------
  void explain_children(const Role& role, RoleExplanation& found) const;
  void explain_held(const Role& role, Time now, RoleExplanation& found) const;
  HeldAsks held_by(const AskEntry& ask, Time now, int& outlooks) const;
  void note_coming(const AskEntry& ask, RoleExplanation& found) const;
  void explain_borrowers(const Role& role, RoleExplanation& found) const;
  void explain_over(const fair::Task& task, TaskStanding& found) const;
  void explain_victim(const fair::TaskRef& ref, Time now, TaskStanding& found) const;

  // --- remedies.cc -----------------------------------------------------------------------------
  std::vector<Remedy> remedies_for(const AskEntry& entry, Time now) const;

  // --- violations.cc, place_violations.cc ------------------------------------------------------
  void check_parts(std::vector<Violation>& found) const;
  void check_gangs(std::vector<Violation>& found) const;
  void check_places(std::vector<Violation>& found) const;
  void check_agents(std::vector<Violation>& found) const;
  void check_leaves(std::vector<Violation>& found) const;
  void check_claims(std::vector<Violation>& found) const;
  struct ReclaimSums;
  void check_reclaims(std::vector<Violation>& found) const;
  void check_gang_tasks(std::vector<Violation>& found) const;
  void sum_reclaims(const Agent& agent, ReclaimSums& sums) const;
  void check_notices(const Agent& agent, std::vector<Violation>& found) const;
  void check_set_aside(const Agent& agent, std::vector<Violation>& found) const;
  void check_sums(const ReclaimSums& sums, std::vector<Violation>& found) const;
  void check_victim(const Agent& agent, const fair::TaskRef& task, const AskEntry& claimant,
                    Time now);
  void check_work_conservation(std::vector<Violation>& found) const;
  void check_tree(std::vector<Violation>& found) const;
  void check_limits(std::vector<Violation>& found) const;
  void check_fairness(std::vector<Violation>& found) const;
  bool had_less(const Leaf& other, const Leaf& winner, const Rank& before) const;

  const AllocatorOptions options_;
  RoleTable role_table_;
  bool knows_all_tasks_ = true;
  IndexedMap<AgentId, std::unique_ptr<Agent>> agents_;
  mutable fair::RoleTree tree_;  // see know_shares()
  IndexedMap<FrameworkId, std::unique_ptr<Framework>> frameworks_;
  std::map<fair::LeafId, std::unique_ptr<Leaf>> leaves_;
  std::map<FrameworkId, Leaf*> open_leaves_;  // of leaves_, those that take open offers
  std::vector<fair::LeafId> doubtful_;        // leaves that may be needed no more
  fair::OutstandingOffers outstanding_;
  std::vector<Rescind> rescinds_;  // for the next decision
  std::vector<Revoke> revokes_;
  // The tasks of each gang, with their agents.
  std::map<std::pair<FrameworkId, uint64_t>, std::set<std::pair<AgentId, TaskId>>> gang_tasks_;

  UseLater use_later_;         // empty but in settle()
  ResourceVector total_;       // of the cluster, as the shares know it
  bool shares_dirty_ = false;  // a total or a weight changed: shares are rebuilt in the decision
  bool dirty_ = false;         // something happened since the decision
  uint64_t attributes_version_ = 0;
  uint64_t grants_ = 0;
  uint64_t gifts_made_ = 0;  // with open offers
  uint64_t claims_ = 0;
  uint64_t gangs_ = 0;  // the last number given, or found running

  fair::FreeAgents free_;
  // All that want offers, but for those that are frozen in this decision.
  fair::LeafOrder hungry_{tree_, 0};
  // Of these, those that should look at more than the agents that grew.
  fair::LeafOrder anew_{tree_, 1};
  // Leaves that something other than a limit barred, which may be otherwise in the next decision.
  std::set<Leaf*> held_back_;  // only emptied, the order does not matter
  std::set<Role*> blocking_;   // roles that have blocked leaves; likewise
  // The least of each kind over all declared asks: where this does not fit, none does.
  std::optional<ResourceVector> least_shape_;
  bool least_shape_dirty_ = false;
  bool some_picky_ = false;  // an ask that not every agent is for is declared

  std::set<FilterTimer> filter_timers_;
  std::set<AskTimer> ask_timers_;
  std::set<AskTimer> alarms_;
  fair::AgentSet estimating_;  // agents with an estimated part
  fair::AgentSet draining_;
  std::set<AskEntry*> due_;  // without a claim; only counted and searched, never walked
  std::map<uint64_t, AskEntry*> claimed_;   // by claim_order
  std::map<uint64_t, AskEntry*> headroom_;  // who has some kept, by headroom_order
  uint64_t headrooms_ = 0;
  uint64_t agents_version_ = 1;     // of which agents there are and what they bring
  uint64_t settings_version_ = 0;   // of the roles
  uint64_t claimable_version_ = 1;  // of all that claimable_agent() depends on

  fair::AgentSet reclaimed_;              // set aside because tasks were told to end for somebody
  std::deque<Time> notices_;              // that tasks are reclaimed, of the last minute
  Time cap_wait_until_;                   // until when no more may be told to end
  std::optional<Time> reclaim_at_;        // when there may be something to tell
  uint64_t changes_ = 1;                  // version of everything
  std::vector<Violation> wrong_victims_;  // of the last decision

  // Of the current decision.
  std::vector<Leaf*> frozen_;
  std::vector<Gift> gifts_;
  std::vector<std::pair<Leaf*, Rank>>
      least_with_due_;  // leaves when they were first, with a due ask
  mutable bool entitlements_known_ = false;
  mutable ResourceVector supposed_gone_;  // see Supposed: of what still runs on draining agents
  bool own_only_ = false;                 // nothing of what others leave is given yet
  uint64_t turns_epoch_ = 1;  // while it is the same, who has no use for a guarantee gets none
  std::vector<Given> given_;  // kept until the next event
  Time decided_at_;
  uint64_t offers_before_ = 0;  // the last number of an offer before that decision
};

}  // namespace proffer
