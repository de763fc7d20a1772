// Snapshots of the master for HTTP, CLI and web.

#include <algorithm>

#include "master/core/state.h"

namespace proffer::master {

using proto::AgentState;
using proto::TaskState;

proto::MasterStatus Master::State::status() const {
  proto::MasterStatus status;
  status.leader = options_.leader;
  status.started_at = options_.started_at;
  status.now = now_;
  for (const AgentUse& use : allocator_.agents()) {
    status.allocated += use.allocated;
    status.offered += use.offered;
  }
  for (const auto& [id, agent] : agents_.all()) {
    if (agent.allocatable) status.total += agent.total();
    if (agent.state == AgentState::kConnected) ++status.agents_connected;
    if (agent.state == AgentState::kDisconnected) ++status.agents_disconnected;
    if (agent.state == AgentState::kUnreachable) ++status.agents_unreachable;
  }
  status.agents_awaited = awaited_;
  status.masters = master_rows();
  if (status.masters.size() == 1) status.masters.clear();
  status.agents_gone = static_cast<int64_t>(agents_.gone().size());
  status.agents_held_back = static_cast<int64_t>(brake_.held().size());
  status.agents_lost_max = brake_.most(agents_.size());
  status.agents_lost_period = options_.brake.period;
  if (!brake_.held().empty()) status.agents_lost_next = brake_.next();
  status.brake_lifted_until = brake_.lifted_until(now_);
  for (const auto& [id, framework] : frameworks_.all()) {
    if (framework.gone) continue;
    if (framework.connected())
      ++status.frameworks_connected;
    else
      ++status.frameworks_disconnected;
  }
  status.tasks_staging = tasks_.count(TaskState::kStaging);
  status.tasks_running = tasks_.count(TaskState::kRunning);
  status.tasks_killing = tasks_.count(TaskState::kKilling);
  status.tasks_unreachable = tasks_.count(TaskState::kUnreachable);
  status.tasks_ended = tasks_.ended();
  status.offers = static_cast<int64_t>(allocator_.offers().size());
  return status;
}

std::map<FrameworkId, std::vector<LeafStatus>> Master::State::leaves_by_framework() const {
  std::map<FrameworkId, std::vector<LeafStatus>> leaves;
  for (LeafStatus& leaf : allocator_.leaves()) {
    const FrameworkId id = leaf.framework;
    leaves[id].push_back(std::move(leaf));
  }
  return leaves;
}

std::vector<proto::AgentRow> Master::State::agent_rows() const {
  std::map<AgentId, AgentUse> uses;
  for (AgentUse& use : allocator_.agents()) uses.emplace(use.agent, std::move(use));
  std::vector<proto::AgentRow> rows;
  for (const auto& [id, agent] : agents_.all()) {
    proto::AgentRow row;
    row.agent = id;
    row.state = agent.state;
    row.attributes = agent.attributes;
    for (const Slice& slice : agent.slices) row.total += slice.resources;
    row.total.ports = agent.ports;
    if (const auto use = uses.find(id); use != uses.end()) {
      row.allocated = use->second.allocated;
      row.offered = use->second.offered;
      row.free = use->second.free.amounts;
    }
    row.http_address = agent.http_address;
    row.https_address = agent.files.address;
    for (const Task* task : agent.tasks) row.tasks += task->ended() ? 0 : 1;
    row.registered_at = agent.registered_at;
    for (const Slice& slice : agent.own_slices) {
      if (slice.reserved_for.empty()) continue;
      row.reserved.push_back({.role = slice.reserved_for, .amounts = slice.resources.amounts});
    }
    for (const auto& [role, resources] : agent.reserved) {
      row.reserved.push_back({.role = role, .amounts = resources.amounts, .dynamic = true});
    }
    row.drained_by = agent.drained_by;
    row.limits = agent.limits;
    row.trouble = agent.why_no_tasks();
    row.held_back = brake_.holds(id, agent.lost_at);
    rows.push_back(std::move(row));
  }
  for (const auto& [id, gone] : agents_.gone()) {
    proto::AgentRow row{.agent = id, .state = AgentState::kGone};
    row.gone_at = gone.at;
    rows.push_back(std::move(row));
  }
  std::sort(rows.begin(), rows.end(),
            [](const proto::AgentRow& a, const proto::AgentRow& b) { return a.agent < b.agent; });
  return rows;
}

std::vector<proto::FrameworkRow> Master::State::framework_rows() const {
  const std::map<FrameworkId, std::vector<LeafStatus>> leaves = leaves_by_framework();
  const ResourceVector total = allocator_.total();
  std::map<FrameworkId, FrameworkLag> lags;
  for (FrameworkLag& lag : allocator_.framework_lags(now_)) lags[lag.framework] = std::move(lag);
  std::map<FrameworkId, int64_t> running;
  for (const auto& [key, task] : tasks_.all()) {
    if (!task.ended()) ++running[key.framework];
  }
  std::vector<proto::FrameworkRow> rows;
  for (const auto& [id, framework] : frameworks_.all()) {
    if (framework.gone) continue;
    proto::FrameworkRow row;
    row.framework = id;
    row.name = framework.record.name;
    row.role = framework.record.role;
    row.user = framework.record.user;
    row.state = framework.connected() ? proto::FrameworkState::kConnected
                                      : proto::FrameworkState::kDisconnected;
    row.mode = framework.record.mode;
    if (const auto found = running.find(id); found != running.end()) row.tasks = found->second;
    row.failover_timeout =
        framework.connected() ? framework.record.failover_timeout : framework.ends_after;
    FrameworkLag& lag = lags[id];
    row.lag = lag.lag.now;
    row.lag_most = lag.lag.most;
    for (const LeafStatus& leaf : leaves.at(id)) {  // One for each role in which it asks.
      row.allocated += leaf.allocated;
      row.offered += leaf.offered;
      row.suppressed = row.suppressed || leaf.suppressed;
      for (const AskStatus& ask : leaf.asks) {
        const auto declared = framework.asks.find(ask.ask);
        row.asks.push_back(
            {.ask = ask.ask,
             .shape = declared == framework.asks.end() ? ResourceVector() : declared->second.shape,
             .wanted = ask.wanted,
             .offered = ask.offered,
             .could_ever_fit = ask.could_ever_fit,
             .claimed = ask.claimed.value_or(AgentId()),
             .lag = lag.asks[ask.ask].now});
      }
    }
    row.dominant_share_millionths = dominant_share(row.allocated + row.offered, total).millionths();
    row.subscribed_at = framework.subscribed_at;
    rows.push_back(std::move(row));
  }
  return rows;
}

std::vector<proto::RoleRow> Master::State::role_rows() const {
  std::map<RoleName, int64_t> frameworks;
  for (const auto& [id, framework] : frameworks_.all()) {
    if (!framework.gone) ++frameworks[framework.record.role];
  }
  // Roles without frameworks are included if they have settings.
  std::map<RoleName, RoleStatus> all;
  for (const auto& [name, settings] : allocator_.role_table()) {
    all[name] = {.role = name, .settings = settings};
  }
  for (RoleStatus& role : allocator_.roles()) {
    const RoleName name = role.role;
    all[name] = std::move(role);
  }
  for (const auto& [name, record] : registry_.roles()) {
    if (!record.users.empty()) all.try_emplace(name, RoleStatus{.role = name});
  }
  std::map<RoleName, LagStatus> lags = allocator_.role_lags(now_);
  std::vector<proto::RoleRow> rows;
  for (const auto& [name, role] : all) {
    if (name.empty() || name == kGoneRole) continue;
    rows.push_back({.role = role.role,
                    .weight = role.settings.weight,
                    .allocated = role.allocated,
                    .offered = role.offered,
                    .dominant_share_millionths = role.dominant_share.millionths(),
                    .guarantee = role.settings.guarantee,
                    .limit = role.settings.limit,
                    .entitlement = role.entitlement,
                    .borrowed = role.borrowed,
                    .guarantee_met = role.guarantee_met,
                    .place_share_millionths = role.place_share,
                    .lag = lags[name].now,
                    .lag_most = lags[name].most,
                    .frameworks = frameworks[name]});
    if (const auto set = registry_.roles().find(name); set != registry_.roles().end()) {
      rows.back().users.assign(set->second.users.begin(), set->second.users.end());
    }
  }
  return rows;
}

std::vector<proto::OfferRow> Master::State::offer_rows() const {
  std::vector<proto::OfferRow> rows;
  for (const Grant* grant : allocator_.offers()) {
    rows.push_back({.offer = grant->offer.id,
                    .framework = grant->framework,
                    .agent = grant->offer.agent,
                    .resources = grant->offer.total(),
                    .made = grant->expires - grant->offer.lease,
                    .expires = grant->expires});
  }
  return rows;
}

std::vector<proto::TaskRow> Master::State::task_rows(const proto::TaskQuery& query,
                                                     const Principal* by) const {
  std::vector<proto::TaskRow> rows = tasks_.rows(query);
  for (proto::TaskRow& row : rows) {
    if (!check_permission(options_.policy, by, Action::kSeeTask, row.user)) {
      row.command.clear();
      row.message.clear();
    }
    const Agent* agent = agents_.find(row.agent);
    if (agent == nullptr) continue;
    row.http_address = agent->http_address;
    row.https_address = agent->files.address;
  }
  return rows;
}

}  // namespace proffer::master
