// Frameworks without asks have unlimited demand and take any offer. When such a leaf is first by
// share it gets the rest of an agent, within its fair deficit while asks of others are still
// considered (give_fair_piece); resources that no ask can use exceed that deficit (fill_open). At
// most one open offer of an agent to a framework is outstanding.

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "allocator/round/round.h"
#include "allocator/rules/denial.h"
#include "allocator/rules/fit.h"
#include "allocator/rules/placement.h"

namespace proffer::fair {

bool Round::is_open(const Leaf& l, const Agent& a) const {
  // Filters for a time that are over have been removed already.
  if (l.owner->filtered_on(a) == Framework::Filtered::kForATime) return false;
  // If the leaf got a piece of the agent in this decision, more of the agent joins the same offer.
  const bool has_one = l.open_on.count(&a) > 0 &&
                       drafts_by_hash_.place_of(drafts_, l, a, 0, false, {}) == DraftTable::kNone;
  return is_open_to(l, a, now_, has_one);
}

namespace {

__extension__ typedef __int128 Int128;

constexpr ResourceVector kAnything =
    ResourceVector::of(kAmountMax, kAmountMax, kAmountMax, kAmountMax);

// Up to this number of agents, a list is faster than the index.
constexpr size_t kFewGrown = 32;

// The largest part of `all` in the proportions of `accepted`, rounded up.
ResourceVector part_like(const ResourceVector& all, const ResourceVector& accepted) {
  std::optional<ResourceKind> least;
  for (const ResourceKind kind : kResourceKinds) {
    if (accepted[kind] == 0) continue;
    const bool is_less =
        !least || Int128(all[kind]) * accepted[*least] < Int128(all[*least]) * accepted[kind];
    if (is_less) least = kind;
  }
  ResourceVector piece;
  for (const ResourceKind kind : kResourceKinds) {
    if (accepted[kind] == 0) continue;
    const Int128 wanted = Int128(accepted[kind]) * all[*least];
    piece[kind] = static_cast<int64_t>((wanted + accepted[*least] - 1) / accepted[*least]);
  }
  return piece.min(all);
}

// `most`, plus the rest of each kind if that rest is smaller than a useful offer and permitted.
ResourceVector with_rest(ResourceVector most, const ResourceVector& all,
                         const ResourceVector& permitted, const ResourceVector& least) {
  for (const ResourceKind kind : kResourceKinds) {
    const bool is_little = all[kind] - most[kind] < least[kind];
    if (most[kind] > 0 && is_little && all[kind] <= permitted[kind]) {
      most[kind] = std::max(most[kind], all[kind]);
    }
  }
  return most;
}

bool is_freer(const Agent& a, const Agent& b) {
  return a.weighted_free != b.weighted_free ? a.weighted_free > b.weighted_free : a.id < b.id;
}

}  // namespace

// Whether the agent has a piece for a leaf that may have at most `most`.
bool Round::has_piece(const Leaf& l, const Agent& a, const ResourceVector& most) const {
  if (!a.parts.empty() || !a.withheld.empty()) return !piece_for(cluster_, l, a, most).empty();
  const ResourceVector piece = a.free.amounts.min(most).max(ResourceVector());
  return !piece.is_zero() && is_worth_offering(cluster_, a, piece);
}

// The agent with most free resources that is open to the leaf and has a piece for it within `most`;
// or nullptr. Considers only agents that the leaf has not looked at before.
Round::OpenPlace Round::place_open(Leaf& l, const ResourceVector& most) {
  const FreeAgents& free = cluster_.free_agents;
  uint64_t since = l.tried_at == 0 ? 0 : std::max(l.tried_at, cluster_.open_tried_at);
  if (!l.retry.empty()) {
    std::erase_if(l.retry, [&](const Agent* a) { return a->grown_at > since; });
    if (l.retry.size() > kFewGrown) {
      l.retry.clear();
      l.tried_at = since = 0;
    }
  }
  OpenPlace found;
  const size_t lacking = kinds_lacking(most);
  if (lacking != 0 && !free.any_lacking(lacking)) {
    found.some_denied = true;
    return found;
  }
  const auto consider = [&](Agent* a) {
    if (found.agent != nullptr && !is_freer(*a, *found.agent)) return false;
    if (!is_open(l, *a)) return false;
    if (waiting_.unanswered.is_withheld(l, *a)) {
      found.some_denied = true;
      return false;
    }
    if (has_piece(l, *a, most)) {
      found.agent = a;
      return true;
    }
    found.some_denied = true;
    return false;
  };
  for (Agent* a : l.retry) {
    if (a->listed) consider(a);
  }
  std::array<Agent*, kFewGrown> grown;
  size_t few = 0;
  const bool are_many = free.visit_grown(since, [&](Agent* a) {
    if (few == kFewGrown) return true;
    grown[few++] = a;
    return false;
  });
  if (!are_many) {
    std::for_each(grown.begin(), grown.begin() + few, consider);
    return found;
  }
  // Agents before the last one that the leaf got were not open to it, and still are not.
  OpenCursor& cursor = open_cursors_[&l];
  if (cursor.stamp != free.latest() || cursor.since != since) cursor = {free.latest(), since};
  if (!cursor.is_at_end) {
    cursor.is_at_end =
        !free.freest_first().visit_from(cursor.key, cursor.agent, since, [&](Agent* a) {
          if (!consider(a)) return found.agent != nullptr && is_freer(*found.agent, *a);
          cursor.key = -a->weighted_free;
          cursor.agent = a;
          return true;
        });
  }
  return found;
}

// Gives the leaf the resources kept for its implied task, once they suffice.
bool Round::give_kept_place(const Turn& turn, const LeafOrder& order) {
  AskEntry* const ask = turn.leaf->implied();
  if (ask == nullptr || !denial(cluster_, *ask, own_only_).is_none()) return false;
  // It may have got an open offer since the place was kept.
  if (owed_only_ && waiting_.gate.owed_tasks(*ask, 1, now_) == 0) return false;
  for (Agent* a : ask->set_aside) {
    if (!is_usable(*ask, *a, now_)) continue;
    give(*ask, *a, turn, order);
    return true;
  }
  return false;
}

// Like an ask, an implied task that a guarantee covers may use what is kept for claims of others.
bool Round::give_claimed_place(const Turn& turn, const LeafOrder& order) {
  AskEntry* const ask = turn.leaf->implied();
  if (ask == nullptr || turn.leaf->is_guess || turn.within.empty()) return false;
  if (turn.exceeded(ask->at_once()) != nullptr || !denial(cluster_, *ask).is_none()) return false;
  return give_of_claims(*ask, turn, order);
}

bool Round::give_fair_piece(const Turn& turn, const LeafOrder& order) {
  Leaf& l = *turn.leaf;
  if (l.stopped != 0) return false;
  Agent* const a = place_open(l, kAnything).agent;
  if (a == nullptr) return give_claimed_place(turn, order);
  know_entitlements(cluster_);
  const ResourceVector deficit = l.refuses ? probe_of(l) : l.entitlement - l.use();
  ResourceVector most = deficit.min(permitted(cluster_, l));
  for (const Role* role : turn.within) {
    most = most.min(role->settings.guarantee.amounts(most + role->use()) - role->use());
  }
  const ResourceVector accepted = l.accepted.sum();
  const bool in_proportion = !a->allocated.amounts().is_zero() && !accepted.is_zero();
  const ResourceVector all = sum_of(a->usable(l.role->name)).amounts;
  if (in_proportion) {
    most = part_like(all.min(most).max(ResourceVector()), accepted);
  } else if (turn.within.empty()) {
    most = with_rest(most, all, permitted(cluster_, l), cluster_.options.min_offer);
  }
  const std::vector<Slice> piece = piece_for(cluster_, l, *a, most);
  // While asks may use the rest, no piece is smaller than a task.
  const AskEntry* const ask = l.implied();
  const bool is_too_small =
      ask != nullptr && !l.is_guess && !ask->ask.shape.fits_in(sum_of(piece).amounts);
  if (piece.empty() || is_too_small) {
    if (give_claimed_place(turn, order)) return true;
    if (!turn.within.empty()) turns_.set_beyond(l, *turn.within.front());
    note_permitted(l, *a);
    return false;
  }
  if (cluster_.options.is_audited) {
    record_.given.push_back(
        {&l, a, piece, rank_of(l), !turn.within.empty(), false, owed_only_, a->keep, a->withheld});
  }
  // The answer to a part says nothing about all free resources.
  grant(l, *a, piece, nullptr, 0).in_proportion = in_proportion;
  return true;
}

// A framework that takes nothing is offered one piece at a time, to detect when it wants tasks
// again: a piece of the size of its last task, or an equal part of the cluster.
ResourceVector Round::probe_of(const Leaf& l) const {
  if (!l.offers.empty()) return {};
  if (l.owner->implied != nullptr) return l.owner->implied->ask.shape;
  const auto parts = static_cast<int64_t>(std::max<size_t>(cluster_.leaves.size(), 1));
  ResourceVector probe = cluster_.usable_total();
  for (const ResourceKind kind : kResourceKinds) {
    probe[kind] = std::max(probe[kind] / parts, cluster_.options.min_offer[kind]);
  }
  return probe;
}

// The agent's rest may exceed the leaf's permitted amounts: the leaf looks at it again when it may
// have more.
void Round::note_permitted(Leaf& l, const Agent& a) {
  const Denial denied =
      denial(cluster_, {.leaf = l, .amounts = sum_of(a.usable(l.role->name)).amounts});
  if (!denied.is_none()) note_denied(l, denied);
}

// Gives the leaf all permitted resources of one agent. Without such an agent the leaf leaves the
// orders until there may be one: when it has looked at all agents, or, with `refused`, might have
// had more of some.
bool Round::give_whole_agent(const Turn& turn, std::vector<Leaf*>& refused) {
  Leaf& l = *turn.leaf;
  const ResourceVector most = permitted(cluster_, l);
  cluster_.end_filters_of_pieces(l, most);
  const OpenPlace place = place_open(l, most);
  if (Agent* const a = place.agent) {
    std::vector<Slice> all = piece_for(cluster_, l, *a, most);
    if (cluster_.options.is_audited) {
      record_.given.push_back(
          {&l, a, all, rank_of(l), !turn.within.empty(), false, false, {}, a->withheld});
    }
    grant(l, *a, std::move(all), nullptr, 0).in_proportion = false;
    return true;
  }
  l.retry.clear();
  const size_t lacking = kinds_lacking(most);
  const bool by_limits = lacking != 0 && !holds_guarantees(cluster_);
  if (by_limits) {
    cluster_.stop(l, lacking);
    return false;
  }
  for (const Agent* a : l.owner->declined_pieces) note_permitted(l, *a);
  l.tried_at = place.some_denied ? 0 : cluster_.free_agents.latest();
  if (place.some_denied) {
    cluster_.held_back.insert(&l);  // No event announces that it may have more.
    refused.push_back(&l);
  }
  cluster_.untried.erase(l);
  cluster_.open.erase(l);
  looked_.push_back(&l);
  return false;
}

// Called after the asks: the rest goes to open leaves by least share, one agent at a time. Returns
// early with true if asks may use more after all, since less is held for guarantees.
//
// While a grown agent is left, all open leaves are tried; a leaf that has looked at all agents
// leaves the order until the end. After that only leaves that changed themselves have new agents to
// look at.
bool Round::fill_open() {
  thaw(false);
  for (Leaf* l : std::exchange(open_untried_, {})) cluster_.update_demand(*l, true);
  open_cursors_.clear();
  const auto end = [&] {
    for (Leaf* l : std::exchange(looked_, {})) cluster_.update_demand(*l, false);
  };
  cluster_.wake_stopped();
  do {
    std::vector<Leaf*> refused;
    bool some_given = false;
    while (true) {
      const bool some_grew =
          cluster_.free_agents.visit_grown(cluster_.open_tried_at, [](Agent*) { return true; });
      const LeafOrder& order = some_grew ? cluster_.open : cluster_.untried;
      const Turn turn = turns_.next(order);
      if (turn.leaf == nullptr) break;
      const uint64_t before = grants_made_;
      if (give_kept_place(turn, order)) {  // Another ask may be next on the agent.
        end();
        return true;
      }
      if (!give_whole_agent(turn, refused)) continue;
      some_given = true;
      if (!less_is_held(before)) continue;
      end();
      return true;
    }
    // A piece that was useless without a forbidden kind may be useful after others took that kind.
    if (!some_given) break;
    for (Leaf* l : refused) cluster_.update_demand(*l, true);
    some_given = cluster_.wake_stopped() || !refused.empty();
    if (!some_given) break;
  } while (true);
  end();
  cluster_.open_tried_at = cluster_.free_agents.latest();
  return false;
}

}  // namespace proffer::fair
