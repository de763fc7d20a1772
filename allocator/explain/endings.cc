// Tries sets of occupants on copies of the books. Begin with cheapest().

#include "allocator/explain/endings.h"

#include <algorithm>
#include <numeric>

#include "allocator/explain/largest.h"

namespace proffer::fair {
namespace {

constexpr int kTriesMax = 1'000;
// Each try computes all entitlements anew.
constexpr int kTriesWithoutBorrowingMax = 100;

ResourceVector sum_of(const Occupants& occupants) {
  ResourceVector sum;
  for (const Occupant& one : occupants) sum += one.amounts;
  return sum;
}

// Whether the largest occupants, up to the maximum of a remedy, hold the lacking amounts.
bool may_hold(const Occupants& all, const ResourceVector& lacking) {
  return std::all_of(kResourceKinds.begin(), kResourceKinds.end(), [&](ResourceKind kind) {
    if (lacking[kind] == 0) return true;
    std::vector<int64_t> amounts;
    for (const Occupant& one : all) amounts.push_back(one.amounts[kind]);
    std::sort(amounts.rbegin(), amounts.rend());
    amounts.resize(std::min(amounts.size(), kRemedyEndsMax));
    return std::accumulate(amounts.begin(), amounts.end(), int64_t{0}) >= lacking[kind];
  });
}

}  // namespace

Endings::Endings(const Cluster& cluster, const AskEntry& entry, const Fitting& as_it_is, Time now)
    : cluster_(cluster),
      entry_(entry),
      as_it_is_(as_it_is),
      now_(now),
      tries_left_(entry.ask.borrow ? kTriesMax : kTriesWithoutBorrowingMax) {}

After Endings::after(const Release& release) const {
  After then;
  const auto state_of = [&](const Agent& of) -> AgentState& {
    const auto [at, is_new] = then.agents.try_emplace(&of, of);
    if (is_new && entry_.claims(of)) at->second.keep = {};
    return at->second;
  };
  const auto note_ended = [&](const Leaf& l, const AskName& name, int64_t count) {
    const auto ask = l.owner->asks.find(name);
    if (ask != l.owner->asks.end()) then.ended[ask->second.get()] += count;
  };
  const auto end_offer = [&](const OutstandingOffer& offer) {
    AgentState& on = state_of(*offer.agent);
    on.end_offered(offer);
    on.ports_offered -= offer.ports;
    for (const AskFill& fill : offer.grant->offer.fills) {
      note_ended(*offer.leaf, fill.ask, fill.count);
    }
  };
  for (const Occupant& one : release.what) {
    if (one.task != nullptr) {
      state_of(*release.agent).end_allocated(one.task->booked());
      then.as_if.end(*release.agent, *one.task);
      note_ended(*one.leaf, one.task->ask(), 1);
      continue;
    }
    then.as_if.end(cluster_, *one.offer);
    const uint64_t gang = one.offer->grant->offer.gang;
    if (gang == 0) end_offer(*one.offer);
    for (const OfferId& id : cluster_.outstanding.of_gang(gang)) {
      end_offer(*cluster_.outstanding.find(id));
    }
  }
  for (auto& [of, state] : then.agents) state.compute_free();
  return then;
}

std::optional<Release> Endings::cheapest(bool tasks, bool offers) {
  std::optional<Release> best;
  const auto consider = [&](Release release) {
    if (!best || release.cost() < best->cost()) best = std::move(release);
  };
  const bool needs_place = !as_it_is_.has_places();
  const Denial denied = as_it_is_.denied();
  for (const auto& [id, agent] : cluster_.agents) {
    const Agent& a = *agent;
    const bool is_place = a.serves() && !as_it_is_.is_claimed(a) && is_for(entry_, a, now_);
    if (needs_place && !is_place) continue;
    Occupants all = occupants_of(a, tasks, offers, needs_place ? Denial() : denied);
    if (all.empty()) continue;
    const ResourceVector free = as_it_is_.free_for(a);
    if (needs_place && !entry_.ask.shape.fits_in(free + sum_of(all))) continue;
    const ResourceVector lacking =
        needs_place ? (entry_.ask.shape - free).max(ResourceVector()) : entry_.at_once();
    for (const Occupant& one : all) {
      if (needs_place && entry_.ask.gang == 1 && !lacking.fits_in(one.amounts)) continue;
      Release release{.agent = &a, .what = {one}, .worth = worth_of(one.amounts)};
      if (best && best->cost() <= release.cost()) continue;
      if (fits_without(release)) consider(std::move(release));
    }
    if (all.size() == 1 || (best && best->what.size() == 1)) continue;
    if (needs_place && !may_hold(all, lacking)) continue;
    if (std::optional<Release> several = several_on(a, std::move(all), lacking)) {
      consider(*std::move(several));
    }
    if (tries_left_ <= 0) break;
  }
  return best;
}

// Adds occupants that hold most of the lacking amounts first, then drops those that are not needed.
std::optional<Release> Endings::several_on(const Agent& a, Occupants all,
                                           const ResourceVector& lacking) {
  const auto helps = [&](const Occupant& one) {
    return worth_of(lacking.is_zero() ? one.amounts : one.amounts.min(lacking));
  };
  std::stable_sort(all.begin(), all.end(),
                   [&](const Occupant& x, const Occupant& y) { return helps(x) > helps(y); });
  const auto first = [&](int64_t count) {
    return Occupants(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(count));
  };
  const auto count = static_cast<int64_t>(all.size());
  const auto fits_if = [&](Occupants ended) {
    return fits_without({.agent = &a, .what = std::move(ended)});
  };
  if (!fits_if(all)) return std::nullopt;
  const int64_t spared =
      largest(0, count - 1, [&](int64_t without) { return fits_if(first(count - without)); });
  Occupants needed = first(count - spared);
  if (needed.size() > kRemedyEndsMax) return std::nullopt;
  for (size_t i = needed.size(); i-- > 0 && needed.size() > 1;) {
    Occupants fewer = needed;
    fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
    if (fits_if(fewer)) needed = std::move(fewer);
  }
  // Without tries left, no occupant is known to be needed.
  if (tries_left_ <= 0) return std::nullopt;
  Release release{.agent = &a, .what = std::move(needed)};
  release.worth = worth_of(sum_of(release.what));
  return release;
}

int64_t Endings::worth_of(const ResourceVector& amounts) const {
  return weighted(amounts, cluster_.total);
}

// Tasks and offers of other frameworks whose end may help, also against the denial, if there is
// one.
Occupants Endings::occupants_of(const Agent& a, bool tasks, bool offers,
                                const Denial& denied) const {
  const auto helps = [&](const Occupant& one) {
    if (denied.is_none()) return true;
    if (one.amounts[denied.kind] == 0) return false;
    return denied.why != Denial::Why::kLimit || is_within(one.leaf->role->name, denied.role->name);
  };
  Occupants all;
  const auto consider = [&](Occupant one) {
    if (helps(one)) all.push_back(std::move(one));
  };
  if (tasks) {
    for (const auto& [ref, task] : a.tasks) {
      if (task.leaf->owner == entry_.leaf->owner) continue;
      consider({.task = &task, .ref = ref, .amounts = task.amounts(), .leaf = task.leaf});
    }
  }
  if (offers) {
    for (const OfferId& id : offers_of(a)) {
      const OutstandingOffer& offer = *cluster_.outstanding.find(id);
      // A framework is not offered again for a while what it declines or lets expire.
      if (offer.leaf->owner == entry_.leaf->owner) continue;
      consider({.offer = &offer, .amounts = offer.resources.amounts, .leaf = offer.leaf});
    }
  }
  return all;
}

bool Endings::fits_without(const Release& release) {
  if (--tries_left_ < 0) return false;
  const After then = after(release);
  const AgentState& there = then.agents.at(release.agent);
  // A "too little" filter may no longer hold.
  return as_it_is_.fits(there, as_it_is_.is_declined(there), then.as_if);
}

}  // namespace proffer::fair
