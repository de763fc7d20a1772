// Lost peers: connections that end or fall silent, agents that become unreachable and are removed,
// and frameworks that do not come back. Begin with on_peer_lost for lost connections, and on_due
// for timeouts.

#include <algorithm>
#include <string>

#include "common/check.h"
#include "common/text.h"
#include "master/core/state.h"
#include "master/core/trace.h"

namespace proffer::master {

using proto::AgentEvent;
using proto::TaskEvent;
using proto::TaskReason;

void Master::State::on_peer_lost(PeerId id, bool is_closed, Step& step) {
  lose_standby(id, "its connection ended", step);
  const Peer* peer = sessions_.find(id);
  if (peer == nullptr) return sessions_.close(id);  // Late messages may still arrive.
  const PeerKind kind = peer->kind;
  const AgentId agent = peer->agent;
  const FrameworkId framework = peer->framework;
  close(id);
  if (kind == PeerKind::kAgent) disconnect(*agents_.find(agent), step);
  if (kind == PeerKind::kScheduler) disconnect(*frameworks_.find(framework), is_closed, step);
}

// Forgets the connection only.
void Master::State::close(PeerId id) {
  deadlines_.cancel({.kind = DeadlineKind::kPeerSilent, .peer = id, .id = {}});
  deadlines_.cancel({.kind = DeadlineKind::kPeerHeartbeat, .peer = id, .id = {}});
  sessions_.close(id);
}

// Its tasks continue; its free resources are not offered until it is back.
void Master::State::disconnect(Agent& agent, Step& step) {
  agent.peer = PeerId();
  agents_.move(agent, AgentEvent::kConnectionLost);
  agent.lost_at = step.now;
  agent.passed_brake = false;
  allocator_.set_agent_active(agent.id, false);
  deadlines_.arm({.kind = DeadlineKind::kAgentUnreachable, .peer = {}, .id = agent.id.str()},
                 step.now + options_.agent_timeout);
  step.trace(AgentDisconnected{agent.id, agent.tasks.size()});
}

// A scheduler whose link is silent looks for the master again only after the silence timeout.
void Master::State::disconnect(Framework& framework, bool is_closed, Step& step) {
  end_scheduler_session(framework, step);
  if (framework.record.failover_timeout <= Duration()) {
    tear_down(framework, "its scheduler was lost", step);
    return;
  }
  framework.ends_after =
      is_closed ? framework.record.failover_timeout : options_.silent_failover(framework.record);
  deadlines_.arm({.kind = DeadlineKind::kFailover, .peer = {}, .id = framework.id().str()},
                 step.now + framework.ends_after);
}

void Master::State::end_scheduler_session(Framework& framework, Step& step) {
  frameworks_.disconnect(framework);
  framework.away_since = step.now;
  end_relays(framework, step);
  // Its scheduler asks again when it is back.
  framework.waiting.clear();
  framework.awaits_all = false;
  framework.awaits_agents = false;
  framework.asks.clear();
  framework.offer_waits.clear();
  close_ledger(framework, step.now);
  framework.reported.clear();
  allocator_.set_framework_active(framework.id(), false);
  allocator_.declare_asks(framework.id(), {}, step.now);
  step.trace(FrameworkDisconnected{framework.id(), framework.tasks});
}

// Its tasks may still run, but no longer hold resources.
void Master::State::make_unreachable(Agent& agent, Step& step) {
  if (!agents_.move(agent, AgentEvent::kTimedOut)) return;
  write_agent(agent, step);
  deadlines_.cancel({.kind = DeadlineKind::kAgentUnreachable, .peer = {}, .id = agent.id.str()});
  deadlines_.arm({.kind = DeadlineKind::kAgentRemoved, .peer = {}, .id = agent.id.str()},
                 std::max(step.now, agent.lost_at + options_.reregistration_timeout));
  step.trace(AgentUnreachable{agent.id, agent.tasks.size()});
  take_from_allocator(agent, step);
  for (Task* task : std::vector<Task*>(agent.tasks.begin(), agent.tasks.end())) {
    if (!tasks_.move(*task, TaskEvent::kAgentLost, step.now)) continue;
    tell(*task, TaskReason::kAgentUnreachable,
         text("agent ", agent.id.str(), " is unreachable; the task may still run"), step);
  }
}

void Master::State::remove(Agent& agent, AgentEvent event, std::string_view why, Step& step) {
  CHECK(agents_.move(agent, event)) << agent.id.str() << ": " << proto::to_text(event);
  step.trace(AgentRemoved{agent.id, std::string(why), agent.tasks.size()});
  write(proto::AgentRecord{.agent = agent.id, .secret = agent.secret}, true, step);
  end_agent(agent, text("agent ", agent.id.str(), " was removed: ", why), step);
}

// Ends its tasks and the agent. The caller removes the row in the registry.
void Master::State::end_agent(Agent& agent, const std::string& why, Step& step) {
  const AgentId id = agent.id;
  forget_reservations(agent, step);
  brake_.release(id, agent.lost_at);
  deadlines_.cancel({.kind = DeadlineKind::kAgentUnreachable, .peer = {}, .id = id.str()});
  deadlines_.cancel({.kind = DeadlineKind::kAgentRemoved, .peer = {}, .id = id.str()});
  deadlines_.cancel({.kind = DeadlineKind::kStarts, .peer = {}, .id = id.str()});
  deadlines_.cancel({.kind = DeadlineKind::kStartsPause, .peer = {}, .id = id.str()});
  take_from_allocator(agent, step);

  const std::vector<Task*> tasks(agent.tasks.begin(), agent.tasks.end());
  std::set<FrameworkId> told;
  for (const Task* task : tasks) {
    if (!task->hidden) told.insert(task->key().framework);
  }
  const bool was_seen = agent.seen;
  agents_.erase(id);
  for (Task* task : tasks) {
    if (!tasks_.move(*task, TaskEvent::kAgentGone, step.now)) continue;
    tell(*task, TaskReason::kAgentRemoved, why, step);
    end_if_told(*task);
  }
  for (const FrameworkId& framework : told) {
    const Framework* there = connected_framework(framework);
    if (there == nullptr) continue;
    send(there->peer, proto::Failure{.agent = id, .message = why}, step);
  }
  if (was_seen) return;
  --awaited_;
  agent_seen_or_removed(step);
}

// When the last admitted agent is back or removed, everything that waited for these agents
// continues.
void Master::State::agent_seen_or_removed(Step& step) {
  report_dirty(step);
  if (awaited_ > 0) return;
  allocator_.set_knows_all_tasks(true);
  for (auto& [id, framework] : frameworks_.all()) tell_old_refusals(framework, step);
  give_ticket_keys(step);
  answer_waiting(step);
}

void Master::State::on_due(const DeadlineKey& key, Step& step) {
  switch (key.kind) {
    case DeadlineKind::kPeerSilent:
      return on_peer_silent(key.peer, step);
    case DeadlineKind::kPeerHeartbeat:
      return on_heartbeat_due(key.peer, step);
    case DeadlineKind::kAgentUnreachable:
    case DeadlineKind::kAgentRemoved: {
      if (Agent* agent = agents_.find(AgentId(key.id))) give_up_or_hold(*agent, step);
      return;
    }
    case DeadlineKind::kBrake:
      return on_brake_due(step);
    case DeadlineKind::kGoneForgotten:
      return forget_gone(AgentId(key.id), step);
    case DeadlineKind::kStarts:
      if (Agent* agent = agents_.find(AgentId(key.id))) on_starts_due(*agent, step);
      return;
    case DeadlineKind::kStartsPause:
      if (Agent* agent = agents_.find(AgentId(key.id))) try_again(*agent, step);
      return;
    case DeadlineKind::kFailover: {
      if (Framework* framework = frameworks_.find(FrameworkId(key.id))) {
        tear_down(*framework, "its scheduler did not come back in time", step);
      }
      return;
    }
    case DeadlineKind::kAskReport:
      report_due_ = true;
      return;
    case DeadlineKind::kRelay:
      return on_relay_timeout(std::stoull(key.id), step);
    case DeadlineKind::kRevoke:
      return on_revoke_due(key.id, step);
    case DeadlineKind::kRoleUse:
      return on_role_use_due();
    case DeadlineKind::kStandbySilent:
      return on_standby_silent(key.peer, step);
    case DeadlineKind::kHiddenTasks:
      return on_hidden_due(FrameworkId(key.id), step);
    case DeadlineKind::kBackOff:
      if (Framework* framework = frameworks_.find(FrameworkId(key.id))) end_waits(*framework, step);
      return;
  }
}

std::vector<PeerId> Master::State::silent_peers(Time now) const {
  std::vector<PeerId> silent;
  deadlines_.for_each_due(now, [&silent](const DeadlineKey& due) {
    if (due.kind == DeadlineKind::kPeerSilent || due.kind == DeadlineKind::kStandbySilent) {
      silent.push_back(due.peer);
    }
  });
  return silent;
}

bool Master::State::is_daemon(PeerId id) const {
  if (is_standby(id)) return true;
  const Peer* peer = sessions_.find(id);
  return peer != nullptr &&
         (peer->kind == PeerKind::kAgent || peer->kind == PeerKind::kRegistering);
}

// Checks whether the connection was silent for too long, and arms the deadline again if not.
void Master::State::on_peer_silent(PeerId id, Step& step) {
  const Peer* peer = sessions_.find(id);
  if (peer == nullptr) return;
  const Time due = peer->heard_at + options_.silence_max();
  if (due > step.now) {
    deadlines_.arm({.kind = DeadlineKind::kPeerSilent, .peer = id, .id = {}}, due);
    return;
  }
  const bool is_agent = peer->kind == PeerKind::kAgent;
  const AgentId agent_id = peer->agent;
  end_session(id,
              Error::timeout(text("no message was received for ", to_text(options_.silence_max()))),
              true, step);
  // It was already away for the time allowed to an agent.
  if (Agent* agent = is_agent ? agents_.find(agent_id) : nullptr) give_up_or_hold(*agent, step);
}

void Master::State::on_heartbeat_due(PeerId id, Step& step) {
  const Peer* peer = sessions_.find(id);
  if (peer == nullptr) return;
  if (peer->said_at + options_.heartbeat <= step.now) send(id, proto::Heartbeat{}, step);
  deadlines_.arm({.kind = DeadlineKind::kPeerHeartbeat, .peer = id, .id = {}},
                 std::max(peer->said_at + options_.heartbeat, step.now + nanoseconds(1)));
}

}  // namespace proffer::master
