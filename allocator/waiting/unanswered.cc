// Begin with rescind(). A Look finds the holders, then the offers that each demand needs.

#include "allocator/waiting/unanswered.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "allocator/rules/denial.h"
#include "allocator/rules/fit.h"
#include "allocator/rules/placement.h"

namespace proffer::fair {
namespace {

// The minimum time between two looks.
constexpr Duration kLookEvery = milliseconds(250);
// A leaf that was not served by a rescind causes no other one for this time.
constexpr Duration kVainFor = seconds(5);
// For this time after a rescind the agent is not offered to leaves that take nothing.
constexpr Duration kUnprobedFor = seconds(1);
// The maximum number of looks at an agent for one demand, in one look.
constexpr int64_t kTriesMax = 10'000;
// Entitlements are rounded: uses that differ by no more than this part of the total are the same.
constexpr int64_t kRounding = 1'000'000;

// The number of tasks by which the node is below its entitlement, rounded.
int64_t lacking_tasks(const Node& node, const ResourceVector& shape) {
  int64_t tasks = kAmountMax;
  for (const ResourceKind kind : kResourceKinds) {
    if (shape[kind] == 0) continue;
    const int64_t below = node.entitlement[kind] - node.use()[kind];
    tasks = std::min(tasks, below <= 0 ? 0 : (below + shape[kind] / 2) / shape[kind]);
  }
  return tasks;
}

bool is_below(const Node& node, const ResourceVector& shape) {
  return std::all_of(kResourceKinds.begin(), kResourceKinds.end(), [&](ResourceKind kind) {
    return shape[kind] == 0 || node.use()[kind] < node.entitlement[kind];
  });
}

// A leaf that waits. The least share comes first, as in a round.
struct Candidate {
  Rank rank = {};
  LeafId id = {};
  Leaf* leaf = nullptr;
  bool comes_before(const Candidate& o) const {
    if (const auto by_share = rank <=> o.rank; by_share != 0) return by_share < 0;
    return std::tie(leaf->served, id) < std::tie(o.leaf->served, o.id);
  }
};

// A demand, and how far the nodes on its path are below their shares.
struct Demand {
  Leaf* leaf = nullptr;
  AskEntry* ask = nullptr;  // nullptr: a framework with open offers that has not answered yet
  ResourceVector shape = {};
  // The nodes from the leaf up.
  struct Step {
    const Node* node = nullptr;
    int64_t lacks = 0;  // the tasks that all nodes up to here lack
    // The leaf has nothing, and all nodes up to here would be within their shares with one task.
    bool is_starving = false;
  };
  std::vector<Step> path = {};
  int64_t most() const {
    if (path.empty()) return 0;
    return path.front().is_starving ? 1 : path.front().lacks;
  }
};

Demand demand_of(Leaf& leaf, AskEntry* ask, const ResourceVector& shape) {
  Demand demand{.leaf = &leaf, .ask = ask, .shape = shape};
  int64_t lacks = kAmountMax;
  const bool has_nothing = leaf.use().is_zero();
  const ResourceVector first = ask == nullptr ? shape : ask->at_once();
  bool is_starving = has_nothing;
  for (const Node* node = &leaf; node->parent != nullptr && lacks > 0; node = node->parent) {
    int64_t here = lacking_tasks(*node, shape);
    if (here == 0 && has_nothing && is_below(*node, shape)) here = 1;
    lacks = std::min(lacks, here);
    is_starving = is_starving && (node->use() + first).fits_in(node->entitlement);
    if (lacks > 0) demand.path.push_back({node, lacks, is_starving});
  }
  return demand;
}

}  // namespace

class Unanswered::Look {
 public:
  Look(Cluster& cluster, Time now) : cluster_(cluster), now_(now) {
    know_entitlements(cluster_);
    for (const auto& [by, id] : cluster_.outstanding.by_answer()) {
      if (by > now_) break;
      note_holder(*cluster_.outstanding.find(id)->leaf);
    }
  }

