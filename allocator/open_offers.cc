// Frameworks without asks have unbounded demand and take what they are offered. When one is first
// by share it gets the rest of an agent, within its fair deficit as long as asks of others are
// still in play (give_fair_piece); what no ask can use goes to them beyond that (fill_open). At
// most one open offer of an agent to a framework is outstanding.

#include <algorithm>

#include "allocator/entitlement.h"
#include "allocator/state.h"

namespace proffer {
namespace {

using fair::kWhole;
__extension__ typedef __int128 Int128;

// The share that `amounts` are of `total`, rounded up, at most kWhole.
int64_t part_of(const ResourceVector& amounts, const ResourceVector& total) {
  int64_t part = 0;
  for (const ResourceKind kind : kResourceKinds) {
    if (total[kind] <= 0 || amounts[kind] <= 0) continue;
    const Int128 scaled = (Int128(amounts[kind]) * kWhole + total[kind] - 1) / total[kind];
    part = std::max(part, static_cast<int64_t>(std::min<Int128>(scaled, kWhole)));
  }
  return part;
}

// `free`, but of each kind at most `most`; whole devices of what is left of them.
Resources piece_of(const Resources& free, const ResourceVector& most) {
  Resources piece;
  piece.amounts = free.amounts.min(most.max(ResourceVector()));
  int64_t gpus = 0;
  for (const GpuDevice& device : free.gpus) {
    if (gpus + device.milli > piece.amounts[ResourceKind::kGpus]) break;
    piece.gpus.push_back(device);
    gpus += device.milli;
  }
  piece.amounts[ResourceKind::kGpus] = gpus;
  return piece;
}

}  // namespace

bool Allocator::State::is_open_to(const Leaf& l, const Agent& a, Time now) const {
  if (is_filtered(l, a, now)) return false;
  // Of an agent that it was given a piece of in this decision, it may have more in the same offer.
  return l.open_on.count(&a) == 0 || gift_at_.count({&l, &a}) > 0;
}

// The agent with most free that is open to the leaf, or nullptr. Those that may be are listed once
// in a decision and then used up from the end.
fair::Agent* Allocator::State::place_open(Leaf& l, Time now) {
  if (!l.open_queue_known) {
    l.open_queue.clear();
    const auto& by_stamp = free_.by_stamp();
    for (auto at = by_stamp.upper_bound(l.tried_at); at != by_stamp.end(); ++at) {
      if (is_open_to(l, *at->second, now)) l.open_queue.push_back(at->second);
    }
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

bool Allocator::State::give_fair_piece(Leaf& l, const fair::LeafOrder& order, Time now) {
  if (order.asking_count() == 0) return false;  // fill_open() has no limits to mind.
  Agent* a = place_open(l, now);
  if (a == nullptr) return false;
  if (!entitlements_known_) compute_entitlements();
  ResourceVector deficit;
  const ResourceVector use = l.use();
  for (const ResourceKind kind : kResourceKinds) {
    const Int128 entitled = Int128(total_[kind]) * l.entitlement / kWhole;
    deficit[kind] = static_cast<int64_t>(entitled) - use[kind];
  }
  const Resources piece = piece_of(a->free, deficit);
  // Memory without a CPU, or the reverse, helps nobody.
  for (const ResourceKind kind : {ResourceKind::kCpus, ResourceKind::kMem}) {
    if (piece.amounts[kind] == 0 && a->free.amounts[kind] > 0) return false;
  }
  if (piece.is_zero()) return false;
  given_.push_back({&l, a, piece, rank_of(l)});
  add_gift(l, *a, piece, nullptr, 0);
  return true;
}

bool Allocator::State::give_whole_agent(Leaf& l, Time now) {
  Agent* a = place_open(l, now);
  if (a == nullptr) return false;
  const Resources all = a->free;
  given_.push_back({&l, a, all, rank_of(l)});
  add_gift(l, *a, all, nullptr, 0);
  return true;
}

// After the asks: what is left goes to open leaves by least share, an agent at a time.
void Allocator::State::fill_open(Time now) {
  thaw();
  CHECK(anew_.empty());
  const auto& by_stamp = free_.by_stamp();
  for (const auto& [id, l] : open_leaves_) {
    if (!hungry_.contains(*l)) continue;
    const bool some_grew = !by_stamp.empty() && by_stamp.rbegin()->first > l->tried_at;
    l->open_queue_known = false;
    if (some_grew || !l->retry.empty()) anew_.insert(*l);
  }
  while (Leaf* least = anew_.first()) {
    if (give_whole_agent(*least, now)) continue;
    least->tried_at = free_.latest();
    least->retry.clear();
    least->open_queue_known = false;
    anew_.erase(*least);
  }
}

// Each role's part of the cluster, then each leaf's part of its role's.
void Allocator::State::compute_entitlements() {
  const auto demand_of = [&](const Leaf& l) {
    ResourceVector wanted = l.use();
    if (!l.wants_offers()) return wanted;
    if (l.mode == OfferMode::kOpen) return total_;
    for (const AskEntry* ask : l.order) {
      for (const ResourceKind kind : kResourceKinds) {
        const Int128 unmet = Int128(ask->ask.shape[kind]) * ask->unmet();
        wanted[kind] += static_cast<int64_t>(std::min<Int128>(unmet, total_[kind]));
        wanted[kind] = std::min(wanted[kind], total_[kind]);
      }
    }
    return wanted;
  };
  std::map<RoleName, std::pair<ResourceVector, std::vector<Leaf*>>> by_role;
  for (const auto& [id, l] : leaves_) {
    auto& [demand, leaves] = by_role[l->role->name];
    demand += demand_of(*l);
    demand = demand.min(total_);
    leaves.push_back(l.get());
  }
  std::vector<fair::Claimant> roles;
  for (const auto& [name, of_role] : by_role) {
    roles.push_back({settings_of(name).weight, part_of(of_role.first, total_)});
  }
  const std::vector<int64_t> role_levels = fair::fill_with_water(kWhole, roles);
  size_t i = 0;
  for (const auto& [name, of_role] : by_role) {
    std::vector<fair::Claimant> leaves;
    for (const Leaf* l : of_role.second)
      leaves.push_back({kWeightOne, part_of(demand_of(*l), total_)});
    const std::vector<int64_t> levels = fair::fill_with_water(role_levels[i++], leaves);
    for (size_t j = 0; j < levels.size(); ++j) of_role.second[j]->entitlement = levels[j];
  }
  entitlements_known_ = true;
}

}  // namespace proffer
