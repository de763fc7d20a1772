// Decides whether an ask fits. Begin with is_usable() for one agent, and with plan_gang() for a
// gang.

#include "allocator/rules/fit.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "allocator/rules/placement.h"
#include "allocator/rules/proportion.h"
#include "allocator/rules/prospect.h"

namespace proffer::fair {

bool still_holds(const Filter& filter, const AgentState& a, Time now) {
  if (filter.until) return now < *filter.until;
  if (filter.wrong_agent && *filter.wrong_agent == a.attributes) return true;
  return std::any_of(filter.too_little.begin(), filter.too_little.end(), [&](const auto& kind) {
    return a.counted_free_of(kind.first) <= kind.second;
  });
}

bool is_filtered(const Leaf& l, const AgentState& a, Time now) {
  switch (l.owner->filtered_on(a)) {
    case Framework::Filtered::kNo:
      return false;
    case Framework::Filtered::kForATime:
      return now < l.owner->declines[a.slot].until;
    case Framework::Filtered::kForAReason:
      return still_holds(l.owner->reasons.at(a.id), a, now);
  }
  return false;
}

bool is_for(const AskEntry& ask, const AgentState& a, Time now) {
  if (!ask.matches(a)) return false;
  return !ask.only_preferred(now) || nearness(ask.ask.prefer, a) != Nearness::kAnywhere;
}

std::optional<uint16_t> missing_port(const std::vector<uint16_t>& static_ports,
                                     const PortSet& ports) {
  const auto missing = std::find_if(static_ports.begin(), static_ports.end(),
                                    [&](uint16_t port) { return !ports.contains(port); });
  return missing == static_ports.end() ? std::nullopt : std::optional(*missing);
}

bool may_hold(const AskEntry& ask, const AgentState& a, Time now) {
  if (a.ports_left() < ask.ask.ports) return false;
  if (missing_port(ask.ask.static_ports, a.free_ports)) return false;
  if (!ask.ask.max_per.empty() && ask.counts.full(ask.ask, a) != nullptr) return false;
  return is_for(ask, a, now);
}

bool suits(const AskEntry& ask, const Agent& a, Time now) {
  // A framework has at most one open offer of an agent.
  if (ask.is_implied() && ask.leaf->open_on.count(&a) > 0) return false;
  return may_hold(ask, a, now) && !is_filtered(ask, a, now);
}

bool is_filtered(const AskEntry& ask, const AgentState& a, Time now) {
  if (!is_filtered(*ask.leaf, a, now)) return false;
  if (!ask.is_implied()) return true;
  const std::optional<Filter> filter = ask.leaf->owner->filter_on(a);
  if (filter->until || filter->wrong_agent) return true;
  return std::none_of(filter->too_little.begin(), filter->too_little.end(),
                      [&](const auto& kind) { return ask.ask.shape[kind.first] > kind.second; });
}

namespace {

// Resources kept for the ask count as free for it.
bool is_kept_for(const AskEntry& ask, const AgentState& a) {
  return ask.claims(a) && !a.kept.amounts.is_zero();
}

// The number of tasks of the ask, at most `count_max`, beside what is withheld from it there.
int64_t room_beside_withheld(const AskEntry& ask, const AgentState& a, int64_t count_max) {
  if (a.withheld.empty()) return count_max;  // Nearly always.
  const ResourceVector withheld = withheld_from(ask, a.withheld);
  if (withheld.is_zero()) return count_max;
  const ResourceVector free =
      (is_kept_for(ask, a) ? a.free_and_kept() : a.counted_free()).amounts - withheld;
  for (const ResourceKind kind : kResourceKinds) {
    const int64_t each = ask.ask.shape[kind];
    if (each > 0) count_max = std::clamp<int64_t>(free[kind] / each, 0, count_max);
  }
  return count_max;
}

template <class IsCovered>
ResourceVector withheld_beside(const Role& role, Duration run,
                               const std::vector<AgentState::Withheld>& withheld,
                               IsCovered is_covered) {
  ResourceVector sum;
  for (const AgentState::Withheld& one : withheld) {
    if (run > one.lasts && !is_within(role.name, one.role)) sum += one.amounts;
  }
  if (sum.is_zero()) return sum;
  for (const Role* above = &role; above->parent != nullptr; above = above->parent) {
    if (above->has_guarantee() && is_covered(*above)) return {};
  }
  return sum;
}

}  // namespace

ResourceVector withheld_from(const AskEntry& ask,
                             const std::vector<AgentState::Withheld>& withheld) {
  if (withheld.empty()) return {};
  return withheld_beside(*ask.leaf->role, expected_run(ask), withheld, [&](const Role& role) {
    return is_within_guarantee(role, role.use(), ask.at_once());
  });
}

ResourceVector withheld_from(const Leaf& l, const std::vector<AgentState::Withheld>& withheld) {
  if (withheld.empty()) return {};
  return withheld_beside(*l.role, kDurationMax, withheld,
                         [](const Role& role) { return has_unmet_guarantee(role); });
}

bool is_usable(const AskEntry& ask, const Agent& a, Time now) {
  const bool is_enough = is_kept_for(ask, a) ? fits(ask.ask.shape, a.free_and_kept())
                                             : fits(ask.ask.shape, a, ask.leaf->role->name);
  return is_enough && room_beside_withheld(ask, a, 1) == 1 && suits(ask, a, now);
}

int64_t room_for(const AskEntry& ask, const AgentState& a, int64_t count_max) {
  int64_t count = count_max;
  if (ask.ask.ports > 0) count = std::min(count, a.ports_left() / ask.ask.ports);
  if (!ask.ask.static_ports.empty()) count = std::min<int64_t>(count, 1);
  count = ask.counts.room(ask.ask, a, count);
  count = room_beside_withheld(ask, a, count);
  if (is_kept_for(ask, a)) return count_that_fits(ask.ask.shape, a.free_and_kept(), count);
  return count_that_fits(ask.ask.shape, a, ask.leaf->role->name, count);
}

// --- if agents were empty -----------------------------------------------------------------------

bool could_ever_fit(const AskEntry& ask, const AgentState& a) {
  if (a.ports.size() < ask.ask.ports || !ask.matches(a)) return false;
  if (missing_port(ask.ask.static_ports, a.ports)) return false;
  if (a.parts.empty()) return fits(ask.ask.shape, a.total);
  std::vector<Slice> all = a.usable_total(ask.leaf->role->name);
  return take(ask.ask.shape, all).has_value();
}

int64_t capacity(const AskEntry& ask, const Agent& a) {
  int64_t most = ask.ask.gang;
  if (most == 1) return 1;
  if (ask.ask.ports > 0) most = std::min(most, a.ports.size() / ask.ask.ports);
  if (!ask.ask.static_ports.empty()) most = std::min<int64_t>(most, 1);
  if (a.parts.empty()) return count_that_fits(ask.ask.shape, a.total, most);
  std::vector<Slice> all = a.usable_total(ask.leaf->role->name);
  int64_t count = 0;
  while (count < most && take(ask.ask.shape, all)) ++count;
  return count;
}

bool could_ever_be_met(const Cluster& cluster, const AskEntry& ask, bool only_serving) {
  const TaskCounts none(ask.ask);
  TaskCounts counts = none;
  int64_t room = 0;
  std::vector<Seat> places;
  for (const auto& [id, a] : cluster.agents) {
    if ((only_serving && !a->serves()) || !could_ever_fit(ask, *a)) continue;
    const int64_t most = capacity(ask, *a);
    const int64_t here = counts.room(ask.ask, *a, most);
    counts.add(*a, here);
    room += here;
    if (room >= ask.ask.gang) return true;
    places.push_back({a.get(), most});
  }
  return fill_places(ask.ask, none, ask.ask.gang, places) == ask.ask.gang;
}

bool could_be_served(const Cluster& cluster, const AskEntry& ask) {
  if (ask.servable_at != cluster.agents_version) {
    ask.servable = could_ever_be_met(cluster, ask, true);
    ask.servable_at = cluster.agents_version;
  }
  return ask.servable;
}

bool could_be_met(const Cluster& cluster, const AskEntry& ask) {
  if (ask.meetable_at != cluster.agents_version) {
    ask.meetable = could_ever_be_met(cluster, ask, false);
    ask.meetable_at = cluster.agents_version;
  }
  return ask.meetable;
}

// --- gangs --------------------------------------------------------------------------------------

void visit_free(const Cluster& cluster, const AskEntry& ask,
                const std::function<bool(Agent*)>& visit) {
  const int64_t least = cluster.free_agents.least_key(ask.ask.shape, cluster.total);
  const auto walk = [&](const AgentsByFree& agents) {
    return agents.visit(least, ask.ask.shape, visit);
  };
  if (cluster.free_agents.any_reserved()) {
    for (RoleName role = ask.leaf->role->name; !role.empty(); role = parent_of(role)) {
      if (walk(cluster.free_agents.reserved_for(role))) return;
    }
  }
  const FreeAgents& free = cluster.free_agents;
  if (cluster.options.placement != Placement::kBalanced) {
    if (ask.ask.shape[ResourceKind::kGpus] == 0 && walk(free.in_index(0))) return;
    walk(free.in_index(1));
    return;
  }
  const FamilyOrder& families = family_order(cluster, ask);
  if (families.order.size() == 1) {
    walk(free.in_index(0));
    return;
  }
  for (size_t i = 0; i < families.order.size();) {
    std::vector<const AgentsByFree*> equals;
    const int64_t rank = families.rank[families.order[i]];
    for (; i < families.order.size() && families.rank[families.order[i]] == rank; ++i) {
      equals.push_back(&free.in_index(families.order[i]));
    }
    if (AgentsByFree::visit_merged(equals, least, ask.ask.shape, visit)) return;
  }
}

namespace {

// Seats of the gang on these agents: in their order, or as even as its spread wants.
std::vector<Seat> spread_gang(const AskEntry& ask, const std::vector<Agent*>& agents) {
  std::vector<Seat> places;
  for (Agent* a : agents) places.push_back({a, room_for(ask, *a, ask.ask.gang)});
  TaskCounts counts = ask.counts;
  int64_t left = ask.ask.gang;
  while (left > 0 && !ask.ask.spread.empty()) {
    Seat* least = nullptr;
    int64_t crowd = 0;
    for (Seat& place : places) {
      if (place.count == place.room || counts.room(ask.ask, *place.agent, 1) == 0) continue;
      const int64_t there = counts.crowd(ask.ask, *place.agent);
      if (least != nullptr && crowd <= there) continue;
      least = &place;
      crowd = there;
    }
    if (least == nullptr) break;
    counts.add(*least->agent, 1);
    ++least->count;
    --left;
  }
  // Spread is only a preference.
  if (left > 0 && fill_places(ask.ask, ask.counts, ask.ask.gang, places) < ask.ask.gang) {
    return {};
  }
  std::erase_if(places, [](const Seat& place) { return place.count == 0; });
  return places;
}

}  // namespace

std::vector<Seat> plan_gang(const Cluster& cluster, const AskEntry& ask, Time now) {
  std::vector<Agent*> agents;
  const bool by_wish = !ask.ask.prefer.empty() || !ask.ask.spread.empty();
  const bool in_order = is_in_order(cluster.options.placement);
  int64_t room = 0;  // the room if max_per applied to single agents
  AgentSet seen;
  bool is_of_free = false;
  const auto consider = [&](Agent* a) {
    if (is_of_free && ask.claims(*a)) return false;  // It was visited before.
    if (!is_usable(ask, *a, now)) return false;
    if (!a->parts.empty() && !seen.insert(a).second) return false;
    agents.push_back(a);
    if (by_wish || !ask.ask.max_per.empty() || !in_order) return false;
    room += room_for(ask, *a, ask.ask.gang - room);
    return room == ask.ask.gang;
  };
  bool is_enough = false;
  for (Agent* a : ask.set_aside) is_enough = consider(a) || is_enough;
  if (!is_enough) {
    std::vector<Agent*> set_aside = std::exchange(agents, {});
    is_of_free = true;
    visit_free(cluster, ask, std::cref(consider));
    if (!in_order) sort_by_policy(cluster, ask, agents);
    agents.insert(agents.begin(), set_aside.begin(), set_aside.end());
  }
  if (!ask.ask.prefer.empty()) {
    std::stable_sort(agents.begin(), agents.end(), [&](const Agent* a, const Agent* b) {
      return nearness(ask.ask.prefer, *a) < nearness(ask.ask.prefer, *b);
    });
  }
  return spread_gang(ask, agents);
}

bool fits_now(const Cluster& cluster, const AskEntry& ask, const Agent& a, Time now) {
  return ask.ask.gang > 1 ? !plan_gang(cluster, ask, now).empty() : is_usable(ask, a, now);
}

}  // namespace proffer::fair
