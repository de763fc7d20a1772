// From RunTask to a task in an executor. A received task is recorded before anything is started, so
// a crash loses no task, and a repeated RunTask finds the first. Read on_run_task first.

#include <algorithm>

#include "common/check.h"
#include "common/text.h"
#include "proto/fetched_files.h"
#include "proto/private_tmp.h"
#include "slave/core/state.h"
#include "slave/core/trace.h"

namespace proffer::agent {
namespace {

constexpr std::string_view kBuiltinPrefix = "builtin:";

bool is_known_program(const std::string& program) {
  if (!program.starts_with(kBuiltinPrefix)) return !program.empty();
  return program == proto::kCommandExecutor || program == proto::kBatchExecutor;
}

bool gpus_are_named(const Resources& resources) {
  int64_t sum = 0;
  for (const GpuDevice& device : resources.gpus) sum += device.milli;
  return sum == resources.amounts[ResourceKind::kGpus];
}

}  // namespace

void Agent::State::on_run_task(const proto::RunTask& run, const MasterFrame& frame, Step& step) {
  const TaskKey key{run.framework, run.spec.id};
  if (const TaskEntry* known = ledger_.find(key)) {
    // The master repeats messages that may have been lost. It refuses another task with a used id
    // itself.
    const bool same = known->record.spec == run.spec;
    if (same) return step.trace(TaskKnownAlready{{key.first, key.second}});
    return step.trace(TaskIdInUse{{key.first, key.second}});
  }
  const bool own = run.spec.executor_id.empty();
  const ExecutorId executor = own ? ExecutorId(run.spec.id.str()) : run.spec.executor_id;
  if (const std::optional<LaunchRefusal> refusal = launch_refusal(run, executor)) {
    return refuse_launch(run, *refusal, step);
  }
  if (!frame.busy_ports.empty()) {
    return refuse_launch(run,
                         {proto::TaskReason::kPortsNotAvailable,
                          text("another process listens on ", to_text(frame.busy_ports))},
                         step);
  }

  const auto there = executors_.find({run.framework, executor});
  const bool starts = there == executors_.end();
  record(proto::TaskRecord{.framework = run.framework,
                           .spec = run.spec,
                           .assignment = run.assignment,
                           .executor = executor,
                           .run = starts                  ? ledger_.last_run() + 1
                                  : there->second.leaving ? 0
                                                          : there->second.run},
         step);
  Secret spare = frame.spare_token;
  if (spare.empty()) {
    std::string digits;
    constexpr std::string_view kDigits = "0123456789abcdef";
    for (int i = 0; i < 32; ++i) digits += kDigits[prng_.below(kDigits.size())];
    spare = Secret(std::move(digits));
  }
  live_.emplace(key, LiveTask{.token = std::move(spare), .secrets = run.secrets});
  watch_starting(step);
  assign(key, {run.framework, executor}, step);
}

std::optional<LaunchRefusal> Agent::State::launch_refusal(const proto::RunTask& run,
                                                          const ExecutorId& executor) const {
  using proto::TaskReason;
  const proto::TaskSpec& spec = run.spec;
  if (leaving_ || stopping_)
    return LaunchRefusal{TaskReason::kAgentNotAvailable, "the agent is stopping"};
  if (!trouble_.empty()) {
    return LaunchRefusal{TaskReason::kAgentFull, text("the agent takes no tasks: ", trouble_)};
  }
  if (ledger_.tasks().size() >= kTasksPerAgentMax) {
    return LaunchRefusal{TaskReason::kAgentFull,
                         text("the agent has ", kTasksPerAgentMax, " tasks, which is the maximum")};
  }
  if (!is_known_program(spec.executor)) {
    return LaunchRefusal{
        TaskReason::kTaskInvalid,
        text("executor must be ", proto::kCommandExecutor, ", ", proto::kBatchExecutor,
             " or a shell command line, not ", quoted(spec.executor))};
  }
  if (spec.executor == proto::kCommandExecutor && spec.command.empty()) {
    return LaunchRefusal{TaskReason::kTaskInvalid, "the command is empty"};
  }
  const std::string& user = run.assignment.user;
  if (!options_.user.empty() && (options_.is_root ? user.empty() : user != options_.user)) {
    return LaunchRefusal{TaskReason::kTaskInvalid,
                         user.empty()
                             ? std::string("the master did not name the user of the task")
                             : text("this agent does not run as root, and runs tasks of user ",
                                    quoted(options_.user), " only, not of ", quoted(user))};
  }
  if (!gpus_are_named(run.assignment.resources)) {
    return LaunchRefusal{TaskReason::kTaskInvalid,
                         "the gpu devices do not add up to the amount of gpus"};
  }
  Resources with_it = ledger_.used();
  bool exceeds = with_it.ports.intersects(run.assignment.resources.ports);
  for (const GpuDevice& device : run.assignment.resources.gpus) {
    for (const GpuDevice& used : with_it.gpus) {
      exceeds |= used.index == device.index && used.milli + device.milli > 1000;
    }
  }
  if (!exceeds) {
    with_it += run.assignment.resources;
    exceeds = !options_.total.contains(with_it);
  }
  if (exceeds) {
    return LaunchRefusal{TaskReason::kResourcesExceeded,
                         text("it takes ", to_text(run.assignment.resources), ", but of ",
                              to_text(options_.total), " are used ", to_text(ledger_.used()))};
  }
  for (const proto::SecretUse& use : spec.secrets) {
    if (std::any_of(run.secrets.begin(), run.secrets.end(),
                    [&](const proto::SecretValue& one) { return one.name == use.name; })) {
      continue;
    }
    return LaunchRefusal{TaskReason::kTaskInvalid,
                         text("the master sent no value for secret ", quoted(use.name))};
  }
  if (Result<void> files = proto::check_fetched_files(spec.fetch); !files) {
    return LaunchRefusal{TaskReason::kTaskInvalid, files.error().message()};
  }
  // An executor id has one program and one user, and is either shared or for one task.
  const auto at = executors_.find({run.framework, executor});
  if (at == executors_.end()) {
    if (is_tried_by_another()) {
      return LaunchRefusal{TaskReason::kAgentFull,
                           "the agent could not start executors, and now tries another task first"};
    }
    if (executors_.size() - spares_.size() < options_.executors_max) return std::nullopt;
    return LaunchRefusal{TaskReason::kAgentFull,
                         text("the agent has ", executors_.size(),
                              " executors; its limit of open descriptors is enough for ",
                              options_.executors_max, " (ulimit -n)")};
  }
  const LiveExecutor& there = at->second;
  const bool own = spec.executor_id.empty();
  if (!there.leaving &&
      (own || there.own || there.program != spec.executor || !is_same_user(there.user, user))) {
    return LaunchRefusal{TaskReason::kTaskInvalid, text("executor id ", quoted(executor.str()),
                                                        " is in use by another program or user")};
  }
  for (const TaskId& task : there.waiting) {
    const proto::TaskRecord& waiting = ledger_.find({run.framework, task})->record;
    const proto::TaskSpec& other = waiting.spec;
    if (own || other.executor_id.empty() || other.executor != spec.executor ||
        !is_same_user(waiting.assignment.user, user)) {
      return LaunchRefusal{TaskReason::kTaskInvalid, text("executor id ", quoted(executor.str()),
                                                          " is in use by another program or user")};
    }
  }
  return files_refusal(run, executor);
}

// Files are fetched before an executor starts, so tasks that share it must have the same files.
std::optional<LaunchRefusal> Agent::State::files_refusal(const proto::RunTask& run,
                                                         const ExecutorId& executor) const {
  const LiveExecutor& there = executors_.at({run.framework, executor});
  const std::vector<proto::FetchedFile>& files = run.spec.fetch;
  bool has_others = !there.leaving && there.fetch && *there.fetch != files;
  for (const TaskId& task : there.waiting) {
    const proto::TaskSpec& waiting = ledger_.find({run.framework, task})->record.spec;
    has_others |= !waiting.fetch.empty() && waiting.fetch != files;
  }
  if (files.empty() || !has_others) return std::nullopt;
  return LaunchRefusal{
      proto::TaskReason::kTaskInvalid,
      text("executor ", quoted(executor.str()),
           " is started with other files: tasks that share an executor must name the same files")};
}

// A refused launch is a task that ended at once: its update is kept until it is acknowledged. A
// full agent keeps nothing: if the answer is lost, the master sends the task again.
void Agent::State::refuse_launch(const proto::RunTask& run, const LaunchRefusal& refusal,
                                 Step& step) {
  step.trace(LaunchRefused{run.framework, run.spec.id, refusal.reason});
  const proto::TaskStatus status{.task = run.spec.id,
                                 .agent = options_.name,
                                 .state = proto::TaskState::kRefused,
                                 .reason = refusal.reason,
                                 .source = proto::UpdateSource::kAgent,
                                 .sequence = 1,
                                 .message = refusal.message,
                                 .at = step.now};
  if (refusal.reason == proto::TaskReason::kAgentFull) {
    return send_to_master(proto::Update{run.framework, status}, step);
  }
  proto::TaskRecord task{.framework = run.framework,
                         .spec = {.id = run.spec.id},
                         .assignment = run.assignment,
                         .executor = ExecutorId(run.spec.id.str())};
  task.spec.ask = run.spec.ask;
  task.spec.labels = run.spec.labels;
  record(std::move(task), step);
  CHECK(make_update({run.framework, run.spec.id}, status, step));
}

void Agent::State::assign(const TaskKey& task, const ExecutorKey& key, Step& step) {
  const auto at = executors_.find(key);
  if (at == executors_.end()) return start_executor(key, {task.second}, step);
  LiveExecutor& executor = at->second;
  if (executor.leaving) {
    executor.waiting.push_back(task.second);
    if (executor.spare) end_spare(key, step);
    return;
  }
  executor.tasks.insert(task.second);
  limit(key, executor, step);
  if (executor.peer) deliver(key, executor, task.second, step);
}

ResourceVector Agent::State::used_by(const ExecutorKey& key, const LiveExecutor& executor) const {
  ResourceVector sum;
  for (const TaskId& task : executor.tasks) {
    sum += ledger_.find({key.first, task})->record.assignment.resources.amounts;
  }
  return sum;
}

std::vector<GpuDevice> Agent::State::devices_of(const ExecutorKey& key,
                                                const LiveExecutor& executor) const {
  Resources sum;
  for (const TaskId& task : executor.tasks) {
    const Resources& one = ledger_.find({key.first, task})->record.assignment.resources;
    sum += Resources{.gpus = one.gpus};
  }
  return std::move(sum.gpus);
}

void Agent::State::limit(const ExecutorKey& key, const LiveExecutor& executor, Step& step) {
  step.out.actions.push_back(LimitExecutor{.framework = key.first,
                                           .executor = key.second,
                                           .run = executor.run,
                                           .resources = used_by(key, executor),
                                           .gpus = devices_of(key, executor)});
}

// Starts a run for the first of `tasks`, which determines program, user, environment and token; the
// others share it.
void Agent::State::start_executor(const ExecutorKey& key, std::vector<TaskId> tasks, Step& step) {
  CHECK(!tasks.empty());
  const proto::TaskRecord& first = ledger_.find({key.first, tasks.front()})->record;
  const proto::TaskSpec& spec = first.spec;
  LiveExecutor executor;
  executor.run = ledger_.last_run() + 1;
  executor.token = live_.at({key.first, tasks.front()}).token;
  executor.program = spec.executor;
  executor.user = first.assignment.user;
  executor.own = spec.executor_id.empty();
  executor.tasks.insert(tasks.begin(), tasks.end());
  executor.fetch = spec.fetch;
  for (const TaskId& task : executor.tasks) {
    if (!executor.fetch->empty()) break;
    executor.fetch = ledger_.find({key.first, task})->record.spec.fetch;
  }
  executor.fetching = !executor.fetch->empty();
  proto::ExecutorRecord before;
  std::optional<SpareExecutor> spare;
  // The process of a task with secrets or a /tmp of its own runs no other task before or after it.
  const bool is_for_one_task = !spec.secrets.empty() || proto::wants_private_tmp(spec.environment);
  const std::optional<ExecutorKey> found =
      is_for_one_task ? std::nullopt : spare_for(key.first, executor);
  if (found) {
    before = take_over(*found, key, executor, step);
    spare = SpareExecutor{before.executor, before.run};
  } else if (executors_.size() >= options_.executors_max && !spares_.empty()) {
    end_spare(ExecutorKey(spares_.front()), step);
  }
  record(proto::ExecutorRecord{.framework = key.first,
                               .executor = key.second,
                               .token = executor.token,
                               .run = executor.run,
                               .pid = before.pid,
                               .start_ticks = before.start_ticks,
                               .boot_id = options_.boot_id,
                               .program = executor.program,
                               .own = executor.own,
                               .user = executor.user,
                               .fetching = executor.fetching},
         step);
  for (const TaskId& task : executor.tasks) {
    proto::TaskRecord waited = ledger_.find({key.first, task})->record;
    if (std::exchange(waited.run, executor.run) != executor.run) record(std::move(waited), step);
  }
  if (executor.fetching) {
    fetch_files(key, executor, step);
  } else {
    start_process(key, executor, std::move(spare), std::nullopt, step);
  }
  executors_.insert_or_assign(key, std::move(executor));
}

void Agent::State::start_process(const ExecutorKey& key, LiveExecutor& executor,
                                 std::optional<SpareExecutor> spare,
                                 std::optional<SpareExecutor> in_place_of, Step& step) {
  // The task with the token, or, if that was killed meanwhile, any task.
  auto first = std::find_if(executor.tasks.begin(), executor.tasks.end(), [&](const TaskId& task) {
    return live_.at({key.first, task}).token == executor.token;
  });
  if (first == executor.tasks.end()) first = executor.tasks.begin();
  const proto::TaskSpec& spec = ledger_.find({key.first, *first})->record.spec;
  // A command's environment is set by its executor.
  step.out.actions.push_back(StartExecutor{
      .framework = key.first,
      .executor = key.second,
      .run = executor.run,
      .program = executor.program,
      .user = executor.user,
      .token = executor.token,
      .environment =
          executor.program == proto::kCommandExecutor ? proto::Environment() : spec.environment,
      .resources = used_by(key, executor),
      .gpus = devices_of(key, executor),
      .has_secret_files =
          std::any_of(spec.secrets.begin(), spec.secrets.end(),
                      [](const proto::SecretUse& use) { return !use.file.empty(); }),
      .has_private_tmp = proto::wants_private_tmp(spec.environment),
      .spare = std::move(spare),
      .in_place_of = std::move(in_place_of)});
  step.trace(ExecutorStarts{key.first, key.second, executor.run});
  await_hello(key, executor, step);
}

}  // namespace proffer::agent
