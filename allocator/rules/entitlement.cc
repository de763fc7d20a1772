// Computes entitlements: sums demands and floors from the leaves up, then splits the total from the
// root down. Begin with compute_entitlements(); split() is the rule.

#include "allocator/rules/entitlement.h"

#include <algorithm>
#include <array>

#include "allocator/rules/fit.h"
#include "allocator/rules/levels.h"
#include "allocator/rules/pools.h"
#include "allocator/rules/view.h"
#include "common/check.h"

namespace proffer::fair {
namespace {

__extension__ typedef __int128 Int128;

// The cap on sums of demands.
constexpr int64_t kDemandMax = int64_t{1} << 55;
int64_t scaled(int64_t amount, int64_t numerator, int64_t denominator) {
  const Int128 all = Int128(amount) * numerator / denominator;
  return static_cast<int64_t>(std::min<Int128>(all, kDemandMax));
}

ResourceVector sum_of(const ResourceVector& a, const ResourceVector& b) {
  return (a + b).min(ResourceVector::of(kDemandMax, kDemandMax, kDemandMax, kDemandMax));
}

// A claimant during the rise of its level.
class Riser {
 public:
  Riser(const Claimant& claimant, const ResourceVector& floor, const ResourceVector& total)
      : floor_(floor), demand_(claimant.demand) {
    // The kind with the largest part demand / total.
    Int128 demand = 0;
    int64_t whole = 1;
    for (const ResourceKind kind : kResourceKinds) {
      if (total[kind] <= 0 || claimant.demand[kind] <= 0) continue;
      if (Int128(claimant.demand[kind]) * whole <= demand * total[kind]) continue;
      demand = claimant.demand[kind];
      whole = total[kind];
    }
    if (demand == 0) return;
    for (const ResourceKind kind : kResourceKinds) {
      if (total[kind] <= 0 || claimant.demand[kind] <= 0) continue;
      // demand[kind] is at most total[kind] / whole of `demand`, so the amount at level one is at
      // most total * weight.
      const Int128 part = Int128(claimant.demand[kind]) * whole * claimant.weight;
      at_one_[static_cast<size_t>(kind)] =
          static_cast<int64_t>(std::min<Int128>(part / (demand * kWeightOne), kDemandMax));
    }
  }

  int64_t at(int64_t level, ResourceKind kind) const {
    const Int128 risen = Int128(at_one_[static_cast<size_t>(kind)]) * level / kLevelOne;
    const int64_t amount = static_cast<int64_t>(std::min<Int128>(risen, demand_[kind]));
    return std::max(amount, floor_[kind]);
  }
  // Whether a higher level gives it more of the kind.
  bool rises(int64_t level, ResourceKind kind) const {
    return at_one_[static_cast<size_t>(kind)] > 0 && at(level, kind) < demand_[kind];
  }

