// A scheduler subscribes, as a new framework or as an existing one. Begin with on_subscribe;
// find_subscriber decides which framework it is.

#include <algorithm>

#include "common/roles.h"
#include "common/text.h"
#include "master/core/state.h"
#include "master/core/trace.h"

namespace proffer::master {
namespace {

constexpr Duration kFailoverMax = hours(24 * 365 * 10);
// Ensures that an id made of the name is a valid name.
constexpr size_t kNameInIdBytesMax = 64;

}  // namespace

void Master::State::on_subscribe(Peer& peer, proto::Subscribe&& message, Step& step) {
  const PeerId peer_id = peer.id;
  // Take. The user in the message is ignored: the kernel or the key identifies the user.
  message.failover_timeout = std::clamp(message.failover_timeout, Duration(), kFailoverMax);

  // Decide.
  message.user = peer.by == nullptr ? std::string() : peer.by->user;
  Result<Framework*> found = find_subscriber(message, peer.by, step);
  if (!found) {
    // There may be room later, the registry may be restored, and a standby scheduler waits for this
    // case.
    const bool may_help = found.error().code() == ErrorCode::kResourceExhausted ||
                          found.error().code() == ErrorCode::kFailedPrecondition;
    const bool is_usual = may_help && message.stands_by;
    step.trace(FrameworkRefused{message.name, found.error().message(), is_usual});
    return end_session(peer_id, found.error(), may_help, step);
  }

  // Apply.
  const bool failed_over = *found != nullptr;
  if (failed_over && (*found)->connected()) {
    // A newer session ends the older one. The framework continues, even without a failover timeout.
    const PeerId older = (*found)->peer;
    send_error(older,
               Error::failed_precondition(
                   text("a newer session of framework ", (*found)->id().str(), " has begun")),
               true, false, step);
    step.out.actions.emplace_back(Drop{older});
    close(older);
    end_scheduler_session(**found, step);
  }
  if (failed_over) {
    update_record(**found, message, step);
  }
  Framework& framework = failed_over ? **found : create_framework(std::move(message), step);
  frameworks_.connect(framework, peer_id);
  framework.session = next_session();
  framework.subscribed_at = step.now;
  peer.kind = PeerKind::kScheduler;
  peer.framework = framework.id();
  deadlines_.cancel({.kind = DeadlineKind::kFailover, .peer = {}, .id = framework.id().str()});
  deadlines_.arm({.kind = DeadlineKind::kPeerHeartbeat, .peer = peer_id, .id = {}},
                 step.now + options_.heartbeat);
  allocator_.set_framework_active(framework.id(), true);
  allocator_.revive(framework.id());
  series_.name(framework.id());
  framework.suppressed = false;
  refresh_waits(framework, step.now);

  // Tell.
  step.trace(FrameworkSubscribed{framework.id(), framework.record.role, framework.record.user,
                                 failed_over});
  send(peer_id,
       proto::Subscribed{.framework = framework.id(),
                         .session = framework.session,
                         .failed_over = failed_over,
                         .heartbeat = options_.heartbeat,
                         .timeout = options_.silence_max(),
                         .missing_agents = static_cast<uint32_t>(awaited_),
                         .cluster = registry_.cluster()},
       step);
  send_again(framework, step);
  send_notices_again(framework, step);
  watch_hidden(framework, step);
}

// The framework to resume, nullptr for a new one, or an error if neither is allowed.
Result<Framework*> Master::State::find_subscriber(const proto::Subscribe& message,
                                                  const PrincipalPtr& by, Step& step) {
  if (Result<void> checked = check_name("framework name", message.name); !checked) {
    return std::move(checked).error();
  }
  if (Result<RoleName> role = parse_role(message.role.str()); !role) {
    return std::move(role).error();
  }
  if (!is_valid_secret(message.secret.str())) {
    return Error::invalid_argument("the secret must be 32 hexadecimal digits");
  }
  if (by != nullptr) {
    if (Result<void> may = agents_run_tasks_of(*by); !may) return std::move(may).error();
  }
  if (message.serves_users) {
    if (Result<void> may = permit(by, Action::kServeUsers, message.name, step); !may) {
      return std::move(may).error();
    }
  }
  if (message.remembers_tasks && message.failover_timeout <= Duration()) {
    return Error::invalid_argument(
               "a framework that remembers its tasks needs a failover timeout above 0: without one "
               "it has no durable state")
        .with_hint("subscribe with a failover timeout, or without remembers_tasks");
  }
  if (Result<void> checked =
          check_cluster(message.cluster, text("framework ", quoted(message.framework.str())));
      !checked) {
    return std::move(checked).error();
  }
  if (message.stands_by && message.failover_timeout <= Duration()) {
    return Error::invalid_argument(
               "a standby scheduler needs a failover timeout above 0: without one there is nothing "
               "to take over")
        .with_hint("subscribe with a failover timeout");
  }
  Framework* known = nullptr;
  if (message.framework.empty()) {
    known = frameworks_.find(message.secret);
    if (known == nullptr && message.stands_by) {
      const Result<Framework*> left = find_unattended(message, step.now);
      if (!left) return left.error();
      known = *left;
    }
  } else {
    known = frameworks_.find(message.framework);
    if (known == nullptr || known->gone) {
      return Error::not_found(text("there is no framework ", quoted(message.framework.str()),
                                   ": it was torn down, or did not reconnect in time"))
          .with_hint("subscribe without an id to get a new framework");
    }
    if (known->record.secret != message.secret) {
      return Error::already_exists(
                 text("the secret is not that of framework ", quoted(message.framework.str())))
          .with_hint(message.stands_by
                         ? "another scheduler has taken it over; restart this one, and it stands by"
                         : "");
    }
  }
  if (known == nullptr) {
    if (Result<void> may = permit(by, Action::kSubscribe, message.name, step); !may) {
      return std::move(may).error();
    }
    if (Result<void> may = may_use_role(by, message.role, step); !may) {
      return std::move(may).error();
    }
    if (frameworks_.away_of(message.user) >= kAwayFrameworksPerUserMax) {
      return Error::resource_exhausted(
                 text("user ", quoted(message.user), " has ", kAwayFrameworksPerUserMax,
                      " frameworks whose schedulers are not connected, which is the maximum"))
          .with_hint(
              "end those that will not come back: proffer teardown FRAMEWORK; a scheduler with a "
              "session file reconnects as the same framework");
    }
    if (frameworks_.size() < kFrameworksMax) return known;
    return Error::resource_exhausted(
        text("the cluster has ", kFrameworksMax, " frameworks, which is the maximum"));
  }
  if (Result<void> may = permit(by, Action::kResume, known->id().str(), step, known->record.user);
      !may) {
    return std::move(may).error();
  }
  if (known->record.role != message.role || known->record.mode != message.mode) {
    return Error::invalid_argument(text("framework ", quoted(known->id().str()),
                                        " subscribed in role ", quoted(known->record.role.str()),
                                        ": its role and offer mode cannot change"))
        .with_hint("to change them, tear it down and subscribe again");
  }
  if (known->record.remembers_tasks != message.remembers_tasks) {
    return Error::invalid_argument(
               text("framework ", quoted(known->id().str()), " subscribed with its tasks ",
                    known->record.remembers_tasks ? "" : "not ", "remembered: this cannot change"))
        .with_hint("to change it, tear it down and subscribe again");
  }
  return known;
}

// The framework of this name and user that a standby scheduler waits for, if it was without a
// scheduler for long enough; nullptr if no framework has the name.
Result<Framework*> Master::State::find_unattended(const proto::Subscribe& message, Time now) {
  const std::vector<Framework*> all = frameworks_.durable_of(message.name, message.user);
  if (all.empty()) return nullptr;
  if (all.size() > 1) {
    std::string ids;
    for (const Framework* one : all) ids += text(ids.empty() ? "" : ", ", one->id().str());
    return Error::invalid_argument(text("user ", quoted(message.user),
                                        " has several frameworks named ", quoted(message.name),
                                        ": ", ids))
        .with_hint("tear down the unused ones: proffer teardown FRAMEWORK");
  }
  const std::string& id = all.front()->id().str();
  if (all.front()->connected()) {
    return Error::failed_precondition(text("the scheduler of framework ", id, " is connected"));
  }
  if (now - all.front()->away_since < kStandbyPatience) {
    return Error::failed_precondition(
        text("the scheduler of framework ", id, " has been disconnected for ",
             to_text(now - all.front()->away_since), "; a standby takes over after ",
             to_text(kStandbyPatience)));
  }
  return all.front();
}

// An agent that is not root runs only tasks of its own user. An agent of root runs no tasks of a
// peer whose user is unproven, since such a peer could act as root for every user of the machine.
Result<void> Master::State::agents_run_tasks_of(const Principal& by) const {
  for (const auto& [id, agent] : agents_.all()) {
    if (!agent.connected() || agent.by == nullptr) continue;
    const bool is_root = agent.by->uid == 0 && !agent.by->is_unproven;
    if (is_root ? !by.is_unproven : agent.by->user == by.user) continue;
    if (is_root) {
      return Error::permission_denied(
                 text("no framework can subscribe over plain TCP here: agent ", quoted(id.str()),
                      " runs as root, and plain TCP does not identify your user"))
          .with_hint("use the master's Unix socket");
    }
    return Error::permission_denied(text("user ", quoted(by.user),
                                         " may not run tasks here: agent ", quoted(id.str()),
                                         " does not run as root, and runs tasks of user ",
                                         quoted(agent.by->user), " only"))
        .with_hint(text("run it as that user, or start the agents as root"));
  }
  return {};
}

// Takes the values that a new session may change. Only frameworks that may come back have a record.
void Master::State::update_record(Framework& framework, const proto::Subscribe& message,
                                  Step& step) {
  proto::FrameworkRecord record = framework.record;
  record.name = message.name;
  // An operator who resumes it does not become its owner.
  if (record.user.empty()) record.user = message.user;
  // A standby scheduler brings a new secret, so the earlier scheduler is refused from now on.
  // Others have this secret already.
  record.secret = message.secret;
  record.failover_timeout = message.failover_timeout;
  record.serves_users = message.serves_users;
  if (record == framework.record) return;
  const bool was_durable = framework.durable();
  frameworks_.set_record(framework, record);
  if (framework.durable()) {
    write(std::move(record), false, step);
  } else if (was_durable) {
    write(std::move(record), true, step);
    erase_store(framework.id(), step);
  }
}

Framework& Master::State::create_framework(proto::Subscribe&& message, Step& step) {
  FrameworkId id;
  do {
    id = FrameworkId(text(message.name.substr(0, kNameInIdBytesMax), "-", options_.leader.value(),
                          "-", ++frameworks_made_));
  } while (frameworks_.find(id) != nullptr);  // An agent has reported a framework with this id.
  const Secret secret = message.secret;
  Framework& framework = frameworks_.add({.framework = id,
                                          .name = std::move(message.name),
                                          .role = message.role,
                                          .mode = message.mode,
                                          .secret = std::move(message.secret),
                                          .failover_timeout = message.failover_timeout,
                                          .user = std::move(message.user),
                                          .serves_users = message.serves_users,
                                          .users = {},
                                          .remembers_tasks = message.remembers_tasks,
                                          .ticket_key = secret});
  allocator_.add_framework(id, framework.record.role, framework.record.mode);
  if (framework.durable()) write(framework.record, false, step);
  return framework;
}

}  // namespace proffer::master