  bool some_held() const { return !agents_.empty(); }
  bool is_tired() const { return tries_ >= kTriesMax; }
  const std::vector<OfferId>& chosen() const { return chosen_; }

  // Chooses offers to rescind for the demands of the leaf. Returns whether there are any.
  bool serve(Leaf& leaf) {
    if (!leaf.wants_offers()) return false;
    const size_t before = chosen_.size();
    const bool is_unknown = leaf.mode == OfferMode::kOpen && leaf.implied() == nullptr;
    if (is_unknown) {
      // Only its first offer, of at least a quarter of its share: several such frameworks would
      // take offers from each other by turns.
      if (leaf.refuses || !leaf.use().is_zero()) return false;
      ResourceVector shape = (leaf.entitlement - leaf.use()).max(ResourceVector());
      for (const ResourceKind kind : kResourceKinds) {
        const int64_t least = shape[kind] > 0 ? cluster_.options.min_offer[kind] : 0;
        shape[kind] = std::max(shape[kind] / 4, least);
      }
      if (!shape.is_zero()) serve(demand_of(leaf, nullptr, shape));
      return chosen_.size() > before;
    }
    for (AskEntry* ask : leaf.order) {
      if (ask->unmet() > 0 && !ask->is_refused) serve(demand_of(leaf, ask, ask->ask.shape));
    }
    return chosen_.size() > before;
  }

 private:
  using Offers = std::vector<const OutstandingOffer*>;

  int64_t slack(ResourceKind kind) const { return cluster_.total[kind] / kRounding + 1; }

  // Its use above its entitlement, less what this look has already given to demands.
  int64_t excess(const Node& node, ResourceKind kind) const {
    const auto spent = spent_.find(&node);
    const int64_t less = spent == spent_.end() ? 0 : spent->second[kind];
    const int64_t above = node.use()[kind] - less - node.entitlement[kind];
    return above > slack(kind) ? above : 0;
  }

  void note_holder(const Leaf& leaf) {
    const bool is_holder = std::any_of(kResourceKinds.begin(), kResourceKinds.end(),
                                       [&](ResourceKind kind) { return excess(leaf, kind) > 0; });
    if (!is_holder) return;
    for (const OutstandingOffer* offer = leaf.offers.first; offer != nullptr;
         offer = offer->at_leaf.after) {
      if (offer->made() + leaf.owner->patience > now_) break;
      Offers& there = held_[offer->agent];
      if (there.empty()) agents_.push_back(offer->agent);
      there.push_back(offer);
    }
  }

  // What the holder of the offer has above its share, as the demand sees it: at each level below
  // their lowest common role. Zero if the demand is not below its share there.
  struct Excess {
    ResourceVector amounts = {};
    bool is_starving = false;  // the demand beside it
  };
  Excess excess_beside(const Demand& demand, const OutstandingOffer& offer) const {
    const Leaf& holder = *offer.leaf;
    if (holder.owner == demand.leaf->owner) return {};
    for (const Node* side = &holder; side->parent != nullptr; side = side->parent) {
      const auto beside =
          std::find_if(demand.path.begin(), demand.path.end(),
                       [&](const Demand::Step& one) { return one.node->parent == side->parent; });
      if (beside == demand.path.end()) continue;
      Excess most{.is_starving = beside->is_starving};
      for (const ResourceKind kind : kResourceKinds) {
        most.amounts[kind] = kAmountMax;
        for (const Node* node = &holder; node != side->parent; node = node->parent) {
          most.amounts[kind] = std::min(most.amounts[kind], excess(*node, kind));
        }
      }
      return most;
    }
    return {};
  }

  // Amounts of holders that the demand would take. A holder keeps its share: it may be offered the
  // rest of its offer again.
  struct Spent {
    const Leaf* holder = nullptr;
    ResourceVector amounts = {};
  };