 private:
  ResourceVector floor_;
  ResourceVector demand_;
  std::array<int64_t, kResourceKindCount> at_one_ = {};
};

// The part of its demand that a guarantee covers.
ResourceVector promised(const Quota& guarantee, const ResourceVector& demand,
                        const ResourceVector& total) {
  if (guarantee.empty()) return {};
  const ResourceVector most = whole_guarantee(guarantee, total).amounts(demand);
  // For kinds that the guarantee does not name: the amount in proportion to the named kinds.
  int64_t covered = 0;
  int64_t wanted = 0;
  for (const ResourceKind kind : kResourceKinds) {
    const std::optional<int64_t> promise = guarantee[kind];
    if (!promise || demand[kind] == 0) continue;
    const int64_t part = std::min(*promise, demand[kind]);
    if (wanted != 0 && Int128(part) * wanted >= Int128(covered) * demand[kind]) continue;
    covered = part;
    wanted = demand[kind];
  }
  ResourceVector floor;
  if (wanted == 0) return floor;
  for (const ResourceKind kind : kResourceKinds) {
    const std::optional<int64_t> promise = guarantee[kind];
    floor[kind] = promise ? demand[kind] : scaled(demand[kind], covered, wanted);
  }
  return floor.min(most);
}

ResourceVector limit_of(const View& view, const Leaf& leaf, const ResourceVector& total) {
  ResourceVector limit = total;
  for (const Role* role = leaf.parent; role != nullptr; role = role->parent) {
    limit = limit.min(view.settings(*role).limit.amounts(limit));
  }
  return limit;
}

// The further tasks of the ask that count. Tasks beyond those that fill the cluster make no
// difference, and the proportions stay.
int64_t counted(const View& view, const AskEntry& ask, const ResourceVector& total,
                const ResourceVector& limit) {
  if (ask.is_refused || (ask.leaf->mode == OfferMode::kOpen && !ask.is_implied())) return 0;
  int64_t count = view.unmet(ask);
  if (count == 0 || !could_be_served(view.cluster, ask)) return 0;
  for (const ResourceKind kind : kResourceKinds) {
    const int64_t amount = ask.ask.shape[kind];
    if (amount == 0) continue;
    count = std::min(count, total[kind] / amount + 1);
    if (limit[kind] < total[kind]) count = std::min(count, limit[kind] / amount);
  }
  return count;
}

ResourceVector times(const ResourceVector& shape, int64_t count) {
  ResourceVector product;
  for (const ResourceKind kind : kResourceKinds) product[kind] = scaled(shape[kind], count, 1);
  return product;
}

using DemandOfNodes = std::map<const Node*, ResourceVector>;  // looked up only

// Splits the pool among the demands below the role, and adds what they do not get to `cuts`.
void split_pool(const View& view, const Role& role, const ResourceVector& whole,
                const ResourceVector& total, const DemandOfNodes& demands, DemandOfNodes& cuts) {
  std::vector<const Node*> children;
  std::vector<Claimant> claimants;
  for_each_child(role, [&](const Node& child) {
    const auto demand = demands.find(&child);
    if (demand == demands.end()) return;
    children.push_back(&child);
    Claimant claimant{.demand = demand->second};
    if (!child.is_leaf) {
      const RoleSettings& settings = view.settings(static_cast<const Role&>(child));
      claimant.weight = settings.weight;
      claimant.floor = promised(settings.guarantee, demand->second, total);
    }
    claimants.push_back(claimant);
  });
  const std::vector<ResourceVector> parts = split(whole, total, claimants);
  for (size_t i = 0; i < parts.size(); ++i) {
    if (children[i]->is_leaf) {
      cuts[children[i]] += (claimants[i].demand - parts[i]).max(ResourceVector());
    } else {
      split_pool(view, static_cast<const Role&>(*children[i]), parts[i], total, demands, cuts);
    }
  }
}

// The parts of the leaves' demands that the agents of their pools cannot have.
DemandOfNodes cuts_by_pools(const View& view, const ResourceVector& total) {
  DemandOfNodes cuts;
  if (!view.cluster.some_inflexible) return cuts;
  std::map<size_t, DemandOfNodes> pools;
  for (const auto& [id, l] : view.cluster.leaves) {
    const ResourceVector limit = limit_of(view, *l, total);
    for (const AskEntry* ask : l->order) {
      const int64_t count =
          ask->placed + (view.wants_offers(*l) ? counted(view, *ask, total, limit) : 0);
      const std::optional<size_t> pool = count > 0 ? pool_of(view.cluster, *ask) : std::nullopt;
      if (!pool) continue;
      const ResourceVector wanted = times(ask->ask.shape, count);
      for (const Node* node = l.get(); node != nullptr; node = node->parent) {
        ResourceVector& sum = pools[*pool][node];
        sum = sum_of(sum, wanted);
      }
    }
  }
  const Role& root = view.cluster.tree.root();
  for (const auto& [pool, demands] : pools) {
    const ResourceVector& whole = view.cluster.pools.totals[pool];
    if (!demands.at(&root).fits_in(whole)) split_pool(view, root, whole, total, demands, cuts);
  }
  return cuts;
}

// Its use plus its asks, each ask only as far as the limits allow it alone. Open offers that it
// does not want are no demand.
ResourceVector demand_of(const View& view, const Leaf& leaf, const ResourceVector& total) {
  ResourceVector wanted = view.use(leaf);
  const bool wants_none = leaf.refuses || leaf.owner->suppressed;
  if (leaf.mode == OfferMode::kOpen && wants_none) return wanted.min(leaf.allocated);
  if (!view.wants_offers(leaf)) return wanted;
  const ResourceVector limit = limit_of(view, leaf, total);
  if (leaf.mode == OfferMode::kOpen) {
    if (leaf.implied() == nullptr) return wanted.max(limit);
  }
  for (const AskEntry* ask : leaf.order) {
    const int64_t count = counted(view, *ask, total, limit);
    for (const ResourceKind kind : kResourceKinds) {
      const Int128 amount = Int128(ask->ask.shape[kind]) * count + wanted[kind];
      wanted[kind] = static_cast<int64_t>(std::min<Int128>(amount, kDemandMax));
    }
  }
  return wanted;
}

struct Needs {
  ResourceVector floor = {};
  ResourceVector demand = {};  // within limits
};
using NeedsOfNodes = std::map<const Node*, Needs>;  // looked up only, never walked

// The demand of all children together under the role's limit. For kinds that the limit does not
// name, children that need an exhausted kind can use only the proportional part.
ResourceVector within_limit(const Quota& limit, const std::vector<ResourceVector>& children) {
  ResourceVector sum;
  for (const ResourceVector& child : children) sum = sum_of(sum, child);
  ResourceVector allowed = sum;
  for (const ResourceKind kind : kResourceKinds) {
    const std::optional<int64_t> most = limit[kind];
    if (!most || sum[kind] <= *most) continue;
    ResourceVector with;
    for (const ResourceVector& child : children) {
      if (child[kind] > 0) with = sum_of(with, child);
    }
    for (const ResourceKind other : kResourceKinds) {
      const int64_t part = scaled(with[other], *most, sum[kind]);
      allowed[other] = std::min(allowed[other], sum[other] - with[other] + part);
    }
  }
  return allowed;
}

Needs gather(const View& view, const Node& node, const ResourceVector& total,
             const DemandOfNodes& cuts, NeedsOfNodes& all) {
  Needs needs;
  view.entitlement(node) = {};
  if (node.is_leaf) {
    needs.demand = demand_of(view, static_cast<const Leaf&>(node), total);
    const auto cut = cuts.find(&node);
    if (cut != cuts.end()) needs.demand = (needs.demand - cut->second).max(ResourceVector());
    view.demand(node) = needs.demand;
  } else {
    const Role& role = static_cast<const Role&>(node);
    ResourceVector& demand = view.demand(role);
    demand = {};
    std::vector<ResourceVector> demands;
    for_each_child(role, [&](Node& child) {
      const Needs of_child = gather(view, child, total, cuts, all);
      demand = sum_of(demand, view.demand(child));
      needs.floor = sum_of(needs.floor, of_child.floor);
      demands.push_back(of_child.demand);
    });
    needs.demand = within_limit(view.settings(role).limit, demands);
    needs.floor = needs.floor.max(promised(view.settings(role).guarantee, needs.demand, total));
    needs.floor = needs.floor.min(needs.demand);
  }
  return all[&node] = needs;
}

void hand_down(const View& view, const Role& role, const ResourceVector& total,
               const NeedsOfNodes& all) {
  std::vector<const Node*> children;
  std::vector<Claimant> claimants;
  for_each_child(role, [&](Node& child) {
    if (view.demand(child).is_zero()) return;
    const Needs& needs = all.at(&child);
    children.push_back(&child);
    claimants.push_back(
        {child.is_leaf ? kWeightOne : view.settings(static_cast<Role&>(child)).weight, needs.demand,
         needs.floor});
  });
  const std::vector<ResourceVector> parts = split(view.entitlement(role), total, claimants);
  for (size_t i = 0; i < parts.size(); ++i) {
    view.entitlement(*children[i]) = parts[i];
    if (!children[i]->is_leaf) hand_down(view, static_cast<const Role&>(*children[i]), total, all);
  }
}

}  // namespace

std::vector<ResourceVector> split(const ResourceVector& whole, const ResourceVector& total,
                                  const std::vector<Claimant>& claimants) {
  ResourceVector floors;
  ResourceVector demands;
  for (const Claimant& claimant : claimants) {
    floors = sum_of(floors, claimant.floor);
    demands = sum_of(demands, claimant.demand);
  }
  std::vector<ResourceVector> levels;
  if (demands.fits_in(whole)) {  // All demands fit.
    for (const Claimant& claimant : claimants) levels.push_back(claimant.demand);
    return levels;
  }
  std::vector<Riser> risers;
  for (const Claimant& claimant : claimants) {
    ResourceVector floor = claimant.floor;
    for (const ResourceKind kind : kResourceKinds) {
      if (floors[kind] > whole[kind]) floor[kind] = scaled(floor[kind], whole[kind], floors[kind]);
    }
    risers.emplace_back(claimant, floor, total);
  }
  levels.resize(claimants.size());
  std::vector<size_t> rising(claimants.size());
  for (size_t i = 0; i < rising.size(); ++i) rising[i] = i;
  ResourceVector left = whole;  // minus the amounts of stopped claimants
  int64_t level = 0;
  while (!rising.empty()) {
    const auto enough = [&](int64_t at, ResourceKind kind) {
      int64_t sum = 0;
      for (const size_t i : rising) {
        sum += risers[i].at(at, kind);
        if (sum > left[kind]) return false;
      }
      return true;
    };
    const auto enough_of_all = [&](int64_t at) {
      return std::all_of(kResourceKinds.begin(), kResourceKinds.end(),
                         [&](ResourceKind kind) { return enough(at, kind); });
    };
    const int64_t lowest = level;
    int64_t too_high = kLevelMax + 1;
    while (too_high - level > 1) {
      const int64_t middle = level + (too_high - level) / 2;
      (enough_of_all(middle) ? level : too_high) = middle;
    }
    // Due to rounding, a higher level may give the same of a used-up kind, and more of the others
    // than its proportion.
    std::array<bool, kResourceKindCount> used_up = {};
    if (level < kLevelMax) {
      for (const ResourceKind kind : kResourceKinds) {
        used_up[static_cast<size_t>(kind)] = !enough(level + 1, kind);
      }
      int64_t too_low = lowest - 1;
      const int64_t highest = level;
      while (level - too_low > 1) {
        const int64_t middle = too_low + (level - too_low) / 2;
        const bool same = std::all_of(rising.begin(), rising.end(), [&](size_t i) {
          return std::all_of(kResourceKinds.begin(), kResourceKinds.end(), [&](ResourceKind kind) {
            return !used_up[static_cast<size_t>(kind)] ||
                   risers[i].at(middle, kind) == risers[i].at(highest, kind);
          });
        });
        (same ? level : too_low) = middle;
      }
    }
    // Claimants that need a used-up kind stop.
    std::vector<size_t> rest;
    ResourceVector settled;
    for (const size_t i : rising) {
      const bool stays =
          level >= kLevelMax ||
          std::any_of(kResourceKinds.begin(), kResourceKinds.end(), [&](ResourceKind kind) {
            return used_up[static_cast<size_t>(kind)] && risers[i].rises(level, kind);
          });
      if (!stays) {
        rest.push_back(i);
        continue;
      }
      for (const ResourceKind kind : kResourceKinds) levels[i][kind] = risers[i].at(level, kind);
      settled += levels[i];
    }
    left -= settled;
    CHECK_LT(rest.size(), rising.size());  // A claimant wanted more of a used-up kind.
    rising = std::move(rest);
  }
  return levels;
}

void compute_entitlements(const View& view) {
  const Role& root = view.cluster.tree.root();
  const ResourceVector total = view.usable_total();
  NeedsOfNodes all;
  gather(view, root, total, cuts_by_pools(view, total), all);
  view.entitlement(root) = total;
  hand_down(view, root, total, all);
}

}  // namespace proffer::fair
