// An agent registers: it is admitted, or recognized as an admitted one, and its tasks are compared
// with the master's (reregister.cc). Begin with on_register_agent, then read complete_registration.

#include <algorithm>

#include "common/check.h"
#include "common/text.h"
#include "master/core/registration.h"
#include "master/core/state.h"
#include "master/core/trace.h"

namespace proffer::master {

using proto::AgentEvent;
using proto::AgentState;

namespace {

// Messages of one registration: enough for all tasks, alone in a message if they are large.
constexpr uint32_t kRegisterMessagesMax = 2 * kTasksPerAgentMax;
constexpr size_t kRegisterTasksMax = 2 * kTasksPerAgentMax;  // including ended ones

}  // namespace

void Master::State::on_register_agent(Peer& peer, proto::RegisterAgent&& message, Step& step) {
  if (message.tasks_follow > kRegisterMessagesMax) {
    return end_session(peer.id,
                       Error::invalid_argument(
                           text("a registration has at most ", kRegisterMessagesMax, " messages")),
                       false, step);
  }
  if (Result<void> may =
          permit(peer.by, Action::kRegisterAgent, message.agent.str(), step, message.agent.str());
      !may) {
    return end_session(peer.id, may.error(), false, step);
  }
  if (Result<void> sane = check_addresses(*peer.by, message); !sane) {
    const AgentRefusal refusal{.error = std::move(sane).error()};
    return refuse_agent(peer.id, message, refusal, step);
  }
  // An agent that will be refused is refused before it sends its tasks.
  Registration registration{.first = std::move(message), .tasks = {}, .messages_left = 0};
  ResourceVector most;
  if (const auto refusal = refusal_of(registration, most)) {
    return refuse_agent(peer.id, registration.first, *refusal, step);
  }
  registration.messages_left = registration.first.tasks_follow;
  // A newer session ends the older one.
  Agent* known = agents_.find(registration.first.agent);
  const PeerId id = peer.id;
  if (known != nullptr && known->connected()) {
    end_session(known->peer,
                Error::failed_precondition(
                    text("a newer session of agent ", known->id.str(), " has begun")),
                false, step);
  }
  if (registration.messages_left == 0) {
    return complete_registration(id, std::move(registration), step);
  }
  peer.kind = PeerKind::kRegistering;
  peer.registration = std::make_unique<Registration>(std::move(registration));
}

void Master::State::on_register_tasks(Peer& peer, proto::RegisterTasks&& message, Step& step) {
  Registration& registration = *peer.registration;
  if (registration.tasks.size() + message.tasks.size() > kRegisterTasksMax) {
    return end_session(
        peer.id,
        Error::invalid_argument(text("an agent has at most ", kRegisterTasksMax, " tasks")), false,
        step);
  }
  registration.tasks.insert(registration.tasks.end(),
                            std::make_move_iterator(message.tasks.begin()),
                            std::make_move_iterator(message.tasks.end()));
  if (--registration.messages_left > 0) return;
  complete_registration(peer.id, std::move(*std::exchange(peer.registration, nullptr)), step);
}

// Why this agent may not register, or none. `most` becomes its declared or used resources, as far
// as known.
std::optional<AgentRefusal> Master::State::refusal_of(Registration& registration,
                                                      ResourceVector& most) const {
  const proto::RegisterAgent& first = registration.first;
  Result<void> checked = check_registration(registration);
  if (checked) checked = check_cluster(first.cluster, text("agent ", quoted(first.agent.str())));
  if (!checked) return AgentRefusal{.error = std::move(checked).error()};
  for (const Slice& slice : first.slices) most += slice.resources.amounts;
  most = most.max(held_by_tasks(registration).amounts);
  if (agents_.was_declared_gone(first.agent, first.secret)) {
    return AgentRefusal{
        .error = Error::failed_precondition(
                     text("agent ", quoted(first.agent.str()),
                          " was declared gone, and its tasks were reported as gone"))
                     .with_hint("start the agent with an empty --work_dir; it may keep its --name "
                                "if no other agent has it"),
        .ends_tasks = true};
  }
  if (auto copied = refusal_of_copy(first)) return copied;
  if (Result<void> room = check_room(first, most); !room) {
    const bool may_have_room = room.error().code() == ErrorCode::kResourceExhausted;
    return AgentRefusal{.error = std::move(room).error(), .retry = may_have_room};
  }
  return std::nullopt;
}

// Detects two machines with one agent's identity and secret: the work directory was copied. A boot
// id never repeats, so a boot id that another has replaced belongs to another machine.
std::optional<AgentRefusal> Master::State::refusal_of_copy(
    const proto::RegisterAgent& message) const {
  const Agent* known = agents_.find(message.agent);
  if (known == nullptr || known->secret != message.secret || message.boot == 0) return {};
  const std::string name = quoted(message.agent.str());
  const std::vector<uint64_t>& former = known->former_boots;
  if (std::find(former.begin(), former.end(), message.boot) != former.end()) {
    return AgentRefusal{
        .error = Error::failed_precondition(text("another machine has become agent ", name,
                                                 " with a copy of this work directory, and the "
                                                 "tasks here were reported as lost"))
                     .with_hint("start one of the two with an empty --work_dir and another --name"),
        .ends_tasks = true};
  }
  if (!known->connected() || known->boot == 0 || known->boot == message.boot) return {};
  return AgentRefusal{
      .error = Error::already_exists(text("agent ", name, " is connected from another machine"))
                   .with_hint("if this work directory is a copy, start the agent with an empty one "
                              "and another --name; if this machine was restarted, the agent is "
                              "admitted when its old connection has timed out"),
      .retry = true};
}

Result<void> Master::State::check_room(const proto::RegisterAgent& message,
                                       const ResourceVector& most) const {
  const Agent* known = agents_.find(message.agent);
  if (known != nullptr && known->secret != message.secret) {
    return Error::already_exists(text("another agent is named ", quoted(message.agent.str())))
        .with_hint(
            "start this agent with another --name, or with the work directory of the other one");
  }
  if (known == nullptr && agents_.size() >= kPeersMax) {
    return Error::resource_exhausted(
        text("the cluster has ", kPeersMax, " agents, which is the maximum"));
  }
  const ResourceVector others = known == nullptr ? most_ : most_ - known->most;
  for (const ResourceKind kind : kResourceKinds) {
    if (others[kind] + most[kind] <= kAmountMax) continue;
    return Error::resource_exhausted(text("with this agent the cluster would have more ",
                                          to_text(kind), " than the master can count"));
  }
  return {};
}

void Master::State::refuse_agent(PeerId peer, const proto::RegisterAgent& message,
                                 const AgentRefusal& refusal, Step& step) {
  // A second machine retries for ever; the operator gets one report.
  Agent* known = agents_.find(message.agent);
  const bool is_rival = known != nullptr && refusal.error.code() == ErrorCode::kAlreadyExists &&
                        refusal.retry && known->rival_boot != message.boot;
  if (is_rival) known->rival_boot = message.boot;
  step.trace(AgentRefused{message.agent, refusal.error.message(), is_rival});
  end_session(peer, refusal.error, refusal.retry, step, refusal.ends_tasks);
}

// The tasks of a peer of another cluster are unknown here, and would be killed: a master that lost
// its registry must not do that.
Result<void> Master::State::check_cluster(const ClusterId& told, const std::string& who) const {
  if (told.empty() || registry_.cluster().empty() || told == registry_.cluster()) return {};
  return Error::failed_precondition(text(who, " belongs to the cluster ", told.str(),
                                         ", and this master to the cluster ",
                                         registry_.cluster().str()))
      .with_hint(
          "if the master's registry was lost, restore a backup with `proffer registry restore`; "
          "else give up what it has in the other cluster: start the agent with an empty "
          "--work_dir");
}

void Master::State::complete_registration(PeerId peer_id, Registration&& registration, Step& step) {
  // Take. Another agent may have taken its name meanwhile.
  use_known_amounts(registration);
  const proto::RegisterAgent& first = registration.first;
  ResourceVector most;
  if (const auto refusal = refusal_of(registration, most)) {
    return refuse_agent(peer_id, first, *refusal, step);
  }

  // Apply. A new name is admitted; a known agent is written only if it was given up.
  Agent* known = agents_.find(first.agent);
  const bool was_known = known != nullptr;
  if (was_known && known->connected()) {
    end_session(known->peer,
                Error::failed_precondition(
                    text("a newer session of agent ", known->id.str(), " has begun")),
                false, step);
  }
  const bool was_unreachable = was_known && known->state == AgentState::kUnreachable;
  Agent& agent = was_known ? *known : admit(first);
  const bool first_seen = was_known && !agent.seen;
  const bool remembers = agent.memory == first.memory;
  take_from_allocator(agent, step);
  brake_.release(agent.id, agent.lost_at);
  CHECK(agents_.move(agent, AgentEvent::kRegistered)) << agent.id.str();
  agent.passed_brake = false;
  agent.seen = true;
  agent.stopping = false;
  agent.starts.end_trial();
  agent.peer = peer_id;
  agent.session = next_session();
  if (!was_known) agent.admission = agent.session.value();
  agent.attributes = first.attributes;
  agent.own_slices = first.slices;
  agent.slices = with_reserved(agent.own_slices, agent.reserved);
  agent.ports = first.ports;
  agent.http_address = first.http_address;
  agent.files = first.files;
  agent.memory = first.memory;
  agent.limits = first.limits;
  agent.trouble = first.trouble;
  agent.takes_secrets = first.takes_secrets;
  agent.keeps_tickets = first.keeps_tickets;
  agent.by = sessions_.find(peer_id)->by;
  note_boot(agent, first.boot);
  agent.most = most;
  agent.registered_at = step.now;
  most_ += most;
  if (!was_known || was_unreachable) write_agent(agent, step);
  allocator_.set_agent(
      agent.id, {.attributes = agent.attributes, .slices = agent.slices, .ports = agent.ports});
  allocator_.set_agent_active(agent.id, true);
  allocator_.set_agent_draining(agent.id, agent.is_closed());
  agent.allocatable = true;
  Peer& peer = *sessions_.find(peer_id);
  peer.kind = PeerKind::kAgent;
  peer.agent = agent.id;
  deadlines_.cancel({.kind = DeadlineKind::kAgentUnreachable, .peer = {}, .id = agent.id.str()});
  deadlines_.cancel({.kind = DeadlineKind::kAgentRemoved, .peer = {}, .id = agent.id.str()});
  deadlines_.arm({.kind = DeadlineKind::kPeerHeartbeat, .peer = peer_id, .id = {}},
                 step.now + options_.heartbeat);

  // Tell.
  step.trace(AgentRegistered{agent.id, agent.total(), registration.tasks.size(), was_known});
  send(peer_id,
       proto::AgentRegistered{.agent = agent.id,
                              .session = agent.session,
                              .heartbeat = options_.heartbeat,
                              .timeout = options_.silence_max(),
                              .cluster = registry_.cluster()},
       step);
  for (const auto& [role, reserved] : agent.reserved) {
    const Resources there = part_of(agent.slices, role);
    if (there.contains(reserved)) continue;
    step.trace(AgentBringsTooLittle{agent.id, role, reserved, there});
  }
  compare_tasks(agent, first_seen, remembers, std::move(registration), step);
  mark_drained_tasks(agent, step);
  tell_releases(agent, step);
  if (first_seen) --awaited_;
  agent_seen_or_removed(step);
}

// A new agent, which may have the name of a gone agent.
Agent& Master::State::admit(const proto::RegisterAgent& message) {
  Agent& agent = agents_.add(message.agent, message.secret);
  const GoneAgent* gone = agents_.find_gone(message.agent);
  if (gone == nullptr) return agent;
  agent.gone_secrets = gone->gone_secrets;
  agent.gone_secrets.push_back(gone->secret);
  if (agent.gone_secrets.size() > kGoneSecretsMax) {
    agent.gone_secrets.erase(agent.gone_secrets.begin());
  }
  drop_gone(message.agent);
  return agent;
}

void Master::State::note_boot(Agent& agent, uint64_t boot) {
  agent.rival_boot = 0;
  // Earlier agent versions do not report it. An agent that was downgraded for a while and comes
  // back has the same boot id.
  if (boot == 0 || boot == agent.boot) return;
  if (agent.boot != 0) agent.former_boots.push_back(agent.boot);
  if (agent.former_boots.size() > kFormerBootsMax) {
    agent.former_boots.erase(agent.former_boots.begin());
  }
  agent.boot = boot;
}

// Its tasks continue, and it is not drained; it is offered again when it reports the end of the
// trouble.
void Master::State::on_trouble(Agent& agent, proto::AgentTrouble&& trouble, Step& step) {
  agent.trouble = std::move(trouble.why);
  if (agent.allocatable) allocator_.set_agent_draining(agent.id, agent.is_closed());
  if (agent.takes_no_tasks()) {
    step.trace(AgentTakesNoTasks{agent.id, std::string(agent.why_no_tasks())});
  } else {
    step.trace(AgentTakesTasksAgain{agent.id, std::string(agent.why_no_tasks())});
  }
}

void Master::State::on_unregister(Agent& agent, Step& step) {
  const PeerId peer = agent.peer;
  close(peer);
  step.out.actions.emplace_back(Drop{peer});
  remove(agent, AgentEvent::kLeft, "it left the cluster", step);
}

}  // namespace proffer::master
