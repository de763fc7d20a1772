// Places tasks on agents. Begin with score().

#include "allocator/rules/placement.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <tuple>
#include <utility>

#include "allocator/rules/fit.h"
#include "allocator/rules/fractions.h"
#include "allocator/rules/fragmentation.h"
#include "allocator/rules/proportion.h"
#include "common/check.h"

namespace proffer::fair {
namespace {

// Whether the agent has free resources that are reserved for the role.
bool has_reserved(const Agent& a, const RoleName& role) {
  return std::any_of(a.reserved_listed.begin(), a.reserved_listed.end(),
                     [&](const auto& reserved) { return is_within(role, reserved.first); });
}

ResourceVector free_on(const Agent& a) {
  return a.parts.empty() ? a.free.amounts : a.counted_free().amounts;
}

int64_t alignment(const Cluster& cluster, const ResourceVector& shape, const Agent& a) {
  const Fractions fractions(cluster.total);
  const ResourceVector free = free_on(a);
  int64_t sum = 0;
  for (const ResourceKind kind : kResourceKinds) {
    sum += fractions.of(shape[kind], kind) * fractions.of(free[kind], kind);
  }
  return sum;
}

// The score of the agent for a task of the ask by the policy alone; the least is best.
std::pair<int64_t, int64_t> policy_score(const Cluster& cluster, const AskEntry& ask,
                                         const Agent& a) {
  switch (cluster.options.placement) {
    case Placement::kDotProduct:
      return {-alignment(cluster, ask.ask.shape, a), a.weighted_free};
    case Placement::kBalanced:
      return {family_order(cluster, ask).rank[a.family], a.key};
    case Placement::kFgd:
      return {fragments_growth(cluster, ask, a), a.weighted_free};
    default:
      return {a.key, 0};
  }
}

// The score of an agent that the ask fits; the least is best.
struct Score {
  std::tuple<Nearness, int64_t, bool, bool, std::pair<int64_t, int64_t>> value;
  const AgentId& id;
  bool operator<(const Score& o) const { return value != o.value ? value < o.value : id < o.id; }
};

Score score(const Cluster& cluster, const AskEntry& ask, const Agent& a) {
  const bool wants_gpus = ask.ask.shape[ResourceKind::kGpus] > 0;
  return {{ask.ask.prefer.empty() ? Nearness::kAnywhere : nearness(ask.ask.prefer, a),
           ask.counts.crowd(ask.ask, a), a.parts.empty() || !has_reserved(a, ask.leaf->role->name),
           !wants_gpus && a.has_gpus(), policy_score(cluster, ask, a)},
          a.id};
}

// At most `most` of `free`. GPUs are given in whole devices, or in the free parts of devices.
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

bool fills_up(Placement placement) {
  return placement == Placement::kBalanced || placement == Placement::kBestFit;
}

bool is_in_order(Placement placement) {
  return placement != Placement::kDotProduct && placement != Placement::kFgd;
}

Agent* better(const Cluster& cluster, const AskEntry& ask, Agent* a, Agent* b) {
  if (a == nullptr || b == nullptr) return a == nullptr ? b : a;
  return score(cluster, ask, *b) < score(cluster, ask, *a) ? b : a;
}

void sort_by_policy(const Cluster& cluster, const AskEntry& ask, std::vector<Agent*>& agents) {
  std::vector<std::pair<std::pair<int64_t, int64_t>, Agent*>> scored;
  for (Agent* a : agents) scored.emplace_back(policy_score(cluster, ask, *a), a);
  std::sort(scored.begin(), scored.end(), [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first < b.first : a.second->id < b.second->id;
  });
  for (size_t i = 0; i < agents.size(); ++i) agents[i] = scored[i].second;
}

Agent* as_good_elsewhere(const Cluster& cluster, const AskEntry& ask, const Agent& a, Time now) {
  const std::vector<int64_t>& rank = family_order(cluster, ask).rank;
  Agent* found = nullptr;
  visit_free(cluster, ask, [&](Agent* other) {
    if (other == &a || rank[other->family] > rank[a.family]) return false;
    if (is_usable(ask, *other, now)) found = other;
    return found != nullptr;
  });
  return found;
}

bool fits_only_on(const Cluster& cluster, const AskEntry& ask, const Agent& a, Time now) {
  bool fits_elsewhere = false;
  visit_free(cluster, ask, [&](const Agent* other) {
    fits_elsewhere = other != &a && is_usable(ask, *other, now);
    return fits_elsewhere;
  });
  return !fits_elsewhere;
}

Agent* place_anywhere(const Cluster& cluster, const AskEntry& ask, Time now) {
  Agent* best = nullptr;
  for (const std::string& host : ask.ask.prefer.hosts) {
    const auto at = cluster.agents.find(AgentId(host));
    if (at == cluster.agents.end() || !at->second->listed) continue;
    if (is_usable(ask, *at->second, now)) best = better(cluster, ask, best, at->second.get());
  }
  if (best != nullptr) return best;
  const bool looks_at_all = !ask.ask.spread.empty() || !is_in_order(cluster.options.placement);
  const bool wants_rack = !ask.ask.prefer.racks.empty();
  std::optional<Score> least;  // the best one's
  const auto consider = [&](Agent* a) {
    if (!is_usable(ask, *a, now)) return false;
    // They come in the policy's order, so the first is the best but for its rack.
    if (looks_at_all || wants_rack) {
      const Score its = score(cluster, ask, *a);
      if (best == nullptr || its < *least) {
        best = a;
        least.emplace(its);
      }
    } else if (best == nullptr) {
      best = a;
    }
    return !looks_at_all && (!wants_rack || nearness(ask.ask.prefer, *best) == Nearness::kRack);
  };
  visit_free(cluster, ask, std::cref(consider));
  return best;
}

std::vector<Slice> carve_tasks(const AskEntry& ask, const Agent& a, int64_t count,
                               std::vector<Slice>* last) {
  const Leaf& l = *ask.leaf;
  const ResourceVector& shape = ask.ask.shape;
  std::vector<Slice> given;
  if (a.parts.empty() && shape[ResourceKind::kGpus] == 0) {
    given.push_back({.resources = {.amounts = shape * count}});
    if (last != nullptr) last->push_back({.resources = {.amounts = shape}});
    return given;
  }
  if (a.parts.empty()) {
    Slice& all = given.emplace_back();
    Resources left = ask.claims(a) ? a.free_and_kept() : a.free;
    for (int64_t i = 0; i < count; ++i) {
      Resources one = carve(shape, left);
      left -= one;
      all.resources += one;
      if (last != nullptr) *last = {Slice{.resources = std::move(one)}};
    }
    return given;
  }
  std::vector<Slice> left = a.usable(l.role->name);
  for (int64_t i = 0; i < count; ++i) {
    std::optional<std::vector<Slice>> taken = take(shape, left);
    CHECK(taken) << count << " of " << to_text(shape) << " on agent " << a.id.str();
    for (const Slice& slice : *taken) add_slice(given, slice);
    if (last != nullptr) *last = *std::move(taken);
  }
  return given;
}

bool is_open_to(const Leaf& l, const Agent& a, Time now, bool has_one) {
  if (has_one || is_filtered(l, a, now)) return false;
  // What is free there may be reserved for others.
  return a.parts.empty() || !a.usable(l.role->name).empty();
}

bool is_worth_offering(const Cluster& cluster, const Agent& a, const ResourceVector& amounts) {
  const ResourceVector& least = cluster.options.min_offer;
  return std::all_of(kResourceKinds.begin(), kResourceKinds.end(), [&](ResourceKind kind) {
    return amounts[kind] >= least[kind] || a.counted_total_of(kind) == 0;
  });
}

std::vector<Slice> piece_for(const Cluster& cluster, const Leaf& l, const Agent& a,
                             const ResourceVector& most) {
  if (a.parts.empty() && a.free.gpus.empty()) {  // Nearly always.
    ResourceVector some = a.free.amounts;
    if (!a.withheld.empty()) some -= withheld_from(l, a.withheld);
    some = some.min(most).max(ResourceVector());
    if (some.is_zero() || !is_worth_offering(cluster, a, some)) return {};
    return {Slice{.resources = {.amounts = some}}};
  }
  ResourceVector some = most;
  if (!a.withheld.empty()) some = some.min(a.counted_free().amounts - withheld_from(l, a.withheld));
  std::vector<Slice> piece = piece_of(a.usable(l.role->name), some);
  const ResourceVector amounts = sum_of(piece).amounts;
  if (amounts.is_zero() || !is_worth_offering(cluster, a, amounts)) return {};
  return piece;
}

}  // namespace proffer::fair
