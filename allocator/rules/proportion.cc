// The order of families for an ask: cost_in() is the formula.

#include "allocator/rules/proportion.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <optional>

namespace proffer::fair {
namespace {

__extension__ typedef __int128 Int128;

// The unit of costs is 2^-kBits.
constexpr int kBits = 10;
constexpr int64_t kOne = int64_t{1} << kBits;
constexpr int64_t kMost = kOne << 10;  // the greatest cost of one kind
constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

int64_t cost_in(const ResourceVector& total, const ResourceVector& shape) {
  std::optional<ResourceKind> tightest;
  for (const ResourceKind kind : kResourceKinds) {
    if (shape[kind] <= 0) continue;
    if (total[kind] <= 0) return kNever;
    const bool is_tighter = !tightest || Int128(shape[kind]) * total[*tightest] >
                                             Int128(shape[*tightest]) * total[kind];
    if (is_tighter) tightest = kind;
  }
  if (!tightest) return kOne;
  int64_t cost = kOne;
  for (const ResourceKind kind : kResourceKinds) {
    if (total[kind] <= 0) continue;
    const Int128 used = Int128(shape[kind]) * total[*tightest];
    const Int128 full = Int128(shape[*tightest]) * total[kind];
    const Int128 times = used <= 0 ? kMost : full / ((used >> kBits) + 1);
    cost = cost * static_cast<int64_t>(std::clamp<Int128>(times, kOne, kMost)) >> kBits;
  }
  return cost;
}

}  // namespace

const FamilyOrder& family_order(const Cluster& cluster, const AskEntry& ask) {
  FamilyOrder& known = ask.families;
  const Families& families = cluster.free_agents.families();
  if (known.version == families.version()) return known;
  const std::vector<Family>& all = families.all();
  const ResourceVector& shape = ask.ask.shape;
  known = {.version = families.version(), .least_cost = kNever};
  for (const Family& family : all) {
    known.cost.push_back(cost_in(family.total, shape));
    if (!shape.fits_in(family.largest)) continue;
    known.least_cost = std::min(known.least_cost, known.cost.back());
  }
  const auto place_of = [&](size_t family) {
    const bool avoids = shape[ResourceKind::kGpus] == 0 && all[family].has_gpus;
    return std::pair(avoids, known.cost[family]);
  };
  known.order.resize(all.size());
  std::iota(known.order.begin(), known.order.end(), size_t{0});
  std::stable_sort(known.order.begin(), known.order.end(),
                   [&](size_t a, size_t b) { return place_of(a) < place_of(b); });
  known.rank.resize(all.size());
  for (size_t i = 1; i < all.size(); ++i) {
    const size_t before = known.order[i - 1];
    const bool is_worse = place_of(before) < place_of(known.order[i]);
    known.rank[known.order[i]] = known.rank[before] + (is_worse ? 1 : 0);
  }
  return known;
}

bool is_better_for(const Cluster& cluster, const AskEntry& other, const AskEntry& ask,
                   const Agent& a) {
  const FamilyOrder& own = family_order(cluster, ask);
  if (own.cost[a.family] / 2 < own.least_cost) return false;  // Nearly always.
  const FamilyOrder& its = family_order(cluster, other);
  if (its.cost[a.family] == kNever) return false;
  return Int128(own.cost[a.family]) * its.least_cost >=
         Int128(its.cost[a.family]) * 2 * own.least_cost;
}

}  // namespace proffer::fair
