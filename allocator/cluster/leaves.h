#pragma once

// Frameworks, the leaves of the tree that they are, and what each of them asks for.

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "allocator/cluster/agents.h"
#include "allocator/cluster/lag.h"
#include "allocator/cluster/role_tree.h"
#include "allocator/cluster/wishes.h"
#include "common/constraint_matcher.h"
#include "common/indexed_map.h"
#include "common/offers.h"
#include "common/time.h"

namespace proffer::fair {

struct Leaf;

// One task in the fixed point in which entitlements are counted.
inline constexpr int64_t kTaskOne = int64_t{1} << 20;

// The families of agents (families.h), the one in best proportion to an ask first
// (rules/proportion.h).
struct FamilyOrder {
  uint64_t version = 0;  // of the families
  std::vector<size_t> order = {};
  std::vector<int64_t> rank = {};  // of each; the same if they are equally good
  std::vector<int64_t> cost = {};  // of a task in each
  int64_t least_cost = 0;          // of the families that the task could fit
};

// A declared ask: what it wants, what it has, and what is set aside for it.
struct AskEntry {
  Leaf* leaf = nullptr;
  Ask ask = {};
  ConstraintMatcher matcher = {};
  size_t slot = 0;      // by which others keep what they know of it (ask_table.h)
  size_t place = 0;     // in the declaration
  int64_t offered = 0;  // tasks of it in outstanding offers
  int64_t placed = 0;   // those, and the ones that run
  // Tasks that it is entitled to, in parts of kTaskOne (rules/entitled_tasks.h), and of how many
  // that it wanted then.
  int64_t entitled = 0;
  int64_t wanted_then = -1;
  bool is_recounted = false;  // Cluster::recounted has it
  bool is_lag_due = false;    // Cluster::asks_with_lag_due has it
  bool is_owed = false;       // a task, as the gate found last (waiting/gate.h)
  // Which grant was its last; the longest ago goes first within a priority.
  uint64_t granted_at = 0;
  // No agent whose stamp is not later fits it; zero: not looked yet.
  uint64_t tried_at = 0;

  // How many agents could ever fit it, and at which version of the agents that was.
  mutable int64_t flexibility = 0;
  mutable uint64_t flexible_at = 0;
  // Whether agents that may be offered could fit it if they were empty; likewise.
  mutable bool servable = false;
  mutable uint64_t servable_at = 0;
  // The same of all agents; likewise.
  mutable bool meetable = false;
  mutable uint64_t meetable_at = 0;
  // Which of the typical shapes is its own, and at which version of the workload.
  mutable size_t typical_place = 0;
  mutable uint64_t typical_at = 0;
  mutable FamilyOrder families = {};
  uint64_t hopeless_at = 0;  // version of the agents in which none could ever fit it

  TaskCounts counts = {};          // of its tasks, where they are
  std::optional<Time> alarm = {};  // as in the queue of alarms: it expires, or stops waiting
  std::optional<Time> expires = {};
  bool expired = false;
  Time prefers_since = {};  // declared, or wants something again after it was met
  bool paused = false;      // it is to be given nothing for now
  int64_t refusals = 0;     // answers to its offers without a launch, in a row
  // So were many of its offers: it counts in no entitlement until one of its
  // tasks is launched, and is offered one task at a time.
  bool is_refused = false;

  Lag lag = {};

  // The agents that are set aside for it: those by notice, by id, then the others in the order of
  // their claim. Room below limits: Role::headroom.
  std::vector<Agent*> set_aside = {};

  // How many tasks it could be given now: whole gangs.
  int64_t unmet() const { return unmet_with(offered); }
  // The same if so many of them were offered.
  int64_t unmet_with(int64_t now_offered) const { return paused ? 0 : lacking_with(now_offered); }
  // The same whether or not it is paused.
  int64_t lacking() const { return lacking_with(offered); }
  // Whether it wants more or fewer than when entitlements were computed, so that they may be
  // others.
  bool changes_entitlements() const {
    const int64_t now = wanted();
    return now != wanted_then && std::min(now, wanted_then) <= entitled / kTaskOne + 1;
  }
  // How many tasks it would run if there were enough.
  int64_t wanted() const { return placed + (leaf_wants() ? unmet() : 0); }
  // The least that it takes.
  ResourceVector at_once() const { return ask.shape * ask.gang; }
  // Whether it is for now only to be given where it would rather be.
  bool only_preferred(Time now) const {
    return !ask.prefer.empty() && now - prefers_since < ask.prefer.wait;
  }
  // A copy that is declared otherwise claims the same (explain/).
  bool claims(const AgentState& agent) const {
    return agent.claimant != nullptr && agent.claimant->slot == slot;
  }
  bool has_headroom() const;
  bool leaf_wants() const;
  // Whether no framework has declared it (Framework::implied).
  bool is_implied() const;
  // Whether it is only for some agents, whatever their size.
  bool is_inflexible() const {
    return !ask.constraints.empty() || ask.shape[ResourceKind::kGpus] > 0;
  }
  // Whether the agent has the right attributes and host. Remembered, since expressions are slow.
  bool matches(const AgentState& agent) const;
  void match_by(ConstraintMatcher other);  // from now on

