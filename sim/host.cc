// The story of a machine. ExecutorProcess is one executor: start_task and task_ends are its life;
// Host starts and ends them and tells the agent, if the agent that started them is still there.

#include "sim/host.h"

#include <algorithm>

#include "common/check.h"
#include "common/text.h"

namespace proffer::sim {
namespace {

constexpr int32_t kCannotBegin = 126;  // as slave/core/quarantine.h
constexpr Duration kExecMin = milliseconds(1);
constexpr Duration kExecMax = milliseconds(80);
// A shared executor leaves when it had nothing to do for so long.
constexpr Duration kIdle = seconds(10);
// How long an executor waits for its agent: as in life, it has given up before a master may say
// that its tasks are gone (simulation.cc shortens that as well).
constexpr Duration kWaitsForAgent = seconds(100);

}  // namespace

// --- one executor ------------------------------------------------------------------------------

ExecutorProcess::ExecutorProcess(World& world, Network& network, Host& host, ProcessStart start,
                                 int32_t pid)
    : Node(world, text(host.name().str(), ".", start.executor.str(), ".", start.run)),
      network_(network),
      host_(host),
      start_(std::move(start)),
      pid_(pid),
      party_(network.add_party(host.site())) {}

void ExecutorProcess::begin() {
  if (driver_ != nullptr || leaving_) return;  // Killed before it began.
  begin_life();
  driver_ = std::make_unique<sdk::ExecutorDriver>(
      sdk::ExecutorDriverOptions{.framework = start_.framework,
                                 .executor = start_.executor,
                                 .token = start_.token,
                                 .wait_for_agent = kWaitsForAgent});
  line_ = network_.call(party_, host_.executors(), this);
  note({.what = "executor begins", .fields = {{"pid", std::to_string(pid_)}}});
  stepped();
}

void ExecutorProcess::kill() {
  leaving_ = true;
  for (const TaskKey& task : ran_) host_.journal_.unwitnessed(task);
  while (!running_.empty()) {
    const TaskId task = running_.begin()->first;
    running_.erase(running_.begin());
    host_.journal_.ended({start_.framework, task}, Ending::kTakenDown, 0, 9);
  }
  if (!is_up()) return;
  note({.what = "executor killed", .fields = {{"pid", std::to_string(pid_)}}});
  network_.hang_up(line_);
  end_life();
  network_.thaw(party_);
  driver_.reset();
}

void ExecutorProcess::on_line_disconnected(const std::string&) { step(sdk::AgentDisconnected{}); }

void ExecutorProcess::step(const sdk::ExecutorDriverEvent& event) {
  sdk::ExecutorDriverOutbox out;
  driver_->handle(event, now(), out);
  const bool crashes = crashes_now();
  const size_t done = crashes ? host_.chance_.below(out.actions.size() + 1) : out.actions.size();
  for (size_t i = 0; i < done; ++i) {
    carry_out(out.actions[i]);
    if (!is_up()) return;
  }
  if (crashes) return host_.crash_executor(*this);
  stepped();
}

void ExecutorProcess::carry_out(const sdk::ExecutorDriverAction& action) {
  if (const auto* send = std::get_if<sdk::SendToAgent>(&action)) {
    network_.send(line_, send->envelope);
  } else if (std::holds_alternative<sdk::ResetAgent>(action)) {
    network_.reset(line_);
  } else if (const auto* task = std::get_if<sdk::StartTask>(&action)) {
    start_task(task->run);
  } else if (const auto* ending = std::get_if<sdk::EndTask>(&action)) {
    end_task(ending->task, ending->grace.value_or(kKillGrace));
  } else if (const auto* all = std::get_if<sdk::EndAll>(&action)) {
    abandoned_ = abandoned_ || all->agent_away;
    end_all();
  } else if (std::holds_alternative<sdk::Finished>(action)) {
    exit();
  }
}

void ExecutorProcess::start_task(const proto::RunTask& run) {
  const TaskKey key(start_.framework, run.spec.id);
  for (const Violation& violation :
       host_.journal_.started(key, host_.name(), run.assignment.resources, now())) {
    world().violated(name(), violation);
  }
  if (!world().violations().empty()) return;
  note({.what = "task starts", .fields = {{"task", run.spec.id.str()}}});
  const TaskScript script = host_.scripts_ ? host_.scripts_(run, host_.name(), host_.chance_)
                                           : TaskScript{.task = parse_sim_task(run.spec.command)};
  ran_.push_back(key);
  Running& running = running_[run.spec.id];
  running = Running{script.task, script.data, !run.spec.executor_id.empty()};
  // Its agent must end it with its executor, which is its own.
  running.deaf = script.task.stubborn && !running.shared && host_.chance_.chance(1, 4);
  ++idle_serial_;
  later(microseconds(host_.chance_.between(10, 3'000)),
        [this, task = run.spec.id, data = script.first_data] {
          if (running_.count(task) == 0) return;
          step(sdk::TellUpdate{
              {.task = task, .state = proto::TaskState::kRunning, .data = data, .at = now()}});
        });
  for (const auto& [after, healthy] : script.health) {
    if (!run.spec.health) break;
    later(microseconds(3'000) + after, [this, task = run.spec.id, is_healthy = healthy] {
      const auto at = running_.find(task);
      if (at == running_.end() || at->second.killing) return;
      step(sdk::TellUpdate{
          {.task = task, .state = proto::TaskState::kRunning, .healthy = is_healthy, .at = now()}});
    });
  }
  later(microseconds(3'000) + script.task.runs, [this, task = run.spec.id, how = script.task] {
    task_ends(task, how.signal != 0 ? Ending::kSignalled : Ending::kExited);
  });
}

void ExecutorProcess::end_task(const TaskId& task, Duration grace) {
  const auto at = running_.find(task);
  if (at == running_.end() || at->second.killing) return;
  if (at->second.deaf && !leaving_) return;
  at->second.killing = true;
  const Duration takes =
      at->second.task.stubborn
          ? grace
          : nanoseconds(host_.chance_.between(0, std::min(grace, milliseconds(50)).nanos()));
  later(takes, [this, task] { task_ends(task, Ending::kKilled); });
}

void ExecutorProcess::end_all() {
  leaving_ = true;
  for (const auto& [task, running] : std::map<TaskId, Running>(running_)) {
    end_task(task, kKillGrace);
  }
  later(milliseconds(1), [this] { leave_if_idle(); });
}

void ExecutorProcess::task_ends(const TaskId& task, Ending ending) {
  const auto at = running_.find(task);
  if (at == running_.end()) return;
  const Running was = at->second;
  running_.erase(at);
  host_.journal_.ended({start_.framework, task}, ending, was.task.exit_code, was.task.signal);
  note({.what = "task ends", .fields = {{"task", task.str()}}});

  proto::TaskStatus status{.task = task, .data = was.data, .at = now()};
  if (ending == Ending::kKilled) {
    status.state = proto::TaskState::kKilled;
    status.reason = proto::TaskReason::kKilledByScheduler;
    status.data.clear();
  } else if (ending == Ending::kSignalled) {
    status.state = proto::TaskState::kFailed;
    status.reason = proto::TaskReason::kCommandSignalled;
    status.signal = was.task.signal;
  } else {
    status.state =
        was.task.exit_code == 0 ? proto::TaskState::kFinished : proto::TaskState::kFailed;
    status.reason = proto::TaskReason::kCommandExited;
    status.exit_code = was.task.exit_code;
  }
  step(sdk::TellUpdate{std::move(status)});
  if (!is_up()) return;
  if (!was.shared || leaving_) {
    leave_if_idle();
  } else if (running_.empty()) {
    later(kIdle, [this, serial = ++idle_serial_] {
      if (serial == idle_serial_) leave_if_idle();
    });
  }
}

void ExecutorProcess::leave_if_idle() {
  if (!running_.empty()) return;
  leaving_ = true;
  step(sdk::FinishWhenAcknowledged{});
}

void ExecutorProcess::exit() {
  while (!running_.empty()) {  // A task that came too late.
    const TaskKey key(start_.framework, running_.begin()->first);
    running_.erase(running_.begin());
    host_.journal_.ended(key, Ending::kTakenDown, 0, 9);
    host_.journal_.unwitnessed(key);
  }
  if (abandoned_) {  // What it still had to tell, nobody will hear.
    for (const TaskKey& task : ran_) host_.journal_.unwitnessed(task);
  }
  note({.what = "executor exits", .fields = {{"pid", std::to_string(pid_)}}});
  network_.hang_up(line_);
  end_life();
  host_.exited(*this, 0, std::nullopt);
  // The driver is in the middle of its step: it stays until the world ends.
}

// --- the machine -------------------------------------------------------------------------------

Host::Host(World& world, Network& network, Journal& journal, AgentId name, Resources total)
    : world_(world),
      network_(network),
      journal_(journal),
      name_(std::move(name)),
      total_(std::move(total)),
      site_(network.add_site()),
      agent_party_(network.add_party(site_)),
      executors_(network.add_place(agent_party_)),
      chance_(world.chance(text("host ", name_.str()))) {
  journal_.machine(name_, total_);
}

std::string Host::boot_id() const { return text(name_.str(), "-boot-", boots_); }

void Host::forget_parent() {
  parent_ = Parent();
  ++parent_life_;
}

void Host::start(const ProcessStart& start) {
  const uint64_t life = parent_life_;
  const Duration soon = microseconds(chance_.between(50, 2'000));
  if (starts_fail_ && chance_.chance(1, 2)) return start_in_vain(start);
  if (starts_fail_ || (start_failures_ > 0 && chance_.chance(start_failures_, 1'000))) {
    world_.after(soon, [this, life, start] {
      if (life == parent_life_) {
        parent_.start_failed(start, Error::resource_exhausted("no more processes"));
      }
    });
    return;
  }
  newest_run_ = std::max(newest_run_, start.run);
  const int32_t pid = ++pids_;
  all_.push_back(std::make_unique<ExecutorProcess>(world_, network_, *this, start, pid));
  ExecutorProcess* process = all_.back().get();
  processes_[pid] = Child{.process = process, .parent_life = life};
  world_.after(soon, [this, life, start, pid] {
    if (life == parent_life_) parent_.started(start, pid, static_cast<uint64_t>(pid) * 7);
  });
  world_.after(nanoseconds(chance_.between(kExecMin.nanos(), kExecMax.nanos())),
               [process] { process->begin(); });
}

// Its process cannot enter its groups or become its user.
void Host::start_in_vain(const ProcessStart& start) {
  newest_run_ = std::max(newest_run_, start.run);
  const int32_t pid = ++pids_;
  world_.after(microseconds(chance_.between(50, 2'000)), [this, life = parent_life_, start, pid] {
    if (life == parent_life_) parent_.started(start, pid, static_cast<uint64_t>(pid) * 7);
  });
  world_.after(microseconds(chance_.between(2'500, 10'000)), [this, life = parent_life_, start] {
    if (life == parent_life_) parent_.exited(start, kCannotBegin, std::nullopt);
  });
}

void Host::exited(ExecutorProcess& process, std::optional<int32_t> exit_code,
                  std::optional<int32_t> signal) {
  const auto at = processes_.find(process.pid());
  if (at == processes_.end()) return;
  const uint64_t life = at->second.parent_life;
  if (at->second.adopted) {
    exit_code.reset();
    signal.reset();
  }
  processes_.erase(at);
  if (life != parent_life_) return;
  // After `started`: the agent waits for its children on one loop.
  world_.after(microseconds(chance_.between(2'500, 10'000)),
               [this, life, start = process.started_as(), exit_code, signal] {
                 if (life == parent_life_) parent_.exited(start, exit_code, signal);
               });
}

// Found by its token, as the real machine finds a process by its environment, whether or not its
// pid was written down in time.
void Host::adopt(const proto::ExecutorRecord& executor) {
  const Duration soon = microseconds(chance_.between(50, 2'000));
  for (auto& [pid, child] : processes_) {
    const ProcessStart& start = child.process->started_as();
    if (start.framework != executor.framework || start.token != executor.token) continue;
    child.parent_life = parent_life_;
    child.adopted = true;
    world_.after(soon, [this, life = parent_life_, start, pid = pid] {
      if (life == parent_life_) parent_.started(start, pid, static_cast<uint64_t>(pid) * 7);
    });
    return;
  }
  world_.after(soon, [this, life = parent_life_, executor] {
    if (life != parent_life_) return;
    parent_.exited(
        {executor.framework, executor.executor, executor.run, executor.program, executor.token},
        std::nullopt, std::nullopt);
  });
}

void Host::end_process(ExecutorProcess& process, int32_t signal) {
  process.kill();
  exited(process, std::nullopt, signal);
}

void Host::kill(const FrameworkId& framework, const ExecutorId& executor, uint64_t run) {
  for (const auto& [pid, child] : processes_) {
    const ProcessStart& start = child.process->started_as();
    if (start.framework != framework || start.executor != executor || start.run != run) continue;
    return end_process(*child.process, 9);
  }
}

void Host::end_leftover(const proto::ExecutorRecord& executor) {
  if (executor.boot_id == boot_id() || executor.boot_id.empty()) {
    for (const auto& [pid, child] : processes_) {
      const ProcessStart& start = child.process->started_as();
      const bool is_its = start.token == executor.token ||
                          (start.executor == executor.executor && start.run == executor.run);
      if (start.framework != executor.framework || !is_its) continue;
      end_process(*child.process, 9);
      break;
    }
  }
  world_.after(microseconds(chance_.between(100, 20'000)), [this, life = parent_life_, executor] {
    if (life == parent_life_) parent_.leftover_ended(executor);
  });
}

std::vector<ExecutorProcess*> Host::executors_running() {
  std::vector<ExecutorProcess*> running;
  for (const auto& [pid, child] : processes_) running.push_back(child.process);
  return running;
}

ExecutorProcess* Host::some_executor(Prng& chance) {
  const std::vector<ExecutorProcess*> running = executors_running();
  return running.empty() ? nullptr : running[chance.below(running.size())];
}

void Host::power_off(Prng& chance) {
  powered_ = false;
  network_.set_power(site_, false);
  for (const auto& [pid, child] : processes_) child.process->kill();
  processes_.clear();
  disk_.lose_power(chance);
  journal_.memory_lost(name_);
}

void Host::power_on() {
  if (std::exchange(powered_, true)) return;
  ++boots_;
  network_.set_power(site_, true);
}

void Host::forgotten_but(const std::vector<proto::CheckpointRecord>& records) {
  journal_.memory_lost(name_);
  // As the agent reads them: what is said to be gone is not named any more.
  std::map<std::pair<FrameworkId, ExecutorId>, Secret> named;
  for (const proto::CheckpointRecord& record : records) {
    if (const auto* executor = std::get_if<proto::ExecutorRecord>(&record)) {
      named[{executor->framework, executor->executor}] = executor->token;
    } else if (const auto* gone = std::get_if<proto::ExecutorGone>(&record)) {
      named.erase({gone->framework, gone->executor});
    }
  }
  for (const auto& [pid, child] : processes_) {
    const ProcessStart& start = child.process->started_as();
    const auto at = named.find({start.framework, start.executor});
    if (at != named.end() && at->second == start.token) continue;
    for (const TaskKey& task : child.process->ran()) journal_.forgotten(task);
  }
}

}  // namespace proffer::sim
