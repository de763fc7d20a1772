// Compares the allocator's actions with the replay's own records: the externally visible laws of
// DESIGN §10. Read audit() first. It does not know how decisions are made.

#include <algorithm>
#include <tuple>

#include "common/text.h"
#include "tests/support/replay/replay.h"

namespace proffer::replay {

void Replay::audit(const Decision& decision) {
  for (const Grant& grant : decision.grants) {
    audit_grant(grant);
    audit_limits(grant);
    audit_max_per(grant);
  }
  audit_gangs();
  audit_agents();
  audit_revokes(decision);
  audit_work_conservation();
}

// --- one grant ----------------------------------------------------------------------------------

RoleName Replay::role_of(const FrameworkId& id, const Group& group) const {
  return group.spec->ask.role.empty() ? frameworks_.at(id).spec->role : group.spec->ask.role;
}

const Replay::Group* Replay::group_of(const FrameworkId& id, const AskName& ask) const {
  for (const Group& group : frameworks_.at(id).groups) {
    if (group.spec->name == ask.str()) return &group;
  }
  return nullptr;
}

void Replay::audit_grant(const Grant& grant) {
  const FrameworkId& id = grant.framework;
  const Framework& framework = frameworks_.at(id);
  const std::string name = text("offer ", grant.offer.id.value(), " to ", id.str());
  const auto agent = agents_.find(grant.offer.agent);
  if (!framework.joined) return broken(name + ": the framework is not there");
  if (agent == agents_.end()) return broken(name + ": the agent is not there");
  if (!agent->second.active) broken(name + ": the agent is not connected");
  if (agent->second.draining) broken(name + ": the agent is draining");
  if (!is_within(grant.role, framework.spec->role)) broken(name + ": a role of others");
  if (grant.expires <= now_) broken(name + ": expires at once");
  for (const Slice& slice : grant.offer.slices) {
    if (!slice.reserved_for.empty() && !is_within(grant.role, slice.reserved_for)) {
      broken(text(name, ": reserved for role ", slice.reserved_for.str()));
    }
  }
  ResourceVector filled;
  for (const AskFill& fill : grant.offer.fills) {
    const Group* group = group_of(id, fill.ask);
    if (group == nullptr) return broken(name + ": for an unknown ask");
    const Ask& ask = group->spec->ask;
    filled += group->spec->resources * fill.count;
    if (role_of(id, *group) != grant.role) broken(name + ": for an ask of another role");
    if (!group->matcher.matches(grant.offer.agent, agent->second.spec->attributes)) {
      broken(name + ": the agent does not meet the constraints");
    }
    if (allocator_->free_ports(grant.offer.agent).size() < ask.ports)
      broken(name + ": too few ports");
    if (group->expires && *group->expires <= now_) broken(name + ": the ask has expired");
    if (is_choosy(*group) && !is_preferred(*group, grant.offer.agent)) {
      broken(name + ": it waits for where it would rather be");
    }
    if (offered_of(id, *group) > static_cast<int64_t>(group->wanted.size())) {
      broken(name + ": more is offered than is wanted");
    }
    for (const Slice& slice : grant.offer.slices) {
      if (slice.revocable && !ask.revocable_ok)
        broken(name + ": revocable to who does not take it");
    }
  }
  if (framework.spec->takes == sim::Takes::kAsks && filled != grant.offer.total().amounts) {
    broken(name + ": it is not what its fills take");
  }
}

bool Replay::is_within_limits(const RoleName& role, const ResourceVector& more,
                              const std::vector<Kept>& kept) const {
  for (RoleName at = role; !at.empty(); at = parent_of(at)) {
    const auto settings = roles_.find(at);
    if (settings == roles_.end() || settings->second.limit.empty()) continue;
    ResourceVector then = use(at) + more;
    for (const Kept& each : kept) {
      if (is_within(each.role, at)) then += each.amounts;
    }
    if (!settings->second.limit.contains(then)) return false;
  }
  return true;
}

void Replay::audit_limits(const Grant& grant) {
  for (RoleName at = grant.role; !at.empty(); at = parent_of(at)) {
    const auto settings = roles_.find(at);
    if (settings == roles_.end() || settings->second.limit.contains(use(at))) continue;
    broken(text("offer ", grant.offer.id.value(), " takes role ", at.str(), " to ",
                to_text(use(at)), ", above its limit of ", to_text(settings->second.limit)));
  }
}

namespace {

int64_t allowed_by(const Ask& ask, const std::string& attribute) {
  for (const MaxPer& most : ask.max_per) {
    if (most.attribute == attribute) return most.count;
  }
  return kAskCountMax;
}

}  // namespace

void Replay::audit_max_per(const Grant& grant) {
  for (const AskFill& fill : grant.offer.fills) {
    const Group* group = group_of(grant.framework, fill.ask);
    if (group == nullptr) continue;
    for (const MaxPer& most : group->spec->ask.max_per) {
      const std::string value = value_of(grant.offer.agent, most.attribute);
      int64_t count = 0;
      int64_t allowed = most.count;  // the largest value among the asks of its group
      for (const Group& other : frameworks_.at(grant.framework).groups) {
        const std::string& together = other.spec->ask.group;
        const bool counts =
            &other == group || (!together.empty() && together == group->spec->ask.group);
        if (!counts || !other.is_declared) continue;
        allowed = std::max(allowed, allowed_by(other.spec->ask, most.attribute));
        for (const auto& [agent, tasks] : tasks_on(grant.framework, other)) {
          if (value_of(agent, most.attribute) == value) count += tasks;
        }
      }
      if (count <= allowed) continue;
      broken(text("offer ", grant.offer.id.value(), ": ", count, " of ", fill.ask.str(), " on ",
                  most.attribute, " ", value, ", at most ", allowed));
    }
  }
}

// --- all offers ---------------------------------------------------------------------------------

// A gang is offered completely.
void Replay::audit_gangs() {
  std::map<std::pair<FrameworkId, uint64_t>, std::map<AskName, int64_t>> gangs;
  for (const Grant* grant : allocator_->offers()) {
    for (const AskFill& fill : grant->offer.fills) {
      const Group* group = group_of(grant->framework, fill.ask);
      if (group == nullptr) continue;
      if ((group->spec->ask.gang > 1) != (grant->offer.gang != 0)) {
        broken(text("offer ", grant->offer.id.value(), " of ", fill.ask.str(),
                    grant->offer.gang != 0 ? " is of a gang, but it has none" : " has no gang"));
      }
      if (grant->offer.gang == 0) continue;
      gangs[{grant->framework, grant->offer.gang}][fill.ask] += fill.count;
    }
  }
  for (const auto& [gang, fills] : gangs) {
    for (const auto& [ask, count] : fills) {
      const int64_t wanted = group_of(gang.first, ask)->spec->ask.gang;
      if (fills.size() == 1 && count == wanted) continue;
      broken(text("gang ", gang.second, " of ", gang.first.str(), ": ", count, " of ", ask.str(),
                  " are offered, it is ", wanted, " or none"));
    }
  }
}

std::map<RoleName, Resources> Replay::parts_of(const AgentId& id) const {
  const sim::ScenarioAgent& spec = *agents_.at(id).spec;
  std::map<RoleName, Resources> parts;
  Resources rest{.amounts = spec.resources.amounts, .gpus = spec.resources.gpus};
  for (const auto& [role, amounts] : spec.reserved) {
    parts[role] = carve(amounts, rest);
    rest -= parts[role];
  }
  parts[RoleName()] = rest;
  return parts;
}

std::map<RoleName, Resources> Replay::held_of(const AgentId& id) const {
  std::map<RoleName, Resources> held;
  const auto add = [&](const Slice& slice) {
    held[slice.reserved_for].amounts += slice.resources.amounts;
    for (const GpuDevice& device : slice.resources.gpus) {
      held[slice.reserved_for].gpus.push_back(device);
    }
  };
  for (const auto& [framework_id, framework] : frameworks_) {
    for (const Group& group : framework.groups) {
      for (const auto& [number, running] : group.running) {
        if (running.agent != id) continue;
        for (const Slice& slice : running.task.claim.slices) add(slice);
      }
    }
  }
  for (const Grant* grant : allocator_->offers()) {
    if (grant->offer.agent != id) continue;
    for (const Slice& slice : grant->offer.slices) add(slice);
  }
  return held;
}

// The offers and tasks on an agent never exceed its resources, by reservation and by device.
void Replay::audit_agents() {
  for (const auto& [id, agent] : agents_) {
    const std::map<RoleName, Resources> parts = parts_of(id);
    for (const auto& [role, held] : held_of(id)) {
      const auto part = parts.find(role);
      const Resources has = part == parts.end() ? Resources() : part->second;
      if (!held.amounts.fits_in(has.amounts)) {
        broken(text("of agent ", id.str(), ", ", role.str(), ", ", to_text(held.amounts),
                    " is held, more than ", to_text(has.amounts)));
      }
      std::map<int32_t, int32_t> by_device;
      for (const GpuDevice& device : held.gpus) by_device[device.index] += device.milli;
      for (const auto& [index, milli] : by_device) {
        const auto device =
            std::find_if(has.gpus.begin(), has.gpus.end(),
                         [&, number = index](const GpuDevice& d) { return d.index == number; });
        if (device == has.gpus.end() || milli > device->milli) {
          broken(text("device ", index, " of agent ", id.str(), " is given out twice"));
        }
      }
    }
  }
}

// --- revokes ------------------------------------------------------------------------------------

void Replay::audit_revokes(const Decision& decision) {
  std::set<std::pair<FrameworkId, TaskId>> now;
  for (const Revoke& each : decision.revokes) {
    if (!now.insert({each.framework, each.task}).second) broken("a task is revoked twice");
  }
  int64_t tasks = 0;
  for (const auto& [id, framework] : frameworks_) {
    for (const Group& group : framework.groups) tasks += static_cast<int64_t>(group.running.size());
  }
  for (const Revoke& each : decision.revokes) audit_victim(each, now);
  // Reclaims of lent or estimated resources do not count towards the cap.
  const auto recent = std::count_if(reclaimed_at_.begin(), reclaimed_at_.end(),
                                    [&](Time when) { return when > now_ - minutes(1); });
  const auto more =
      std::count_if(decision.revokes.begin(), decision.revokes.end(),
                    [](const Revoke& each) { return each.reason == RevokeReason::kReclaimed; });
  int64_t largest_gang = 1;
  for (const auto& [id, framework] : frameworks_) {
    for (const Group& group : framework.groups) {
      largest_gang = std::max(largest_gang, group.spec->ask.gang);
    }
  }
  const int64_t most =
      std::max(options_.allocator.revokes_per_minute, tasks / 10) + largest_gang - 1;
  if (recent + more > most) broken(text(recent, " and ", more, " revokes within a minute"));
}

void Replay::audit_victim(const Revoke& revoke,
                          const std::set<std::pair<FrameworkId, TaskId>>& now) {
  const Framework& framework = frameworks_.at(revoke.framework);
  const std::optional<Found> found = find_task(framework, revoke.task);
  const std::string name = text("revoke of ", revoke.framework.str(), "/", revoke.task.str());
  if (!found) return broken(name + ": it does not run");
  const Running& victim = framework.groups[found->group].running.at(found->number);
  if (victim.revoked) broken(name + ": it has a notice already");
  if (victim.agent != revoke.agent) broken(name + ": it runs elsewhere");
  if (revoke.deadline < now_ + options_.allocator.revoke_grace) broken(name + ": no grace");
  const uint64_t gang = victim.task.claim.gang;
  for (const Group& group : framework.groups) {
    for (const auto& [number, other] : group.running) {
      if (gang == 0 || other.task.claim.gang != gang || other.revoked) continue;
      if (now.count({revoke.framework, other.task.task}) == 0) broken(name + ": not all its gang");
    }
  }
  if (revoke.reason != RevokeReason::kReclaimed) return;
  if (now_ - victim.since < options_.allocator.minimum_runtime) broken(name + ": it is too young");
  // No role falls below its guarantee, unless the beneficiary is below the same guarantee.
  for (RoleName at = victim.task.claim.role; !at.empty(); at = parent_of(at)) {
    if (is_within(revoke.beneficiary, at)) break;
    const auto settings = roles_.find(at);
    if (settings == roles_.end()) continue;
    const Quota& guarantee = settings->second.guarantee;
    ResourceVector kept = use(at);
    for (const auto& [id, each] : frameworks_) {
      for (const Group& group : each.groups) {
        for (const auto& [number, running] : group.running) {
          const bool told = running.revoked && is_within(running.task.claim.role, at);
          if (told) kept -= group.spec->resources;
        }
      }
    }
    bool names_all = true;
    for (const ResourceKind kind : kResourceKinds) {
      names_all = names_all && (guarantee[kind] || kept[kind] == 0);
    }
    if (names_all && guarantee.contains(kept)) {
      broken(text(name, ": role ", at.str(), " is within its guarantee"));
    }
  }
}

// --- as text ------------------------------------------------------------------------------------

std::string Replay::print(const Decision& decision) const {
  std::string line;
  for (const Grant& grant : decision.grants) {
    line +=
        text(line.empty() ? "" : "; ", "#", grant.offer.id.value(), " ", grant.framework.str(), "@",
             grant.offer.agent.str(), " in ", grant.role.str(), " ", to_text(grant.offer.total()));
    for (const AskFill& fill : grant.offer.fills)
      line += text(" ", fill.ask.str(), "x", fill.count);
    if (grant.offer.gang != 0) line += text(" gang ", grant.offer.gang);
  }
  for (const Rescind& rescind : decision.rescinds) {
    line += text(line.empty() ? "" : "; ", "-", rescind.offer.value());
  }
  for (const Revoke& each : decision.revokes) {
    line += text(line.empty() ? "" : "; ", "!", each.framework.str(), "/", each.task.str(), " for ",
                 each.beneficiary.str());
  }
  return line;
}

}  // namespace proffer::replay
