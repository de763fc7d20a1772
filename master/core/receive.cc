// An incoming frame: is it the next one of its connection, may its sender send it, and which
// handler takes it. Begin with on_frame. Any error ends the connection with a typed error, and does
// not affect other peers.

#include "common/check.h"
#include "common/text.h"
#include "master/core/state.h"
#include "master/core/trace.h"

namespace proffer::master {
void Master::State::on_frame(FrameReceived&& frame, Step& step) {
  if (sessions_.was_closed(frame.peer)) {
    step.trace(LateFrameIgnored{frame.peer});
    return;
  }
  Peer* peer = open(frame.peer, frame.by, step);
  if (peer == nullptr) return;
  switch (peer->channel.admit(frame.envelope)) {
    case proto::Channel::Verdict::kDeliver:
      break;
    case proto::Channel::Verdict::kDuplicate:
      step.trace(DuplicateFrameDropped{peer->id});
      return;
    case proto::Channel::Verdict::kBroken:
      end_session(peer->id, Error::unavailable("frames of this connection were lost"), true, step);
      return;
  }
  if (frame.envelope.leader > options_.leader) {
    step.trace(PeerKnowsNewerLeader{peer->id, frame.envelope.leader});
    end_session(peer->id,
                Error::failed_precondition(
                    text("this master leads in epoch ", options_.leader.value(),
                         "; the peer knows the later epoch ", frame.envelope.leader.value())),
                true, step);
    return;
  }
  peer->heard_at = step.now;
  on_message(*peer, std::move(*frame.envelope.message), step);
}

// Its message is invalid; it may connect again.
void Master::State::end_of_peer(PeerId peer, const Error& error, std::string_view what,
                                Step& step) {
  if (sessions_.was_closed(peer) || open(peer, nullptr, step) == nullptr) return;
  step.trace(PeerMisbehaved{peer, what, error.message()});
  end_session(peer, error, true, step);
}

void Master::State::on_message(Peer& peer, proto::Message&& message, Step& step) {
  const PeerId id = peer.id;
  if (const auto* unknown = std::get_if<proto::Unknown>(&message)) {
    step.trace(UnknownMessageIgnored{id, unknown->tag});
    return;
  }
  if (const auto* error = std::get_if<proto::ErrorMessage>(&message)) {
    // Never answered by an error, since two peers could continue with errors for ever.
    step.trace(PeerSentError{id, error->message});
    if (error->ends_session) drop(id, step);
    return;
  }
  const std::string_view name = proto::message_name(message);
  bool handled = false;
  switch (peer.kind) {
    case PeerKind::kNew:
      handled = on_new_peer_message(peer, message, step);
      break;
    case PeerKind::kRegistering:
      handled = on_registering_message(peer, message, step);
      break;
    case PeerKind::kAgent: {
      Agent* agent = agents_.find(peer.agent);
      CHECK(agent != nullptr && agent->peer == id) << peer.agent.str();
      handled = on_agent_message(*agent, message, step);
      break;
    }
    case PeerKind::kScheduler: {
      Framework* framework = frameworks_.find(peer.framework);
      CHECK(framework != nullptr && framework->peer == id) << peer.framework.str();
      handled = on_scheduler_message(*framework, message, step);
      break;
    }
  }
  if (handled) return;
  step.trace(MessageRefused{id, name});
  end_session(id,
              Error::failed_precondition(
                  text("message ", name, " is not allowed in this state of the connection")),
              true, step);
}

bool Master::State::on_new_peer_message(Peer& peer, proto::Message& message, Step& step) {
  if (auto* agent = std::get_if<proto::RegisterAgent>(&message)) {
    on_register_agent(peer, std::move(*agent), step);
  } else if (auto* subscribe = std::get_if<proto::Subscribe>(&message)) {
    on_subscribe(peer, std::move(*subscribe), step);
  } else {
    return false;
  }
  return true;
}

bool Master::State::on_registering_message(Peer& peer, proto::Message& message, Step& step) {
  if (auto* tasks = std::get_if<proto::RegisterTasks>(&message)) {
    on_register_tasks(peer, std::move(*tasks), step);
    return true;
  }
  return std::holds_alternative<proto::Heartbeat>(message);
}

bool Master::State::on_agent_message(Agent& agent, proto::Message& message, Step& step) {
  if (auto* update = std::get_if<proto::Update>(&message)) {
    on_update(agent, std::move(*update), step);
  } else if (auto* relayed = std::get_if<proto::FrameworkMessage>(&message)) {
    relay_to_scheduler(agent, std::move(*relayed), step);
  } else if (auto* trouble = std::get_if<proto::AgentTrouble>(&message)) {
    on_trouble(agent, std::move(*trouble), step);
  } else if (std::holds_alternative<proto::UnregisterAgent>(message)) {
    on_unregister(agent, step);
  } else {
    return std::holds_alternative<proto::Heartbeat>(message);
  }
  return true;
}

bool Master::State::on_scheduler_message(Framework& framework, proto::Message& message,
                                         Step& step) {
  if (auto* accept = std::get_if<proto::Accept>(&message)) {
    on_accept(framework, std::move(*accept), step);
  } else if (const auto* acknowledge = std::get_if<proto::Acknowledge>(&message)) {
    on_acknowledge(framework, *acknowledge, step);
  } else if (auto* asks = std::get_if<proto::DeclareAsks>(&message)) {
    on_declare_asks(framework, std::move(*asks), step);
  } else if (const auto* decline = std::get_if<proto::Decline>(&message)) {
    on_decline(framework, *decline, step);
  } else if (const auto* kill = std::get_if<proto::KillTask>(&message)) {
    on_kill(framework, *kill, step);
  } else if (const auto* reconcile = std::get_if<proto::Reconcile>(&message)) {
    on_reconcile(framework, *reconcile, step);
  } else if (auto* relayed = std::get_if<proto::FrameworkMessage>(&message)) {
    relay_to_agent(framework, std::move(*relayed), step);
  } else if (const auto* released = std::get_if<proto::ReleaseFiles>(&message)) {
    on_release_files(framework, *released, step);
  } else if (const auto* request = std::get_if<proto::StoreRequest>(&message)) {
    on_store_request(framework, *request, step);
  } else if (auto* response = std::get_if<proto::FrameworkResponse>(&message)) {
    on_framework_response(framework, std::move(*response), step);
  } else if (std::holds_alternative<proto::Suppress>(message)) {
    allocator_.suppress(framework.id());
    framework.suppressed = true;
    framework.offer_waits.clear();
    refresh_waits(framework, step.now);
  } else if (std::holds_alternative<proto::Revive>(message)) {
    allocator_.revive(framework.id());
    framework.suppressed = false;
    refresh_waits(framework, step.now);
  } else if (std::holds_alternative<proto::Teardown>(message)) {
    tear_down(framework, "its scheduler asked for it", step);
  } else {
    return std::holds_alternative<proto::Heartbeat>(message);
  }
  return true;
}

// The entry of a connection, made with its first frame. nullptr, after an error to the peer: there
// is no room.
Peer* Master::State::open(PeerId id, const PrincipalPtr& by, Step& step) {
  if (Peer* known = sessions_.find(id)) return known;
  if (Peer* opened = sessions_.open(id, step.now)) {
    opened->by = by;
    deadlines_.arm({.kind = DeadlineKind::kPeerSilent, .peer = id, .id = {}},
                   step.now + options_.silence_max());
    return opened;
  }
  step.trace(TooManyConnections{id});
  proto::Channel channel;
  step.out.actions.emplace_back(
      Send{id, channel.stamp(options_.leader,
                             proto::ErrorMessage{.code = ErrorCode::kResourceExhausted,
                                                 .message = text("the master serves at most ",
                                                                 kPeersMax, " connections"),
                                                 .ends_session = true})});
  step.out.actions.emplace_back(Drop{id});
  return nullptr;
}

Result<void> Master::State::permit(const PrincipalPtr& by, Action action, std::string_view object,
                                   Step& step, std::string_view owner) {
  Result<void> permitted = check_permission(options_.policy, by.get(), action, owner);
  // The object may have any length, and a refusal is stored.
  object = object.substr(0, kReasonTextBytesMax);
  const bool is_own = by != nullptr && by->user == owner;
  const bool is_common = is_own || action == Action::kSubscribe || action == Action::kRegisterAgent;
  if (!permitted || !is_common) {
    if (permitted) {
      step.trace(AuditDone{audit_name(by.get()), to_text(action), std::string(object)});
    } else {
      step.trace(AuditRefused{
          .user = audit_name(by.get()), .action = to_text(action), .of = std::string(object)});
    }
  }
  return permitted;
}

void Master::State::send(PeerId id, proto::BoxedMessage message, Step& step) {
  Peer* peer = sessions_.find(id);
  CHECK(peer != nullptr) << "a message to a peer that is not there: " << id.value();
  peer->said_at = step.now;
  step.out.actions.emplace_back(Send{id, peer->channel.stamp(options_.leader, std::move(message))});
}

void Master::State::send_error(PeerId peer, const Error& error, bool ends_session, bool retry,
                               Step& step, bool ends_tasks) {
  send(peer,
       proto::ErrorMessage{.code = error.code(),
                           .message = error.message().substr(0, kReasonTextBytesMax),
                           .hint = error.hint().substr(0, kReasonTextBytesMax),
                           .ends_session = ends_session,
                           .retry = retry,
                           .ends_tasks = ends_tasks},
       step);
}

void Master::State::end_session(PeerId peer, const Error& error, bool retry, Step& step,
                                bool ends_tasks) {
  step.trace(SessionEnded{peer, error.message()});
  send_error(peer, error, true, retry, step, ends_tasks);
  drop(peer, step);
}

void Master::State::drop(PeerId peer, Step& step) {
  step.out.actions.emplace_back(Drop{peer});
  on_peer_lost(peer, false, step);
}

// Increases over all sessions of this master and, by the epoch, of all masters.
SessionEpoch Master::State::next_session() {
  return SessionEpoch((options_.leader.value() << 32) + ++sessions_given_);
}

}  // namespace proffer::master
