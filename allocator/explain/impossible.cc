// Explains why an ask could never fit. Begin with impossible().

#include "allocator/explain/impossible.h"

#include <algorithm>

#include "allocator/rules/denial.h"
#include "allocator/rules/fit.h"
#include "common/check.h"
#include "common/text.h"

namespace proffer::fair {

std::optional<ResourceKind> lacking(const ResourceVector& shape, const Resources& there) {
  for (const ResourceKind kind : kResourceKinds) {
    if (shape[kind] > most_for(kind, shape[kind], there)) return kind;
  }
  return std::nullopt;
}

int64_t most_for(ResourceKind kind, int64_t wanted, const Resources& there) {
  if (kind != ResourceKind::kGpus || wanted == 0) return there.amounts[kind];
  int64_t most = 0;
  for (const GpuDevice& device : there.gpus) {
    if (wanted < kWholeDevice) {
      most = std::max<int64_t>(most, device.milli);
    } else if (device.milli == kWholeDevice) {
      most += kWholeDevice;
    }
  }
  return most;
}

void add_value(std::vector<std::string>& values, const std::string& value) {
  const auto at = std::lower_bound(values.begin(), values.end(), value);
  if (at != values.end() && *at == value) return;
  values.insert(at, value);
  if (values.size() > kNamesListedMax + 1) values.pop_back();
}

namespace {

// The constraints that no agent meets; if each is met by some agent, but not all by one: a
// hindrance for all together; else empty.
std::vector<HinderedAgents> unmet_constraints(const Cluster& cluster, const AskEntry& entry) {
  const bool some_meets_all =
      std::any_of(cluster.agents.begin(), cluster.agents.end(),
                  [&](const auto& agent) { return entry.matches(*agent.second); });
  std::vector<HinderedAgents> found;
  if (some_meets_all) return found;
  for (const Constraint& constraint : entry.ask.constraints) {
    Result<ConstraintMatcher> matcher = ConstraintMatcher::compile({constraint});
    CHECK(matcher.has_value()) << matcher.error().message();
    HinderedAgents one{.why = Hindrance::kConstraint, .constraint = to_text(constraint)};
    bool is_met = false;
    for (const auto& [id, a] : cluster.agents) {
      is_met = is_met || matcher->matches(a->id, a->attributes);
      const std::string& value = value_of(*a, constraint.attribute);
      if (!value.empty()) add_value(one.values, value);
    }
    if (!is_met) found.push_back(std::move(one));
  }
  if (found.empty()) found.push_back({.why = Hindrance::kConstraint});
  return found;
}

// A gang whose tasks each fit some agent, but not all at once.
HinderedAgents too_large_gang(const Cluster& cluster, const AskEntry& entry) {
  const TaskCounts none(entry.ask);
  int64_t room = 0;
  std::vector<Seat> places;
  for (const auto& [id, a] : cluster.agents) {
    if (!could_ever_fit(entry, *a)) continue;
    places.push_back({a.get(), capacity(entry, *a)});
    room += places.back().room;
  }
  HinderedAgents found{.why = Hindrance::kGang, .wanted = entry.ask.gang, .most = room};
  if (room < entry.ask.gang) return found;
  found.most = fill_places(entry.ask, none, entry.ask.gang, places);
  for (const MaxPer& most : entry.ask.max_per) {
    found.constraint += text(found.constraint.empty() ? "" : " and ", most.attribute);
  }
  return found;
}

}  // namespace

std::vector<HinderedAgents> impossible(const Cluster& cluster, const AskEntry& entry) {
  const Ask& ask = entry.ask;
  if (const Denial limit = exceeded_limit(entry); !limit.is_none()) {
    return {{.why = Hindrance::kLimit,
             .kind = limit.kind,
             .role = limit.role->name,
             .wanted = entry.at_once()[limit.kind],
             .most = limit.left}};
  }
  std::vector<HinderedAgents> found = unmet_constraints(cluster, entry);
  if (!found.empty()) return found;
  ResourceVector most;  // the maximum of each kind that the role may use on one agent
  int64_t ports = 0;
  bool some_fits = false;
  for (const auto& [id, a] : cluster.agents) {
    if (!entry.matches(*a)) continue;
    some_fits = some_fits || could_ever_fit(entry, *a);
    ports = std::max(ports, a->ports.size());
    Resources there;
    for (const Slice& slice : a->usable_total(entry.leaf->role->name)) there += slice.resources;
    for (const ResourceKind kind : kResourceKinds) {
      most[kind] = std::max(most[kind], most_for(kind, ask.shape[kind], there));
    }
  }
  if (some_fits) return {too_large_gang(cluster, entry)};
  for (const ResourceKind kind : kResourceKinds) {
    if (ask.shape[kind] <= most[kind]) continue;
    found.push_back(
        {.why = Hindrance::kTotal, .kind = kind, .wanted = ask.shape[kind], .most = most[kind]});
  }
  if (ask.ports > ports) {
    found.push_back({.why = Hindrance::kPortsTotal, .wanted = ask.ports, .most = ports});
  }
  for (const uint16_t port : ask.static_ports) {
    const bool is_anywhere =
        std::any_of(cluster.agents.begin(), cluster.agents.end(), [&](const auto& one) {
          return entry.matches(*one.second) && one.second->ports.contains(port);
        });
    if (!is_anywhere) found.push_back({.why = Hindrance::kStaticPortTotal, .wanted = port});
  }
  return found;
}

}  // namespace proffer::fair
