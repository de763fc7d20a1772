// Which agent an ask goes to: what is reserved for its role first, then best fit, so that large
// pieces stay whole. Asks without gpus avoid the agents that have them while others are free. Where
// the ask would rather be, and how evenly it is to be spread, come before the score. place() first.

#include <algorithm>
#include <array>
#include <functional>
#include <tuple>

#include "allocator/state.h"

namespace proffer {
namespace {

constexpr size_t kFew = 32;

// Whether the role has something reserved for it there that is free.
bool has_reserved(const fair::Agent& a, const RoleName& role) {
  return std::any_of(a.reserved_listed.begin(), a.reserved_listed.end(),
                     [&](const auto& reserved) { return is_within(role, reserved.first); });
}

// How well an agent that it fits suits the ask; the least is best.
std::tuple<fair::Nearness, int64_t, bool, bool, int64_t, const AgentId&> score(
    const fair::AskEntry& ask, const fair::Agent& a) {
  const bool wants_gpus = ask.ask.shape[ResourceKind::kGpus] > 0;
  return {ask.ask.prefer.empty() ? fair::Nearness::kAnywhere : nearness(ask.ask.prefer, a),
          ask.counts.crowd(ask.ask, a),
          a.parts.empty() || !has_reserved(a, ask.leaf->role->name),
          !wants_gpus && a.has_gpus(),
          a.weighted_free,
          a.id};
}

}  // namespace

// Whether the ask may go there, if it fits.
bool Allocator::State::suits(const AskEntry& ask, const Agent& a, Time now) const {
  if (a.ports_left() < ask.ask.ports || !ask.matches(a)) return false;
  if (!ask.ask.max_per.empty() && ask.counts.full(ask.ask, a) != nullptr) return false;
  if (ask.only_preferred(now) && nearness(ask.ask.prefer, a) == fair::Nearness::kAnywhere) {
    return false;
  }
  return !is_filtered(*ask.leaf, a, now);
}

bool Allocator::State::is_usable(const AskEntry& ask, const Agent& a, Time now) const {
  return fair::fits(ask.ask.shape, a, ask.leaf->role->name) && suits(ask, a, now);
}

// The agents with enough free, by amount, for one task, those with something reserved for its role
// first, until `visit` returns true; by best fit. Agents with reservations may come twice.
void Allocator::State::visit_free(const AskEntry& ask,
                                  const std::function<bool(Agent*)>& visit) const {
  const int64_t least = fair::weighted(ask.ask.shape, total_);
  const auto walk = [&](const fair::AgentsByFree& agents) {
    return agents.visit(least, ask.ask.shape, visit);
  };
  if (free_.any_reserved()) {
    for (RoleName role = ask.leaf->role->name; !role.empty(); role = parent_of(role)) {
      if (walk(free_.reserved_for(role))) return;
    }
  }
  if (ask.ask.shape[ResourceKind::kGpus] == 0 && walk(free_.plain())) return;
  walk(free_.with_gpus());
}

fair::Agent* Allocator::State::better(const AskEntry& ask, Agent* a, Agent* b) const {
  if (a == nullptr || b == nullptr) return a == nullptr ? b : a;
  return score(ask, *b) < score(ask, *a) ? b : a;
}

fair::Agent* Allocator::State::place_anywhere(const AskEntry& ask, Time now) const {
  Agent* best = nullptr;
  for (const std::string& host : ask.ask.prefer.hosts) {
    const auto at = agents_.find(AgentId(host));
    if (at == agents_.end() || !at->second->listed) continue;
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
    return !is_spread && (!wants_rack || nearness(ask.ask.prefer, *best) == fair::Nearness::kRack);
  };
  visit_free(ask, std::cref(consider));
  return best;
}

// The agent for one task of the ask, or nullptr and then the ask knows that it has tried all.
fair::Agent* Allocator::State::place(AskEntry& ask, Time now) {
  for (Agent* a : ask.reclaims) {
    if (ask.claims(*a) && is_usable(ask, *a, now)) return a;
  }
  for (const fair::Claimed& claimed : ask.claim) {
    if (is_usable(ask, *claimed.agent, now)) return claimed.agent;
  }
  // The index finds the best at once where there are many; the few that grew are quicker to look
  // at.
  std::array<Agent*, kFew> grown;
  size_t few = 0;
  const bool are_many = ask.tried_at == 0 || free_.visit_grown(ask.tried_at, [&](Agent* a) {
    if (few == kFew) return true;
    grown[few++] = a;
    return false;
  });
  Agent* best = nullptr;
  if (are_many) {
    best = place_anywhere(ask, now);
  } else {
    const auto consider = [&](Agent* a) {
      if (a->listed && is_usable(ask, *a, now)) best = better(ask, best, a);
    };
    for (size_t i = 0; i < few; ++i) consider(grown[i]);
    for (Agent* a : ask.leaf->retry) consider(a);
  }
  if (best == nullptr) ask.tried_at = free_.latest();
  return best;
}

// Who is owed it does not wait behind who only waits: on what is set aside for claims of others it
// may take what is free. The claims stay.
fair::Agent* Allocator::State::place_in_claims(const AskEntry& ask, Time now) const {
  for (const auto& [order, claimant] : claimed_) {
    if (claimant->leaf == ask.leaf) continue;
    for (const fair::Claimed& claimed : claimant->claim) {
      if (is_usable(ask, *claimed.agent, now)) return claimed.agent;
    }
  }
  return nullptr;
}

// How many tasks of the ask fit there now, by all but its turn and its unmet count.
int64_t Allocator::State::room_for(const AskEntry& ask, const Agent& a, int64_t count_max) const {
  int64_t count = count_max;
  if (ask.ask.ports > 0) count = std::min(count, a.ports_left() / ask.ask.ports);
  count = ask.counts.room(ask.ask, a, count);
  return fair::count_that_fits(ask.ask.shape, a, ask.leaf->role->name, count);
}

// The slices of so many tasks, of which `last` are those of the last one.
std::vector<Slice> Allocator::State::carve_tasks(const Leaf& l, const Agent& a,
                                                 const ResourceVector& shape, int64_t count,
                                                 std::vector<Slice>* last) const {
  std::vector<Slice> given;
  if (a.parts.empty()) {
    given.push_back({.resources = {.amounts = shape * count}});
    last->push_back({.resources = {.amounts = shape}});
    if (shape[ResourceKind::kGpus] == 0) return given;
    given.front().resources = {};
    Resources left = a.free;
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

}  // namespace proffer
