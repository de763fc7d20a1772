#pragma once

// All that the allocator knows. One class, since a decision touches everything, told in several
// files by verb:
//
//   agent_events.cc      an agent comes, changes, leaves
//   framework_events.cc  a framework, its asks, roles and weights change
//   answers.cc           offers answered or ended; tasks ended or found running
//   filters.cc           declines and what they keep away
//   decide.cc            one decision from beginning to end: read this first
//   filling.cc           progressive filling over the asks
//   open_offers.cc       the part of frameworks without asks
//   placement.cc         which agent an ask goes to
//   claims.cc            nobody starves
//   explain.cc           why a framework has no offer
//   status.cc, violations.cc   pictures and laws

#include <map>
#include <memory>
#include <set>
#include <vector>

#include "allocator/allocator.h"
#include "allocator/leaves.h"
#include "allocator/outstanding.h"

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
  void declare_asks(const FrameworkId& id, std::vector<Ask> asks);
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
  std::optional<Time> next_decision(Time now) const;
  Decision decide(Time now);
  ResourceVector total() const;
  std::vector<RoleStatus> roles() const;
  std::vector<LeafStatus> leaves() const;
  std::vector<AgentUse> agents() const;
  FrameworkExplanation explain(const FrameworkId& id, Time now) const;
  std::vector<Violation> violations() const;

 private:
  using Agent = fair::Agent;
  using AskEntry = fair::AskEntry;
  using Filter = fair::Filter;
  using Leaf = fair::Leaf;
  using Rank = fair::Rank;
  using Role = fair::Role;

  // What this decision gives of one agent to one leaf; becomes an offer at its end.
  struct Gift {
    Leaf* leaf = nullptr;
    Agent* agent = nullptr;
    Resources resources = {};
    std::vector<AskFill> fills = {};
    int64_t ports = 0;
  };
  // For violations(): how the last task of a batch, or an open piece, was given.
  struct Given {
    const Leaf* leaf = nullptr;
    const Agent* agent = nullptr;
    Resources last = {};  // that task's
    Rank before = {};     // of the leaf, before that task
  };
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
  Leaf& leaf(const FrameworkId& id);
  void mark_dirty();
  // Recomputes what is free on the agent and its place in the index. `grew`: it may have more than
  // before, so the blocked should look again.
  void refresh(Agent& agent, bool grew);
  // Changes what the leaf and its role hold or are offered, and their places.
  void change_use(Leaf& leaf, const ResourceVector& allocated, const ResourceVector& offered);
  void compute_shares(Leaf& leaf) const;
  // In or out of hungry_, as it wants offers now or not. `anew`: something of it has not been
  // tried.
  void update_hunger(Leaf& leaf, bool anew);
  void rebuild_shares();
  ResourceVector compute_total() const;
  RoleSettings settings_of(const RoleName& role) const;

  // now + duration, but never beyond the end of time: peers may say any duration.
  static Time later(Time now, Duration duration);

  // --- answers.cc ------------------------------------------------------------------------------
  // The task is allocated from now on; it must not be there.
  void add_task(Agent& agent, Leaf& leaf, RunningTask task);
  // An outstanding offer ends, its resources are nobody's.
  fair::OutstandingOffer end_offer(const OfferId& id);
  void rescind(const OfferId& id, RescindReason reason);
  void rescind_all(std::set<OfferId> ids, RescindReason reason);

  // --- filters.cc ------------------------------------------------------------------------------
  void add_filter(Leaf& leaf, Agent& agent, Filter filter);
  void remove_filter(Leaf& leaf, const AgentId& agent);
  bool is_filtered(const Leaf& leaf, const Agent& agent, Time now) const;
  void end_filters(Time now);

  // --- filling.cc, placement.cc ----------------------------------------------------------------
  void fill(Time now);
  bool give_to_asks(Leaf& leaf, const fair::LeafOrder& order, Time now);
  void give(AskEntry& ask, Agent& agent, const fair::LeafOrder& order, Time now);
  int64_t tasks_in_turn(const Leaf& leaf, const AskEntry& ask, int64_t count_max,
                        const fair::LeafOrder& order, Rank* before_last) const;
  void add_gift(Leaf& leaf, Agent& agent, const Resources& resources, const AskEntry* ask,
                int64_t count);
  void freeze(Leaf& leaf, Time now);
  void thaw();
  bool may_fit_someone(const Agent& agent) const;
  bool is_usable(const AskEntry& ask, const Agent& agent, Time now) const;
  Agent* place(AskEntry& ask, Time now);

  // --- open_offers.cc --------------------------------------------------------------------------
  bool give_fair_piece(Leaf& leaf, const fair::LeafOrder& order, Time now);
  bool give_whole_agent(Leaf& leaf, Time now);
  void fill_open(Time now);
  bool is_open_to(const Leaf& leaf, const Agent& agent, Time now) const;
  Agent* place_open(Leaf& leaf, Time now);
  void compute_entitlements();

  // --- claims.cc -------------------------------------------------------------------------------
  void start_waiting(Leaf& leaf, Time now);
  void stop_waiting(AskEntry& ask);
  void set_timer(AskEntry& ask, std::optional<Time> at);
  void fire_claim_timers(Time now);
  void assign_claims(Time now);
  bool could_ever_fit(const AskEntry& ask, const Agent& agent) const;
  Agent* claimable_agent(const AskEntry& ask, Time now) const;
  AskEntry* claimable_ask(Leaf& leaf) const;
  bool may_be_served_later(const Leaf& leaf, Time now) const;
  bool claim(AskEntry& ask, Time now);
  void hold_for(AskEntry& ask, Agent& agent, uint64_t order, Time now);
  void drop_claim(AskEntry& ask);

  // --- explain.cc ------------------------------------------------------------------------------
  void explain_place(const Leaf& leaf, const ResourceVector& total,
                     FrameworkExplanation& found) const;
  AskExplanation explain_ask(const AskEntry& entry, Time now) const;
  void explain_changes(const AskEntry& entry, AskExplanation& found) const;
  HinderedAgents hindrance(const Leaf& leaf, const AskEntry* entry, const Agent& agent,
                           Time now) const;

  // --- violations.cc ---------------------------------------------------------------------------
  void check_agents(std::vector<Violation>& found) const;
  void check_leaves(std::vector<Violation>& found) const;
  void check_claims(std::vector<Violation>& found) const;
  void check_work_conservation(std::vector<Violation>& found) const;
  void check_fairness(std::vector<Violation>& found) const;

  const AllocatorOptions options_;
  RoleTable role_table_;
  bool knows_all_tasks_ = true;
  std::map<AgentId, std::unique_ptr<Agent>> agents_;
  std::map<RoleName, std::unique_ptr<Role>> roles_;
  std::map<FrameworkId, std::unique_ptr<Leaf>> leaves_;
  std::map<FrameworkId, Leaf*> open_leaves_;  // of leaves_, those that take open offers
  fair::OutstandingOffers outstanding_;
  std::vector<Rescind> rescinds_;  // for the next decision

  ResourceVector total_;       // of the cluster, as the shares know it
  bool shares_dirty_ = false;  // a total or a weight changed: shares are rebuilt in the decision
  bool dirty_ = false;         // something happened since the decision
  uint64_t attributes_version_ = 0;
  uint64_t grants_ = 0;
  uint64_t claims_ = 0;

  fair::FreeAgents free_;
  fair::LeafOrder hungry_{0};  // all that want offers
  fair::LeafOrder anew_{1};    // of these, those that should look at more than the agents that grew
  // The least of each kind over all declared asks: where this does not fit, none does.
  std::optional<ResourceVector> least_shape_;
  bool least_shape_dirty_ = false;

  std::set<FilterTimer> filter_timers_;
  std::set<AskTimer> ask_timers_;
  std::set<AskEntry*> due_;  // without a claim; only counted and searched, never walked
  std::map<uint64_t, AskEntry*> claimed_;  // by claim_order
  uint64_t agents_version_ = 1;            // of which agents there are and what they bring
  uint64_t claimable_version_ = 1;         // of all that claimable_agent() depends on

  // Of the current decision.
  std::vector<Leaf*> frozen_;
  std::vector<Gift> gifts_;
  std::map<std::pair<const Leaf*, const Agent*>, size_t> gift_at_;  // looked up only, never walked
  std::vector<std::pair<Leaf*, Rank>>
      least_with_due_;  // leaves when they were first, with a due ask
  bool entitlements_known_ = false;
  std::vector<Given> given_;  // kept until the next event
  Time decided_at_;
};

}  // namespace proffer
