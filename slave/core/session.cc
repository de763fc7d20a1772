// The session with the master: registration with everything that the agent knows, heartbeats in
// both directions, and the refusal of deposed masters. Any error ends the connection, and the next
// one registers again, so nothing here is sent twice. Read begin_session first.

#include <algorithm>

#include "common/check.h"
#include "common/text.h"
#include "slave/core/state.h"
#include "slave/core/trace.h"

namespace proffer::agent {
namespace {

// Size of a task in a registration without its updates: ids, resources, pointers.
constexpr size_t kTaskBytes = 2 * 1024 + 768;

proto::AgentTask agent_task(const TaskKey& key, const TaskEntry& task, Time now) {
  proto::AgentTask told{.framework = key.first,
                        .task = key.second,
                        .ask = task.record.spec.ask,
                        .executor = task.record.executor,
                        .state = task.state,
                        .sequence = task.sequence,
                        .resources = task.record.assignment.resources,
                        .unacknowledged = {task.unacknowledged.begin(), task.unacknowledged.end()},
                        .claim = task.record.assignment.claim,
                        .user = task.record.assignment.user,
                        .command = task.record.spec.command.substr(0, kCommandShownBytes),
                        .launched_at = task.record.assignment.launched_at,
                        .labels = task.record.spec.labels,
                        .ticket = task.record.assignment.ticket};
  // Repeats its last update, because a new master learns its health and readiness in no other way.
  // For other masters it is a duplicate.
  if (task.is_live() && task.sequence > 0 && told.unacknowledged.empty() &&
      (task.healthy || task.ready)) {
    told.unacknowledged.push_back({.task = key.second,
                                   .state = task.state,
                                   .sequence = task.sequence,
                                   .healthy = task.healthy,
                                   .at = now,
                                   .ready = task.ready});
  }
  return told;
}

// Sets the clock that the expiry times of the master's tokens refer to.
proto::FileService files_now(const AgentOptions& options, Time now) {
  proto::FileService files = options.files;
  if (!files.address.empty()) files.clock = now;
  return files;
}

size_t bytes_of(const proto::Labels& labels) {
  constexpr size_t kFixed = 48;  // for each: pointers, and the padding of texts
  size_t bytes = 0;
  for (const auto& [name, value] : labels) bytes += kFixed + name.size() + value.size();
  return bytes;
}

// A number that stays the same while the agent remembers all tasks that were sent to it. It changes
// with a reboot, which loses records that were not synced, and when a damaged log is replaced;
// other losses are reported by executors. FNV-1a.
uint32_t memory_of(const AgentOptions& options, const proto::AgentIdentity& identity) {
  uint32_t hash = 0x811C9DC5u ^ options.checkpoint ^ identity.memory;
  for (const char c : options.boot_id) hash = (hash ^ static_cast<unsigned char>(c)) * 0x01000193u;
  return std::max(hash, 1u);
}

// Lets the master distinguish two machines with copies of a work directory. FNV-1a; 0: unknown.
uint64_t boot_of(const AgentOptions& options) {
  if (options.boot_id.empty()) return 0;
  uint64_t hash = 0xCBF29CE484222325u;
  for (const char c : options.boot_id) {
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3u;
  }
  return std::max(hash, uint64_t{1});
}

// All tasks, in parts that fit their frames with a margin.
std::vector<proto::RegisterTasks> registration_parts(const std::map<TaskKey, TaskEntry>& tasks,
                                                     Time now) {
  std::vector<proto::RegisterTasks> parts;
  size_t bytes = 0;
  for (const auto& [key, task] : tasks) {
    const size_t more = kTaskBytes + task.unacknowledged_bytes + bytes_of(task.record.spec.labels);
    if (parts.empty() || bytes + more > kFrameBytesMax / 2 ||
        parts.back().tasks.size() >= kTasksPerMessageMax) {
      parts.emplace_back();
      bytes = 0;
    }
    parts.back().tasks.push_back(agent_task(key, task, now));
    bytes += more;
  }
  return parts;
}

}  // namespace

void Agent::State::on(const MasterConnected& connected, Step& step) {
  end_session();
  options_.files.address = connected.files_address;
  session_ = Session::kConnected;
  channel_ = channel_.next();
  begin_session(step);
}

void Agent::State::on(const MasterDisconnected&, Step& step) {
  if (session_ == Session::kRegistered) {
    step.trace(MasterLost{options_.name});
  }
  end_session();
}

void Agent::State::end_session() {
  session_ = Session::kNone;
  untold_.clear();
  deadlines_.cancel({Deadline::Kind::kMasterPulse});
}

void Agent::State::reset_master(std::string_view reason, Step& step) {
  step.trace(SessionEnds{reason});
  end_session();
  step.out.actions.emplace_back(ResetMaster{});
}

// Registers as soon as there is a connection, recovery is over and no refusal delays it.
void Agent::State::begin_session(Step& step) {
  if (session_ != Session::kConnected || !recovered_ || stopping_) return;
  if (deadlines_.time_of({Deadline::Kind::kRegister})) return;
  register_agent(step);
}

void Agent::State::register_agent(Step& step) {
  session_ = Session::kRegistering;
  heartbeat_ = options_.heartbeat;
  master_timeout_ = options_.master_timeout;
  last_heard_ = step.now;
  const proto::AgentIdentity& identity = *ledger_.identity();
  Result<std::vector<Slice>> slices = to_slices(options_.total, options_.reserved);
  CHECK(slices.has_value()) << slices.error().message();
  told_trouble_ = trouble_;
  std::vector<proto::RegisterTasks> parts = registration_parts(ledger_.tasks(), step.now);
  send_to_master(proto::RegisterAgent{.agent = identity.agent,
                                      .secret = identity.secret,
                                      .attributes = options_.attributes,
                                      .slices = *std::move(slices),
                                      .ports = options_.total.ports,
                                      .http_address = options_.http_address,
                                      .tasks_follow = static_cast<uint32_t>(parts.size()),
                                      .memory = memory_of(options_, identity),
                                      .limits = options_.limits,
                                      .trouble = trouble_,
                                      .cluster = has_tasks() ? identity.cluster : ClusterId(),
                                      .files = files_now(options_, step.now),
                                      .boot = boot_of(options_),
                                      .takes_secrets = true,
                                      .keeps_tickets = true},
                 step);
  for (proto::RegisterTasks& part : parts) send_to_master(std::move(part), step);
  master_pulse(step);
}

void Agent::State::send_to_master(proto::BoxedMessage message, Step& step) {
  last_sent_ = step.now;
  step.out.actions.push_back(
      SendToMaster{channel_.stamp(ledger_.identity()->leader, std::move(message))});
}

// Checks both clocks and arms the deadline for the earlier one. Messages that move the clocks do
// not change the deadline: the clocks are checked again when it comes up.
void Agent::State::master_pulse(Step& step) {
  if (session_ != Session::kRegistering && session_ != Session::kRegistered) return;
  if (step.now >= last_heard_ + master_timeout_) return reset_master("silence", step);
  if (step.now >= last_sent_ + heartbeat_) send_to_master(proto::Heartbeat{}, step);
  deadlines_.arm({Deadline::Kind::kMasterPulse},
                 std::min(last_heard_ + master_timeout_, last_sent_ + heartbeat_));
}

void Agent::State::on(const MasterFrame& frame, Step& step) {
  if (session_ == Session::kNone) return;  // of a closed connection
  if (!admit_leader(frame.envelope, step)) return;
  switch (channel_.admit(frame.envelope)) {
    case proto::Channel::Verdict::kDeliver:
      break;
    case proto::Channel::Verdict::kDuplicate:
      return step.trace(DuplicateFrame{"master"});
    case proto::Channel::Verdict::kBroken:
      return reset_master("gap in the frames", step);
  }
  last_heard_ = step.now;
  on_master_message(frame, step);
}

// A deposed master may not know that it is deposed, and its messages must have no effect.
bool Agent::State::admit_leader(const proto::Envelope& envelope, Step& step) {
  const LeaderEpoch leader = envelope.leader;
  const LeaderEpoch known = ledger_.identity()->leader;
  if (leader == known) return true;
  if (leader < known) {
    step.trace(OlderMasterRefused{leader, known});
    reset_master("older leader epoch", step);
    return false;
  }
  // A master that refuses this agent may belong to another cluster.
  if (std::holds_alternative<proto::ErrorMessage>(*envelope.message)) return true;
  proto::AgentIdentity identity = *ledger_.identity();
  identity.leader = leader;
  record(std::move(identity), step);
  step.out.sync = true;
  return true;
}

void Agent::State::on_master_message(const MasterFrame& frame, Step& step) {
  const proto::Message& message = *frame.envelope.message;
  step.trace(MessageFromMaster{proto::message_name(message)});
  if (const auto* error = std::get_if<proto::ErrorMessage>(&message)) return on_error(*error, step);
  if (std::holds_alternative<proto::Heartbeat>(message)) return;
  if (std::holds_alternative<proto::Unknown>(message)) {
    return step.trace(UnknownMessage{"master"});
  }
  if (const auto* registered = std::get_if<proto::AgentRegistered>(&message)) {
    if (session_ == Session::kRegistering) return on_registered(*registered, step);
  } else if (session_ == Session::kRegistered) {
    if (const auto* run = std::get_if<proto::RunTask>(&message)) {
      return on_run_task(*run, frame, step);
    }
    if (const auto* kill = std::get_if<proto::KillTask>(&message)) return on_kill_task(*kill, step);
    if (const auto* acknowledge = std::get_if<proto::Acknowledge>(&message)) {
      return on_acknowledge(*acknowledge, step);
    }
    if (const auto* shutdown = std::get_if<proto::ShutdownFramework>(&message)) {
      return on_shutdown_framework(shutdown->framework, step);
    }
    if (const auto* released = std::get_if<proto::ReleaseFiles>(&message)) {
      return on_release_files(*released, step);
    }
    if (const auto* words = std::get_if<proto::FrameworkMessage>(&message)) {
      const auto at = executors_.find({words->framework, words->executor});
      if (at != executors_.end() && at->second.peer) send_to_executor(at->second, *words, step);
      return;
    }
  }
  step.trace(UnexpectedFromMaster{proto::message_name(message)});
  reset_master("unexpected message", step);
}

void Agent::State::on_registered(const proto::AgentRegistered& registered, Step& step) {
  session_ = Session::kRegistered;
  ever_registered_ = true;
  refused_wait_ = {};
  if (registered.heartbeat > Duration()) heartbeat_ = registered.heartbeat;
  if (registered.timeout > Duration()) master_timeout_ = registered.timeout;
  if (registered.cluster != ledger_.identity()->cluster) {
    proto::AgentIdentity identity = *ledger_.identity();
    identity.cluster = registered.cluster;
    record(std::move(identity), step);
    step.out.sync = true;
  }
  step.trace(Registered{options_.name, registered.session, ledger_.live_tasks()});
  const std::vector<std::pair<TaskKey, uint64_t>> untold = std::move(untold_);
  untold_.clear();
  for (const auto& [key, sequence] : untold) {
    const TaskEntry* task = ledger_.find(key);
    if (task == nullptr) continue;
    for (const proto::TaskStatus& status : task->unacknowledged) {
      if (status.sequence != sequence) continue;
      send_to_master(proto::Update{key.first, status}, step);
    }
  }
  tell_trouble(step);
  master_pulse(step);
}

// An operator must resolve a refusal that a new session cannot change. An agent without tasks exits
// with an error message. An agent with tasks keeps them and retries slowly.
void Agent::State::on_error(const proto::ErrorMessage& error, Step& step) {
  if (error.ends_tasks) return end_for_good(error, step);
  if (error.retry) {
    step.trace(MasterSentError{error.message, error.hint});
    if (error.ends_session) reset_master("the master ended it", step);
    return;
  }
  step.trace(MasterRefuses{error.message, error.hint});
  if (!ever_registered_ && !has_tasks()) {
    ended_ = true;
    step.out.actions.push_back(Exit{text("the master refuses this agent: ", error.message,
                                         error.hint.empty() ? "" : "; ", error.hint)});
    return;
  }
  refused_wait_ = std::clamp(refused_wait_ * 2, kRefusedWaitFirst, kRefusedWaitMax);
  // Avoids that thousands of refused agents come back at once.
  const Duration jitter = nanoseconds(prng_.between(0, (refused_wait_ / 2).nanos()));
  deadlines_.arm({Deadline::Kind::kRegister}, step.now + refused_wait_ - jitter);
  reset_master("refused", step);
}

// Its tasks were reported as ended, and may have been launched elsewhere, so they must not
// continue.
void Agent::State::end_for_good(const proto::ErrorMessage& error, Step& step) {
  step.trace(MasterEndsAgent{error.message, error.hint, ledger_.live_tasks()});
  ends_since_ = text("the master ends this agent: ", error.message, error.hint.empty() ? "" : "; ",
                     error.hint);
  reset_master("ended for good", step);
  end_all_tasks(step);
}

void Agent::State::on_acknowledge(const proto::Acknowledge& acknowledge, Step& step) {
  const TaskKey key{acknowledge.framework, acknowledge.task};
  const TaskEntry* task = ledger_.find(key);
  if (task != nullptr && acknowledge.source == proto::UpdateSource::kAgent &&
      acknowledge.sequence > task->sequence) {
    return number_behind(key, acknowledge.sequence, step);
  }
  if (task == nullptr || acknowledge.source != proto::UpdateSource::kAgent ||
      task->unacknowledged.empty() ||
      task->unacknowledged.front().sequence > acknowledge.sequence) {
    return step.trace(LateAcknowledgement{{key.first, key.second}});
  }
  record(proto::AcknowledgedRecord{key.first, key.second, acknowledge.sequence}, step);
  tell_held(key, step);
}

// An earlier life used the number, and its record is lost. The master treats an update with a
// number up to this one as a duplicate, so the last unacknowledged update gets a number after it.
void Agent::State::number_behind(const TaskKey& key, uint64_t given, Step& step) {
  const TaskEntry& task = *ledger_.find(key);
  if (given > task.sequence + kNumbersLostMax) {
    return step.trace(LateAcknowledgement{{key.first, key.second}});
  }
  step.trace(NumbersForgotten{{key.first, key.second}});
  if (task.unacknowledged.empty()) {
    if (const auto live = live_.find(key); live != live_.end()) {
      live->second.skipped = std::max(live->second.skipped, given - task.sequence);
    }
    return;
  }
  proto::TaskStatus again = task.unacknowledged.back();
  const uint64_t before = std::exchange(again.sequence, given + 1);
  // The updates before it are superseded, and are dropped.
  record(proto::AcknowledgedRecord{key.first, key.second, before - 1}, step);
  record(proto::UpdateRecord{key.first, again, task.executor_sequence}, step);
  record(proto::AcknowledgedRecord{key.first, key.second, before}, step);
  if (session_ == Session::kRegistered) send_to_master(proto::Update{key.first, again}, step);
}

}  // namespace proffer::agent
