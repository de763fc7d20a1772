// Frameworks without asks have unbounded demand and take what they are offered. When one is first
// by share it gets the rest of an agent, within its fair deficit as long as asks of others are
// still in play (give_fair_piece); what no ask can use goes to them beyond that (fill_open). At
// most one open offer of an agent to a framework is outstanding.

#include <algorithm>

#include "allocator/state.h"

namespace proffer {
namespace {

// `free`, but of each kind at most `most`; whole devices of what is left of them.
std::vector<Slice> piece_of(std::vector<Slice> free, ResourceVector most) {
  std::vector<Slice> piece;
  for (Slice& slice : free) {
    Resources& there = slice.resources;
    there.amounts = there.amounts.min(most.max(ResourceVector()));
    int64_t gpus = 0;
    std::vector<GpuDevice> devices;
    for (const GpuDevice& device : there.gpus) {
      if (gpus + device.milli > there.amounts[ResourceKind::kGpus]) break;
      devices.push_back(device);
      gpus += device.milli;
    }
    there.gpus = std::move(devices);
    there.amounts[ResourceKind::kGpus] = gpus;
    most -= there.amounts;
    add_slice(piece, slice);
  }
  return piece;
}

}  // namespace

bool Allocator::State::is_open_to(const Leaf& l, const Agent& a, Time now) const {
  if (is_filtered(l, a, now)) return false;
  // Of an agent that it was given a piece of in this decision, it may have more in the same offer.
  if (l.open_on.count(&a) > 0 && !has_gift(l, a)) return false;
  // What is free there may be reserved for others.
  return a.parts.empty() || !a.usable(l.role->name).empty();
}

// The agent with most free that is open to the leaf, or nullptr. Those that may be are listed once
// in a decision and then used up from the end.
fair::Agent* Allocator::State::place_open(Leaf& l, Time now) {
  if (!l.open_queue_known) {
    l.open_queue.clear();
    free_.visit_grown(l.tried_at, [&](Agent* a) {
      if (is_open_to(l, *a, now)) l.open_queue.push_back(a);
      return false;
    });
    for (Agent* a : l.retry) {
      const bool is_new = a->grown_at <= l.tried_at;
      if (is_new && a->listed && is_open_to(l, *a, now)) l.open_queue.push_back(a);
    }
    std::sort(l.open_queue.begin(), l.open_queue.end(), [](const Agent* a, const Agent* b) {
      if (a->weighted_free != b->weighted_free) return a->weighted_free < b->weighted_free;
      return b->id < a->id;
    });
    l.open_queue_known = true;
  }
  while (!l.open_queue.empty()) {
    Agent* a = l.open_queue.back();
    if (a->listed && is_open_to(l, *a, now)) return a;
    l.open_queue.pop_back();
  }
  return nullptr;
}

std::vector<Slice> Allocator::State::piece_for(const Leaf& l, const Agent& a,
                                               const ResourceVector& most) {
  const std::vector<Slice> free = a.usable(l.role->name);
  std::vector<Slice> piece = piece_of(free, most);
  const ResourceVector all = sum_of(free).amounts;
  const ResourceVector some = sum_of(piece).amounts;
  // Memory without a CPU, or the reverse, helps nobody.
  for (const ResourceKind kind : {ResourceKind::kCpus, ResourceKind::kMem}) {
    if (some[kind] == 0 && all[kind] > 0) return {};
  }
  return piece;
}

bool Allocator::State::give_fair_piece(const Turn& turn, const fair::LeafOrder& order, Time now) {
  Leaf& l = *turn.leaf;
  Agent* a = place_open(l, now);
  if (a == nullptr) return false;
  know_entitlements();
  ResourceVector most = (l.entitlement - l.use()).min(permitted(l));
  for (const Role* role : turn.within) {
    most = most.min(role->settings.guarantee.amounts(most + role->use()) - role->use());
  }
  const std::vector<Slice> piece = piece_for(l, *a, most);
  if (piece.empty()) {
    if (!turn.within.empty()) set_beyond(l, *turn.within.front());
    note_permitted(l, *a);
    return false;
  }
  given_.push_back({&l, a, piece, rank_of(l, order), !turn.within.empty()});
  add_gift(l, *a, piece, nullptr, 0);
  return true;
}

bool Allocator::State::give_whole_agent(const Turn& turn, Time now, std::vector<Leaf*>& refused) {
  Leaf& l = *turn.leaf;
  while (Agent* a = place_open(l, now)) {
    const std::vector<Slice> all = piece_for(l, *a, permitted(l));
    if (all.empty()) {
      note_permitted(l, *a);
      if (std::find(refused.begin(), refused.end(), &l) == refused.end()) refused.push_back(&l);
      l.open_queue.pop_back();
      continue;
    }
    given_.push_back({&l, a, all, rank_of(l, anew_), !turn.within.empty()});
    add_gift(l, *a, all, nullptr, 0);
    return true;
  }
  return false;
}

// An agent's rest may be more than it is allowed to have: it is to be looked at again when it may
// have more.
void Allocator::State::note_permitted(Leaf& l, const Agent& a) {
  const Bar bar = barred(l, sum_of(a.usable(l.role->name)).amounts, true, nullptr);
  if (!bar.is_none()) note_barred(l, bar);
}

// After the asks: what is left goes to open leaves by least share, an agent at a time. Returns
// early with true if asks may use something after all, since less is held for guarantees.
bool Allocator::State::fill_open(Time now) {
  thaw(false);
  for (const auto& [id, l] : open_leaves_) {
    if (!hungry_.contains(*l)) continue;
    const bool some_grew = free_.visit_grown(l->tried_at, [](Agent*) { return true; });
    l->open_queue_known = false;
    if (some_grew || !l->retry.empty()) {
      anew_.insert(*l);
    } else {
      anew_.erase(*l);
    }
  }
  bool again = true;
  while (again) {
    again = false;
    std::vector<Leaf*> refused;
    while (true) {
      const Turn turn = next_turn(anew_);
      if (turn.leaf == nullptr) break;
      Leaf& l = *turn.leaf;
      const uint64_t before = gifts_made_;
      if (give_whole_agent(turn, now, refused)) {
        if (less_is_held(before)) {
          for (Leaf* other : refused) other->tried_at = 0;
          return true;
        }
        again = true;
        continue;
      }
      l.tried_at = free_.latest();
      l.retry.clear();
      l.open_queue_known = false;
      anew_.erase(l);
    }
    // What was of no use without what it may not have, may be when others have taken that.
    again = again && !refused.empty();
    for (Leaf* l : refused) {
      l->tried_at = 0;
      if (again) anew_.insert(*l);
    }
  }
  return false;
}

}  // namespace proffer
