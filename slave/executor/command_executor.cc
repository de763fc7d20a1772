// The life of a command. start_task starts it. Meanwhile `look` runs its health check, if there is
// one, and look_whether_ready detects its readiness. `reap` gets its end, and `settle` waits for
// what the command left behind, kills the rest, and reports the end. A command has ended only when
// all its processes have, so that its output is complete and its resources are free. A task with a
// group (task_group.h) runs its init steps first: go_on starts the next one, or the sidecars and
// the command.

#include "slave/executor/command_executor.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/printable.h"
#include "common/text.h"
#include "net/fd.h"
#include "net/left_processes.h"
#include "net/local_client.h"
#include "net/warn_group.h"
#include "proto/codec/codec.h"
#include "proto/limit_warning.h"
#include "proto/private_tmp.h"
#include "proto/task_group.h"
#include "slave/executor/fork_server.h"
#include "slave/executor/health_probe.h"
#include "slave/executor/last_words.h"
#include "slave/executor/listeners.h"
#include "slave/executor/readiness.h"
#include "slave/executor/secret_files.h"
#include "slave/executor/task_input.h"

namespace proffer::executor {
namespace {

// The maximum wait for a process that SIGKILL does not end, because it is in an uninterruptible
// wait.
constexpr Duration kSettleMax = seconds(2);
// How often the processes are looked at that a command left behind and that may still write.
constexpr Duration kLookAtWritersEvery = milliseconds(20);
// How long an executor without a task waits for an agent that is not connected.
constexpr Duration kIdleWithoutAgent = seconds(30);
// If a command ends within this time, running and the end are reported together. So each of the
// four processes on the way to its scheduler wakes up once, not twice.
constexpr Duration kRunningIsToldAfter = milliseconds(2);

// For a failed task, in the data of its last update.
constexpr size_t kLastWordsBytesMax = 1'024;

std::string words_of_signal(int signal) {
  const char* name = sigabbrev_np(signal);
  return text("signal ", signal, " (SIG", name == nullptr ? "?" : name, ")");
}

std::string name_of_process(pid_t pid) {
  const Fd file(open(text("/proc/", pid, "/comm").c_str(), O_RDONLY | O_CLOEXEC));
  char name[32];
  const ssize_t got = file.get() < 0 ? 0 : read(file.get(), name, sizeof name);
  return std::string(name, static_cast<size_t>(std::max<ssize_t>(got - 1, 0)));
}

// " ended with exit code 1"
std::string words_of_end(int wait_status) {
  return WIFSIGNALED(wait_status) ? text(" was ended by ", words_of_signal(WTERMSIG(wait_status)))
                                  : text(" ended with exit code ", WEXITSTATUS(wait_status));
}

}  // namespace

struct CommandExecutor::Impl {
  // For a task with a health check, until its end is requested.
  struct Watch {
    Health health;
    HealthProbe probe;
    Timer timer;
  };
  // For a task with readiness, until its end is requested.
  struct Wait {
    ReadinessWatch watch;
    Timer timer;
  };
  // For a task with other commands around its own.
  struct Group {
    proto::TaskGroup commands;
    proto::RunTask run;
    size_t steps_begun = 0;
    bool has_command = false;  // it was started; until then the process is an init step
    std::map<pid_t, std::string> sidecars = {};  // running ones, with their names
    std::string failure = {};                    // why the task has failed, unless its command did
    int failed_status = 0;                       // of the process in `failure`
  };
  struct Running {
    pid_t pid = 0;                     // also its process group; for a group: the running process
    std::string data = {};             // of its updates while it runs
    std::optional<bool> healthy = {};  // each update contains both values
    std::optional<bool> ready = {};
    bool is_told = false;  // running was reported
    std::unique_ptr<Watch> watch = {};
    std::unique_ptr<Wait> wait = {};
    bool own = false;  // this executor runs only this task
    bool has_secrets = false;
    bool has_private_tmp = false;
    Duration kill_grace = {};
    int kill_signal = SIGTERM;
    bool kill_asked = false;
    std::optional<int> executor_signal = {};  // received by this executor while the command ran
    std::optional<int> wait_status = {};      // when the command itself has ended
    bool step_ended = false;                  // its init step has ended well
    Time ended_at = {};
    std::unique_ptr<Timer> force = {};  // sends SIGKILL after the grace period
    std::optional<Time> force_at = {};
    // The process groups, and single processes outside of them, that got its polite signal.
    std::set<pid_t> signalled = {};
    std::optional<Time> killed_at = {};  // when the first process that it left behind was killed
    std::string left_note = {};          // about a process whose output may be cut
    std::unique_ptr<Group> group = {};
    std::unique_ptr<Timer> warning = {};  // before the limit (proto/limit_warning.h)
    int warning_signal = 0;
    std::unique_ptr<TaskInput> input = {};  // if its scheduler sends it

