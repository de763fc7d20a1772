// Placement: score() is the rule.

#include "allocator/rules/placement.h"

#include <algorithm>
#include <functional>
#include <tuple>

#include "allocator/rules/fit.h"

namespace proffer::fair {
namespace {

// Whether the role has something reserved for it there that is free.
bool has_reserved(const Agent& a, const RoleName& role) {
  return std::any_of(a.reserved_listed.begin(), a.reserved_listed.end(),
                     [&](const auto& reserved) { return is_within(role, reserved.first); });
}

// How well an agent that it fits suits the ask; the least is best.
std::tuple<Nearness, int64_t, bool, bool, int64_t, const AgentId&> score(const AskEntry& ask,
                                                                         const Agent& a) {
  const bool wants_gpus = ask.ask.shape[ResourceKind::kGpus] > 0;
  return {ask.ask.prefer.empty() ? Nearness::kAnywhere : nearness(ask.ask.prefer, a),
          ask.counts.crowd(ask.ask, a),
          a.parts.empty() || !has_reserved(a, ask.leaf->role->name),
          !wants_gpus && a.has_gpus(),
          a.weighted_free,
          a.id};
}

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

Agent* better(const AskEntry& ask, Agent* a, Agent* b) {
  if (a == nullptr || b == nullptr) return a == nullptr ? b : a;
  return score(ask, *b) < score(ask, *a) ? b : a;
}

Agent* place_anywhere(const Cluster& cluster, const AskEntry& ask, Time now) {
  Agent* best = nullptr;
  for (const std::string& host : ask.ask.prefer.hosts) {
    const auto at = cluster.agents.find(AgentId(host));
    if (at == cluster.agents.end() || !at->second->listed) continue;
    if (is_usable(ask, *at->second, now)) best = better(ask, best, at->second.get());
  }
  if (best != nullptr) return best;
  const bool is_spread = !ask.ask.spread.empty();
  const bool wants_rack = !ask.ask.prefer.racks.empty();
  const auto consider = [&](Agent* a) {
    if (!is_usable(ask, *a, now)) return false;
    // They come by best fit, so the first is the best but for its rack.
    if (is_spread) {
      best = better(ask, best, a);
    } else if (best == nullptr || (wants_rack && score(ask, *a) < score(ask, *best))) {
      best = a;
    }
    return !is_spread && (!wants_rack || nearness(ask.ask.prefer, *best) == Nearness::kRack);
  };
  visit_free(cluster, ask, std::cref(consider));
  return best;
}

std::vector<Slice> carve_tasks(const AskEntry& ask, const Agent& a, int64_t count,
                               std::vector<Slice>* last) {
  const Leaf& l = *ask.leaf;
  const ResourceVector& shape = ask.ask.shape;
  std::vector<Slice> given;
  if (a.parts.empty()) {
    given.push_back({.resources = {.amounts = shape * count}});
    last->push_back({.resources = {.amounts = shape}});
    if (shape[ResourceKind::kGpus] == 0) return given;
    given.front().resources = {};
    Resources left = ask.claims(a) ? a.free_and_kept() : a.free;
    for (int64_t i = 0; i < count; ++i) {
      last->front().resources = carve(shape, left);
      left -= last->front().resources;
      given.front().resources += last->front().resources;
    }
    return given;
  }
  std::vector<Slice> left = a.usable(l.role->name);
  for (int64_t i = 0; i < count; ++i) {
    std::optional<std::vector<Slice>> taken = take(shape, left);
    CHECK(taken) << count << " of " << to_text(shape) << " on agent " << a.id.str();
    *last = *std::move(taken);
    for (const Slice& slice : *last) add_slice(given, slice);
  }
  return given;
}

bool is_open_to(const Leaf& l, const Agent& a, Time now, bool has_one) {
  if (has_one || is_filtered(l, a, now)) return false;
  // What is free there may be reserved for others.
  return a.parts.empty() || !a.usable(l.role->name).empty();
}

std::vector<Slice> piece_for(const Leaf& l, const Agent& a, const ResourceVector& most) {
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

}  // namespace proffer::fair
