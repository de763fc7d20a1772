// The first work of an agent: it finds the executors of its earlier life and continues with them.
// It looks for each recorded executor and waits for it. When all live ones are back, or their time
// has passed, it registers with its tasks as they are. Nothing is guessed: a task is lost only when
// its executor is known to have ended. Read State::begin first.

#include <algorithm>
#include <utility>
#include <vector>

#include "common/check.h"
#include "common/text.h"
#include "slave/core/state.h"
#include "slave/core/trace.h"

namespace proffer::agent {

void Agent::State::begin(Step& step) {
  begun_ = true;
  if (!ledger_.identity()) {
    record(proto::AgentIdentity{.agent = options_.name,
                                .secret = options_.fresh_secret,
                                .place = options_.place,
                                .remembered = options_.remembered},
           step);
    step.out.sync = true;
  } else if (ledger_.identity()->place != options_.place) {
    proto::AgentIdentity identity = *ledger_.identity();
    identity.place = options_.place;
    record(std::move(identity), step);
    step.out.sync = true;
  }
  if (options_.remembered == Remembered::kWithGaps) close_gaps(step);
  forget_earlier_runs(step);
  const std::map<ExecutorKey, proto::ExecutorRecord> known = ledger_.executors();
  for (const auto& [key, executor] : known) {
    if (executor.boot_id != options_.boot_id) {  // A reboot has ended all earlier processes.
      record(proto::ExecutorGone{key.first, key.second}, step);
    } else if (executor.leftover) {
      leftovers_.emplace(key, executor);
      step.out.actions.push_back(EndLeftover{executor});
    } else if (executor.fetching && options_.remembered == Remembered::kAll) {
      fetch_again(key, executor);
    } else {
      // The log may have lost the record of its start.
      if (executor.fetching) {
        proto::ExecutorRecord started = executor;
        started.fetching = false;
        record(std::move(started), step);
      }
      adopt(key, executor, step);
    }
  }
  if (!leftovers_.empty()) {
    deadlines_.arm({Deadline::Kind::kLeftovers}, step.now + kLeftoversReport);
  }
  std::vector<TaskKey> live;
  for (const auto& [key, task] : ledger_.tasks()) {
    if (task.is_live()) live.push_back(key);
  }
  for (const TaskKey& key : live) place(key, *ledger_.find(key), step);
  if (!live.empty()) watch_starting(step);
  fetch_all_again(step);
  for (auto& [key, executor] : executors_) {
    if (executor.fetching) continue;
    awaited_.insert(key);
    if (!executor.own || !executor.tasks.empty()) continue;
    // The end of its task is recorded, so it is about to exit, waits for another task, or has one
    // that is missing in the log.
    executor.leaving = true;
    executor.shutdown = true;
    deadlines_.arm({Deadline::Kind::kExecutorKill, key.first, key.second.str()},
                   step.now + options_.executor_reregister_timeout + kLeaveGrace);
  }
  leave_out_ports(step);
  cover_what_runs();
  if (!(options_.total == given_)) {
    step.trace(MoreUsedThanGiven{ledger_.used(), options_.total});
  }
  finish_recovery(step);
}

// Kills executors that may run more than the records show, before the agent registers: executors of
// tasks without a record, shared ones, which may have such tasks, and those with only a task in the
// records. All others continue.
void Agent::State::close_gaps(Step& step) {
  step.trace(CheckpointHasGaps{options_.name});
  std::map<ExecutorKey, uint64_t> runs_with_tasks;
  for (const auto& [key, task] : ledger_.tasks()) {
    if (task.record.run == 0 || task.is_over) continue;
    uint64_t& run = runs_with_tasks[{key.first, task.record.executor}];
    run = std::max(run, task.record.run);
  }
  std::vector<proto::ExecutorRecord> ended;
  for (const auto& [key, executor] : ledger_.executors()) {
    const auto tasks = runs_with_tasks.find(key);
    if (executor.own && tasks != runs_with_tasks.end() && tasks->second == executor.run) continue;
    ended.push_back(executor);
  }
  for (const auto& [key, run] : runs_with_tasks) {
    if (ledger_.executors().contains(key)) continue;
    ended.push_back({.framework = key.first,
                     .executor = key.second,
                     .token = options_.fresh_secret,
                     .run = run,
                     .boot_id = options_.boot_id});
  }
  for (proto::ExecutorRecord& executor : ended) {
    executor.leftover = true;
    record(std::move(executor), step);
  }
  if (options_.newest_run <= ledger_.last_run()) return;
  const FrameworkId framework("_unknown");
  const ExecutorId executor("_unknown");
  record(proto::ExecutorRecord{.framework = framework,
                               .executor = executor,
                               .token = options_.fresh_secret,
                               .run = options_.newest_run,
                               .boot_id = options_.boot_id},
         step);
  record(proto::ExecutorGone{framework, executor}, step);
}

void Agent::State::adopt(const ExecutorKey& key, const proto::ExecutorRecord& executor,
                         Step& step) {
  LiveExecutor& adopted = executors_[key];
  adopted.run = executor.run;
  adopted.token = executor.token;
  adopted.program = executor.program;
  adopted.user = executor.user;
  adopted.own = executor.own;
  adopted.away = true;
  adopted.adopted = true;
  step.out.actions.push_back(AdoptExecutor{executor});
  step.trace(ExecutorLookedFor{key.first, key.second, executor.pid});
  await_hello(key, adopted, step);
}

// Skips numbers that an earlier life may have given to updates whose records are lost. The last
// update is recorded again with a number after these; it is sent only if it is unacknowledged
// anyway.
void Agent::State::skip_numbers(const TaskKey& key, const TaskEntry& task, Step& step) {
  proto::TaskStatus again;
  const bool is_told = task.unacknowledged.empty();
  if (is_told) {
    again = {.task = key.second,
             .agent = options_.name,
             .state = task.state,
             .healthy = task.healthy,
             .at = task.started_at,
             .ready = task.ready};
  } else {
    again = task.unacknowledged.back();
  }
  if (!task.has_room_for(again)) {
    // There are earlier ones to be acknowledged first.
    live_.at(key).skipped = skipped_after(task.sequence, step.now);
    return;
  }
  again.sequence = task.sequence + skipped_after(task.sequence, step.now);
  const uint64_t sequence = again.sequence;
  record(proto::UpdateRecord{key.first, std::move(again), task.executor_sequence}, step);
  if (is_told) record(proto::AcknowledgedRecord{key.first, key.second, sequence}, step);
}

// Assigns the task to its executor, which may have got it before. A task without an executor has
// ended: the machine was rebooted, or the run that it waited for never began.
void Agent::State::place(const TaskKey& key, const TaskEntry& task, Step& step) {
  const auto at = executors_.find({key.first, task.record.executor});
  if (at != executors_.end() && at->second.run == task.record.run) {
    LiveExecutor& executor = at->second;
    executor.tasks.insert(key.second);
    const std::vector<proto::FetchedFile>& files = task.record.spec.fetch;
    if (!executor.fetch || !files.empty()) executor.fetch = files;
    live_.emplace(key, LiveTask{.token = executor.token,
                                .delivered = !executor.fetching,
                                .executor_sequence = task.executor_sequence});
    if (options_.remembered != Remembered::kAll) skip_numbers(key, task, step);
    bound_run(key, task);
    return;
  }
  CHECK(make_update(
      key,
      {.state = proto::TaskState::kLost,
       .reason = proto::TaskReason::kAgentRestarted,
       .message =
           task.record.run == 0 ? "the agent restarted before the task was started"
           : options_.remembered == Remembered::kWithGaps || has_noted_loss_
               ? "the agent's checkpoint has gaps, and the record of its executor is incomplete"
               : "the machine restarted"},
      step, 0, skipped_after(task.sequence, step.now)));
}

// Removes ports on which other processes listen. The tasks of this agent listen on ports, too.
void Agent::State::leave_out_ports(Step& step) {
  PortSet others = options_.ports_in_use;
  others -= ledger_.used().ports;
  if (others.empty()) return;
  given_.ports -= others;
  // A registration has room for this many ranges, including those of tasks.
  std::vector<PortRange> ranges = given_.ports.ranges();
  if (ranges.size() > kPortRangesMax / 2) {
    ranges.resize(kPortRangesMax / 2);
    given_.ports = PortSet(std::move(ranges));
  }
  step.trace(PortsLeftOut{std::move(others)});
}

// If the agent is restarted with a total below the use of its tasks, it reports at least that use,
// since the master's free resources would be negative otherwise.
void Agent::State::cover_what_runs() {
  const Resources& used = ledger_.used();
  Resources& total = options_.total;
  total = given_;
  if (total.contains(used)) return;
  for (const GpuDevice& device : used.gpus) {
    const auto at = std::lower_bound(total.gpus.begin(), total.gpus.end(),
                                     GpuDevice{.index = device.index, .milli = 0});
    if (at != total.gpus.end() && at->index == device.index) continue;
    total.gpus.insert(at, GpuDevice{.index = device.index, .milli = 1000});
    total.amounts[ResourceKind::kGpus] += 1000;
  }
  total.ports += used.ports;
  for (const ResourceKind kind : kResourceKinds) {
    total.amounts[kind] = std::max(total.amounts[kind], used.amounts[kind]);
  }
}

// A task has ended. A smaller total is reported only by a new registration, which also reports the
// end, so the master never has just one of the two.
void Agent::State::offer_less(Step& step) {
  if (options_.total == given_) return;
  const Resources before = options_.total;
  cover_what_runs();
  if (options_.total == before || stopping_) return;
  if (session_ == Session::kRegistering || session_ == Session::kRegistered) {
    reset_master("the agent has fewer resources than before", step);
  }
}

void Agent::State::executor_is_back(const ExecutorKey& key, Step& step) {
  LiveExecutor& executor = executors_.at(key);
  if (std::exchange(executor.away, false)) step.trace(ExecutorIsBack{{key.first, key.second}});
  if (!executor.forgotten.empty()) return;
  if (awaited_.erase(key) != 0) finish_recovery(step);
}

// The states of the tasks of an executor that ended before it was back.
proto::TaskStatus Agent::State::lost_with(const ExecutorKey& key, const LiveExecutor& executor,
                                          bool had_process) const {
  using proto::TaskReason;
  proto::TaskStatus status{.state = proto::TaskState::kLost};
  // The process is recorded with its hello, before it gets its tasks. Without a process they never
  // began. If there was one, the end of the log with its record may be lost.
  const bool is_recorded = ledger_.executors().at(key).pid != 0;
  if (!is_recorded && !had_process && options_.remembered == Remembered::kAll) {
    status.state = proto::TaskState::kRefused;
  }
  if (executor.killed) {
    status.reason = TaskReason::kExecutorTimeout;
    status.message = text("the executor did not come back within ",
                          to_text(options_.executor_reregister_timeout), " of the agent's restart");
  } else if (!is_recorded) {
    status.reason = TaskReason::kAgentRestarted;
    status.message = "the agent restarted while the executor was started";
  } else {
    status.reason = TaskReason::kExecutorEnded;
    status.message = "the executor ended while the agent was not running";
  }
  return status;
}

void Agent::State::on(const LeftoverEnded& ended, Step& step) {
  const ExecutorKey key{ended.framework, ended.executor};
  if (leftovers_.erase(key) == 0) return;
  record(proto::ExecutorGone{ended.framework, ended.executor}, step);
  finish_recovery(step);
}

void Agent::State::report_leftovers(Step& step) {
  for (const auto& [key, executor] : leftovers_) {
    step.trace(LeftoverStays{key.first, key.second, executor.pid});
  }
  deadlines_.arm({Deadline::Kind::kLeftovers}, step.now + kLeftoversReport);
}

// No executor is awaited any more: the agent registers.
void Agent::State::finish_recovery(Step& step) {
  if (recovered_ || !awaited_.empty() || !leftovers_.empty()) return;
  recovered_ = true;
  if (ledger_.identity()->remembered != Remembered::kAll) {
    proto::AgentIdentity identity = *ledger_.identity();
    identity.remembered = Remembered::kAll;
    record(std::move(identity), step);
  }
  deadlines_.cancel({Deadline::Kind::kLeftovers});
  step.trace(AgentRecovered{options_.name, ledger_.live_tasks()});
  begin_session(step);
}

}  // namespace proffer::agent