  // The amounts of these offers that the demand may take, by holder. A holder gives whole tasks: it
  // keeps the one with which it reaches its share, unless the holder has others, the demand has
  // nothing, and its first task is within its share. So two slow schedulers never take offers from
  // each other by turns.
  std::vector<Spent> spendable(const Demand& demand, const Offers& offers) const {
    std::vector<Spent> all;
    for (const OutstandingOffer* offer : offers) {
      auto at = std::find_if(all.begin(), all.end(),
                             [&](const Spent& one) { return one.holder == offer->leaf; });
      if (at == all.end()) at = all.insert(at, {offer->leaf});
      const Excess excess = excess_beside(demand, *offer);
      const ResourceVector& amounts = offer->resources.amounts;
      const bool is_above = !excess.amounts.min(demand.shape).is_zero();
      if (is_above && excess.is_starving && keeps_some(*offer)) {
        at->amounts += amounts;
        continue;
      }
      const ResourceVector left = (excess.amounts - at->amounts).max(ResourceVector());
      const std::vector<AskFill>& fills = offer->grant->offer.fills;
      const AskEntry* ask = offer->leaf->implied();
      if (!fills.empty()) {
        const auto of_fill = offer->leaf->owner->asks.find(fills.front().ask);
        ask = of_fill == offer->leaf->owner->asks.end() ? nullptr : of_fill->second.get();
      }
      int64_t tasks = ask == nullptr ? 0 : kAmountMax;
      for (const ResourceKind kind : kResourceKinds) {
        if (ask == nullptr || demand.shape[kind] == 0) continue;
        const int64_t each = ask->at_once()[kind];
        if (each > 0) tasks = std::min(tasks, left[kind] / each);
      }
      const bool is_whole = ask == nullptr || tasks > 0;
      if (is_whole) {
        ResourceVector most = left;
        if (ask != nullptr && tasks < kAmountMax) most = left.min(ask->at_once() * tasks);
        at->amounts += amounts.min(fills.empty() ? left : most);
      }
    }
    return all;
  }

  // Whether its holder has something without the offer, and without the rest of its gang.
  bool keeps_some(const OutstandingOffer& offer) const {
    ResourceVector use = offer.leaf->use();
    if (const auto spent = spent_.find(offer.leaf); spent != spent_.end()) use -= spent->second;
    const uint64_t gang = offer.grant->offer.gang;
    if (gang == 0) use -= offer.resources.amounts;
    for (const OfferId& id : cluster_.outstanding.of_gang(gang)) {
      use -= cluster_.outstanding.find(id)->resources.amounts;
    }
    return !use.max(ResourceVector()).is_zero();
  }

  bool gives_nothing(const Demand& demand, const OutstandingOffer& offer) const {
    return spendable(demand, {&offer}).front().amounts.min(demand.shape).is_zero();
  }

  void spend(const std::vector<Spent>& all, bool is_back) {
    for (const Spent& one : all) {
      for (const Node* node = one.holder; node != nullptr; node = node->parent) {
        ResourceVector& spent = spent_[node];
        spent = is_back ? spent - one.amounts : spent + one.amounts;
      }
    }
  }

  // The number of tasks that fit there in this state, at most `most`.
  int64_t room(const Demand& demand, const Agent& agent, AgentState& then, int64_t most) const {
    then.compute_free();
    if (demand.ask == nullptr) {
      return is_worth_offering(cluster_, agent,
                               sum_of(then.usable(demand.leaf->role->name)).amounts)
                 ? 1
                 : 0;
    }
    if (!may_hold(*demand.ask, then, now_) || is_filtered(*demand.ask, then, now_)) return 0;
    return room_for(*demand.ask, then, most);
  }

  bool may_get(const Demand& demand, const Agent& agent) const {
    if (!agent.serves()) return false;
    if (demand.ask == nullptr) {
      return !agent.is_set_aside() && demand.leaf->open_on.count(&agent) == 0 &&
             !is_filtered(*demand.leaf, agent, now_);
    }
    if (demand.ask->is_implied() && demand.leaf->open_on.count(&agent) > 0) return false;
    return (!agent.is_set_aside() || demand.ask->claims(agent)) && demand.ask->matches(agent);
  }

