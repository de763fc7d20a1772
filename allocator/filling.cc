// Progressive filling (Algorithm 1 of the DRF paper, with the next ask as the demand vector): one
// task's worth to the leaf with the least share, update the shares, again. fill() first.
//
// What makes it cheap: a leaf for which nothing fits is frozen for the rest of the decision, and in
// the next ones it looks only at agents that have grown since. Several tasks are given at once
// while the order would not change.

#include <algorithm>

#include "allocator/state.h"

namespace proffer {

void Allocator::State::fill(Time now) {
  while (true) {
    // While an agent that grew may still serve someone, all that are hungry are asked, least share
    // first. After that only those that changed themselves have anything new to look at.
    while (!free_.fresh().empty() && !may_fit_someone(**free_.fresh().begin())) {
      free_.forget_fresh(**free_.fresh().begin());
    }
    const fair::LeafOrder& order = free_.fresh().empty() ? anew_ : hungry_;
    Leaf* least = order.first();
    if (least == nullptr) return;
    const bool given = least->mode == OfferMode::kOpen ? give_fair_piece(*least, order, now)
                                                       : give_to_asks(*least, order, now);
    if (!given) freeze(*least, now);
  }
}

bool Allocator::State::may_fit_someone(const Agent& a) const {
  return least_shape_ && (a.parts.empty() ? least_shape_->fits_in(a.free.amounts)
                                          : least_shape_->fits_in(a.counted_free().amounts));
}

bool Allocator::State::give_to_asks(Leaf& l, const fair::LeafOrder& order, Time now) {
  for (AskEntry* ask : l.order) {
    if (ask->unmet() == 0) continue;
    // Being first counts for its claim even if another ask of it is served now.
    if (ask->due && ask->claim.empty() && l.claimed == nullptr &&
        (least_with_due_.empty() || least_with_due_.back().first != &l)) {
      least_with_due_.emplace_back(&l, rank_of(l));
    }
    if (ask->ask.gang > 1) {
      if (give_gang(*ask, now)) return true;
    } else if (Agent* a = place(*ask, now)) {
      give(*ask, *a, order, now);
      return true;
    }
  }
  return false;
}

void Allocator::State::give(AskEntry& ask, Agent& a, const fair::LeafOrder& order, Time now) {
  Leaf& l = *ask.leaf;
  const bool from_claim = ask.claims(a);
  int64_t count_max = from_claim || !ask.ask.spread.empty() ? 1 : ask.unmet();
  // Asks of one priority take turns, so that none of them starves.
  const bool has_peer = std::any_of(l.order.begin(), l.order.end(), [&](const AskEntry* other) {
    return other != &ask && other->ask.priority == ask.ask.priority && other->unmet() > 0;
  });
  if (has_peer) count_max = std::min<int64_t>(count_max, 1);
  count_max = room_for(ask, a, count_max);
  Rank before_last;
  const int64_t count = tasks_in_turn(l, ask, count_max, order, &before_last);

  std::vector<Slice> last;
  const std::vector<Slice> given = carve_tasks(l, a, ask.ask.shape, count, &last);
  add_gift(l, a, given, &ask, count);
  if (!from_claim) given_.push_back({&l, &a, std::move(last), before_last});
  const bool preferred =
      !ask.ask.prefer.empty() && nearness(ask.ask.prefer, a) != fair::Nearness::kAnywhere;
  note_given(ask, from_claim, preferred, now);
}

// What follows for the ask from having been given something.
void Allocator::State::note_given(AskEntry& ask, bool from_claim, bool preferred, Time now) {
  Leaf& l = *ask.leaf;
  ask.granted_at = ++grants_;
  l.move_behind_peers(ask);
  if (preferred) prefer_again(ask, now);
  if (!ask.claim.empty()) drop_claim(ask);
  if (!from_claim) {  // Else it stays due: its next task does not wait again.
    ask.waiting_since = now;
    ask.due = false;
    due_.erase(&ask);
  }
  if (ask.unmet() == 0) stop_waiting(ask);
  update_hunger(l, false);
}

// How many tasks the first leaf of `order` gets before another is first, and its rank before the
// last of them.
int64_t Allocator::State::tasks_in_turn(const Leaf& l, const AskEntry& ask, int64_t count_max,
                                        const fair::LeafOrder& order, Rank* before_last) const {
  CHECK_GT(count_max, 0);
  const Leaf* next_leaf = order.second_leaf();
  const Role* next_role = order.second_role();
  ResourceVector leaf_use = l.use();
  ResourceVector role_use = l.role->use();
  *before_last = rank_of(l);
  int64_t count = 1;
  for (; count < count_max; ++count) {
    leaf_use += ask.ask.shape;
    role_use += ask.ask.shape;
    Rank rank{dominant_share(role_use, total_, l.role->weight), dominant_share(leaf_use, total_)};
    if (next_leaf != nullptr) {
      const auto by_share = rank.leaf <=> next_leaf->share;
      if (by_share > 0 || (by_share == 0 && next_leaf->framework < l.framework)) break;
    }
    if (next_role != nullptr) {
      const auto by_share = rank.role <=> next_role->share;
      if (by_share > 0 || (by_share == 0 && next_role->name < l.role->name)) break;
    }
    *before_last = rank;
  }
  return count;
}

void Allocator::State::add_gift(Leaf& l, Agent& a, const std::vector<Slice>& slices, AskEntry* ask,
                                int64_t count, uint64_t gang) {
  const GiftKey key{&l, &a, gang, !slices.empty() && slices.front().revocable};
  const auto [at, is_new] = gift_at_.try_emplace(key, gifts_.size());
  if (is_new) {
    gifts_.push_back(Gift{.leaf = &l, .agent = &a, .gang = gang});
    remove_filter(l, a.id);  // One that has ended by its reason.
  }
  Gift& gift = gifts_[at->second];
  for (const Slice& slice : slices) add_slice(gift.slices, slice);
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

void Allocator::State::thaw() {
  for (Leaf* l : frozen_) update_hunger(*l, false);
  frozen_.clear();
}

}  // namespace proffer