 private:
  struct Matched {
    uint64_t attributes_version = 0;
    bool matches = false;
  };
  int64_t lacking_with(int64_t now_offered) const {
    const bool wants_none = expired || ask.count <= now_offered;
    const int64_t left = wants_none ? 0 : ask.count - now_offered;
    return ask.gang > 1 ? left - left % ask.gang : left;
  }
  mutable std::unordered_map<size_t, Matched> matched_;  // by agent's slot; looked up only
};

// Why one framework is not offered one agent for now.
struct Filter {
  std::optional<Time> until = {};                   // without a reason
  std::map<ResourceKind, int64_t> too_little = {};  // until more than this is free there, in each
  std::optional<Attributes> wrong_agent = {};       // until its attributes are others
  // If limits or guarantees made the open offer smaller than what was free: of the kinds of
  // `too_little`, how much it held. The filter ends also when the framework may have more of each.
  std::map<ResourceKind, int64_t> of_piece = {};
};

// A framework: what counts for all of its leaves.
struct Framework {
  FrameworkId id = {};
  RoleName role = {};
  OfferMode mode = OfferMode::kAsks;
  bool active = true;
  bool suppressed = false;
  bool paused = false;                     // it is to be offered nothing for now
  std::optional<Duration> lease_max = {};  // of its offers
  bool takes_offers() const { return active && !suppressed && !paused; }

  std::map<AskName, std::unique_ptr<AskEntry>> asks = {};
  // Of a framework that takes open offers: the ask that its answers imply, which is one of `asks`
  // and has no name (implied.cc). Its offers are open ones, and its tasks are counted by use.
  AskEntry* implied = nullptr;
  // By the agent's slot, as far as it is not beyond the end: whether there is a filter, and, if it
  // is for a time, until when.
  enum class Filtered : uint8_t { kNo, kForATime, kForAReason };
  struct Decline {
    Filtered filtered = Filtered::kNo;
    Time until = {};
  };
  std::vector<Decline> declines = {};
  IndexedMap<AgentId, Filter> reasons = {};  // of those for a reason
  size_t filter_count = 0;                   // of both
  AgentSet declined_pieces = {};             // agents whose filter has an `of_piece`
  Filtered filtered_on(const AgentState& agent) const {
    return agent.slot < declines.size() ? declines[agent.slot].filtered : Filtered::kNo;
  }
  std::optional<Filter> filter_on(const AgentState& agent) const;
  Duration lag_of_ended = {};             // the greatest of its leaves that are no more
  Leaf* own = nullptr;                    // in its own role; there as long as the framework is
  std::map<RoleName, Leaf*> leaves = {};  // all, so its own is the first
};

struct LeafId {
  FrameworkId framework = {};
  RoleName role = {};
  auto operator<=>(const LeafId&) const = default;
};

// A framework in one role: its own, or one below it that an ask or a task of it names. It is there
// while it is the framework's own, or something is asked for, held or offered in it.
struct Leaf : Node {
  FrameworkId framework = {};
  Framework* owner = nullptr;
  Role* role = nullptr;
  OfferMode mode = OfferMode::kAsks;

  std::vector<AskEntry*> order = {};  // by priority, then longest without a grant, then place
  int64_t tasks = 0;                  // that count in it
  Duration longest_run = {};          // of those that have ended by themselves
  // How much it is entitled to of what it holds and no ask of it declares, in parts of kTaskOne.
  int64_t entitled_without_ask = 0;
  ResourceVector estimated = {};  // of what agents only estimate to be free: counts in nothing else

  AgentSet retry = {};    // agents to look at again whatever their stamp
  OfferList offers = {};  // outstanding

  // Open offers only, which go to the framework's own leaf.
  uint64_t tried_at = 0;                          // as AskEntry's
  std::unordered_set<const Agent*> open_on = {};  // with an outstanding open offer; never walked
  // What its tasks took of the last such offers; nothing since it has declined one.
  struct Accepted {
    ResourceVector lately = {};
    int64_t answers = 0;  // those are of so many
    ResourceVector before = {};
    ResourceVector sum() const { return before + lately; }
  };
  Accepted accepted = {};
  // It took nothing of its last such offer, for a reason other than amounts: it counts in no
  // entitlement until it launches a task, and is offered one piece at a time.
  bool refuses = false;
  uint64_t too_large_at = 0;  // agents_version at which it refused a whole agent as too little
  bool is_guess = false;      // it has launched no task yet of the implied shape
  int64_t other_answers = 0;  // in a row, that launched tasks of other shapes
  // Not zero: limits leave it nothing of these kinds (kinds_lacking()), and what is free without
  // them is of no use.
  size_t stopped = 0;

  bool wants = false;       // kept by RoleTree
  bool is_lag_due = false;  // Cluster::leaves_with_lag_due has it

  // The entitlement of the gate (rules/entitled_tasks.h), and its dominant kind; and how it stands
  // to that (rules/lags.h).
  ResourceVector entitled = {};
  ResourceKind entitled_kind = ResourceKind::kCpus;
  int64_t waiting_asks = 0;  // asks whose lag says that they wait
  Lag lag = {};

  bool wants_offers() const;
  // The implied ask, if it wants something.
  AskEntry* implied() const;
  bool is_needed() const;
  void sort_asks();
  // The same for one ask that has just been granted something.
  void move_behind_peers(const AskEntry& ask);
};

template <class Visit>
void for_each_child(const Role& role, Visit visit) {
  for (const auto& [name, child] : role.roles) visit(static_cast<Node&>(*child));
  for (const auto& [id, child] : role.leaves) visit(static_cast<Node&>(*child));
}

template <class Visit>
void for_each_leaf(const Role& role, Visit visit) {
  for (const auto& [name, child] : role.roles) for_each_leaf(*child, visit);
  for (const auto& [id, child] : role.leaves) visit(*child);
}

template <class Visit>
bool LeafOrder::for_each_below(const Role& role, Visit visit) const {
  for (Node* node : nodes(role)) {
    const bool go_on = node->is_leaf ? visit(static_cast<Leaf&>(*node))
                                     : for_each_below(static_cast<Role&>(*node), visit);
    if (!go_on) return false;
  }
  return true;
}

}  // namespace proffer::fair