  // Whether limits and guarantees permit the demand once the chosen offers have ended.
  bool is_permitted(const Demand& demand, const Offers& ended) const {
    Supposed as_if;
    ResourceVector freed;
    for (const OutstandingOffer* offer : ended) {
      as_if.end(cluster_, *offer);
      freed += offer->resources.amounts;
    }
    const View view(cluster_, as_if);
    if (demand.ask == nullptr) {
      return denial(view, {.leaf = *demand.leaf, .amounts = demand.shape, .freed = freed})
          .is_none();
    }
    return denial(view, {.leaf = *demand.leaf,
                         .amounts = demand.ask->at_once(),
                         .borrow = demand.ask->ask.borrow,
                         .claimant = demand.ask,
                         .freed = freed})
        .is_none();
  }

  // The number of tasks, at most `most`, that fit on the agent after these offers have ended, of
  // which the demand takes no more than their holders have above their shares.
  int64_t room_after(const Demand& demand, const Agent& agent, const Offers& ended,
                     int64_t most) const {
    AgentState then = agent;
    then.compute_free();
    ResourceVector free = sum_of(then.usable(demand.leaf->role->name)).amounts;
    if (demand.ask != nullptr && demand.ask->claims(agent)) free += then.kept.amounts;
    for (const Spent& one : spendable(demand, ended)) free += one.amounts;
    for (const ResourceKind kind : kResourceKinds) {
      if (demand.shape[kind] > 0) most = std::min(most, free[kind] / demand.shape[kind]);
    }
    if (most <= 0) return 0;
    for (const OutstandingOffer* offer : ended) {
      then.end_offered(*offer);
      then.ports_offered -= offer->ports;
    }
    return room(demand, agent, then, most);
  }

  // The offers of the agent that must end so that more tasks of the demand fit there, at most
  // `most`; and the number of these tasks.
  std::pair<Offers, int64_t> needed_on(const Demand& demand, const Agent& agent, int64_t most) {
    Offers needed;
    const int64_t before = demand.ask == nullptr ? 0 : room_after(demand, agent, {}, most);
    int64_t now = before;
    for (const OutstandingOffer* offer : held_.at(&agent)) {
      if (now >= most) break;
      if (taken_.count(offer) > 0 || gives_nothing(demand, *offer)) continue;
      ++tries_;
      needed.push_back(offer);
      now = room_after(demand, agent, needed, most);
    }
    ++tries_;
    if (now <= before) return {};
    // Some may not help: on other devices, or of other kinds.
    for (size_t i = 0; needed.size() > 1 && i < needed.size();) {
      Offers fewer = needed;
      fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
      ++tries_;
      if (room_after(demand, agent, fewer, most) < now) {
        ++i;
      } else {
        needed = std::move(fewer);
      }
    }
    return {needed, now - before};
  }

  void choose(const Offers& offers) {
    for (const OutstandingOffer* offer : offers) {
      taken_.insert(offer);
      chosen_.push_back(offer->grant->offer.id);
      used_.insert(offer->agent);
    }
  }

  // Counts the amounts that this many tasks take of the holders, in the order of their offers.
  std::vector<Spent> spend_on(const Demand& demand, const Offers& offers, int64_t tasks) {
    ResourceVector left = demand.shape * tasks;
    std::vector<Spent> all = spendable(demand, offers);
    for (Spent& one : all) {
      one.amounts = one.amounts.min(left);
      left -= one.amounts;
    }
    spend(all, false);
    return all;
  }

  void serve(const Demand& demand) {
    if (demand.most() == 0 || is_tired()) return;
    if (demand.ask != nullptr && serve_below_limit(demand)) return;
    if (demand.ask != nullptr && demand.ask->ask.gang > 1) return serve_gang(demand);
    int64_t left = 1;
    if (demand.ask != nullptr) left = std::min(demand.most(), demand.ask->unmet());
    for (Agent* agent : agents_) {
      if (left == 0 || is_tired()) break;
      if (used_.count(agent) > 0 || !may_get(demand, *agent)) continue;
      const auto [needed, tasks] = needed_on(demand, *agent, left);
      if (needed.empty()) continue;
      if (!is_permitted(demand, needed)) continue;
      spend_on(demand, needed, tasks);
      choose(needed);
      left -= tasks;
    }
  }