    bool is_over() const { return wait_status && (group == nullptr || group->sidecars.empty()); }
    // Only processes that it left behind may remain.
    bool is_left() const { return is_over() || step_ended; }
    // Whether its end was not requested.
    bool is_wanted() const { return !wait_status && !kill_asked && !executor_signal; }
    // Until when the processes that it left behind may go on.
    Time left_until() const {
      if (force_at) return *force_at;
      return kill_asked || executor_signal ? ended_at : ended_at + kLeftOutputMax;
    }
    std::string name_of_step() const {
      return text("init step ", group->commands.init[group->steps_begun - 1].name);
    }
    void signal_group(pid_t leader, int signal) {
      signalled.insert(leader);
      kill(-leader, signal);
    }
    void signal_sidecars(int signal) {
      if (group == nullptr) return;
      for (const auto& [sidecar, name] : group->sidecars) signal_group(sidecar, signal);
    }
  };

  Loop& loop;
  CommandExecutorOptions options;
  sdk::ExecutorDriver driver;
  proto::Encoder encoder;
  std::map<TaskId, Running> running;
  bool ending = false;
  bool is_spare = false;                // its task has ended, and the agent may assign another
  std::optional<int> signal_sent = {};  // to this executor, which then ends
  Timer driver_timer;
  Timer settle_timer;
  Timer idle_timer;
  Timer running_timer;
  std::unique_ptr<LocalClient> agent;

  Impl(Loop& l, CommandExecutorOptions o)
      : loop(l),
        options(std::move(o)),
        driver(options.driver),
        driver_timer(l, [this] { step(sdk::ExecutorTick{}); }),
        settle_timer(l, [this] { settle(); }),
        idle_timer(l, [this] { leave_if_spare(); }),
        running_timer(l, [this] { tell_those_that_run(); }) {}

  void start();
  void step(const sdk::ExecutorDriverEvent& event);
  void on(const sdk::SendToAgent& send);
  void on(const sdk::ResetAgent&) { agent->reset("asked by the driver"); }
  void on(const sdk::StartTask& start) { start_task(start.run); }
  void on(const sdk::EndTask& end);
  void on(const sdk::HearMessage& heard);
  void on(const sdk::EndAll&);
  void on(const sdk::Finished&) { loop.stop(); }

