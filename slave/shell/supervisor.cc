// The life of a process: `start` makes it, `reap` gets its end, and `sweep` kills its remaining
// processes before the core is informed. Orphans become children of this process, in any session or
// group; those of live executors are recognized by their session or by the sandbox in their
// environment. `adopt` finds executors of an earlier life.

#include "slave/shell/supervisor.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/check.h"
#include "common/text.h"
#include "net/shared_memory.h"
#include "net/users.h"
#include "slave/executor/task_environment.h"
#include "slave/shell/shell_program.h"
#include "slave/shell/stderr_tail.h"

namespace proffer::agent {
namespace {

constexpr std::string_view kSandboxVariable = "PROFFER_SANDBOX";
constexpr std::string_view kTokenVariable = "PROFFER_EXECUTOR_TOKEN";
// A process that SIGKILL does not end within this time is in an uninterruptible wait, or one of
// thousands that end.
constexpr Duration kSweepMax = seconds(5);
constexpr Duration kUserKnownFor = seconds(5);
constexpr size_t kUsersKept = 1'024;
constexpr Duration kSweepAgain = milliseconds(100);
constexpr Duration kSweepAgainMax = seconds(10);
constexpr Duration kLeftoverPoll = milliseconds(20);
// The interval of checks on an executor of an earlier life, if the system has no pidfd.
constexpr Duration kAdoptedPoll = milliseconds(500);

// A process of the agent's user has the right groups already, and needs no change of user.
bool is_other(const executor::RunAs& user) { return user.uid != geteuid(); }

const std::string& user_of(const StartExecutor& start, const Supervisor::Options& options) {
  return start.user.empty() ? options.user : start.user;
}

std::vector<std::string> environment_of(const StartExecutor& start, const std::string& sandbox,
                                        const Supervisor::Options& options) {
  const std::string& user = user_of(start, options);
  std::map<std::string, std::string> variables = {{"PATH", std::string(executor::kTaskPath)},
                                                  {"HOME", sandbox},
                                                  {"TMPDIR", sandbox},
                                                  {"LANG", "C.UTF-8"},
                                                  {"USER", user},
                                                  {"LOGNAME", user}};
  for (const auto& [name, value] : start.environment) variables[name] = value;
  variables["PROFFER_AGENT"] = options.agent.str();
  variables["PROFFER_AGENT_HTTP"] = options.http_address;
  variables["PROFFER_AGENT_HTTPS"] = options.https_address;
  variables["PROFFER_AGENT_SOCKET"] = options.socket;
  variables["PROFFER_FRAMEWORK_ID"] = start.framework.str();
  variables["PROFFER_EXECUTOR_ID"] = start.executor.str();
  variables["PROFFER_EXECUTOR_RUN"] = std::to_string(start.run);
  variables[std::string(kTokenVariable)] = start.token.str();
  variables[std::string(kSandboxVariable)] = sandbox;
  // A framework may not say so: the executor would empty the machine's.
  variables.erase(kSharedMemoryVariable);
  if (options.has_own_memory) variables[kSharedMemoryVariable] = kOwnSharedMemory;
  if (!options.gpus.empty()) {
    variables[executor::kGpusVariable] = executor::print_gpus(options.gpus);
    executor::show_devices(options.gpus, start.gpus, variables);
  }
  std::vector<std::string> environment;
  for (const auto& [name, value] : variables) environment.push_back(name + "=" + value);
  return environment;
}

// The program and its arguments; none for a command executor, which is the fork server itself.
// Builtin executors are in the agent's directory.
Result<std::vector<std::string>> arguments_of(const std::string& program,
                                              const std::string& bin_dir, const AgentId& agent) {
  if (program == proto::kCommandExecutor) return std::vector<std::string>();
  if (program != proto::kBatchExecutor) {
    // The shell would report this only to a file in the sandbox.
    const std::optional<std::string> path = absolute_program_of(program);
    if (path && access(path->c_str(), F_OK) != 0 && (errno == ENOENT || errno == ENOTDIR)) {
      return Error::failed_precondition(
          text("there is no program ", quoted(*path), " on agent ", agent.str()));
    }
    return std::vector<std::string>{"/bin/sh", "-c", program};
  }
  const std::string builtin = bin_dir + "/proffer-batch-executor";
  if (access(builtin.c_str(), X_OK) != 0) {
    return Error::not_found(text("there is no program ", quoted(builtin), ", which is ", program));
  }
  return std::vector<std::string>{builtin};
}

// The fork server opens the output for each forked executor; the tasks may have removed it.
bool has_output(const std::string& sandbox) {
  return access((sandbox + "/stdout").c_str(), F_OK) == 0;
}

// The time until the next look at processes that have been sent SIGKILL since `since`: looks become
// rarer.
Duration wait_for_end(Time since, Time now, Duration least) {
  return std::clamp((now - since) / 8, least, kSweepAgainMax);
}

}  // namespace

std::optional<OutOfMemory> out_of_memory(const std::optional<GroupUsage>& usage) {
  if (!usage || usage->out_of_memory.value_or(0) == 0) return std::nullopt;
  return OutOfMemory{.limit_bytes = usage->memory_limit_bytes.value_or(0),
                     .peak_bytes = usage->memory_peak_bytes.value_or(0)};
}

std::optional<proto::TaskUsage> final_usage(const std::optional<GroupUsage>& usage) {
  if (!usage) return std::nullopt;
  return proto::TaskUsage{.cpu_nanos = usage->cpu_nanos,
                          .throttled_nanos = usage->throttled_nanos,
                          .memory_peak_bytes = usage->memory_peak_bytes,
                          .out_of_memory = usage->out_of_memory,
                          .read_bytes = usage->read_bytes,
                          .written_bytes = usage->written_bytes};
}

Supervisor::Supervisor(Loop& loop, const Sandboxes& sandboxes, Isolator& isolator, Options options,
                       Handlers handlers)
    : loop_(loop),
      sandboxes_(sandboxes),
      isolator_(isolator),
      options_(std::move(options)),
      secrets_(options_.shm, sandboxes_.root()),
      handlers_(std::move(handlers)),
      fork_server_(options_.bin_dir + "/proffer-executor", options_.descriptors),
      sweep_timer_(loop, [this] { sweep(); }),
      adopted_timer_(loop, [this] { look_at_adopted(); }),
      leftover_timer_(loop, [this] { end_leftovers(); }),
      tidy_timer_(loop, [this] { tidy_up(); }) {
  if (prctl(PR_SET_CHILD_SUBREAPER, 1) != 0) {
    LOG(WARNING) << "the agent is not a subreaper, so daemons left by tasks may be missed: "
                 << std::strerror(errno);
  }
  loop_.on_signal(SIGCHLD, [this] { reap(); });
}

Supervisor::~Supervisor() {
  loop_.on_signal(SIGCHLD, {});
  for (auto& [run, adopted] : adopted_) {
    adopted.watcher.reset();
    if (adopted.pidfd >= 0) close(adopted.pidfd);
  }
}

Result<Supervisor::Ground> Supervisor::prepare(const StartExecutor& start) {
  const Result<executor::RunAs> user = find_user(user_of(start, options_));
  if (!user) return user.error();
  Result<std::string> sandbox = make_sandbox(start.framework, start.executor, start.run, *user);
  if (!sandbox) return std::move(sandbox).error();
  if (Result<void> prepared = isolator_.prepare(start.run, start.resources, start.gpus);
      !prepared) {
    return std::move(prepared).error();
  }
  return Ground{.place = {*std::move(sandbox), user->uid},
                .request = {.run_as = is_other(*user) ? std::optional(*user) : std::nullopt,
                            .joins = isolator_.entrances(start.run)}};
}

Result<std::string> Supervisor::make_sandbox(const FrameworkId& framework,
                                             const ExecutorId& executor, uint64_t run,
                                             const executor::RunAs& user) const {
  std::optional<Sandboxes::Owner> owner;
  if (is_other(user)) owner = {user.uid, user.gid};
  return sandboxes_.make(framework, executor, run, owner);
}

Result<pid_t> Supervisor::begin(const StartExecutor& start, Ground ground, bool is_fetch) {
  const Result<pid_t> pid = fork(ground.request);
  if (!pid) {
    let_group_go(start.run);
    return ground.request.run_as ? Error(pid.error())
                                       .in(text("as user ", quoted(user_of(start, options_)),
                                                " in ", ground.place.sandbox))
                                 : pid.error();
  }
  // The process exists until it is reaped, even if it has ended.
  const std::optional<Process> process = find_process(*pid);
  runs_[*pid] = {.id = {.framework = start.framework,
                        .executor = start.executor,
                        .run = start.run,
                        .pid = *pid,
                        .start_ticks = process ? process->start_ticks : 0,
                        .sandbox = ground.place.sandbox},
                 .sandbox = ground.place.sandbox,
                 .uid = ground.place.uid,
                 .is_fetch = is_fetch};
  live_runs_.emplace(start.framework, start.executor, start.run);
  count_run(ground.place.uid);
  live_sandboxes_.insert(std::move(ground.place.sandbox));
  return pid;
}

Result<std::optional<ExecutorStarted>> Supervisor::start(const StartExecutor& start) {
  Result<std::vector<std::string>> arguments =
      arguments_of(start.program, options_.bin_dir, options_.agent);
  if (!arguments) return std::move(arguments).error();
  if (start.has_private_tmp && !options_.has_own_memory) {
    return Error::failed_precondition(
               text("agent ", options_.agent.str(), " cannot give a task a /tmp of its own"))
        .with_hint(
            "only an agent that is root and enforces limits can; see docs/concepts/isolation.md");
  }
  if (start.in_place_of) {
    kill({start.framework, start.in_place_of->executor, start.in_place_of->run});
  }
  Run* const spare = start.spare ? take_spare(start) : nullptr;
  if (start.spare && spare == nullptr) return std::optional<ExecutorStarted>();
  Result<Ground> ground = prepare(start);
  if (spare != nullptr) {
    Result<ExecutorStarted> goes_on = go_on_as(start, *spare, ground);
    if (!goes_on) return std::move(goes_on).error();
    return std::optional(*std::move(goes_on));
  }
  if (!ground) return std::move(ground).error();
  ground->request.environment = environment_of(start, ground->place.sandbox, options_);
  if (start.has_secret_files) {
    const std::optional<executor::RunAs>& user = ground->request.run_as;
    const Result<std::string> secrets = secrets_.make(
        start.run, user ? std::optional(Sandboxes::Owner{user->uid, user->gid}) : std::nullopt);
    if (!secrets) {
      let_group_go(start.run);
      return secrets.error();
    }
    ground->request.environment.push_back(text(executor::kSecretsVariable, "=", *secrets));
  }
  ground->request.arguments = *std::move(arguments);
  ground->request.has_own_memory = options_.has_own_memory;
  if (start.has_private_tmp) ground->request.private_tmp_keeps = options_.work_dir;
  const Result<pid_t> pid = begin(start, *std::move(ground), false);
  if (!pid) return pid.error();
  return std::optional(runs_.at(*pid).id);
}

// The run of the spare, whose group now belongs to the new run; nullptr if the spare cannot
// continue.
Supervisor::Run* Supervisor::take_spare(const StartExecutor& start) {
  const auto at = std::find_if(runs_.begin(), runs_.end(), [&](const auto& one) {
    const ExecutorStarted& id = one.second.id;
    return id.framework == start.framework && id.executor == start.spare->executor &&
           id.run == start.spare->run;
  });
  if (at == runs_.end()) return nullptr;
  const Result<executor::RunAs> user = find_user(user_of(start, options_));
  siginfo_t ended = {};
  const bool is_there =
      waitid(P_PID, static_cast<id_t>(at->first), &ended, WEXITED | WNOHANG | WNOWAIT) == 0 &&
      ended.si_pid == 0;
  if (user && user->uid == at->second.uid && is_there &&
      isolator_.hand_over(start.spare->run, start.run)) {
    return &at->second;
  }
  return nullptr;
}

Result<ExecutorStarted> Supervisor::go_on_as(const StartExecutor& start, Run& spare,
                                             const Result<Ground>& ground) {
  if (!ground) {
    ::kill(spare.id.pid, SIGKILL);
    let_group_go(start.run);
    return ground.error();
  }
  live_sandboxes_.erase(spare.sandbox);
  live_runs_.erase({spare.id.framework, spare.id.executor, spare.id.run});
  spare.sandbox = ground->place.sandbox;
  spare.id.executor = start.executor;
  spare.id.run = start.run;
  spare.id.sandbox = spare.sandbox;
  live_sandboxes_.insert(spare.sandbox);
  live_runs_.emplace(start.framework, start.executor, start.run);
  return spare.id;
}

Result<Supervisor::Place> Supervisor::start_fetch(const FetchFiles& fetch,
                                                  const std::vector<std::string>& variables) {
  const std::string program = options_.bin_dir + "/proffer-fetch";
  if (access(program.c_str(), X_OK) != 0) {
    return Error::not_found(text("there is no program ", quoted(program)));
  }
  const StartExecutor start{.framework = fetch.framework,
                            .executor = fetch.executor,
                            .run = fetch.run,
                            .user = fetch.user,
                            .resources = fetch.resources};
  Result<Ground> ground = prepare(start);
  if (!ground) return std::move(ground).error();
  const Place place = ground->place;
  ground->request.environment = variables;
  ground->request.environment.push_back(text("HOME=", place.sandbox));
  ground->request.environment.push_back(text(kSandboxVariable, "=", place.sandbox));
  ground->request.arguments = {program};
  const Result<pid_t> pid = begin(start, *std::move(ground), true);
  if (!pid) return pid.error();
  return place;
}

// A fork server that was killed or stopped since the last request was disturbed from outside, so a
// new one is asked. If the first has forked before that, its executor has the same token and would
// get the same tasks. It is killed while no run has its sandbox yet, as a stray process.
Result<pid_t> Supervisor::fork(const executor::LaunchRequest& request,
                               std::span<const int> passed) {
  Result<pid_t> forked = fork_server_.fork(request, passed);
  if (forked || forked.error().code() != ErrorCode::kTimeout) return forked;
  end_strays();
  return fork_server_.fork(request, passed);
}

Result<uint32_t> Supervisor::uid_of(const RunningTask& task) {
  const Result<executor::RunAs> user = find_user(task.user.empty() ? options_.user : task.user);
  if (!user) return user.error();
  return user->uid;
}

std::string Supervisor::sandbox_of(const RunningTask& task) const {
  return sandboxes_.path_of(task.framework, task.executor, task.run);
}

// A new session, and the sandbox in its environment, by which sweep() recognizes its run.
Result<pid_t> Supervisor::exec(const Exec& asked) {
  const RunningTask& task = asked.task;
  const Result<executor::RunAs> user = find_user(task.user.empty() ? options_.user : task.user);
  if (!user) return user.error();
  using Streams = executor::LaunchRequest::Streams;
  Result<pid_t> pid = fork({.environment = asked.environment,
                            .arguments = {"/bin/sh", "-c", asked.command},
                            .run_as = is_other(*user) ? std::optional(*user) : std::nullopt,
                            .joins = isolator_.entrances(task.run),
                            .streams = asked.is_terminal ? Streams::kTerminal : Streams::kPassed,
                            .memory_of = options_.has_own_memory ? pid_of(task.run) : 0},
                           asked.streams);
  if (pid) execs_[*pid] = task.run;
  return pid;
}

void Supervisor::signal_exec(pid_t pid, int signal) {
  if (execs_.contains(pid)) ::kill(-pid, signal);
}

// A shell with a terminal puts each of its jobs into a group.
void Supervisor::end_exec(pid_t pid) {
  if (!execs_.contains(pid)) return;
  for (const Process& process : all_processes()) {
    if (process.session == pid) ::kill(process.pid, SIGKILL);
  }
  ::kill(pid, SIGKILL);
}

// The database may be a network service, so it is not asked for each task.
Result<executor::RunAs> Supervisor::find_user(const std::string& user) {
  if (user == options_.user) return executor::RunAs{geteuid(), getegid(), {}};
  const Time now = loop_.now();
  const auto at = users_.find(user);
  if (at != users_.end() && now < at->second.at + kUserKnownFor) return at->second.run_as;
  const std::optional<Account> account = find_account(user);
  if (!account) {
    return Error::failed_precondition(text("this machine has no user ", quoted(user)))
        .with_hint("the task would run as that user: create it, or use another agent");
  }
  if (users_.size() >= kUsersKept) users_.clear();
  const executor::RunAs found{account->uid, account->gid, groups_of(account->uid)};
  users_[user] = {found, now};
  return found;
}

void Supervisor::count_run(uint32_t uid) { ++runs_by_user_[uid]; }

void Supervisor::uncount_run(uint32_t uid) {
  const auto at = runs_by_user_.find(uid);
  if (--at->second == 0) runs_by_user_.erase(at);
}

std::string Supervisor::name_of(uint32_t uid) const {
  if (uid == geteuid()) return options_.user;
  for (const auto& [name, user] : users_) {
    if (user.run_as.uid == uid) return name;
  }
  return user_name(uid);
}

size_t Supervisor::runs_of(uint32_t uid) const {
  const auto at = runs_by_user_.find(uid);
  return at == runs_by_user_.end() ? 0 : at->second;
}

void Supervisor::kill(const KillExecutor& kill) {
  const auto adopted = adopted_.find(kill.run);  // run numbers are unique on an agent
  if (adopted != adopted_.end()) return end_adopted(adopted);
  for (const auto& [pid, run] : runs_) {
    if (run.id.framework == kill.framework && run.id.executor == kill.executor &&
        run.id.run == kill.run) {
      // Processes outside its group become orphans and children of this process, and sweep() kills
      // them.
      isolator_.kill_all(kill.run);
      ::kill(pid, SIGKILL);
    }
  }
}

void Supervisor::limit(const LimitExecutor& limit) {
  isolator_.update(limit.run, limit.resources, limit.gpus);
}

// 0: there is no live run.
uint64_t Supervisor::newest_run(const FrameworkId& framework, const ExecutorId& executor) const {
  const auto behind = live_runs_.upper_bound({framework, executor, UINT64_MAX});
  if (behind == live_runs_.begin()) return 0;
  const auto& [of_framework, of_executor, run] = *std::prev(behind);
  return of_framework == framework && of_executor == executor ? run : 0;
}

std::optional<GroupUsage> Supervisor::used(const FrameworkId& framework,
                                           const ExecutorId& executor) const {
  return isolator_.used(newest_run(framework, executor));
}

std::optional<GroupUsage> Supervisor::usage(const FrameworkId& framework,
                                            const ExecutorId& executor) const {
  return isolator_.usage(newest_run(framework, executor));
}

void Supervisor::reap() {
  bool has_ended = false;
  while (true) {
    int status = 0;
    const pid_t pid = waitpid(-1, &status, WNOHANG);
    if (pid <= 0) break;
    if (pid == fork_server_.pid()) {
      fork_server_.forget();
      continue;
    }
    if (execs_.erase(pid) != 0) {
      handlers_.on_exec_ended(pid, status);
      continue;
    }
    const auto at = runs_.find(pid);
    if (at == runs_.end()) continue;  // an orphan
    ExecutorExited exited{.framework = at->second.id.framework,
                          .executor = at->second.id.executor,
                          .run = at->second.id.run};
    if (WIFSIGNALED(status)) {
      exited.signal = WTERMSIG(status);
    } else {
      exited.exit_code = WEXITSTATUS(status);
    }
    const bool is_fetch = at->second.is_fetch;
    live_sandboxes_.erase(at->second.sandbox);
    live_runs_.erase({exited.framework, exited.executor, exited.run});
    uncount_run(at->second.uid);
    if (exited.exit_code != 0 && !is_fetch) {
      exited.stderr_tail = stderr_tail(at->second.sandbox, kStderrTailBytesMax);
    }
    runs_.erase(at);
    ended_.push_back({std::move(exited), loop_.now(), is_fetch});
    has_ended = true;
  }
  // Where groups hold all processes, an orphan's end needs no look at thousands of others.
  if (has_ended || !isolator_.is_enforcing()) sweep();
}

// Kills processes without a run; returns whether there were any.
bool Supervisor::end_strays() {
  bool any = false;
  for (const pid_t pid : own_children()) {
    if (pid == fork_server_.pid() || runs_.contains(pid)) continue;
    // The isolator handles groups. See end_unnamed() for why no environment is read then.
    if (isolator_.holds(pid) || is_of_a_live_run(pid)) continue;
    any = true;
    ::kill(pid, SIGKILL);
  }
  return any;
}

// The children of an orphan become children of this process when it ends, so this repeats until
// there are none.
void Supervisor::sweep() {
  const bool left = end_strays();
  const Time now = loop_.now();
  const std::vector<Ended> ended = std::exchange(ended_, {});
  bool again = left;
  Duration wait = kSweepAgainMax;
  for (const Ended& one : ended) {
    const bool is_held = isolator_.kill_all(one.exited.run);
    const bool is_late = now >= one.at + kSweepMax;
    if ((is_held || left) && is_late && !one.is_late) note_unkillable(one.exited);
    // What it had is free when the last process in its group has ended. Processes outside groups
    // may be of another run.
    if (is_held || (left && !is_late)) {
      again = true;
      wait = std::min(wait, wait_for_end(one.at, now, kSweepAgain));
      ended_.push_back(one);
      ended_.back().is_late = is_late;
      continue;
    }
    ExecutorExited exited = one.exited;
    // An executor that exits with 0 has reported its tasks.
    if (exited.exit_code != 0) {
      const std::optional<GroupUsage> usage = isolator_.usage(exited.run);
      exited.out_of_memory = out_of_memory(usage);
      exited.usage = final_usage(usage);
    }
    if (one.is_fetch) {
      handlers_.on_fetch_ended(exited);
      continue;
    }
    let_group_go(exited.run, true);
    handlers_.on_exited(exited);
  }
  if (left) wait = kSweepAgain;
  sweep_timer_.arm(again ? std::optional<Time>(now + wait) : std::nullopt);
}

void Supervisor::note_unkillable(const ExecutorExited& exited) {
  LOG(ERROR) << "processes of an executor have not ended; what it used is kept until they have: "
                "check what they wait for framework="
             << exited.framework.str() << " executor=" << exited.executor.str();
}

// 0: it has ended.
pid_t Supervisor::pid_of(uint64_t run) const {
  if (const auto at = adopted_.find(run); at != adopted_.end()) return at->second.record.pid;
  const auto at = std::find_if(runs_.begin(), runs_.end(),
                               [run](const auto& one) { return one.second.id.run == run; });
  return at == runs_.end() ? 0 : at->first;
}

bool Supervisor::lives(uint64_t run) const { return adopted_.contains(run) || pid_of(run) != 0; }

bool Supervisor::is_of_a_live_run(pid_t pid) const {
  // Before it runs, a command of exec() has no visible sign of its run.
  if (const auto exec = execs_.find(pid); exec != execs_.end()) return lives(exec->second);
  if (runs_.empty()) return false;
  const std::optional<Process> process = find_process(pid);
  if (!process) return true;  // it has ended
  return runs_.contains(process->session) ||
         live_sandboxes_.contains(started_with(pid, kSandboxVariable));
}

// --- of an earlier life ------------------------------------------------------------------------

std::optional<ExecutorStarted> Supervisor::adopt(const proto::ExecutorRecord& executor) {
  std::optional<Process> process =
      executor.pid > 0 ? find_process(executor.pid) : find_by_sandbox(executor);
  const bool other = process && executor.pid > 0 && process->start_ticks != executor.start_ticks;
  if (!process || other || process->zombie) {
    leftovers_.push_back({.record = executor, .adopted = true});
    leftover_timer_.arm(loop_.now());
    return std::nullopt;
  }
  proto::ExecutorRecord found = executor;
  found.pid = process->pid;
  found.start_ticks = process->start_ticks;
  isolator_.recover(found.run, found.pid);
  watch(found);
  make_place(found);
  return ExecutorStarted{.framework = found.framework,
                         .executor = found.executor,
                         .run = found.run,
                         .pid = found.pid,
                         .start_ticks = found.start_ticks,
                         .sandbox = sandbox_path(found)};
}

// A spare may have got this run just before the agent ended, so it has no sandbox yet.
void Supervisor::make_place(const proto::ExecutorRecord& executor) {
  if (started_with(executor.pid, kSandboxVariable) == sandbox_path(executor)) return;
  const Result<executor::RunAs> user =
      find_user(executor.user.empty() ? options_.user : executor.user);
  if (!user) return;
  const Result<std::string> made =
      make_sandbox(executor.framework, executor.executor, executor.run, *user);
  if (!made) LOG(WARNING) << made.error().message();
}

void Supervisor::adopted_all() {
  std::set<uint64_t> runs;
  for (const auto& [run, adopted] : adopted_) runs.insert(run);
  secrets_.keep_only(runs);
  // Before they are reported as lost.
  end_unnamed();
  tidy_up();
}

// Kills processes of runs without a record, which the checkpoint lost. The isolator handles groups.
// The environment of a process in a group is not read: for a process that forks and has used up its
// group's CPU time, the read takes seconds.
void Supervisor::end_unnamed() {
  std::set<std::string> named = live_sandboxes_;
  std::set<pid_t> adopted;
  for (const auto& [run, one] : adopted_) {
    named.insert(sandbox_path(one.record));
    adopted.insert(one.record.pid);
  }
  for (const Leftover& leftover : leftovers_) named.insert(sandbox_path(leftover.record));
  const std::string within = sandboxes_.root() + "/";
  size_t ended = 0;
  for (const Process& process : all_processes()) {
    if (process.zombie || process.pid == getpid() || adopted.contains(process.pid)) continue;
    if (isolator_.holds(process.pid)) continue;
    const std::string sandbox = started_with(process.pid, kSandboxVariable);
    if (!sandbox.starts_with(within) || named.contains(sandbox)) continue;
    ::kill(process.pid, SIGKILL);
    ++ended;
  }
  if (ended > 0) {
    LOG(ERROR)
        << "processes from before the restart that the checkpoint does not name are ended count="
        << ended;
  }
}

std::string Supervisor::sandbox_path(const proto::ExecutorRecord& executor) const {
  return sandboxes_.path_of(executor.framework, executor.executor, executor.run);
}

// The session leader that was started with this run's sandbox and token; tasks do not get the
// token.
std::optional<Process> Supervisor::find_by_sandbox(const proto::ExecutorRecord& executor) const {
  const std::string sandbox = sandbox_path(executor);
  for (const Process& process : all_processes()) {
    if (process.zombie || process.session != process.pid) continue;
    if (started_with(process.pid, kSandboxVariable) == sandbox &&
        started_with(process.pid, kTokenVariable) == executor.token.str()) {
      return process;
    }
  }
  return std::nullopt;
}

void Supervisor::watch(const proto::ExecutorRecord& executor) {
  Adopted& adopted = adopted_[executor.run];
  adopted.record = executor;
  live_runs_.emplace(executor.framework, executor.executor, executor.run);
  const Result<executor::RunAs> user =
      find_user(executor.user.empty() ? options_.user : executor.user);
  adopted.uid = user ? user->uid : geteuid();
  count_run(adopted.uid);
  adopted.pidfd = watch_process(executor.pid);
  // The process may have ended, and its pid been reused, before the descriptor existed; and without
  // a descriptor it must be checked periodically.
  adopted_timer_.arm(loop_.now());
  if (adopted.pidfd < 0) return;
  adopted.watcher =
      std::make_unique<FdWatcher>(loop_, adopted.pidfd, FdWatcher::Events{.readable = true},
                                  [this, run = executor.run](FdWatcher::Events) {
                                    const auto at = adopted_.find(run);
                                    if (at != adopted_.end()) end_adopted(at);
                                  });
}

void Supervisor::look_at_adopted() {
  bool again = false;
  for (auto at = adopted_.begin(); at != adopted_.end();) {
    const auto next = std::next(at);
    const std::optional<Process> process = find_process(at->second.record.pid);
    if (!process || process->zombie || process->start_ticks != at->second.record.start_ticks) {
      end_adopted(at);
    } else {
      again = again || at->second.watcher == nullptr;
    }
    at = next;
  }
  adopted_timer_.arm(again ? std::optional<Time>(loop_.now() + kAdoptedPoll) : std::nullopt);
}

// Its process has ended, or must end; on_exited follows when all its processes have ended.
void Supervisor::end_adopted(AdoptedRuns::iterator at) {
  leftovers_.push_back({.record = at->second.record, .adopted = true});
  leftover_timer_.arm(loop_.now());
  at->second.watcher.reset();
  if (at->second.pidfd >= 0) close(at->second.pidfd);
  const proto::ExecutorRecord& record = at->second.record;
  live_runs_.erase({record.framework, record.executor, record.run});
  uncount_run(at->second.uid);
  adopted_.erase(at);
}

void Supervisor::end_leftover(const proto::ExecutorRecord& executor) {
  leftovers_.push_back({.record = executor});
  leftover_timer_.arm(loop_.now());
}

// Kills the process if pid and start time still match, its session, all processes that were started
// with its sandbox in the environment, and the descendants of all these, until none is found.
void Supervisor::end_leftovers() {
  // The group of an executor that was not found is unknown.
  const bool any_stray = isolator_.kill_strays();
  const std::vector<Process> processes = all_processes();
  std::map<std::string, std::vector<pid_t>> by_sandbox;
  std::map<pid_t, std::vector<pid_t>> by_parent;
  for (const Process& process : processes) {
    by_parent[process.parent].push_back(process.pid);
    if (isolator_.holds(process.pid)) continue;  // as in end_unnamed()
    const std::string sandbox = started_with(process.pid, kSandboxVariable);
    if (!sandbox.empty()) by_sandbox[sandbox].push_back(process.pid);
  }
  std::vector<Leftover> gone;
  std::vector<Leftover> still;
  const Time now = loop_.now();
  for (Leftover& leftover : leftovers_) {
    const proto::ExecutorRecord& executor = leftover.record;
    const auto leader = std::find_if(processes.begin(), processes.end(),
                                     [&](const Process& p) { return p.pid == executor.pid; });
    // A pid is not reused while a session has it.
    const bool reused = leader != processes.end() && leader->start_ticks != executor.start_ticks;
    std::set<pid_t> members;
    if (executor.pid > 0 && !reused) {
      for (const Process& process : processes) {
        if (process.session == executor.pid) members.insert(process.pid);
      }
    }
    for (const pid_t pid : by_sandbox[sandbox_path(executor)]) {
      members.insert(pid);
    }
    std::vector<pid_t> todo(members.begin(), members.end());
    while (!todo.empty()) {
      const pid_t parent = todo.back();
      todo.pop_back();
      for (const pid_t child : by_parent[parent]) {
        if (members.insert(child).second) todo.push_back(child);
      }
    }
    const bool is_held = isolator_.kill_all(executor.run);
    bool any = is_held || any_stray;
    for (const Process& process : processes) {
      if (process.zombie || process.pid == getpid() || !members.contains(process.pid)) continue;
      any = true;
      ::kill(process.pid, SIGKILL);
    }
    if (!leftover.since) leftover.since = now;
    // As in sweep(). For those of a damaged checkpoint the wait goes on, and the core reports it.
    const bool is_late = any && leftover.adopted && now >= *leftover.since + kSweepMax;
    if (is_late && !std::exchange(leftover.is_late, true)) {
      note_unkillable({.framework = executor.framework, .executor = executor.executor});
    }
    (is_held || (any && !is_late) ? still : gone).push_back(std::move(leftover));
  }
  leftovers_ = std::move(still);
  if (!leftovers_.empty()) {
    Duration wait = kSweepAgainMax;
    for (const Leftover& one : leftovers_) {
      wait = std::min(wait, wait_for_end(*one.since, now, kLeftoverPoll));
    }
    leftover_timer_.arm(now + wait);
  }
  for (const Leftover& one : gone) {
    const proto::ExecutorRecord& executor = one.record;
    const std::optional<GroupUsage> usage = isolator_.usage(executor.run);
    let_group_go(executor.run);
    if (one.adopted) {
      handlers_.on_exited({.framework = executor.framework,
                           .executor = executor.executor,
                           .run = executor.run,
                           .out_of_memory = out_of_memory(usage),
                           .usage = final_usage(usage),
                           .had_process = has_output(sandbox_path(executor))});
    } else {
      handlers_.on_leftover_ended({executor.framework, executor.executor});
    }
  }
}

void Supervisor::let_group_go(uint64_t run, bool is_empty) {
  secrets_.remove(run);
  if (isolator_.cleanup(run, is_empty)) return;
  tidy_wait_ = kTidyAgain;
  tidy_timer_.arm(loop_.now() + tidy_wait_);
}

void Supervisor::tidy_up() {
  const bool any_stray = isolator_.kill_strays();
  const bool any_group = isolator_.tidy_up();
  tidy_wait_ = std::min(tidy_wait_ * 2, kTidyAgainMax);
  tidy_timer_.arm(any_stray || any_group ? std::optional<Time>(loop_.now() + tidy_wait_)
                                         : std::nullopt);
}

}  // namespace proffer::agent