  // O(agents): its tasks may go to several agents, also to those where nothing is held.
  void serve_gang(const Demand& demand) {
    const AskEntry& ask = *demand.ask;
    int64_t left = ask.ask.gang;
    for (const auto& [id, agent] : cluster_.agents) {
      if (left == 0) return;
      if (!may_get(demand, *agent) || !suits(ask, *agent, now_)) continue;
      ++tries_;
      left -= room_for(ask, *agent, left);
    }
    Offers all;
    std::vector<Spent> spent;
    for (Agent* agent : agents_) {
      if (left == 0 || is_tired()) break;
      if (used_.count(agent) > 0 || !may_get(demand, *agent)) continue;
      const auto [needed, tasks] = needed_on(demand, *agent, ask.ask.gang);
      if (needed.empty()) continue;
      const std::vector<Spent> more = spend_on(demand, needed, tasks);
      spent.insert(spent.end(), more.begin(), more.end());
      all.insert(all.end(), needed.begin(), needed.end());
      left -= std::min(left, tasks);
    }
    if (all.empty()) return;
    left == 0 && is_permitted(demand, all) ? choose(all) : spend(spent, true);
  }

  // A limit may be used up by held offers on any agent, while the ask fits elsewhere.
  bool serve_below_limit(const Demand& demand) {
    const Denial denied = denial(cluster_, *demand.ask);
    if (denied.why != Denial::Why::kLimit) return false;
    bool has_place = demand.ask->ask.gang > 1 && !plan_gang(cluster_, *demand.ask, now_).empty();
    if (demand.ask->ask.gang == 1) {
      visit_free(cluster_, *demand.ask,
                 [&](Agent* agent) { return has_place = is_usable(*demand.ask, *agent, now_); });
    }
    if (!has_place) return false;
    Offers needed;
    for (Agent* agent : agents_) {
      for (const OutstandingOffer* offer : held_.at(agent)) {
        if (is_tired()) return false;
        if (taken_.count(offer) > 0 || !is_within(offer->leaf->role->name, denied.role->name)) {
          continue;
        }
        if (gives_nothing(demand, *offer)) continue;
        ++tries_;
        needed.push_back(offer);
        ResourceVector use = denied.role->use();
        for (const Spent& one : spendable(demand, needed)) use -= one.amounts;
        const bool is_enough = denied.role->settings.limit.contains(use + demand.ask->at_once());
        if (!is_enough || !is_permitted(demand, needed)) continue;
        spend_on(demand, needed, demand.ask->ask.gang);
        choose(needed);
        return true;
      }
    }
    return false;
  }

