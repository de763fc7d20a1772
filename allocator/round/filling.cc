// Progressive filling (Algorithm 1 of the DRF paper, with the next ask as the demand vector): one
// task's worth to the leaf whose turn it is, update the shares, again. fill_asks() first; whose
// turn it is, is told in turns.cc.
//
// What makes it cheap: a leaf for which nothing fits is frozen for the rest of the decision, and in
// the next ones it looks only at agents that have grown since. Several tasks are given at once
// while the order would not change.

#include <algorithm>

#include "allocator/state.h"

namespace proffer {

// First what each may have for itself; then asks that may not borrow may have what others leave of
// what they are entitled to, which is known only when these can be given no more.
void Allocator::State::fill_asks(Time now) {
  own_only_ = true;
  fill(now);
  own_only_ = false;
  if (held_back_.empty()) return;
  wake_held_back();
  fill(now);
}

void Allocator::State::fill(Time now) {
  while (true) {
    // While an agent that grew may still serve someone, all that are hungry are asked, least share
    // first. After that only those that changed themselves have anything new to look at.
    while (!free_.fresh().empty() && !may_fit_someone(**free_.fresh().begin())) {
      free_.forget_fresh(**free_.fresh().begin());
    }
    const fair::LeafOrder& order = free_.fresh().empty() ? anew_ : hungry_;
    if (order.asking_count() == 0) return;  // All is for fill_open().
    const Turn turn = next_turn(order);
    if (turn.leaf == nullptr) return;
    Leaf& l = *turn.leaf;
    const bool given = l.mode == OfferMode::kOpen ? give_fair_piece(turn, order, now)
                                                  : give_to_asks(turn, order, now);
    // Who was asked because of a guarantee and had no use for it is asked again in its turn by
    // share.
    if (!given && !is_beyond(l, turn.within)) freeze(l, now);
  }
}

bool Allocator::State::may_fit_someone(const Agent& a) const {
  return least_shape_ && (a.parts.empty() ? least_shape_->fits_in(a.free.amounts)
                                          : least_shape_->fits_in(a.counted_free().amounts));
}

bool Allocator::State::give_to_asks(const Turn& turn, const fair::LeafOrder& order, Time now) {
  Leaf& l = *turn.leaf;
  for (AskEntry* ask : l.order) {
    if (ask->unmet() == 0) continue;
    if (const Role* promise = exceeded(turn, ask->at_once())) {
      set_beyond(l, *promise);
      continue;
    }
    if (const Bar bar = barred(*ask); !bar.is_none()) {
      // Its leaf is first among those who would take what it needs below the limit.
      if (bar.why == Bar::Why::kLimit && ask->due) keep_headroom(*ask, now);
      note_barred(l, bar);
      if (!l.retry.empty()) ask->tried_at = 0;  // It has not looked at these agents.
      continue;
    }
    // Being first counts for its claim even if another ask of it is served now.
    if (ask->due && ask->claim.empty() && l.claimed == nullptr &&
        (least_with_due_.empty() || least_with_due_.back().first != &l)) {
      least_with_due_.emplace_back(&l, rank_of(l, hungry_));
    }
    if (ask->ask.gang > 1) {
      if (give_gang(*ask, turn, order, now)) return true;
    } else {
      Agent* a = place(*ask, now);
      if (a == nullptr && !turn.within.empty()) a = place_in_claims(*ask, now);
      if (a == nullptr) continue;
      give(*ask, *a, turn, order, now);
      return true;
    }
  }
  return false;
}

void Allocator::State::give(AskEntry& ask, Agent& a, const Turn& turn, const fair::LeafOrder& order,
                            Time now) {
  Leaf& l = *ask.leaf;
  const bool from_claim = ask.claims(a);
  int64_t count_max = from_claim || !ask.ask.spread.empty() ? 1 : ask.unmet();
  if (!a.reclaims.empty()) count_max = std::min(ask.unmet(), a.reclaims.front().tasks);
  // Asks of one priority take turns, so that none of them starves.
  const bool has_peer = std::any_of(l.order.begin(), l.order.end(), [&](const AskEntry* other) {
    return other != &ask && other->ask.priority == ask.ask.priority && other->unmet() > 0;
  });
  if (has_peer) count_max = std::min<int64_t>(count_max, 1);
  count_max = room_for(ask, a, count_max);
  count_max = permitted_count(ask, turn, count_max);
  Rank before_last;
  const int64_t count = tasks_in_turn(l, ask, count_max, order, &before_last);

  std::vector<Slice> last;
  const std::vector<Slice> given = carve_tasks(l, a, ask.ask.shape, count, &last);
  add_gift(l, a, given, &ask, count);
  given_.push_back(
      {&l, &a, std::move(last), std::move(before_last), !turn.within.empty(), from_claim});
  const bool preferred =
      !ask.ask.prefer.empty() && nearness(ask.ask.prefer, a) != fair::Nearness::kAnywhere;
  if (!a.reclaims.empty()) note_reclaimed(ask, a, count);
  note_given(ask, from_claim, preferred, now);
}

// What follows for the ask from having been given something.
void Allocator::State::note_given(AskEntry& ask, bool from_claim, bool preferred, Time now) {
  Leaf& l = *ask.leaf;
  ask.granted_at = ++grants_;
  l.move_behind_peers(ask);
  if (preferred) prefer_again(ask, now);
  if (!ask.claim.empty()) drop_claim(ask);
  const bool had_headroom = !ask.headroom.empty();
  if (had_headroom) drop_headroom(ask);
  ask.headroom_patience = {};
  if (!from_claim && !had_headroom) {  // Else it stays due: its next task does not wait again.
    ask.waiting_since = now;
    ask.due = false;
    due_.erase(&ask);
  }
  if (ask.unmet() == 0) stop_waiting(ask);
  update_hunger(l, false);
}

// How many tasks the leaf, which is first in `order`, gets before another is first, and its rank
// before the last of them. One where that would need shares rescaled.
int64_t Allocator::State::tasks_in_turn(const Leaf& l, const AskEntry& ask, int64_t count_max,
                                        const fair::LeafOrder& order, Rank* before_last) const {
  CHECK_GT(count_max, 0);
  *before_last = rank_of(l, order);
  if (count_max == 1) return 1;
  // Its rivals, from the bottom: at each level the sibling that comes next.
  struct Level {
    const fair::Node* node;
    const fair::Node* rival;
  };
  std::vector<Level> levels;
  for (const fair::Node* node = &l; node->parent != nullptr; node = node->parent) {
    if (!node->standing[order.number()].exact) return 1;
    const fair::NodeSet& siblings = order.nodes(*node->parent);
    const auto next = std::next(siblings.begin());
    if (*siblings.begin() != node) return 1;  // It was not its share that made it first.
    const bool has_rival = next != siblings.end();
    // What it grows by would scale its siblings, and so its parent.
    const bool scales =
        node->parent->parent != nullptr && !node->parent->children[order.number()].high.empty();
    if (scales || (has_rival && node->parent->parent != nullptr)) return 1;
    levels.push_back({node, has_rival ? *next : nullptr});
  }
  int64_t count = 1;
  for (; count < count_max; ++count) {
    const ResourceVector more = ask.ask.shape * count;
    Rank rank(levels.size());
    for (size_t i = 0; i < levels.size(); ++i) {
      const auto& [node, rival] = levels[i];
      const Share share = dominant_share(node->use() + more, total_, node->weight);
      rank[levels.size() - 1 - i] = share;
      if (rival == nullptr) continue;
      // An equal is first then: it was served longer ago.
      if (share >= rival->standing[order.number()].share) return count;
    }
    *before_last = std::move(rank);
  }
  return count;
}

void Allocator::State::add_gift(Leaf& l, Agent& a, const std::vector<Slice>& slices, AskEntry* ask,
                                int64_t count, uint64_t gang) {
  const bool revocable = !slices.empty() && slices.front().revocable;
  Gift* known = find_gift(l, a, gang, revocable);
  if (known == nullptr) {
    a.gifts.push_back(gifts_.size());
    gifts_.push_back(Gift{.leaf = &l, .agent = &a, .gang = gang, .revocable = revocable});
    known = &gifts_.back();
    remove_filter(l, a.id);  // One that has ended by its reason.
  }
  Gift& gift = *known;
  for (const Slice& slice : slices) add_slice(gift.slices, slice);
  ++gifts_made_;
  const fair::Booked booked = a.book(slices);
  a.offer(booked);
  l.estimated += booked.estimated();
  if (ask == nullptr) {
    l.open_on.insert(&a);
  } else {
    ask->offered += count;
    count_tasks(*ask, a, count);
    gift.ports += ask->ask.ports * count;
    a.ports_offered += ask->ask.ports * count;
    const auto fill = std::find_if(gift.fills.begin(), gift.fills.end(),
                                   [&](const AskFill& f) { return f.ask == ask->ask.name; });
    if (fill == gift.fills.end())
      gift.fills.push_back({ask->ask.name, count});
    else
      fill->count += count;
  }
  change_use(l, {}, booked.resources.amounts);
  refresh(a, false);
}

// There are few on one agent.
Allocator::State::Gift* Allocator::State::find_gift(const Leaf& l, const Agent& a, uint64_t gang,
                                                    bool revocable) {
  for (const size_t number : a.gifts) {
    Gift& gift = gifts_[number];
    if (gift.leaf == &l && gift.gang == gang && gift.revocable == revocable) return &gift;
  }
  return nullptr;
}

// Of what is not lent, and not to a gang.
bool Allocator::State::has_gift(const Leaf& l, const Agent& a) const {
  return std::any_of(a.gifts.begin(), a.gifts.end(), [&](size_t number) {
    const Gift& gift = gifts_[number];
    return gift.leaf == &l && gift.gang == 0 && !gift.revocable;
  });
}

void Allocator::State::freeze(Leaf& l, Time now) {
  if (hungry_.contains(l)) frozen_.push_back(&l);
  hungry_.erase(l);
  anew_.erase(l);
  if (l.mode == OfferMode::kAsks) {
    // Those that want nothing now have not looked at these agents.
    for (AskEntry* ask : l.order) {
      if (ask->unmet() == 0 && !l.retry.empty()) ask->tried_at = 0;
    }
    l.retry.clear();
    start_waiting(l, now);
  }
}

// If more is free than when they were frozen, less of it is held for guarantees.
void Allocator::State::thaw(bool more_is_free) {
  for (Leaf* l : frozen_) update_hunger(*l, more_is_free && held_back_.count(l) > 0);
  frozen_.clear();
  ++turns_epoch_;
}

}  // namespace proffer
