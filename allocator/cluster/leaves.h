#pragma once

// Frameworks, their leaves in the tree, and their asks.

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "allocator/cluster/agents.h"
#include "allocator/cluster/lag.h"
#include "allocator/cluster/patience.h"
#include "allocator/cluster/role_tree.h"
#include "allocator/cluster/wishes.h"
#include "common/constraint_matcher.h"
#include "common/indexed_map.h"
#include "common/offers.h"
#include "common/time.h"

namespace proffer::fair {

struct Leaf;

// One task in the fixed-point unit of entitlements.
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

// A declared ask: its demand, its tasks, and the resources set aside for it.
struct AskEntry {
  Leaf* leaf = nullptr;
  Ask ask = {};
  ConstraintMatcher matcher = {};
  size_t slot = 0;      // an index into tables of others (ask_table.h)
  size_t place = 0;     // its position in the declaration
  int64_t offered = 0;  // tasks of it in outstanding offers
  int64_t placed = 0;   // tasks that are offered or running
  // Its entitlement in tasks, in units of kTaskOne (rules/entitled_tasks.h), and the number of
  // tasks that it wanted when that was computed.
  int64_t entitled = 0;
  int64_t wanted_then = -1;
  bool is_recounted = false;  // it is in Cluster::recounted
  bool is_lag_due = false;    // it is in Cluster::asks_with_lag_due
  bool is_owed = false;       // the gate's last result: it is owed a task (waiting/gate.h)
  // The number of its last grant; the lowest goes first within a priority.
  uint64_t granted_at = 0;
  // No agent with this stamp or an earlier one fits it; zero: not tried yet.
  uint64_t tried_at = 0;

  // The number of agents that could ever fit it, and the version of the agents for which it was
  // counted.
  mutable int64_t flexibility = 0;
  mutable uint64_t flexible_at = 0;
  // Whether the agents that may be offered could fit it if they were empty; with its version.
  mutable bool servable = false;
  mutable uint64_t servable_at = 0;
  // The same for all agents; with its version.
  mutable bool meetable = false;
  mutable uint64_t meetable_at = 0;
  // Its pool (rules/pools.h), and the version of the agents; zero: not known.
  mutable std::optional<size_t> pool = {};
  mutable uint64_t pool_at = 0;
  // The index of its shape among the typical shapes, and the version of the workload.
  mutable size_t typical_place = 0;
  mutable uint64_t typical_at = 0;
  mutable FamilyOrder families = {};
  uint64_t hopeless_at = 0;  // version of the agents for which none could ever fit it

  TaskCounts counts = {};  // its tasks by place
  // its time in the queue of alarms: it expires, or its locality wait ends
  std::optional<Time> alarm = {};
  std::optional<Time> expires = {};
  bool expired = false;
  Time prefers_since = {};  // time of its declaration, or of its new demand after it was met
  bool paused = false;      // it gets nothing for now
  int64_t refusals = 0;     // consecutive answers to its offers without a launch
  // `refusals` reached the limit: the ask counts in no entitlement until one of its tasks is
  // launched, and is offered one task at a time.
  bool is_refused = false;

  Lag lag = {};

  // The agents that are set aside for it: by notice first, ordered by id, then the others in the
  // order of their claim. Room below limits is in Role::headroom.
  std::vector<Agent*> set_aside = {};

  // The number of tasks that it could get now, in whole gangs.
  int64_t unmet() const { return unmet_with(offered); }
  // The same if `now_offered` tasks were offered.
  int64_t unmet_with(int64_t now_offered) const { return paused ? 0 : lacking_with(now_offered); }
  // The same, also while it is paused.
  int64_t lacking() const { return lacking_with(offered); }
  // Whether its wanted count has changed since the last computation such that entitlements may
  // change.
  bool changes_entitlements() const {
    const int64_t now = wanted();
    return now != wanted_then && std::min(now, wanted_then) <= entitled / kTaskOne + 1;
  }
  // The number of tasks that it would run without a shortage.
  int64_t wanted() const { return placed + (leaf_wants() ? unmet() : 0); }
  // The smallest amount that it accepts: one gang.
  ResourceVector at_once() const { return ask.shape * ask.gang; }
  // Whether it is in its locality wait.
  bool only_preferred(Time now) const {
    return !ask.prefer.empty() && now - prefers_since < ask.prefer.wait;
  }
  // Compares slots, since a changed copy of the ask (explain/) has the same claims.
  bool claims(const AgentState& agent) const {
    return agent.claimant != nullptr && agent.claimant->slot == slot;
  }
  bool has_headroom() const;
  bool leaf_wants() const;
  // Whether it is implied, not declared (Framework::implied).
  bool is_implied() const;
  // Whether it suits only some agents, regardless of their size.
  bool is_inflexible() const {
    return !ask.constraints.empty() || ask.shape[ResourceKind::kGpus] > 0;
  }
  // Whether the agent's attributes and host match. Cached, since expressions are slow.
  bool matches(const AgentState& agent) const;
  void match_by(ConstraintMatcher other);  // replaces the matcher

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
  mutable std::unordered_map<size_t, Matched> matched_;  // by agent's slot; looked up, never walked
};

// The reason why one framework is not offered one agent for now.
struct Filter {
  std::optional<Time> until = {};  // without a reason
  // until more than this is free there, of each kind
  std::map<ResourceKind, int64_t> too_little = {};
  std::optional<Attributes> wrong_agent = {};  // until its attributes differ from these
  // If limits or guarantees made the open offer smaller than the free amounts: its amounts of the
  // kinds in `too_little`. The filter ends also when the framework may have more of each.
  std::map<ResourceKind, int64_t> of_piece = {};
};

// A framework: the data common to all of its leaves.
struct Framework {
  FrameworkId id = {};
  RoleName role = {};
  OfferMode mode = OfferMode::kAsks;
  bool active = true;
  bool suppressed = false;
  bool paused = false;                      // it is offered nothing for now
  std::optional<Duration> lease_max = {};   // the maximum lease of its offers
  Duration patience = kOfferPatienceFirst;  // with its unanswered offers
  Time patience_fell_at = {};               // it falls at most once at a time
  // The last offers that were rescinded since they stayed unanswered, with the time when each was
  // made; at most kRescindedKept.
  std::deque<std::pair<OfferId, Time>> rescinded = {};
  bool takes_offers() const { return active && !suppressed && !paused; }

