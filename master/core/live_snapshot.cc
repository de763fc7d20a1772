// The input for a scenario of the live cluster. All of it is from one state of the core, so running
// tasks fit their agents, and asks do not include running tasks.

#include <algorithm>
#include <set>

#include "common/text.h"
#include "master/core/state.h"

namespace proffer::master {
namespace {

std::string_view to_text(ReclaimMode mode) {
  constexpr std::string_view kNames[] = {"off", "guarantee", "fair_share"};
  return kNames[static_cast<size_t>(mode)];
}

// The options that decide about offers and preemption.
std::map<std::string, std::string> options_of(const MasterOptions& options) {
  const AllocatorOptions& allocator = options.allocator;
  return {{"agent_timeout", to_text(options.agent_timeout)},
          {"claim_after", to_text(allocator.claim_after)},
          {"min_offer", to_text(allocator.min_offer)},
          {"minimum_runtime", to_text(allocator.minimum_runtime)},
          {"offer_timeout", to_text(allocator.offer_timeout)},
          {"placement", std::string(proffer::to_text(allocator.placement))},
          {"reclaim", std::string(to_text(allocator.reclaim))},
          {"reregistration_timeout", to_text(options.reregistration_timeout)},
          {"revoke_grace", to_text(allocator.revoke_grace)},
          {"revokes_per_minute", std::to_string(allocator.revokes_per_minute)},
          {"task_start_timeout", to_text(options.task_start_timeout)}};
}

Duration between(Time from, Time to) {
  return to <= from ? Duration() : std::min(to - from, kDurationMax);
}

proto::LiveAgent live(const Agent& agent, Time now) {
  proto::LiveAgent row{.agent = agent.id, .state = agent.state, .attributes = agent.attributes};
  for (const Slice& slice : agent.slices) {
    if (slice.revocable) continue;
    row.total += slice.resources;
    if (!slice.reserved_for.empty()) row.reserved[slice.reserved_for] += slice.resources.amounts;
  }
  row.total.ports = agent.ports;
  if (agent.drained_by) row.drains_for = between(now, *agent.drained_by);
  return row;
}

proto::LiveTask live(const Task& task, const RoleName& of_framework, Time now) {
  const TaskClaim& claim = task.claim();
  proto::LiveTask row{.framework = task.key().framework,
                      .task = task.key().task,
                      .agent = task.agent,
                      .ask = task.text->ask,
                      .role = claim.role.empty() ? of_framework : claim.role,
                      .shape = task.allotment->resources.amounts,
                      .priority = claim.priority,
                      .band = claim.band,
                      .gang = claim.gang,
                      .ending = task.kill_asked,
                      .since = between(task.launched_at, now)};
  // For a task of an earlier master the ports are known, but not their names.
  for (const PortRange& range : task.allotment->resources.ports.ranges()) {
    for (int port = range.first; port <= range.last; ++port) {
      row.ports.push_back(static_cast<uint16_t>(port));
    }
  }
  row.estimated = std::any_of(claim.slices.begin(), claim.slices.end(),
                              [](const Slice& slice) { return slice.revocable; });
  return row;
}

}  // namespace

proto::LiveSnapshot Master::State::live_snapshot(Time now) const {
  now = std::max(now, now_);
  proto::LiveSnapshot all{.taken = now, .options = options_of(options_)};
  for (const auto& [id, agent] : agents_.all()) all.agents.push_back(live(agent, now));
  for (const auto& [role, settings] : allocator_.role_table()) {
    if (!role.empty() && settings != RoleSettings()) all.roles.push_back({role, settings});
  }
  const std::map<FrameworkId, std::vector<LeafStatus>> leaves = leaves_by_framework();
  for (const auto& [id, framework] : frameworks_.all()) {
    if (framework.gone) continue;
    proto::LiveFramework row{.framework = id,
                             .name = framework.record.name,
                             .role = framework.record.role,
                             .mode = framework.record.mode,
                             .connected = framework.connected()};
    std::map<AskName, int64_t> wanted;
    std::set<AskName> claiming;
    for (const LeafStatus& leaf : leaves.at(id)) {
      row.suppressed = row.suppressed || leaf.suppressed;
      for (const AskStatus& ask : leaf.asks) {
        wanted[ask.ask] = ask.wanted;
        if (ask.claimed || !ask.set_aside.empty() || !ask.kept.empty()) claiming.insert(ask.ask);
      }
    }
    all.frameworks.push_back(std::move(row));
    for (const auto& [name, declared] : framework.asks) {
      proto::LiveAsk ask{.framework = id, .ask = declared, .claims = claiming.contains(name)};
      const auto found = wanted.find(name);
      ask.ask.count = found == wanted.end() ? 0 : found->second;
      all.asks.push_back(std::move(ask));
    }
  }
  for (const auto& [key, task] : tasks_.all()) {
    if (!task.held) continue;
    const Framework* framework = frameworks_.find(key.framework);
    if (framework == nullptr || framework->gone) continue;
    all.tasks.push_back(live(task, framework->record.role, now));
  }
  return all;
}

}  // namespace proffer::master
