// The frame of the core: it dispatches events and deadlines to their handlers, and all durable
// changes go through `record`. Read State::handle first, then make_update, with which each change
// of a task ends.

#include "slave/core/agent.h"

#include <algorithm>

#include "common/check.h"
#include "common/text.h"
#include "slave/core/state.h"
#include "slave/core/trace.h"

namespace proffer::agent {

Agent::State::State(AgentOptions options, const AgentSnapshot& snapshot)
    : options_(std::move(options)),
      given_(options_.total),
      prng_(options_.seed),
      heartbeat_(options_.heartbeat),
      master_timeout_(options_.master_timeout) {
  for (const proto::CheckpointRecord& record : snapshot.records) ledger_.apply(record);
  const auto& identity = ledger_.identity();
  CHECK(!identity || identity->agent == options_.name)
      << "the checkpoint is of agent " << identity->agent.str() << ", not " << options_.name.str();
}

void Agent::State::handle(const AgentEvent& event, Time now, AgentOutbox& out) {
  if (ended_) return;
  Step step{now, out};
  if (!begun_) begin(step);
  std::visit([&](const auto& one) { on(one, step); }, event);
  if (leaving_) return finish_leaving(step);
  if (stopping_) finish_stop(step);
}

std::optional<Time> Agent::State::next_deadline() const {
  if (ended_) return std::nullopt;
  if (!begun_) return Time();
  return deadlines_.next();
}

void Agent::State::on(const Tick&, Step& step) {
  const std::optional<Time> first = deadlines_.next();
  step.late = first && *first + kLateTick < step.now;
  while (const std::optional<Deadline> due = deadlines_.pop(step.now)) {
    on_deadline(*due, step);
  }
}

void Agent::State::on_deadline(const Deadline& due, Step& step) {
  const ExecutorKey executor{due.framework, ExecutorId(due.id)};
  switch (due.kind) {
    case Deadline::Kind::kLeftovers:
      return report_leftovers(step);
    case Deadline::Kind::kRegister:
      return begin_session(step);
    case Deadline::Kind::kMasterPulse:
      return master_pulse(step);
    case Deadline::Kind::kExecutorPulse:
      return executor_pulse(executor, step);
    case Deadline::Kind::kExecutorSession:
      return session_overdue(executor, step);
    case Deadline::Kind::kFetch:
      return fetch_overdue(executor, step);
    case Deadline::Kind::kExecutorKill:
      if (step.late) return deadlines_.arm(due, step.now + kLeaveGrace);
      return kill_executor(executor, step);
    case Deadline::Kind::kSpare:
      return end_spare(executor, step);
    case Deadline::Kind::kTaskKill:
      if (step.late) return deadlines_.arm(due, step.now + kKillMargin);
      return kill_overdue({due.framework, TaskId(due.id)}, step);
    case Deadline::Kind::kTaskRun:
      return run_overdue({due.framework, TaskId(due.id)}, step);
    case Deadline::Kind::kQuarantine:
      return quarantine_over(step);
    case Deadline::Kind::kStarting:
      return tell_starting(step);
  }
  LOG(FATAL) << "deadline " << static_cast<int>(due.kind);
}

void Agent::State::record(proto::CheckpointRecord record, Step& step) {
  ledger_.apply(record);
  step.out.records.push_back(std::move(record));
  if (releases_.empty()) return;
  if (const auto* gone = std::get_if<proto::ExecutorGone>(&step.out.records.back())) {
    look_at_releases(gone->framework, gone->executor.str(), step);
  } else if (const auto* known = std::get_if<proto::AcknowledgedRecord>(&step.out.records.back())) {
    look_at_releases(known->framework, known->task.str(), step);
  }
}

// Applies the update to the task's state: records it, then sends it to the master if there is a
// session. False if the update means nothing in the task's state, or if there is no room for it.
bool Agent::State::make_update(const TaskKey& key, proto::TaskStatus status, Step& step,
                               uint64_t executor_sequence, uint64_t skipped) {
  const TaskEntry* task = ledger_.find(key);
  CHECK(task != nullptr) << "task " << key.first.str() << "/" << key.second.str();
  const std::optional<proto::TaskEvent> event = proto::event_of(status.state);
  CHECK(event) << "an update of a task to " << to_text(status.state);
  // A second `running` of a running task counts, because of its data.
  const bool moves = proto::next_state(task->state, *event).has_value() ||
                     (task->state == status.state && task->is_live());
  if (!moves) return false;
  if (!proto::is_terminal(status.state)) {
    if (!task->has_room_for(status)) return false;
    // For running tasks, health and readiness are those of the last update.
    if (!status.healthy) status.healthy = task->healthy;
    if (!status.ready) status.ready = task->ready;
  }

  status.task = key.second;
  status.agent = options_.name;
  status.source = proto::UpdateSource::kAgent;
  if (const auto live = live_.find(key); live != live_.end()) {
    skipped += std::exchange(live->second.skipped, 0);
  }
  status.sequence = task->sequence + skipped + 1;
  status.at = step.now;
  step.trace(TaskUpdated{key.first, key.second, status.state, status.reason});
  record(proto::UpdateRecord{key.first, status, executor_sequence}, step);
  if (status.state == proto::TaskState::kRunning) bound_run(key, *task);
  if (session_ == Session::kRegistered) {
    send_to_master(proto::Update{key.first, std::move(status)}, step);
  } else if (session_ == Session::kRegistering) {
    untold_.emplace_back(key, status.sequence);
  }
  return true;
}

std::optional<ExecutorKey> Agent::State::executor_of(PeerId peer) const {
  const auto at = peers_.find(peer);
  return at == peers_.end() ? std::nullopt : std::optional(at->second);
}

Result<RunningTask> Agent::State::running_task(const FrameworkId& framework,
                                               const TaskId& id) const {
  const TaskKey key{framework, id};
  const TaskEntry* task = ledger_.find(key);
  const std::string name = text(framework.str(), "/", id.str());
  if (task == nullptr) {
    return Error::not_found(text("agent ", options_.name.str(), " has no task ", quoted(name)));
  }
  const proto::TaskRecord& record = task->record;
  const auto executor = executors_.find({framework, record.executor});
  if (task->state != proto::TaskState::kRunning || executor == executors_.end() ||
      executor->second.run != record.run || executor->second.killed) {
    return Error::failed_precondition(
        text("task ", quoted(name), " does not run: it is ", to_text(task->state)));
  }
  return RunningTask{.framework = framework,
                     .spec = record.spec,
                     .assignment = record.assignment,
                     .executor = record.executor,
                     .run = record.run,
                     .user = executor->second.user};
}

proto::AgentStatus Agent::State::status() const {
  proto::AgentStatus status{
      .agent = options_.name,
      .registered = session_ == Session::kRegistered,
      .leader = ledger_.identity() ? ledger_.identity()->leader : LeaderEpoch(),
      .total = options_.total,
      .used = ledger_.used().amounts,
      .tasks = static_cast<int64_t>(ledger_.live_tasks()),
      .updates_unacknowledged = static_cast<int64_t>(ledger_.unacknowledged()),
      .limits = options_.limits,
      .trouble = trouble_};
  for (const auto& [key, executor] : ledger_.executors()) {
    const auto live = executors_.find(key);
    status.executors.push_back(
        {.framework = key.first,
         .executor = key.second,
         .pid = live == executors_.end() ? executor.pid : live->second.pid,
         .tasks = live == executors_.end() ? 0 : static_cast<int64_t>(live->second.tasks.size()),
         .fetching = executor.fetching});
  }
  return status;
}

std::vector<Violation> Agent::State::violations() const {
  std::vector<Violation> found = ledger_.violations();
  if (!begun_) return found;
  if (!ledger_.identity()) found.push_back({"no identity"});
  size_t waiting = 0;
  for (const auto& [framework, begins] : releases_) {
    waiting += begins.size();
    for (const std::string& begin : begins) {
      if (is_in_use(framework, begin)) continue;
      found.push_back(
          {text("released files ", begin, " of ", framework.str(), " wait for nothing")});
    }
  }
  if (waiting != releases_waiting_ || waiting > kReleasesWaitingMax) {
    found.push_back({text(waiting, " releases wait, counted as ", releases_waiting_)});
  }
  if (ledger_.tasks().size() > kTasksPerAgentMax) found.push_back({"too many tasks"});
  if (recovered_ != (awaited_.empty() && leftovers_.empty())) {
    found.push_back({"recovery waits without an executor, or did not wait"});
  }
  for (const ExecutorKey& key : awaited_) {
    const auto at = executors_.find(key);
    if (at == executors_.end() ||
        (!at->second.away && !at->second.is_forgotten && at->second.forgotten.empty())) {
      found.push_back({"recovery waits for an executor that is back"});
    }
  }
  if (!options_.total.contains(ledger_.used())) {
    found.push_back({text("used ", to_text(ledger_.used()), " is more than the total ",
                          to_text(options_.total))});
  }
  if (live_.size() != ledger_.live_tasks()) found.push_back({"live tasks do not match the ledger"});
  if (executors_.size() + leftovers_.size() != ledger_.executors().size()) {
    found.push_back({"executors do not match the ledger"});
  }
  size_t assigned = 0;
  for (const auto& [key, executor] : executors_) {
    assigned += executor.tasks.size() + executor.waiting.size();
    check_executor(key, executor, found);
  }
  if (assigned != live_.size()) found.push_back({"a live task is not with exactly one executor"});
  return found;
}

void Agent::State::check_executor(const ExecutorKey& key, const LiveExecutor& executor,
                                  std::vector<Violation>& found) const {
  const auto report = [&](std::string_view what) {
    found.push_back({text("executor ", key.first.str(), "/", key.second.str(), ": ", what)});
  };
  const auto recorded = ledger_.executors().find(key);
  if (recorded == ledger_.executors().end() || recorded->second.run != executor.run) {
    report("is not the one of the ledger");
  } else if (recorded->second.fetching != executor.fetching) {
    report("its state of fetching files is not that of the ledger");
  }
  for (const TaskId& task : executor.tasks) {
    const auto live = live_.find({key.first, task});
    if (live == live_.end()) {
      report("runs a task that is not live");
    } else if (!live->second.delivered && executor.peer && !executor.leaving && !executor.moving) {
      report("has a session, but was not given a task");
    }
  }
  for (const TaskId& task : executor.waiting) {
    const auto live = live_.find({key.first, task});
    if (live == live_.end() || live->second.delivered)
      report("a wrong task waits for its next run");
  }
  for (const TaskId& task : executor.forgotten) {
    if (executor.tasks.contains(task)) report("a named task has ended as if it were unknown");
  }
  if (executor.is_forgotten && !executor.killed) report("is in no named run, but is live");
  if (executor.own && executor.tasks.size() > 1) report("runs more than its own task");
  if (executor.away && executor.peer) report("has a session, but is recorded as away");
  if (!executor.waiting.empty() && !executor.leaving) report("a task waits without a reason");
  if (executor.fetching) {
    if (executor.peer || executor.away) report("has a process, but its files are not there");
    if (!executor.killed &&
        !deadlines_.time_of({Deadline::Kind::kFetch, key.first, key.second.str()})) {
      report("no deadline is set for its files");
    }
  } else if (executor.peer) {
    const auto peer = peers_.find(*executor.peer);
    if (peer == peers_.end() || peer->second != key) report("its peer is not known");
  } else if (!executor.killed &&
             !deadlines_.time_of({Deadline::Kind::kExecutorSession, key.first, key.second.str()})) {
    report("no deadline is set for its first message");
  }
  const bool is_listed = std::find(spares_.begin(), spares_.end(), key) != spares_.end();
  if (executor.spare != is_listed) report("its state as a spare is not that of the list of spares");
  if (executor.spare &&
      (!executor.own || !executor.leaving || !executor.peer || !executor.tasks.empty() ||
       !executor.waiting.empty() || executor.killed ||
       !deadlines_.time_of({Deadline::Kind::kSpare, key.first, key.second.str()}))) {
    report("is not a spare that waits for its next task");
  }
  if (executor.leaving && executor.tasks.empty() && !executor.killed && !executor.spare &&
      !deadlines_.time_of({Deadline::Kind::kExecutorKill, key.first, key.second.str()})) {
    report("no deadline is set for its end");
  }
}

Agent::Agent(AgentOptions options, const AgentSnapshot& snapshot)
    : state_(std::make_unique<State>(std::move(options), snapshot)) {}
Agent::~Agent() = default;
void Agent::handle(const AgentEvent& event, Time now, AgentOutbox& out) {
  state_->handle(event, now, out);
}
std::optional<Time> Agent::next_deadline() const { return state_->next_deadline(); }
proto::AgentStatus Agent::status() const { return state_->status(); }
const std::string& Agent::trouble() const { return state_->trouble(); }
std::optional<std::pair<FrameworkId, ExecutorId>> Agent::executor_of(PeerId peer) const {
  return state_->executor_of(peer);
}
Result<RunningTask> Agent::running_task(const FrameworkId& framework, const TaskId& task) const {
  return state_->running_task(framework, task);
}
AgentSnapshot Agent::snapshot() const { return state_->snapshot(); }
std::vector<Violation> Agent::violations() const { return state_->violations(); }

}  // namespace proffer::agent