  std::map<AskName, std::unique_ptr<AskEntry>> asks = {};
  // For a framework that takes open offers: the ask that its answers imply, an element of `asks`
  // without a name (implied.cc). Its offers are open ones, and its tasks are counted by use.
  AskEntry* implied = nullptr;
  // The kind of filter, and the end of a filter for a time, by the agent's slot. Slots beyond the
  // end of the vector have no filter.
  enum class Filtered : uint8_t { kNo, kForATime, kForAReason };
  struct Decline {
    Filtered filtered = Filtered::kNo;
    Time until = {};
  };
  std::vector<Decline> declines = {};
  IndexedMap<AgentId, Filter> reasons = {};  // filters for a reason
  size_t filter_count = 0;                   // filters of both kinds
  AgentSet declined_pieces = {};             // agents whose filter has an `of_piece`
  Filtered filtered_on(const AgentState& agent) const {
    return agent.slot < declines.size() ? declines[agent.slot].filtered : Filtered::kNo;
  }
  std::optional<Filter> filter_on(const AgentState& agent) const;
  Duration lag_of_ended = {};  // the greatest lag of its ended leaves
  Leaf* own = nullptr;         // the leaf in its own role; exists as long as the framework
  std::map<RoleName, Leaf*> leaves = {};  // all of its leaves; its own is the first
};

struct LeafId {
  FrameworkId framework = {};
  RoleName role = {};
  auto operator<=>(const LeafId&) const = default;
};

// A framework in one role: its own, or a lower role that one of its asks or tasks names. The leaf
// exists while it is the framework's own, or has an ask, a task or an offer.
struct Leaf : Node {
  FrameworkId framework = {};
  Framework* owner = nullptr;
  Role* role = nullptr;
  OfferMode mode = OfferMode::kAsks;

  std::vector<AskEntry*> order = {};  // by priority, then longest without a grant, then place
  int64_t tasks = 0;                  // the number of its tasks
  Duration longest_run = {};          // the longest run of a task that ended by itself
  Duration longest_cut = {};          // the greatest age of a task when it was reclaimed
  // Its entitlement for resources that it holds and no ask declares, in units of kTaskOne.
  int64_t entitled_without_ask = 0;
  ResourceVector estimated = {};  // its use of estimated resources: counts in nothing else

  AgentSet retry = {};    // agents to look at again, regardless of their stamp
  OfferList offers = {};  // outstanding
  // When the patience with the oldest of them ends; kept by OutstandingOffers while it has some.
  Time answer_by = {};

  // For open offers only, which go to the framework's own leaf.
  uint64_t tried_at = 0;  // as in AskEntry
  // agents with an outstanding open offer; never walked
  std::unordered_set<const Agent*> open_on = {};
  // The amounts that its tasks took from the last open offers; empty after a decline.
  struct Accepted {
    ResourceVector lately = {};
    int64_t answers = 0;  // the number of answers in `lately`
    ResourceVector before = {};
    ResourceVector sum() const { return before + lately; }
  };
  Accepted accepted = {};
  // It took nothing of its last open offer, for a reason other than amounts: it counts in no
  // entitlement until it launches a task, and is offered one piece at a time.
  bool refuses = false;
  uint64_t too_large_at = 0;  // agents_version at which it refused a whole agent as too little
  bool is_guess = false;      // it has not yet launched a task of the implied shape
  int64_t other_answers = 0;  // consecutive answers that launched tasks of other shapes
  // Not zero: limits leave it nothing of these kinds (kinds_lacking()), and offers without them are
  // useless.
  size_t stopped = 0;

  bool wants = false;       // kept by RoleTree
  bool is_lag_due = false;  // it is in Cluster::leaves_with_lag_due

  // The gate's entitlement (rules/entitled_tasks.h), its dominant kind, and the lag behind it
  // (rules/lags.h).
  ResourceVector entitled = {};
  ResourceKind entitled_kind = ResourceKind::kCpus;
  int64_t waiting_asks = 0;  // the number of asks that wait, by their lag
  Lag lag = {};

  bool wants_offers() const;
  // The implied ask, if it wants a task.
  AskEntry* implied() const;
  bool is_needed() const;
  void sort_asks();
  // Restores the order after a grant to one ask.
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