  void start_task(const proto::RunTask& run);
  Result<void> enter_sandbox(const proto::RunTask& run);
  Result<void> plan_warning(const proto::RunTask& run, Running& command);
  void warn(const TaskId& id);
  void refuse_task(const proto::RunTask& run, const Error& error);
  void go_on(const TaskId& id);
  Result<pid_t> begin_next(Running& command);
  void look_after(const proto::RunTask& run);
  void on_step_ended(const TaskId& id, int status);
  void end_step(const TaskId& id);
  void on_sidecar_ended(const TaskId& id, pid_t pid, int status);
  void tell_not_ready(const TaskId& id);
  void end_by_force(const TaskId& id, Time due);
  void end_task(const TaskId& id, Duration grace);
  void on_signal(int signal);
  void end_everything();
  void watch(const proto::RunTask& run);
  void look(const TaskId& id);
  void on_looked(const TaskId& id, const Looked& looked);
  void wait_for(const proto::RunTask& run, const ReadinessWatch& watch);
  void look_whether_ready(const TaskId& id);
  void tell_running(const TaskId& id, const std::string& message);
  void tell_those_that_run();
  Watch* watch_of_command(pid_t pid);
  void reap();
  void settle();
  std::optional<Time> end_rest(Running& command, const std::vector<pid_t>& rest);
  std::vector<pid_t> left_by(const Running& command, const std::vector<pid_t>& children,
                             bool some_run) const;
  void tell_end(const TaskId& id, const Running& command, bool left);
  void finish_if_idle();
  void leave_if_spare();
};

void CommandExecutor::Impl::start() {
  // Orphans of a command become children of this process, so that they can be found and killed.
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  loop.on_signal(SIGCHLD, [this] { reap(); });
  for (const int signal : {SIGTERM, SIGINT}) {
    loop.on_signal(signal, [this, signal] { on_signal(signal); });
  }
  agent = std::make_unique<LocalClient>(
      loop,
      LocalClient::Options{.path = options.agent_socket, .seed = static_cast<uint64_t>(getpid())},
      LocalClient::Handlers{.on_connected =
                                [this] {
                                  idle_timer.arm(std::nullopt);
                                  step(sdk::AgentConnected{});
                                },
                            .on_frame =
                                [this](std::span<const std::byte> frame) {
                                  Result<proto::Envelope> envelope = proto::decode(frame);
                                  if (!envelope) return agent->reset(envelope.error().message());
                                  step(sdk::AgentFrame{*std::move(envelope)});
                                },
                            .on_disconnected =
                                [this](const std::string&) {
                                  idle_timer.arm(loop.now() + kIdleWithoutAgent);
                                  step(sdk::AgentDisconnected{});
                                }});
  agent->connect();
  driver_timer.arm(driver.next_deadline());
}

void CommandExecutor::Impl::step(const sdk::ExecutorDriverEvent& event) {
  sdk::ExecutorDriverOutbox out;
  driver.handle(event, loop.now(), out);
  for (const sdk::ExecutorDriverAction& action : out.actions) {
    std::visit([this](const auto& one) { on(one); }, action);
  }
  driver_timer.arm(driver.next_deadline());
}

void CommandExecutor::Impl::on(const sdk::SendToAgent& send) {
  const Result<std::span<const std::byte>> frame = encoder.encode(send.envelope);
  if (frame) {
    agent->send(*frame);
  } else {  // The missing message leaves a gap, which ends the session.
    agent->reset(frame.error().message());
  }
}

// Another sandbox, if this is the next task of the process.
Result<void> CommandExecutor::Impl::enter_sandbox(const proto::RunTask& run) {
  if (run.becomes && run.becomes->sandbox != options.around.sandbox) {
    if (Result<void> moved = become_executor(*run.becomes); !moved) return moved;
    options.around.sandbox = run.becomes->sandbox;
  }
  return give_secrets(run, options.around);
}

void CommandExecutor::Impl::refuse_task(const proto::RunTask& run, const Error& error) {
  step(sdk::TellUpdate{{.task = run.spec.id,
                        .state = proto::TaskState::kFailed,
                        .reason = proto::TaskReason::kLaunchFailed,
                        .message = error.message()}});
  if (!run.spec.secrets.empty()) remove_secret_files(options.around);
  ending |= run.spec.executor_id.empty();
  finish_if_idle();
}

void CommandExecutor::Impl::start_task(const proto::RunTask& run) {
  Result<std::optional<proto::TaskGroup>> group = proto::decode_task_group(run.spec.data);
  if (!group) return refuse_task(run, group.error());
  if (Result<void> entered = enter_sandbox(run); !entered) return refuse_task(run, entered.error());
  Running command;
  command.own = run.spec.executor_id.empty();
  command.has_secrets = !run.spec.secrets.empty();
  command.has_private_tmp = proto::wants_private_tmp(run.spec.environment);
  command.kill_grace = run.spec.kill_grace;
  command.kill_signal = run.spec.kill_signal;
  command.data = told_ports(run.assignment.ports);
  if (Result<void> ok = plan_warning(run, command); !ok) return refuse_task(run, ok.error());
  if (Result<void> ok = TaskInput::check(run, command.own && !*group); !ok) {
    return refuse_task(run, ok.error());
  }
  if (*group) {
    command.group.reset(new Group{.commands = **std::move(group), .run = run});
    running[run.spec.id] = std::move(command);
    return go_on(run.spec.id);
  }
  Result<std::unique_ptr<TaskInput>> input =
      TaskInput::make(loop, run, STDOUT_FILENO,
                      [this](std::string message) { step(sdk::TellMessage{std::move(message)}); });
  if (!input) return refuse_task(run, input.error());
  command.input = *std::move(input);
  const Result<pid_t> pid = command.input == nullptr ? start_command(run, options.around)
                                                     : command.input->start(run, options.around);
  if (!pid) return refuse_task(run, pid.error());
  command.pid = *pid;
  running[run.spec.id] = std::move(command);
  look_after(run);
}

// The agent ends the task at its limit, which counts from about now.
Result<void> CommandExecutor::Impl::plan_warning(const proto::RunTask& run, Running& command) {
  const auto warning = proto::warning_in(run.spec.environment);
  if (!warning) return warning.error();
  const Duration limit = run.spec.max_run_time;
  if (!*warning || limit <= (*warning)->before) return {};
  command.warning = std::make_unique<Timer>(loop, [this, id = run.spec.id] { warn(id); });
  command.warning->arm(loop.now() + (limit - (*warning)->before));
  command.warning_signal = (*warning)->signal;
  return {};
}

void CommandExecutor::Impl::warn(const TaskId& id) {
  const Running& command = running.at(id);
  // Between two steps no process of it runs.
  if (command.is_wanted() && !command.step_ended) warn_group(command.pid, command.warning_signal);
}

// Parts of inputs, and views of terminals; other messages are not for commands.
void CommandExecutor::Impl::on(const sdk::HearMessage& heard) {
  const auto pass_on = [this](const auto& message) {
    const auto at = running.find(message.task);
    if (at != running.end() && at->second.input != nullptr) at->second.input->take(message);
  };
  if (const auto view = proto::decode_terminal_view(heard.data)) return pass_on(*view);
  if (const auto part = proto::decode_stdin_part(heard.data)) pass_on(*part);
}

// Called from the start of the command on.
void CommandExecutor::Impl::look_after(const proto::RunTask& run) {
  Running& command = running.at(run.spec.id);
  std::optional<ReadinessWatch> readiness;
  if (run.spec.readiness) {
    readiness.emplace(*run.spec.readiness, run.assignment.ports, loop.now());
    command.ready = readiness->is_ready();
  } else if (command.ready) {
    command.ready = true;  // It was false while its init steps ran.
  }
  // A task with checks is reported as running at once, since a check may finish sooner.
  if (run.spec.health || command.ready) {
    tell_running(run.spec.id, {});
  } else if (!running_timer.is_armed()) {
    running_timer.arm(loop.now() + kRunningIsToldAfter);
  }
  if (ending) {
    command.executor_signal = signal_sent;
    command.kill_asked = !signal_sent;
    return end_task(run.spec.id, run.spec.kill_grace);
  }
  if (run.spec.health) watch(run);
  if (readiness && !readiness->is_ready()) wait_for(run, *readiness);
}

// --- the commands around it ----------------------------------------------------------------------

// Starts the next init step, or the command with its sidecars.
void CommandExecutor::Impl::go_on(const TaskId& id) {
  Running& command = running.at(id);
  const Result<pid_t> pid = begin_next(command);
  if (!pid) {
    command.group->failure = pid.error().message();
    command.group->failed_status = W_EXITCODE(127, 0);
    command.wait_status = command.group->failed_status;
    command.ended_at = loop.now();
    command.signal_sidecars(SIGKILL);
    return settle();
  }
  command.pid = *pid;
  // The group may be gone when an end is reported.
  const proto::RunTask run = command.group->run;
  if (command.group->has_command) return look_after(run);
  command.ready = false;
  tell_running(id, text("runs ", command.name_of_step()));
  if (!ending) return;
  command.executor_signal = signal_sent;
  command.kill_asked = !signal_sent;
  end_task(id, run.spec.kill_grace);
}

Result<pid_t> CommandExecutor::Impl::begin_next(Running& command) {
  Group& group = *command.group;
  if (group.steps_begun < group.commands.init.size()) {
    return start_command(group.run, options.around,
                         group.commands.init[group.steps_begun++].command);
  }
  for (const proto::GroupCommand& sidecar : group.commands.sidecars) {
    Result<pid_t> pid = start_command(group.run, options.around, sidecar.command);
    if (!pid) return std::move(pid).error().in(text("sidecar ", sidecar.name));
    group.sidecars[*pid] = sidecar.name;
  }
  group.has_command = true;
  return start_command(group.run, options.around, group.run.spec.command);
}

void CommandExecutor::Impl::on_step_ended(const TaskId& id, int status) {
  Running& command = running.at(id);
  command.ended_at = loop.now();
  if (status == 0 && command.is_wanted()) {
    command.step_ended = true;
    return;
  }
  command.group->failure = text(command.name_of_step(), words_of_end(status));
  command.group->failed_status = status;
  command.wait_status = status;
}

// What the init step left behind has ended, too.
void CommandExecutor::Impl::end_step(const TaskId& id) {
  Running& command = running.at(id);
  command.step_ended = false;
  command.killed_at.reset();
  if (command.is_wanted()) return go_on(id);
  command.wait_status = 0;
  settle_timer.arm(loop.now());
}

// While the command runs, this ends the task.
void CommandExecutor::Impl::on_sidecar_ended(const TaskId& id, pid_t pid, int status) {
  Running& command = running.at(id);
  const auto sidecar = command.group->sidecars.extract(pid);
  command.ended_at = loop.now();
  if (!command.is_wanted() || !command.group->failure.empty()) return;
  command.group->failure = text("sidecar ", sidecar.mapped(), words_of_end(status));
  command.group->failed_status = status;
  tell_not_ready(id);
  end_task(id, command.kill_grace);
}

// The remaining processes may take the whole grace period to end, and should get no requests.
void CommandExecutor::Impl::tell_not_ready(const TaskId& id) {
  Running& command = running.at(id);
  if (!command.ready.value_or(false)) return;
  command.ready = false;
  tell_running(id, "a part of the group has ended");
}

// Each update contains the complete health and readiness, since a later update may be the only one
// that arrives.
void CommandExecutor::Impl::tell_running(const TaskId& id, const std::string& message) {
  Running& command = running.at(id);
  command.is_told = true;
  step(sdk::TellUpdate{{.task = id,
                        .state = proto::TaskState::kRunning,
                        .message = message,
                        .data = command.data,
                        .healthy = command.healthy,
                        .ready = command.ready}});
}

void CommandExecutor::Impl::tell_those_that_run() {
  for (const auto& [id, command] : running) {
    if (!command.is_told) tell_running(id, {});
  }
}

// --- its health --------------------------------------------------------------------------------

void CommandExecutor::Impl::watch(const proto::RunTask& run) {
  const TaskId id = run.spec.id;
  HealthProbeOptions probe{.check = *run.spec.health};
  if (probe.check.kind == proto::HealthCheck::Kind::kCommand) {
    probe.environment =
        task_environment(run.framework, run.spec, run.assignment, options.around, run.secrets);
    probe.sandbox = options.around.sandbox;
  } else if (const auto port = run.assignment.ports.find(probe.check.port);
             port != run.assignment.ports.end()) {
    probe.port = port->second;
  }
  Running& command = running.at(id);
  command.watch.reset(
      new Watch{.health = Health(*run.spec.health, loop.now()),
                .probe = HealthProbe(loop, std::move(probe),
                                     [this, id](const Looked& looked) { on_looked(id, looked); }),
                .timer = Timer(loop, [this, id] { look(id); })});
  command.watch->timer.arm(command.watch->health.next_deadline());
}

void CommandExecutor::Impl::look(const TaskId& id) {
  Watch& watch = *running.at(id).watch;
  if (watch.health.on_tick(loop.now())) {
    watch.probe.look();  // on_looked arms the timer
  } else {
    watch.timer.arm(watch.health.next_deadline());
  }
}

void CommandExecutor::Impl::on_looked(const TaskId& id, const Looked& looked) {
  Running& command = running.at(id);
  const std::optional<HealthNews> news = command.watch->health.on_looked(looked, loop.now());
  command.watch->timer.arm(command.watch->health.next_deadline());
  if (!news) return;
  command.healthy = news->healthy;
  tell_running(id, news->message);
}

CommandExecutor::Impl::Watch* CommandExecutor::Impl::watch_of_command(pid_t pid) {
  for (const auto& [id, command] : running) {
    if (command.watch != nullptr && command.watch->probe.command() == pid) {
      return command.watch.get();
    }
  }
  return nullptr;
}

// --- when it is ready --------------------------------------------------------------------------

void CommandExecutor::Impl::wait_for(const proto::RunTask& run, const ReadinessWatch& watch) {
  const TaskId id = run.spec.id;
  Running& command = running.at(id);
  command.wait.reset(
      new Wait{.watch = watch, .timer = Timer(loop, [this, id] { look_whether_ready(id); })});
  command.wait->timer.arm(watch.next_deadline());
}

// The orphans of an executor with a single task belong to that task: the executor is their parent.
// In a shared executor an orphan may belong to another task.
void CommandExecutor::Impl::look_whether_ready(const TaskId& id) {
  Running& command = running.at(id);
  if (command.wait == nullptr) return;
  Wait& wait = *command.wait;
  std::optional<ReadyNews> news;
  if (wait.watch.on_tick(loop.now())) {
    std::vector<PortSeen> seen = wait.watch.ports();
    const TaskProcesses own = command.own ? TaskProcesses{.root = getpid(), .has_root = false}
                                          : TaskProcesses{.root = command.pid};
    if (!seen.empty()) find_listeners(own, seen);
    news = wait.watch.on_looked(seen, loop.now());
  }
  wait.timer.arm(wait.watch.next_deadline());
  if (!news) return;
  command.ready = news->ready;
  tell_running(id, news->message);
}

// --- its end -----------------------------------------------------------------------------------

void CommandExecutor::Impl::on(const sdk::EndTask& end) {
  const auto at = running.find(end.task);
  if (at == running.end()) return;
  at->second.kill_asked |= !at->second.wait_status;
  end_task(end.task, end.grace.value_or(at->second.kill_grace));
}

void CommandExecutor::Impl::end_task(const TaskId& id, Duration grace) {
  Running& command = running.at(id);
  command.watch.reset();
  command.wait.reset();
  const bool is_polite = grace > Duration();
  if (!command.wait_status && !command.step_ended) {
    command.signal_group(command.pid, is_polite ? command.kill_signal : SIGKILL);
  }
  if (is_polite) return end_by_force(id, loop.now() + grace);
  command.kill_grace = {};  // Its sidecars get no grace period either.
  if (command.wait_status) command.signal_sidecars(SIGKILL);
  command.force.reset();
  command.force_at = loop.now();
  settle_timer.arm(loop.now());
}

// The command, then its sidecars, and all that they leave behind share one grace period: the
// shortest that was requested.
void CommandExecutor::Impl::end_by_force(const TaskId& id, Time due) {
  Running& command = running.at(id);
  if (command.is_left()) settle_timer.arm(loop.now());  // They get the polite signal.
  if (command.force_at && *command.force_at <= due) return;
  command.force_at = due;
  command.force = std::make_unique<Timer>(loop, [this, id] {
    const auto at = running.find(id);
    if (at == running.end()) return;
    if (!at->second.wait_status && !at->second.step_ended) kill(-at->second.pid, SIGKILL);
    at->second.signal_sidecars(SIGKILL);
    settle_timer.arm(loop.now());
  });
  command.force->arm(due);
}

void CommandExecutor::Impl::on(const sdk::EndAll&) {
  for (auto& [id, command] : running) command.kill_asked |= !command.wait_status;
  end_everything();
}

// Not sent by the agent, which would send a message: an operator, or the command itself, sent it.
void CommandExecutor::Impl::on_signal(int signal) {
  if (!ending) signal_sent = signal;
  for (auto& [id, command] : running) {
    if (!command.wait_status && !command.executor_signal) command.executor_signal = signal;
  }
  end_everything();
}

void CommandExecutor::Impl::end_everything() {
  ending = true;
  std::vector<std::pair<TaskId, Duration>> all;
  for (const auto& [id, command] : running) all.emplace_back(id, command.kill_grace);
  for (const auto& [id, grace] : all) end_task(id, grace);
  finish_if_idle();
}

void CommandExecutor::Impl::reap() {
  while (true) {
    siginfo_t ended = {};
    if (waitid(P_ALL, 0, &ended, WEXITED | WNOHANG | WNOWAIT) != 0 || ended.si_pid == 0) break;
    const auto at = std::find_if(running.begin(), running.end(), [&](const auto& one) {
      return one.second.pid == ended.si_pid && !one.second.wait_status && !one.second.step_ended;
    });
    Watch* const watched = at == running.end() ? watch_of_command(ended.si_pid) : nullptr;
    const auto around = std::find_if(running.begin(), running.end(), [&](const auto& one) {
      return one.second.group != nullptr && one.second.group->sidecars.contains(ended.si_pid);
    });
    // Signals the rest of a check's group, while the group id cannot be reused.
    if (watched != nullptr) kill(-ended.si_pid, SIGKILL);
    int status = 0;
    waitpid(ended.si_pid, &status, 0);
    if (watched != nullptr) watched->probe.on_command_ended(status);
    if (around != running.end()) on_sidecar_ended(around->first, ended.si_pid, status);
    if (at == running.end()) continue;
    Running& command = at->second;
    if (command.group != nullptr && !command.group->has_command) {
      on_step_ended(at->first, status);
      continue;
    }
    command.watch.reset();
    command.wait.reset();
    command.wait_status = status;
    command.ended_at = loop.now();
    if (command.is_over()) continue;
    tell_not_ready(at->first);
    command.signal_sidecars(command.kill_signal);
    end_by_force(at->first, loop.now() + command.kill_grace);
  }
  settle();
}

// The children of this process that the command left behind. An executor with a single task is the
// parent of all its orphans. In a shared one they are known by their process groups while other
// tasks run.
std::vector<pid_t> CommandExecutor::Impl::left_by(const Running& command,
                                                  const std::vector<pid_t>& children,
                                                  bool some_run) const {
  if (command.own || !some_run) return children;
  std::vector<pid_t> left;
  for (const pid_t child : children) {
    const pid_t group = getpgid(child);
    if (group == command.pid || command.signalled.contains(group)) left.push_back(child);
  }
  return left;
}

// What an ended command left behind: after the polite signal it has the rest of the grace period.
// If the command has ended by itself, it may go on while a part of it still writes. Then it is
// killed. Returns when to look again; none if nothing remains, or only what cannot be killed.
std::optional<Time> CommandExecutor::Impl::end_rest(Running& command,
                                                    const std::vector<pid_t>& rest) {
  if (rest.empty()) return std::nullopt;
  const bool is_asked = command.force_at || command.kill_asked || command.executor_signal;
  const bool in_time = loop.now() < command.left_until();
  if (in_time && is_asked) {
    for (const pid_t pid : rest) {
      if (command.signalled.contains(getpgid(pid))) continue;
      if (command.signalled.insert(pid).second) kill(pid, command.kill_signal);
    }
    return command.left_until();
  }
  if (!is_asked && !command.killed_at) {
    const CommandOutput output(STDOUT_FILENO, STDERR_FILENO);
    const auto writer =
        std::find_if(rest.begin(), rest.end(), [&](pid_t pid) { return output.has_writer(pid); });
    if (in_time && writer != rest.end()) {
      return std::min(command.left_until(), loop.now() + kLookAtWritersEvery);
    }
    if (writer != rest.end()) {
      command.left_note =
          text("process ", *writer, " (", printable(name_of_process(*writer)), ") still ran ",
               to_text(kLeftOutputMax), " after the command had ended, and was killed");
    }
  }
  for (const pid_t pid : rest) kill(pid, SIGKILL);
  if (!command.killed_at) command.killed_at = loop.now();
  const Time given_up = *command.killed_at + kSettleMax;
  return loop.now() < given_up ? std::optional(given_up) : std::nullopt;
}

// Reports the ends of commands that left nothing behind. Orphans become children of this process
// generation by generation, and the end of each calls this again.
void CommandExecutor::Impl::settle() {
  const std::vector<pid_t> children = children_of_this_process();
  const bool some_run = std::any_of(running.begin(), running.end(),
                                    [](const auto& one) { return !one.second.is_left(); });
  std::optional<Time> again;
  std::vector<TaskId> steps;
  std::vector<std::pair<TaskId, Running>> ended;
  bool left = false;
  for (auto at = running.begin(); at != running.end();) {
    const auto one = at++;
    Running& command = one->second;
    if (!command.is_left()) continue;
    const std::vector<pid_t> rest = left_by(command, children, some_run);
    if (const std::optional<Time> look = end_rest(command, rest)) {
      again = again ? std::min(*again, *look) : *look;
    } else if (command.step_ended) {
      steps.push_back(one->first);
    } else {
      left |= !rest.empty();
      if (!command.is_told) tell_running(one->first, {});
      if (command.input != nullptr) command.input->finish();
      ended.emplace_back(one->first, std::move(command));
      running.erase(one);
    }
  }
  settle_timer.arm(again);
  for (const auto& [id, command] : ended) tell_end(id, command, left);
  for (const TaskId& id : steps) end_step(id);
  finish_if_idle();
}

// `left`: a process that cannot be killed remains.
void CommandExecutor::Impl::tell_end(const TaskId& id, const Running& command, bool left) {
  proto::TaskStatus status{.task = id};
  const bool has_failed_around = command.group != nullptr && !command.group->failure.empty();
  const int how = has_failed_around ? command.group->failed_status : *command.wait_status;
  if (WIFSIGNALED(how)) {
    status.state = proto::TaskState::kFailed;
    status.reason = proto::TaskReason::kCommandSignalled;
    status.signal = WTERMSIG(how);
    status.message = text("the command was ended by ", words_of_signal(WTERMSIG(how)));
  } else {
    status.reason = proto::TaskReason::kCommandExited;
    status.exit_code = WEXITSTATUS(how);
    status.state = WEXITSTATUS(how) == 0 ? proto::TaskState::kFinished : proto::TaskState::kFailed;
    if (WEXITSTATUS(how) != 0) {
      status.message = text("the command ended with exit code ", WEXITSTATUS(how));
    }
  }
  if (has_failed_around) {
    status.state = proto::TaskState::kFailed;
    status.message = command.group->failure;
  }
  if (!command.left_note.empty()) {
    status.message += text(status.message.empty() ? "" : "; ", command.left_note);
  }
  // A task whose end was requested counts as killed, regardless of how it ended.
  if (command.kill_asked) {
    status.state = proto::TaskState::kKilled;
    status.reason = proto::TaskReason::kKilledByScheduler;
  } else if (command.executor_signal) {
    status.state = proto::TaskState::kFailed;
    status.reason = proto::TaskReason::kExecutorEnded;
    status.message = text("its executor was sent ", words_of_signal(*command.executor_signal),
                          " by another process on its machine, and ended it");
  }
  // The output of a shared executor may be that of another task.
  if (status.state == proto::TaskState::kFailed && command.own) {
    status.data = last_words(kLastWordsBytesMax);
  }
  const bool ended_by_itself = !command.kill_asked && !command.executor_signal;
  // The values stay in the memory of this process until it ends.
  if (command.has_secrets) remove_secret_files(options.around);
  const bool takes_another = command.own && ended_by_itself && !left && !ending &&
                             !command.has_secrets && !command.has_private_tmp;
  step(sdk::TellUpdate{std::move(status), takes_another});
  is_spare = takes_another;
  ending |= command.own && !takes_another;
}

// An executor for a single task ends with it, or waits until the agent assigns another; a shared
// one stays.
void CommandExecutor::Impl::finish_if_idle() {
  if (running.empty() && ending) step(sdk::FinishWhenAcknowledged{});
}

void CommandExecutor::Impl::leave_if_spare() {
  if (is_spare && running.empty()) end_everything();
}

CommandExecutor::CommandExecutor(Loop& loop, CommandExecutorOptions options)
    : impl_(std::make_unique<Impl>(loop, std::move(options))) {
  impl_->start();
}
CommandExecutor::~CommandExecutor() = default;

}  // namespace proffer::executor
