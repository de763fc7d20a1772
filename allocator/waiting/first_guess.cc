#include "allocator/waiting/first_guess.h"

#include <algorithm>

#include "allocator/rules/entitlement.h"

namespace proffer::fair {
namespace {

constexpr int64_t kPartOfAgent = 8;
constexpr int64_t kWholeGpu = 1000;

// Whether a guarantee of the leaf's role, or of a role above, names the kind.
bool is_promised(const Leaf& l, ResourceKind kind) {
  for (const Role* role = l.role; role->parent != nullptr; role = role->parent) {
    if (role->settings.guarantee[kind].value_or(0) > 0) return true;
  }
  return false;
}

ResourceVector part_of_agent(const Cluster& cluster, const Leaf& l) {
  ResourceVector part;
  const auto agents = static_cast<int64_t>(cluster.agents.size());
  const ResourceVector total = cluster.usable_total();
  for (const ResourceKind kind : kResourceKinds) {
    const bool is_common = kind == ResourceKind::kCpus || kind == ResourceKind::kMem;
    if (total[kind] == 0 || (!is_common && !is_promised(l, kind))) continue;
    part[kind] = std::max(total[kind] / agents / kPartOfAgent, cluster.options.min_offer[kind]);
    if (kind == ResourceKind::kGpus) part[kind] = kWholeGpu;
  }
  return part;
}

}  // namespace

bool lacks_guess(const Cluster& cluster, const Leaf& l) {
  if (l.mode != OfferMode::kOpen || !l.wants_offers() || l.refuses) return false;
  if (l.owner->implied != nullptr || !l.offered.is_zero()) return false;
  return l.too_large_at != cluster.agents_version || l.too_large_at == 0;
}

ResourceVector first_guess(const Cluster& cluster, const Leaf& l) {
  if (l.tasks > 0) {
    ResourceVector each = l.use();
    for (const ResourceKind kind : kResourceKinds) each[kind] /= l.tasks;
    return each;
  }
  ResourceVector most = part_of_agent(cluster, l);
  know_entitlements(cluster);
  most = most.min(l.entitlement - l.use());
  for (const Role* role = l.role; role->parent != nullptr; role = role->parent) {
    if (!role->has_guarantee()) continue;
    most = most.min(role->whole_guarantee.amounts(most + role->use()) - role->use());
  }
  return most.max(ResourceVector());
}

}  // namespace proffer::fair
