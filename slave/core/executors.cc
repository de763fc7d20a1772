// The life of an executor: its process starts, sends its hello with its token, gets its tasks,
// reports their states, and ends. Its tasks end with it. Read on(ExecutorFrame) first, then
// executor_gone.

#include <algorithm>
#include <utility>

#include "common/check.h"
#include "common/text.h"
#include "slave/core/state.h"
#include "slave/core/trace.h"

namespace proffer::agent {
namespace {

// Whether SIGKILL ended it; a shell reports that for its child by an exit code.
bool was_killed(std::optional<int32_t> exit_code, std::optional<int32_t> signal) {
  constexpr int32_t kSigkill = 9;
  constexpr int32_t kShellAddsToSignal = 128;
  return signal == kSigkill || exit_code == kShellAddsToSignal + kSigkill;
}

// Its program is Proffer's, so before its first hello a task cannot influence it. Only another
// process of the same user can, by killing or stopping it.
bool is_ours(const std::string& program) {
  return program == proto::kCommandExecutor || program == proto::kBatchExecutor;
}

// The shell did not find the program, or the program did not find a library.
bool was_not_found(std::optional<int32_t> exit_code) {
  constexpr int32_t kShellFoundNothing = 127;
  return exit_code == kShellFoundNothing;
}

// Errors about the task (an argument) or about its user on this machine are not faults of the
// machine.
bool is_machines_fault(const Error& error) {
  return error.code() != ErrorCode::kInvalidArgument &&
         error.code() != ErrorCode::kFailedPrecondition &&
         error.code() != ErrorCode::kPermissionDenied;
}

// The same text for any process that the kernel chose.
std::string words_of(const OutOfMemory& memory) {
  return text("out of memory: its processes may use ", mebibytes(memory.limit_bytes),
              ", including those of its executor, and used up to ", mebibytes(memory.peak_bytes));
}

}  // namespace

bool is_executors_word(proto::TaskState state) {
  return state == proto::TaskState::kRunning || state == proto::TaskState::kFinished ||
         state == proto::TaskState::kFailed || state == proto::TaskState::kKilled;
}

std::string mebibytes(int64_t bytes) {
  constexpr int64_t kMebi = int64_t{1} << 20;
  return print_milli(bytes / kMebi * 1000 + bytes % kMebi * 1000 / kMebi) + " MiB";
}

Agent::State::LiveExecutor* Agent::State::find_run(const FrameworkId& framework,
                                                   const ExecutorId& executor, uint64_t run) {
  const auto at = executors_.find({framework, executor});
  return at == executors_.end() || at->second.run != run ? nullptr : &at->second;
}

// --- the process -------------------------------------------------------------------------------

void Agent::State::on(const ExecutorStarted& started, Step& step) {
  LiveExecutor* const executor = find_run(started.framework, started.executor, started.run);
  if (executor == nullptr) return;
  executor->sandbox = started.sandbox;
  executor->pid = started.pid;
  executor->start_ticks = started.start_ticks;
  const ExecutorKey key{started.framework, started.executor};
  if (executor->moving) moved(key, is_recorded(key, *executor), step);
}

bool Agent::State::is_recorded(const ExecutorKey& key, const LiveExecutor& executor) const {
  const proto::ExecutorRecord& known = ledger_.executors().at(key);
  return known.pid == executor.pid && known.start_ticks == executor.start_ticks;
}

// Recorded before it gets a task, so a process without a record has never had one.
void Agent::State::record_process(const ExecutorKey& key, const LiveExecutor& executor,
                                  Step& step) {
  if (is_recorded(key, executor)) return;
  proto::ExecutorRecord known = ledger_.executors().at(key);
  known.pid = executor.pid;
  known.start_ticks = executor.start_ticks;
  record(std::move(known), step);
}

void Agent::State::on(const ExecutorStartFailed& failed, Step& step) {
  const LiveExecutor* executor = find_run(failed.framework, failed.executor, failed.run);
  if (executor == nullptr) return;
  start_failed({failed.framework, failed.executor}, *executor, is_machines_fault(failed.error),
               failed.error.message(), step);
  executor_gone({failed.framework, failed.executor}, proto::TaskReason::kLaunchFailed,
                text("the executor could not be started: ", failed.error.message()), {}, step);
}

void Agent::State::on(const ExecutorExited& exited, Step& step) {
  const LiveExecutor* executor = find_run(exited.framework, exited.executor, exited.run);
  if (executor == nullptr) return;
  std::string how = "the executor ended";
  if (exited.exit_code) how += text(" with exit code ", *exited.exit_code);
  if (exited.signal) how += text(" by signal ", *exited.signal);
  proto::TaskReason reason = proto::TaskReason::kExecutorEnded;
  if (exited.out_of_memory) {
    reason = proto::TaskReason::kOutOfMemory;
    how = words_of(*exited.out_of_memory);
  } else {
    start_failed(
        {exited.framework, exited.executor}, *executor,
        is_ours(executor->program) && (!options_.is_root || exited.exit_code == kCannotBegin),
        text(how, " before its first message"), step);
    const bool has_begun = executor->sessions > 0 || executor->away;
    if (!has_begun && !is_ours(executor->program) && was_not_found(exited.exit_code)) {
      reason = proto::TaskReason::kLaunchFailed;
      how += text(": a program that ", quoted(executor->program.substr(0, kCommandShownBytes)),
                  " needs, or a library of it, was not found on agent ", options_.name.str());
    }
  }
  executor_gone(
      {exited.framework, exited.executor}, reason, how,
      {exited.exit_code, exited.signal, exited.usage, exited.stderr_tail, exited.had_process},
      step);
}

// The process has ended, or never existed. Its live tasks end with it; tasks that waited for it to
// leave get the next run.
void Agent::State::executor_gone(const ExecutorKey& key, proto::TaskReason reason,
                                 const std::string& message, const Ending& ending, Step& step) {
  forget_spare(key);
  forget_peer(key, step);
  const auto at = executors_.find(key);
  proto::TaskStatus told{.state = proto::TaskState::kFailed,
                         .reason = reason,
                         .message = message,
                         .exit_code = ending.exit_code,
                         .signal = ending.signal};
  const bool is_of_earlier_life = at->second.away;
  if (is_of_earlier_life) {
    told = lost_with(key, at->second, ending.had_process);
    // It may have had tasks that are missing in the checkpoint, and cannot report them any more.
    if (!at->second.own) note_loss(step);
  }
  // The use of a shared executor is not that of a single task.
  if (at->second.own) {
    told.usage = ending.usage;
    told.data = ending.stderr_tail;
  }
  const std::set<TaskId> tasks = std::move(at->second.tasks);
  std::vector<TaskId> waiting = std::move(at->second.waiting);
  executors_.erase(at);
  for (const Deadline::Kind kind :
       {Deadline::Kind::kExecutorSession, Deadline::Kind::kExecutorKill, Deadline::Kind::kFetch}) {
    deadlines_.cancel({kind, key.first, key.second.str()});
  }
  record(proto::ExecutorGone{key.first, key.second}, step);
  step.trace(ExecutorGone{key.first, key.second, told.message});

  for (const TaskId& task : tasks) {
    const TaskKey task_key{key.first, task};
    proto::TaskStatus status = told;
    const TaskEntry& entry = *ledger_.find(task_key);
    const bool has_begun = entry.executor_sequence > 0;
    if (status.state == proto::TaskState::kRefused && has_begun) {
      status.state = proto::TaskState::kLost;
    }
    say_why_killed(task_key, status);
    // The master may know updates of that life that are missing in the cut log.
    const bool is_behind = is_of_earlier_life && status.state != proto::TaskState::kRefused;
    const uint64_t skipped = is_behind ? skipped_after(entry.sequence, step.now) : 0;
    CHECK(make_update(task_key, std::move(status), step, 0, skipped));
    task_ended(task_key, step);
  }
  if (!waiting.empty()) start_executor(key, std::move(waiting), step);
  if (awaited_.erase(key) != 0) finish_recovery(step);
}

// --- its session -------------------------------------------------------------------------------

void Agent::State::on(const ExecutorFrame& frame, Step& step) {
  const auto at = peers_.find(frame.peer);
  if (at == peers_.end()) return on_hello(frame, step);
  const ExecutorKey key = at->second;
  LiveExecutor& executor = executors_.at(key);
  switch (executor.channel.admit(frame.envelope)) {
    case proto::Channel::Verdict::kDeliver:
      break;
    case proto::Channel::Verdict::kDuplicate:
      return step.trace(DuplicateFrame{"executor"});
    case proto::Channel::Verdict::kBroken:
      step.trace(FramesLost{key.second});
      return drop_peer(key, step);
  }
  executor.last_heard = step.now;
  on_executor_message(key, frame, step);
}

// Earlier versions wrote no user for the agent's own user.
bool Agent::State::is_same_user(const std::string& one, const std::string& other) const {
  if (options_.user.empty()) return true;
  return (one.empty() ? options_.user : one) == (other.empty() ? options_.user : other);
}

void Agent::State::on_hello(const ExecutorFrame& frame, Step& step) {
  const auto* hello = std::get_if<proto::ExecutorHello>(&*frame.envelope.message);
  proto::Channel channel;
  if (hello == nullptr || channel.admit(frame.envelope) != proto::Channel::Verdict::kDeliver) {
    return refuse_peer(frame.peer, ErrorCode::kFailedPrecondition,
                       "the first message of an executor must be executor_hello", true, step);
  }
  const ExecutorKey said{hello->framework, hello->executor};
  auto at = executors_.find(said);
  if (at == executors_.end() || at->second.token != hello->token) {
    const std::optional<ExecutorKey> now = executor_with_token(hello->framework, hello->token);
    at = now ? executors_.find(*now) : executors_.end();
  }
  if (at == executors_.end() || at->second.killed || !is_same_user(at->second.user, frame.user)) {
    return refuse_peer(
        frame.peer, ErrorCode::kNotFound,
        text("executor ", quoted(hello->executor.str()), " with this token is not known here"),
        false, step);
  }
  const ExecutorKey key = at->first;
  LiveExecutor& executor = at->second;
  // An executor that was between fork and exec during the search was not found and is being killed,
  // so it gets no tasks.
  if (executor.pid == 0) {
    return refuse_peer(frame.peer, ErrorCode::kUnavailable,
                       text("executor ", quoted(key.second.str()), " was not found here"), true,
                       step);
  }
  record_process(key, executor, step);
  start_worked(executor, step);
  if (executor.peer) drop_peer(key, step);
  const Standing standing = standing_of(key, executor, *hello);
  if (standing == Standing::kBeyond) {
    step.out.actions.push_back(DropExecutorPeer{frame.peer});
    return end_forgotten_run(key, *hello, step);
  }
  executor.peer = frame.peer;
  executor.channel = channel;
  executor.last_heard = step.now;
  peers_[frame.peer] = key;
  deadlines_.cancel({Deadline::Kind::kExecutorSession, key.first, key.second.str()});
  send_to_executor(executor,
                   proto::ExecutorWelcome{.session = SessionEpoch(++executor.sessions),
                                          .heartbeat = options_.executor_heartbeat,
                                          .timeout = options_.executor_timeout},
                   step);
  take_forgotten_updates(key, *hello, step);
  // Messages that an earlier connection lost are repeated; the executor ignores what it has.
  const bool becomes = standing == Standing::kBehind;
  if (becomes) limit(key, executor, step);
  if (!executor.moving) {
    for (const TaskId& task : executor.tasks) deliver(key, executor, task, step, becomes);
  }
  end_forgotten_tasks(key, *hello, step);
  if (executor.shutdown) send_to_executor(executor, proto::ExecutorShutdown{}, step);
  executor_pulse(key, step);
  executor_is_back(key, step);
}

void Agent::State::deliver(const ExecutorKey& key, LiveExecutor& executor, const TaskId& task,
                           Step& step, bool becomes) {
  const TaskEntry& entry = *ledger_.find({key.first, task});
  LiveTask& live = live_.at({key.first, task});
  live.delivered = true;
  proto::RunTask run{
      .framework = key.first, .spec = entry.record.spec, .assignment = entry.record.assignment};
  run.secrets = live.secrets;
  run.run = executor.run;
  run.assignment.ticket.clear();  // The ticket is for masters, not for tasks.
  if (becomes) run.becomes = proto::ExecutorPlace{key.second, executor.sandbox};
  send_to_executor(executor, std::move(run), step);
  bound_start({key.first, task}, entry, step);
  if (live.kill) {
    send_to_executor(executor, proto::KillTask{key.first, task, live.kill->grace}, step);
  }
}

void Agent::State::send_to_executor(LiveExecutor& executor, proto::BoxedMessage message,
                                    Step& step) {
  CHECK(executor.peer);
  executor.last_sent = step.now;
  step.out.actions.push_back(SendToExecutor{
      *executor.peer, executor.channel.stamp(ledger_.identity()->leader, std::move(message))});
}

void Agent::State::refuse_peer(PeerId peer, ErrorCode code, std::string message, bool retry,
                               Step& step) {
  step.trace(ExecutorRefused{message});
  proto::Channel channel;
  LeaderEpoch leader = ledger_.identity()->leader;
  const auto at = peers_.find(peer);
  if (at != peers_.end()) channel = executors_.at(at->second).channel;
  step.out.actions.push_back(
      SendToExecutor{peer, channel.stamp(leader, proto::ErrorMessage{.code = code,
                                                                     .message = std::move(message),
                                                                     .ends_session = true,
                                                                     .retry = retry})});
  if (at != peers_.end()) {
    drop_peer(ExecutorKey(at->second), step);
  } else {
    step.out.actions.push_back(DropExecutorPeer{peer});
  }
}

void Agent::State::on(const ExecutorPeerLost& lost, Step& step) {
  const auto at = peers_.find(lost.peer);
  if (at != peers_.end()) forget_peer(ExecutorKey(at->second), step);
}

void Agent::State::drop_peer(const ExecutorKey& key, Step& step) {
  const std::optional<PeerId> peer = executors_.at(key).peer;
  if (peer) step.out.actions.push_back(DropExecutorPeer{*peer});
  forget_peer(key, step);
}

void Agent::State::forget_peer(const ExecutorKey& key, Step& step) {
  LiveExecutor& executor = executors_.at(key);
  if (!executor.peer) return;
  peers_.erase(*executor.peer);
  executor.peer.reset();
  deadlines_.cancel({Deadline::Kind::kExecutorPulse, key.first, key.second.str()});
  // Its process may be about to end, or to reconnect.
  await_hello(key, executor, step);
  if (!executor.spare) return;
  forget_spare(key);
  executor.shutdown = true;
  deadlines_.arm({Deadline::Kind::kExecutorKill, key.first, key.second.str()},
                 step.now + kLeaveGrace);
}

// As master_pulse, for both clocks of an executor.
void Agent::State::executor_pulse(const ExecutorKey& key, Step& step) {
  LiveExecutor& executor = executors_.at(key);
  if (step.now >= executor.last_heard + options_.executor_timeout) {
    step.trace(ExecutorIsSilent{key.second});
    return drop_peer(key, step);
  }
  if (step.now >= executor.last_sent + options_.executor_heartbeat) {
    send_to_executor(executor, proto::Heartbeat{}, step);
  }
  deadlines_.arm({Deadline::Kind::kExecutorPulse, key.first, key.second.str()},
                 std::min(executor.last_heard + options_.executor_timeout,
                          executor.last_sent + options_.executor_heartbeat));
}

Duration Agent::State::hello_timeout(const LiveExecutor& executor) const {
  return executor.away ? options_.executor_reregister_timeout : options_.executor_start_timeout;
}

// Two deadlines, the first shortly before the second.
void Agent::State::await_hello(const ExecutorKey& key, LiveExecutor& executor, Step& step) {
  const Duration timeout = hello_timeout(executor);
  executor.overdue = false;
  deadlines_.arm({Deadline::Kind::kExecutorSession, key.first, key.second.str()},
                 step.now + timeout - std::min(kLastLook, timeout / 2));
}

// An executor without a session is useless after this time; its tasks cannot even be killed. An
// executor of an earlier life has its time from recovery; when it has ended its tasks are lost, and
// the master does not wait any longer. If the agent itself was stopped, the time starts again.
void Agent::State::session_overdue(const ExecutorKey& key, Step& step) {
  LiveExecutor& executor = executors_.at(key);
  if (step.late) return await_hello(key, executor, step);
  if (!std::exchange(executor.overdue, true)) {
    const Duration timeout = hello_timeout(executor);
    return deadlines_.arm({Deadline::Kind::kExecutorSession, key.first, key.second.str()},
                          step.now + std::min(kLastLook, timeout / 2));
  }
  if (executor.away) {
    step.trace(ExecutorDidNotComeBack{{key.first, key.second}});
    return kill_executor(key, step);
  }
  start_failed(
      key, executor, is_ours(executor.program) && !options_.is_root,
      text("an executor sent no first message within ", to_text(options_.executor_start_timeout)),
      step);
  const std::set<TaskId> tasks = std::exchange(executor.tasks, {});
  for (const TaskId& task : tasks) {
    const TaskKey task_key{key.first, task};
    proto::TaskStatus status{.state = proto::TaskState::kFailed,
                             .reason = proto::TaskReason::kExecutorTimeout,
                             .message = text("the executor had no session for ",
                                             to_text(options_.executor_start_timeout))};
    say_why_killed(task_key, status);
    CHECK(make_update(task_key, std::move(status), step));
    task_ended(task_key, step);
  }
  kill_executor(key, step);
}

// --- its messages ------------------------------------------------------------------------------

void Agent::State::on_executor_message(const ExecutorKey& key, const ExecutorFrame& frame,
                                       Step& step) {
  const proto::Message& message = *frame.envelope.message;
  if (std::holds_alternative<proto::Heartbeat>(message)) return;
  if (const auto* update = std::get_if<proto::ExecutorUpdate>(&message)) {
    return on_executor_update(key, *update, frame, step);
  }
  if (const auto* words = std::get_if<proto::FrameworkMessage>(&message)) {
    if (session_ != Session::kRegistered) return;  // best effort
    return send_to_master(proto::FrameworkMessage{.framework = key.first,
                                                  .agent = options_.name,
                                                  .executor = key.second,
                                                  .to_scheduler = true,
                                                  .data = words->data},
                          step);
  }
  if (std::holds_alternative<proto::Unknown>(message)) {
    return step.trace(UnknownMessage{"executor"});
  }
  refuse_peer(*executors_.at(key).peer, ErrorCode::kInvalidArgument,
              text("an executor may not send ", proto::message_name(message)), true, step);
}

void Agent::State::on_executor_update(const ExecutorKey& key, const proto::ExecutorUpdate& update,
                                      const ExecutorFrame& frame, Step& step) {
  const proto::TaskStatus& told = update.status;
  const std::optional<OutOfMemory>& memory = frame.out_of_memory;
  LiveExecutor& executor = executors_.at(key);
  const TaskKey task_key{key.first, told.task};
  const auto live = live_.find(task_key);
  if (live != live_.end() && !executor.tasks.contains(told.task)) {
    return refuse_peer(*executor.peer, ErrorCode::kInvalidArgument,
                       text("task ", quoted(told.task.str()), " is not of this executor"), true,
                       step);
  }
  if (!is_executors_word(told.state)) {
    return refuse_peer(*executor.peer, ErrorCode::kInvalidArgument,
                       text("an executor may report running, finished, failed or killed, not ",
                            to_text(told.state)),
                       true, step);
  }
  // Duplicates are acknowledged too, since the executor keeps them until then.
  bool ended = false;
  if (live != live_.end() && told.sequence > live->second.executor_sequence) {
    live->second.secrets.clear();
    proto::TaskStatus status = what_is_told(told);
    // The use of a shared executor is not that of a single task.
    if (proto::is_terminal(told.state) && executor.own) status.usage = frame.usage;
    if (told.state == proto::TaskState::kKilled) say_why_killed(task_key, status);
    const int64_t killed = status.usage && told.state == proto::TaskState::kFinished
                               ? status.usage->out_of_memory.value_or(0)
                               : 0;
    if (killed > 0) {
      status.message = text("done, but ", killed, killed == 1 ? " process was" : " processes were",
                            " killed because the task was out of memory",
                            status.message.empty() ? "" : "; ", status.message);
    }
    // In a shared executor, only a task that was itself killed.
    if (told.state == proto::TaskState::kFailed && memory &&
        (executor.own || was_killed(told.exit_code, told.signal))) {
      status.reason = proto::TaskReason::kOutOfMemory;
      status.message = words_of(*memory);
    }
    // The master does not acknowledge. The newest update is sent when there is room; until then the
    // executor gets no answer, so that it does not send more than allowed.
    if (!proto::is_terminal(told.state) && !ledger_.find(task_key)->has_room_for(status)) {
      step.trace(UpdateHeldBack{{key.first, told.task}});
      live->second.held = told;
      return;
    }
    live->second.held.reset();
    live->second.executor_sequence = told.sequence;
    ended = make_update(task_key, std::move(status), step, told.sequence) &&
            proto::is_terminal(told.state);
  }
  send_to_executor(executor,
                   proto::Acknowledge{.framework = key.first,
                                      .task = told.task,
                                      .agent = options_.name,
                                      .source = proto::UpdateSource::kAgent,
                                      .sequence = told.sequence},
                   step);
  if (proto::is_terminal(told.state)) forgotten_task_ended(key, told.task, step);
  if (!ended) return;
  executor.tasks.erase(told.task);
  if (!executor.own) limit(key, executor, step);
  task_ended(task_key, step);
  if (executor.own) own_task_ended(key, update.takes_another, step);
}

// A command executor exits by itself or takes another task; others are asked to exit. The agent
// waits for the end of each.
void Agent::State::own_task_ended(const ExecutorKey& key, bool takes_another, Step& step) {
  LiveExecutor& executor = executors_.at(key);
  executor.leaving = true;
  const bool is_command = executor.program == proto::kCommandExecutor;
  const bool may_stay = options_.reuses_executors && is_command && !executor.adopted &&
                        !executor.shutdown && !executor.killed;
  if (takes_another && may_stay) return keep_as_spare(key, step);
  if (takes_another || !is_command) return shut_down(key, kLeaveGrace, step);
  deadlines_.arm({Deadline::Kind::kExecutorKill, key.first, key.second.str()},
                 step.now + kLeaveGrace);
}

// Updates of the task were acknowledged. Without a session its executor repeats the held update in
// the next session.
void Agent::State::tell_held(const TaskKey& key, Step& step) {
  const auto live = live_.find(key);
  if (live == live_.end() || !live->second.held) return;
  const ExecutorKey executor{key.first, ledger_.find(key)->record.executor};
  const auto at = executors_.find(executor);
  if (at == executors_.end() || !at->second.peer) return;
  const proto::ExecutorUpdate told{.status = *live->second.held};
  on_executor_update(executor, told, {}, step);
}

}  // namespace proffer::agent