  Cluster& cluster_;
  const Time now_;
  int64_t tries_ = 0;
  // The agents with offers of holders above their share, the oldest offer first; and these offers.
  std::vector<Agent*> agents_;
  std::unordered_map<const Agent*, Offers> held_;          // looked up only, as the next three
  std::unordered_map<const Node*, ResourceVector> spent_;  // what demands take of the chosen offers
  std::set<const OutstandingOffer*> taken_;
  std::set<const Agent*> used_;
  std::vector<OfferId> chosen_;
};

bool Unanswered::rescind(Time now) {
  is_postponed_ = false;
  note_vain(now);
  const auto& due = cluster_.outstanding.by_answer();
  // While tasks may be unknown, roles seem to have less than they do.
  if (due.empty() || due.begin()->first > now || !cluster_.knows_all_tasks) return false;
  if (cluster_.tree.root().wanting == 0 || cluster_.options.naive.no_rescinds) return false;
  const bool is_early = looked_at_ && *looked_at_ < now && now < *looked_at_ + kLookEvery;
  if (is_early || now < spared_until_) {
    is_postponed_ = true;
    return false;
  }
  looked_at_ = now;
  Look look(cluster_, now);
  if (!look.some_held()) return false;
  std::vector<Candidate> waiting;
  for (const auto& [id, leaf] : cluster_.leaves) {
    if (leaf->wants_offers() && vain_until_.count(id) == 0) {
      waiting.push_back({rank_of(*leaf), id, leaf.get()});
    }
  }
  std::sort(waiting.begin(), waiting.end(),
            [](const Candidate& a, const Candidate& b) { return a.comes_before(b); });
  const auto begin = std::find_if(waiting.begin(), waiting.end(),
                                  [&](const Candidate& one) { return one.id == from_; });
  if (begin != waiting.end()) std::rotate(waiting.begin(), begin, waiting.end());
  from_ = {};
  for (const Candidate& one : waiting) {
    if (look.is_tired()) {
      from_ = one.id;
      break;
    }
    if (look.serve(*one.leaf)) served_.emplace_back(one.id, one.leaf->use());
  }
  for (const OfferId& id : look.chosen()) {
    const OutstandingOffer* offer = cluster_.outstanding.find(id);
    if (offer == nullptr) continue;  // It belonged to the gang of another one.
    Leaf& holder = *offer->leaf;
    Agent& agent = *offer->agent;
    const bool is_open = offer->grant->offer.fills.empty();
    holders_.emplace(LeafId{holder.framework, holder.role->name}, holder.use());
    unprobed_[agent.id] = later(now, kUnprobedFor);
    cluster_.note_unused(*holder.owner, now);
    cluster_.rescind(id, RescindReason::kUnanswered);
    // It has no share, and would come first with the least share.
    if (!is_open || !holder.refuses) continue;
    Filter filter;
    filter.until = later(now, kDeclineFilter);
    cluster_.add_filter(holder, agent, std::move(filter));
  }
  if (look.chosen().empty()) return false;
  cluster_.wake_denied();
  return true;
}

void Unanswered::let_time_pass(Time now) {
  for (auto at = unprobed_.begin(); at != unprobed_.end();) {
    if (at->second > now) {
      ++at;
      continue;
    }
    // Leaves look at it again.
    const auto agent = cluster_.agents.find(at->first);
    if (agent != cluster_.agents.end()) cluster_.refresh(*agent->second, true);
    at = unprobed_.erase(at);
  }
}

// A leaf for which offers were rescinded, and which has no more than before, was not served: their
// holders have all of it again.
void Unanswered::note_vain(Time now) {
  const auto holders = std::exchange(holders_, {});
  // If others have got what was rescinded, the next look may serve the leaf.
  const bool is_progress = std::any_of(holders.begin(), holders.end(), [&](const auto& holder) {
    const auto leaf = cluster_.leaves.find(holder.first);
    return leaf == cluster_.leaves.end() || !holder.second.fits_in(leaf->second->use());
  });
  const auto served = std::exchange(served_, {});
  for (const auto& [id, before] : served) {
    if (is_progress) break;
    const auto leaf = cluster_.leaves.find(id);
    if (leaf == cluster_.leaves.end()) continue;
    if (leaf->second->use().fits_in(before)) vain_until_[id] = later(now, kVainFor);
  }
  std::erase_if(vain_until_, [&](const auto& one) { return one.second <= now; });
}

std::optional<Time> Unanswered::next_deadline() const {
  std::optional<Time> next;
  if (is_postponed_) next = std::max(*looked_at_ + kLookEvery, spared_until_);
  const auto& due = cluster_.outstanding.by_answer();
  const auto at = due.upper_bound({cluster_.decided_at, OfferId(~uint64_t{0})});
  if (at != due.end()) next = next ? std::min(*next, at->first) : at->first;
  for (const auto& [id, until] : unprobed_) next = next ? std::min(*next, until) : until;
  return next;
}

}  // namespace proffer::fair
