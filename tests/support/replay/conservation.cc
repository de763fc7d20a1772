// Work conservation, tested by trying: except for resources that are set aside, no free resources
// fit a task that is wanted and permitted. Read audit_work_conservation() first. It asks the
// allocator only for resources that are held back, and for entitlements.

#include <algorithm>

#include "allocator/cluster/role_tree.h"
#include "common/text.h"
#include "tests/support/replay/replay.h"

namespace proffer::replay {

namespace {

// Takes out this amount, or all if there is less. In the latter case it is not known from outside
// which devices are kept, so all are taken out.
void take_out(const ResourceVector& kept, Resources& rest) {
  if (fits(kept, rest)) {
    rest -= carve(kept, rest);
    return;
  }
  rest.amounts = (rest.amounts - kept).max(ResourceVector());
  if (kept[ResourceKind::kGpus] == 0) return;
  rest.amounts[ResourceKind::kGpus] = 0;
  rest.gpus.clear();
}

}  // namespace

// The agent's free resources for the role, one entry per reservation state, without those that are
// kept.
std::vector<Resources> Replay::free_for(const RoleName& role, const AgentId& on,
                                        const ResourceVector& kept) const {
  std::vector<Resources> free;
  std::map<RoleName, Resources> held = held_of(on);
  for (const auto& [reserved_for, part] : parts_of(on)) {
    if (!reserved_for.empty() && !is_within(role, reserved_for)) continue;
    Resources rest = part;
    rest.amounts = (rest.amounts - held[reserved_for].amounts).max(ResourceVector());
    for (GpuDevice& device : rest.gpus) {
      for (const GpuDevice& taken : held[reserved_for].gpus) {
        if (taken.index == device.index) device.milli -= taken.milli;
      }
    }
    std::erase_if(rest.gpus, [](const GpuDevice& device) { return device.milli <= 0; });
    take_out(kept, rest);
    free.push_back(std::move(rest));
  }
  return free;
}

// A lower bound, as far as known from outside, of the group's tasks that fit the agent's free
// resources.
int64_t Replay::room_on(const FrameworkId& id, const Group& group, const AgentId& on, int64_t most,
                        const ResourceVector& kept) const {
  const Agent& agent = agents_.at(on);
  const Ask& ask = group.spec->ask;
  if (!agent.active || agent.draining) return 0;
  if (!group.matcher.matches(on, agent.spec->attributes)) return 0;
  if (ask.ports > 0) {
    int64_t ports = allocator_->free_ports(on).size();
    for (const Grant* grant : allocator_->offers()) {
      if (grant->offer.agent != on) continue;
      for (const AskFill& fill : grant->offer.fills) {
        const Group* other = group_of(grant->framework, fill.ask);
        if (other != nullptr) ports -= other->spec->ask.ports * fill.count;
      }
    }
    most = std::min(most, std::max<int64_t>(ports, 0) / ask.ports);
  }
  int64_t room = 0;
  // Each slice separately: whether to combine slices is the allocator's own choice.
  for (Resources& free : free_for(role_of(id, group), on, kept)) {
    while (room < most && fits(group.spec->resources, free)) {
      free -= carve(group.spec->resources, free);
      ++room;
    }
  }
  return room;
}

// The unused part of the guarantees of the role and the roles below it.
ResourceVector Replay::unmet_guarantee(const RoleName& role) const {
  ResourceVector below;
  std::set<RoleName> children;
  for (const auto& [name, settings] : roles_) {
    if (name == role || !is_within(name, role)) continue;
    RoleName child = name;
    while (parent_of(child) != role) child = parent_of(child);
    children.insert(child);
  }
  for (const RoleName& child : children) below += unmet_guarantee(child);
  const auto settings = roles_.find(role);
  if (settings == roles_.end()) return below;
  const ResourceVector used = use(role);
  return (settings->second.guarantee.amounts(used) - used).max(below);
}

// The resources that must stay free for others' guarantees if nothing is lent.
ResourceVector Replay::held_for_others(const RoleName& role) const {
  ResourceVector held;
  std::set<RoleName> beside;  // the topmost roles that are not on the role's path
  for (const auto& [name, settings] : roles_) {
    if (settings.guarantee.empty() || is_within(role, name)) continue;
    RoleName top = name;
    while (!parent_of(top).empty() && !is_within(role, parent_of(top))) top = parent_of(top);
    beside.insert(top);
  }
  for (const RoleName& each : beside) held += unmet_guarantee(each);
  return held;
}

// --- placement -----------------------------------------------------------------------------------

// Whether its locality wait still lasts.
bool Replay::is_choosy(const Group& group) const {
  const Preference& prefer = group.spec->ask.prefer;
  return !prefer.empty() && now_ - group.prefers_since < prefer.wait;
}

bool Replay::is_preferred(const Group& group, const AgentId& on) const {
  const Preference& prefer = group.spec->ask.prefer;
  const auto has = [](const std::vector<std::string>& all, const std::string& one) {
    return std::find(all.begin(), all.end(), one) != all.end();
  };
  const Attributes& attributes = agents_.at(on).spec->attributes;
  const auto rack = attributes.find("rack");
  return has(prefer.hosts, on.str()) ||
         (rack != attributes.end() && has(prefer.racks, rack->second));
}

std::string Replay::value_of(const AgentId& agent, const std::string& attribute) const {
  if (attribute == "host") return agent.str();
  const Attributes& attributes = agents_.at(agent).spec->attributes;
  const auto value = attributes.find(attribute);
  return value == attributes.end() ? std::string() : value->second;
}

// The group's tasks, running and offered, by agent.
std::map<AgentId, int64_t> Replay::tasks_on(const FrameworkId& id, const Group& group) const {
  std::map<AgentId, int64_t> tasks;
  for (const auto& [number, running] : group.running) {
    if (agents_.count(running.agent) > 0) ++tasks[running.agent];
  }
  for (const Grant* grant : allocator_->offers()) {
    if (grant->framework != id) continue;
    for (const AskFill& fill : grant->offer.fills) {
      if (fill.ask.str() == group.spec->name) tasks[grant->offer.agent] += fill.count;
    }
  }
  return tasks;
}

// Whether this many more tasks can be placed within the rooms, given the existing tasks: tries
// every distribution.
bool Replay::have_place(const Group& group, std::map<AgentId, int64_t> tasks,
                        const std::vector<std::pair<AgentId, int64_t>>& rooms, size_t from,
                        int64_t wanted) const {
  for (const MaxPer& most : group.spec->ask.max_per) {
    std::map<std::string, int64_t> counts;
    for (const auto& [agent, count] : tasks) counts[value_of(agent, most.attribute)] += count;
    for (size_t i = 0; i < from; ++i) {  // elsewhere existing tasks may exceed the maximum
      if (counts[value_of(rooms[i].first, most.attribute)] > most.count) return false;
    }
  }
  if (wanted == 0) return true;
  if (from == rooms.size()) return false;
  for (int64_t here = std::min(wanted, rooms[from].second); here >= 0; --here) {
    std::map<AgentId, int64_t> then = tasks;
    then[rooms[from].first] += here;
    // An agent without new tasks may already exceed the maximum.
    std::vector<std::pair<AgentId, int64_t>> rest = rooms;
    if (here == 0) rest.erase(rest.begin() + static_cast<std::ptrdiff_t>(from));
    if (have_place(group, then, rest, here == 0 ? from : from + 1, wanted - here)) return true;
  }
  return false;
}

// --- permission ----------------------------------------------------------------------------------

// An ask that may not borrow may use its role's entitlement, and free resources that no framework
// outside its role wants.
bool Replay::may_have(const FrameworkId& id, const Group& group) const {
  if (group.spec->ask.borrow) return true;
  const RoleName role = role_of(id, group);
  if (is_entitled(role, group)) return true;
  for (const auto& [other_id, framework] : frameworks_) {
    if (!framework.joined) continue;
    if (framework.spec->takes != sim::Takes::kAsks) return false;
    for (const Group& other : framework.groups) {
      const RoleName other_role = role_of(other_id, other);
      if (is_within(other_role, role)) continue;
      if (unmet(other_id, other) == 0) continue;
      if (other.spec->ask.borrow || is_entitled(other_role, other)) return false;
    }
  }
  return true;
}

bool Replay::is_entitled(const RoleName& role, const Group& group) const {
  const ResourceVector needed = group.spec->resources * group.spec->ask.gang;
  const ResourceVector then = use(role) + needed;
  for (const RoleStatus& status : allocator_->roles()) {
    if (status.role != role) continue;
    return std::all_of(kResourceKinds.begin(), kResourceKinds.end(), [&](ResourceKind kind) {
      return needed[kind] == 0 || then[kind] <= status.entitlement[kind];
    });
  }
  return false;
}

// Wanted tasks that are not offered, in complete gangs.
int64_t Replay::unmet(const FrameworkId& id, const Group& group) const {
  if (group.expires && *group.expires <= now_) return 0;
  const int64_t gang = group.spec->ask.gang;
  const int64_t left =
      static_cast<int64_t>(group.wanted.size()) / gang * gang - offered_of(id, group);
  return std::max<int64_t>(left, 0) / gang * gang;
}

int64_t Replay::offered_of(const FrameworkId& id, const Group& group) const {
  int64_t offered = 0;
  for (const Grant* grant : allocator_->offers()) {
    if (grant->framework != id) continue;
    for (const AskFill& fill : grant->offer.fills) {
      if (fill.ask.str() == group.spec->name) offered += fill.count;
    }
  }
  return offered;
}

// --- the law -------------------------------------------------------------------------------------

void Replay::audit_work_conservation() {
  Claims claims;
  std::vector<Kept> kept;  // kept below limits
  for (const LeafStatus& leaf : allocator_->leaves()) {
    if (leaf.implied) {
      const AskStatus& ask = *leaf.implied;
      claims.whole.insert(ask.set_aside.begin(), ask.set_aside.end());
      for (const auto& [on, amounts] : ask.kept) claims.parts[on] = {nullptr, amounts};
    }
    for (const AskStatus& ask : leaf.asks) {
      claims.whole.insert(ask.set_aside.begin(), ask.set_aside.end());
      const Group* group = group_of(leaf.framework, ask.ask);
      for (const auto& [on, amounts] : ask.kept) claims.parts[on] = {group, amounts};
      if (!ask.has_headroom || group == nullptr) continue;
      kept.push_back({group, leaf.role, group->spec->resources * group->spec->ask.gang});
    }
  }
  std::map<RoleName, ResourceVector> withheld;
  for (AgentUse& of_agent : allocator_->agents()) {
    for (const AgentUse::Withheld& one : of_agent.withheld) withheld[one.role] += one.amounts;
    if (!of_agent.withheld.empty()) claims.withheld[of_agent.agent] = std::move(of_agent.withheld);
  }
  for (const auto& [role, amounts] : withheld) {
    const ResourceVector then = use(role) + amounts;
    const Quota most = fair::whole_guarantee(roles_[role].guarantee, allocator_->total());
    const bool is_within = std::all_of(
        kResourceKinds.begin(), kResourceKinds.end(), [&, held = amounts](ResourceKind kind) {
          return held[kind] == 0 || (most[kind] && then[kind] <= *most[kind]);
        });
    if (is_within) continue;
    broken(text("more is withheld than the guarantee of ", role.str(), " that it does not use"));
  }
  for (const auto& [id, framework] : frameworks_) {
    if (!framework.joined || framework.spec->takes != sim::Takes::kAsks) continue;
    // Declined or expired offers do not return at once.
    if (options_.declining.count(id.str()) + options_.holding.count(id.str()) > 0) continue;
    for (const Group& group : framework.groups) {
      if (unmet(id, group) == 0 || !may_have(id, group)) continue;
      std::vector<Kept> for_others = kept;
      std::erase_if(for_others, [&](const Kept& each) { return each.group == &group; });
      if (!fits_what_is_free(id, group, claims, for_others)) continue;
      broken(text(id.str(), "/", group.spec->name, " is not offered what is free"));
      return;
    }
  }
}

// What the group's tasks must leave free on an agent where this is withheld. How long tasks run is
// known if they declare it, or have a time limit.
ResourceVector Replay::withheld_from(const RoleName& role, const Group& group,
                                     const std::vector<AgentUse::Withheld>& withheld) const {
  const Ask ask = group.spec->declared();
  const ResourceVector needed = ask.shape * ask.gang;
  for (RoleName at = role; !at.empty(); at = parent_of(at)) {
    const auto settings = roles_.find(at);
    if (settings == roles_.end() || settings->second.guarantee.empty()) continue;
    const Quota& guarantee = settings->second.guarantee;
    const bool takes_named =
        std::any_of(kResourceKinds.begin(), kResourceKinds.end(),
                    [&](ResourceKind kind) { return guarantee[kind] && needed[kind] > 0; });
    const Quota whole = fair::whole_guarantee(guarantee, allocator_->total());
    if (takes_named && whole.contains(use(at) + needed)) return {};
  }
  ResourceVector sum;
  for (const AgentUse::Withheld& one : withheld) {
    const auto is_short = [&](Duration run) { return run > Duration() && run <= one.lasts; };
    if (is_within(role, one.role) || is_short(ask.duration) || is_short(ask.max_run_time)) continue;
    sum += one.amounts;
  }
  return sum;
}

bool Replay::fits_what_is_free(const FrameworkId& id, const Group& group, const Claims& claims,
                               const std::vector<Kept>& kept) const {
  const int64_t gang = group.spec->ask.gang;
  const RoleName role = role_of(id, group);
  const ResourceVector needed = group.spec->resources * gang;
  if (!is_within_limits(role, needed, kept)) return false;
  std::vector<std::pair<AgentId, int64_t>> rooms;
  int64_t room = 0;
  ResourceVector free;
  for (const auto& [agent, described] : agents_) {
    if (claims.whole.count(agent) > 0 || !described.active || described.draining) continue;
    const auto claim = claims.parts.find(agent);
    const bool is_of_another = claim != claims.parts.end() && claim->second.group != &group;
    ResourceVector apart = is_of_another ? claim->second.amounts : ResourceVector();
    const auto withheld = claims.withheld.find(agent);
    if (withheld != claims.withheld.end()) apart += withheld_from(role, group, withheld->second);
    for (const Resources& each : free_for(role, agent, apart)) free += each.amounts;
    if (is_choosy(group) && !is_preferred(group, agent)) continue;
    rooms.emplace_back(agent, room_on(id, group, agent, gang, apart));
    room += rooms.back().second;
  }
  if (room < gang) return false;
  if (!group.spec->ask.max_per.empty() && !have_place(group, tasks_on(id, group), rooms, 0, gang)) {
    return false;
  }
  const bool lends = scenario_.options.count("reclaim") == 0 ||
                     scenario_.options.at("reclaim") != "off" ||
                     std::all_of(roles_.begin(), roles_.end(),
                                 [](const auto& one) { return one.second.guarantee.empty(); });
  if (lends) return true;
  const ResourceVector left = free - held_for_others(role);
  return std::all_of(kResourceKinds.begin(), kResourceKinds.end(), [&](ResourceKind kind) {
    return needed[kind] == 0 || needed[kind] <= left[kind];
  });
}

}  // namespace proffer::replay
