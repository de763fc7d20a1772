// Progressive filling (Algorithm 1 of the DRF paper, with the next ask as the demand vector): give
// one task to the leaf whose turn it is, update the shares, repeat. Begin with fill_asks(); turns.h
// selects the leaf.
//
// Two things make it cheap. A leaf for which nothing fits is frozen for the rest of the decision,
// and in later decisions looks only at agents that have grown since. Several tasks are given at
// once while the order would not change.

#include <algorithm>

#include "allocator/cluster/prefetch.h"
#include "allocator/round/round.h"
#include "allocator/rules/denial.h"
#include "allocator/rules/fit.h"
#include "allocator/rules/placement.h"
#include "allocator/rules/proportion.h"
#include "common/check.h"

namespace proffer::fair {
namespace {

constexpr size_t kFew = 32;
constexpr int64_t kAgentsPerTurn = 16;

}  // namespace

// First, each ask gets tasks within the entitlement of its role, if it may not borrow. Then asks
// that may not borrow get the resources that others leave of their entitlements: this is known only
// when nothing more can be given to those.
void Round::fill_asks() {
  if (!waiting_.gate.is_open()) fill_owed();
  own_only_ = true;
  fill();
  own_only_ = false;
  if (cluster_.held_back.empty()) return;
  cluster_.wake_held_back();
  fill();
}

// Gives owed tasks before all others: first at the places of tasks that have ended, then by share.
void Round::fill_owed() {
  owed_only_ = own_only_ = true;
  keep_places();
  waiting_.gate.update_orders(now_);
  fill();
  waiting_.gate.assign(now_);
  owed_only_ = own_only_ = false;
  ask_withheld();
}

// The place of a task that has ended goes to another task of its ask, if the ask is owed one and
// the place is not better for other asks.
void Round::keep_places() {
  for (const Cluster::Vacated& place : std::exchange(cluster_.vacated, {})) {
    const auto known = place.framework->asks.find(place.ask);
    if (known == place.framework->asks.end()) continue;
    AskEntry& ask = *known->second;
    Agent& a = *place.agent;
    if (ask.unmet() == 0 || ask.ask.gang > 1 || !ask.leaf->wants_offers()) continue;
    // Open offers do not fill declared asks.
    if (ask.leaf->mode == OfferMode::kOpen && !ask.is_implied()) continue;
    if (!a.serves() || a.is_set_aside() || !cluster_.demanding.contains(*ask.leaf)) continue;
    if (!waiting_.gate.is_owed(ask, now_) || !denial(cluster_, ask, true).is_none()) continue;
    if (comes_before_claim(ask, a)) {
      // The claim loses nothing: the place was not free before the task ended.
      const AskEntry* const claimant = a.claimant;
      const ResourceVector keep = a.keep;
      cluster_.change_keep(a, {});
      give_place(ask, a);
      if (a.claimant == claimant) cluster_.change_keep(a, keep);
      cluster_.refresh(a, true);
      continue;
    }
    if (!is_usable(ask, a, now_)) continue;
    if (Agent* const kept = kept_place(ask, a)) give_place(ask, *kept);
  }
}

void Round::give_place(AskEntry& ask, Agent& a) {
  give(ask, a, {.leaf = ask.leaf}, cluster_.demanding, 1);
  if (cluster_.options.is_audited) record_.given.back().from_claim = true;
}

// Whether the place of an ended task goes back to its ask although the agent has a claim of another
// ask: the claim waits for tasks of asks above their entitlement, and these are enough for it. If
// shares give a right to reclaim, asks behind would reclaim meanwhile.
bool Round::comes_before_claim(const AskEntry& ask, const Agent& a) const {
  if (cluster_.options.reclaim == ReclaimMode::kFairShare) return false;
  if (a.claimant == nullptr || a.claimant == &ask || a.purpose != Purpose::kOwed) return false;
  return suits(ask, a, now_) && ask.ask.shape.fits_in(a.free_and_kept().amounts) &&
         waiting_.gate.is_claim_served_without(ask, a, now_);
}

// Where the ask gets a task for its own that has ended on the agent: there, or nullptr if another
// ask that is owed a task fits there and the place is much better for that one. If such an ask fits
// only there, and this one fits elsewhere too, it goes elsewhere.
Agent* Round::kept_place(const AskEntry& ask, Agent& a) const {
  Agent* const elsewhere = as_good_elsewhere(cluster_, ask, a, now_);
  const bool are_all_alike = cluster_.free_agents.families().all().size() == 1;
  if (elsewhere == nullptr && are_all_alike) return &a;  // Nearly always.
  size_t looked = 0;
  for (const AskEntry* other : waiting_.gate.owed()) {
    const bool is_better = !are_all_alike && is_better_for(cluster_, *other, ask, a);
    if (!is_better && (elsewhere == nullptr || ++looked > kFew)) continue;
    if (other == &ask || other->unmet() == 0 || other->ask.gang > 1) continue;
    if (!other->leaf->wants_offers() || !waiting_.gate.is_owed(*other, now_)) continue;
    if (!is_usable(*other, a, now_) || !denial(cluster_, *other, true).is_none()) continue;
    if (is_better) return nullptr;
    if (fits_only_on(cluster_, *other, a, now_)) return elsewhere;
  }
  return &a;
}

void Round::ask_withheld() {
  for (const auto& [l, was_untried] : withheld_) cluster_.update_demand(*l, was_untried);
  withheld_.clear();
}

void Round::fill() {
  int64_t turns = 0;
  int64_t next_many = 0;
  while (true) {
    // While an agent that grew may still serve an ask, all leaves that want offers have a turn, the
    // least share first. After that only leaves that have changed can find anything.
    while (!cluster_.free_agents.fresh().empty() &&
           !may_fit_someone(*cluster_.free_agents.fresh().back())) {
      cluster_.free_agents.forget_fresh(*cluster_.free_agents.fresh().back());
    }
    const LeafOrder& order = cluster_.free_agents.fresh().empty() ? cluster_.untried
                             : owed_only_                         ? those_owed()
                                                                  : cluster_.demanding;
    if (order.asking_count() == 0) return;  // All is for fill_open().
    // Not too often: one such step may cost more than many turns.
    const auto agents = static_cast<int64_t>(cluster_.free_agents.fresh().size());
    if (turns >= next_many && agents >= cluster_.demanding.asking_count()) {
      fill_many(order);
      next_many = turns + order.asking_count() + agents / kAgentsPerTurn;
      continue;
    }
    ++turns;
    const Turn turn = turns_.next(order);
    if (turn.leaf == nullptr) return;
    Leaf& l = *turn.leaf;
    prefetch(l);
    const bool given = l.mode == OfferMode::kOpen
                           ? give_kept_place(turn, order) || give_fair_piece(turn, order)
                           : give_to_asks(turn, order);
    // A leaf that was selected by a guarantee and could not use it has another turn by its share.
    if (given || turns_.is_beyond(l, turn.within)) continue;
    if (owed_only_ && is_withheld(l)) {
      withheld_.emplace_back(&l, cluster_.untried.contains(l));
      cluster_.leave_orders(l);
      continue;
    }
    freeze(l);
  }
}

// The leaves that may get something while only owed tasks are given. Open frameworks get their fair
// pieces in turn with all other leaves, by share.
const LeafOrder& Round::those_owed() const {
  return cluster_.open_frameworks > 0 ? cluster_.demanding : cluster_.owed_leaves;
}

// Whether an ask of the leaf waits until the owed tasks of others are given.
bool Round::is_withheld(const Leaf& l) {
  return l.mode != OfferMode::kOpen &&
         std::any_of(l.order.begin(), l.order.end(), [&](const AskEntry* ask) {
           return ask->unmet() > 0 && !waiting_.gate.is_owed(*ask, now_);
         });
}

bool Round::may_fit_someone(const Agent& a) const {
  return cluster_.least_shape &&
         (a.parts.empty() ? cluster_.least_shape->fits_in(a.free.amounts)
                          : cluster_.least_shape->fits_in(a.counted_free().amounts));
}

// A task that a guarantee covers counts as owed, unless another ask below the same role is owed a
// task and waits for it: else nothing would be free long enough to be kept for that ask.
bool Round::comes_with_owed(const AskEntry& ask, const Turn& turn) const {
  if (waiting_.gate.is_owed(ask, now_)) return true;
  if (ask.is_refused) return ask.offered == 0;  // One offer finds out whether it takes tasks again.
  if (turn.within.empty()) return false;
  bool another_waits = false;
  for_each_leaf(*turn.within.back(), [&](const Leaf& l) {
    if (another_waits || &l == ask.leaf || !l.wants_offers()) return;
    another_waits = std::any_of(l.order.begin(), l.order.end(), [&](const AskEntry* other) {
      return other->unmet() > 0 && waiting_.claims.is_waiting(*other) &&
             waiting_.gate.is_owed(*other, now_) && denial(cluster_, *other).is_none();
    });
  });
  return !another_waits;
}

bool Round::give_to_asks(const Turn& turn, const LeafOrder& order) {
  Leaf& l = *turn.leaf;
  const Claims& claims = waiting_.claims;
  for (AskEntry* ask : l.order) {
    if (ask->unmet() == 0) continue;
    if (owed_only_ && !comes_with_owed(*ask, turn)) continue;
    if (const Role* promise = turn.exceeded(ask->at_once())) {
      turns_.set_beyond(l, *promise);
      continue;
    }
    if (const Denial denied = denial(cluster_, *ask, own_only_); !denied.is_none()) {
      // Its leaf comes first of the leaves that could use the room below the limit.
      if (denied.why == Denial::Why::kLimit && claims.is_due(*ask)) {
        waiting_.headroom.keep(*ask, now_);
      }
      note_denied(l, denied);
      if (!l.retry.empty()) ask->tried_at = 0;  // It has not looked at these agents.
      continue;
    }
    // Being first counts for its claim even if another ask of it is served now.
    if (claims.is_due(*ask) && claims.claimed_in(l) == nullptr &&
        (first_with_due_.empty() || first_with_due_.back().first != &l)) {
      first_with_due_.emplace_back(&l, rank_of(l));
    }
    if (ask->ask.gang > 1) {
      if (give_gang(*ask, turn)) return true;
    } else {
      if (Agent* a = place(*ask)) {
        give(*ask, *a, turn, order);
        return true;
      }
      if (!turn.within.empty() && give_of_claims(*ask, turn, order)) return true;
    }
  }
  return false;
}

// The agent for one task of the ask, or nullptr; then the ask is marked as having tried all agents.
Agent* Round::place(AskEntry& ask) const {
  for (Agent* a : ask.set_aside) {
    if (is_usable(ask, *a, now_)) return a;
  }
  // The index finds the best at once where there are many; the few that grew are quicker to look
  // at.
  std::array<Agent*, kFew> grown;
  size_t few = 0;
  const bool are_many =
      ask.tried_at == 0 || cluster_.free_agents.visit_grown(ask.tried_at, [&](Agent* a) {
        if (few == kFew) return true;
        grown[few++] = a;
        return false;
      });
  Agent* best = nullptr;
  if (are_many) {
    best = place_anywhere(cluster_, ask, now_);
  } else {
    const auto consider = [&](Agent* a) {
      if (a->listed && is_usable(ask, *a, now_)) best = better(cluster_, ask, best, a);
    };
    for (size_t i = 0; i < few; ++i) consider(grown[i]);
    for (Agent* a : ask.leaf->retry) consider(a);
  }
  if (best == nullptr) ask.tried_at = cluster_.free_agents.latest();
  return best;
}

// An ask that a guarantee covers may use resources that are kept for claims of others. The claims
// stay.
bool Round::give_of_claims(AskEntry& ask, const Turn& turn, const LeafOrder& order) {
  for (const auto& [number, claimant] : waiting_.claims.all()) {
    for (Agent* a : waiting_.claims.agents_of(*claimant)) {
      if (give_of_claim(ask, *a, turn, order)) return true;
    }
  }
  return std::any_of(cluster_.owed.begin(), cluster_.owed.end(),
                     [&](Agent* a) { return give_of_claim(ask, *a, turn, order); });
}

bool Round::give_of_claim(AskEntry& ask, Agent& a, const Turn& turn, const LeafOrder& order) {
  const AskEntry* const claimant = a.claimant;
  // A guarantee says nothing of the asks below the role that has it.
  if (is_within(claimant->leaf->role->name, turn.within.back()->name)) return false;
  const bool is_enough = a.keep.is_zero() ? fits(ask.ask.shape, a, ask.leaf->role->name)
                                          : fits(ask.ask.shape, a.free_and_kept());
  if (!is_enough || !suits(ask, a, now_)) return false;
  const ResourceVector keep = a.keep;
  cluster_.change_keep(a, {});
  give(ask, a, turn, order);
  if (a.claimant == claimant) cluster_.change_keep(a, keep);
  // Beside the claim there may be something for others still.
  cluster_.refresh(a, true);
  return true;
}

void Round::give(AskEntry& ask, Agent& a, const Turn& turn, const LeafOrder& order, int64_t most) {
  Leaf& l = *ask.leaf;
  const bool one_by_one =
      ask.claims(a) || !ask.ask.spread.empty() || !fills_up(cluster_.options.placement);
  int64_t count_max = one_by_one || ask.is_refused ? 1 : std::min(ask.unmet(), most);
  if (owed_only_ && turn.within.empty() && !ask.is_refused) {
    count_max = waiting_.gate.owed_tasks(ask, count_max, now_);
  }
  if (a.by_notice()) {
    count_max = std::min(ask.unmet(), waiting_.reclaims.on(a).front().tasks);
  }
  // Asks of one priority take turns, so that none of them starves.
  const bool has_peer = std::any_of(l.order.begin(), l.order.end(), [&](const AskEntry* other) {
    return other != &ask && other->ask.priority == ask.ask.priority && other->unmet() > 0;
  });
  if (has_peer) count_max = std::min<int64_t>(count_max, 1);
  count_max = room_for(ask, a, count_max);
  // The least filled guarantee first, so one task at a time.
  count_max = turn.within.empty() ? permitted_count(cluster_, ask, count_max, own_only_)
                                  : std::min<int64_t>(count_max, 1);
  Rank before_last;
  const int64_t count = tasks_in_turn(l, ask, count_max, order, &before_last);
  give_tasks(ask, a, turn, count, std::move(before_last));
}

void Round::give_tasks(AskEntry& ask, Agent& a, const Turn& turn, int64_t count, Rank before_last) {
  Leaf& l = *ask.leaf;
  const bool from_claim = ask.claims(a);
  const bool is_owed = from_claim && a.purpose == Purpose::kOwed;
  std::vector<Slice> last;
  std::vector<Slice> tasks =
      carve_tasks(ask, a, count, cluster_.options.is_audited ? &last : nullptr);
  if (ask.is_implied()) {
    // An open offer. A refusal of it says nothing about a larger piece.
    grant(l, a, std::move(tasks), nullptr, 0).in_proportion = true;
  } else {
    grant(l, a, std::move(tasks), &ask, count);
  }
  if (cluster_.options.is_audited) {
    record_.given.push_back({&l, &a, std::move(last), std::move(before_last), !turn.within.empty(),
                             from_claim, owed_only_, a.keep, a.withheld});
  }
  if (a.by_notice() && waiting_.reclaims.note_given(ask, a, count)) thaw(true);
  if (waiting_.gate.note_given(ask, a, now_)) thaw(true);
  note_given(ask, from_claim && !is_owed);
}

// Updates the state of the ask after a grant to it.
void Round::note_given(AskEntry& ask, bool from_claim) {
  Leaf& l = *ask.leaf;
  ask.granted_at = ++cluster_.grants;
  l.move_behind_peers(ask);
  // After a grant from a claim, the next task of the ask does not wait anew.
  const bool stays_due = waiting_.headroom.note_served(ask) || from_claim;
  if (waiting_.claims.note_given(ask, stays_due, now_)) thaw(true);
  waiting_.reclaims.note_served(ask);
  if (ask.unmet() == 0 && waiting_.stop(ask)) thaw(true);
  cluster_.update_demand(l, false);
}

// How many tasks the leaf, which is first in `order`, gets before another is first, and its rank
// before the last of them.
int64_t Round::tasks_in_turn(const Leaf& l, const AskEntry& ask, int64_t count_max,
                             const LeafOrder& order, Rank* before_last) const {
  CHECK_GT(count_max, 0);
  *before_last = rank_of(l);
  if (count_max == 1) return 1;
  // Its rivals, from the bottom: at each level the sibling that comes next.
  struct Level {
    const Node* node;
    const Node* rival;
  };
  std::vector<Level> levels;
  for (const Node* node = &l; node->parent != nullptr; node = node->parent) {
    const NodeSet& siblings = order.nodes(*node->parent);
    const auto next = std::next(siblings.begin());
    if (*siblings.begin() != node) return 1;  // It was not its share that made it first.
    levels.push_back({node, next != siblings.end() ? *next : nullptr});
  }
  int64_t count = 1;
  for (; count < count_max; ++count) {
    const ResourceVector more = ask.ask.shape * count;
    Rank rank(levels.size());
    for (size_t i = 0; i < levels.size(); ++i) {
      const auto& [node, rival] = levels[i];
      const Share share = dominant_share(node->use() + more, cluster_.total, node->weight);
      rank[levels.size() - 1 - i] = share;
      if (rival == nullptr) continue;
      // An equal is first then: it was served longer ago.
      if (share >= rival->share) return count;
    }
    *before_last = std::move(rank);
  }
  return count;
}

void Round::note_denied(Leaf& l, const Denial& denied) {
  if (denied.why == Denial::Why::kLimit) {
    cluster_.tree.note_denied(*cluster_.tree.find(denied.role->name), l);
  } else if (denied.why != Denial::Why::kTasksUnknown) {
    cluster_.held_back.insert(&l);
  }
}

Round::Draft& Round::grant(Leaf& l, Agent& a, std::vector<Slice> slices, AskEntry* ask,
                           int64_t count, uint64_t gang, Duration max_run_time) {
  const bool revocable = !slices.empty() && slices.front().revocable;
  size_t& place = drafts_by_hash_.place_of(drafts_, l, a, gang, revocable, max_run_time);
  if (place == DraftTable::kNone) {
    place = drafts_.size();
    drafts_.push_back({.leaf = &l,
                       .agent = &a,
                       .gang = gang,
                       .revocable = revocable,
                       .max_run_time = max_run_time});
    cluster_.remove_filter(l, a);  // One that has ended by its reason.
  }
  Draft& draft = drafts_[place];
  ++grants_made_;
  cluster_.note_granted(l, a, slices, ask, count, max_run_time > Duration());
  if (draft.slices.empty() && slices.size() == 1) {
    draft.slices = std::move(slices);
  } else {
    for (const Slice& slice : slices) add_slice(draft.slices, slice);
  }
  if (ask == nullptr) return draft;
  draft.ports += ask->ask.ports * count;
  const auto fill = std::find_if(draft.fills.begin(), draft.fills.end(),
                                 [&](const AskFill& f) { return f.ask == ask->ask.name; });
  if (fill == draft.fills.end()) {
    draft.fills.push_back({ask->ask.name, count});
  } else {
    fill->count += count;
  }
  return draft;
}

void Round::freeze(Leaf& l) {
  if (cluster_.demanding.contains(l)) frozen_.push_back(&l);
  if (l.mode == OfferMode::kOpen && cluster_.untried.contains(l)) open_untried_.push_back(&l);
  cluster_.leave_orders(l);
  if (l.mode == OfferMode::kOpen) return;
  // Those that want nothing now have not looked at these agents.
  for (AskEntry* ask : l.order) {
    if (ask->unmet() == 0 && !l.retry.empty()) ask->tried_at = 0;
  }
  l.retry.clear();
  waiting_.claims.start_waiting(l, now_);
}

}  // namespace proffer::fair
