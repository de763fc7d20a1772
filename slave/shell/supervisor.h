#pragma once

// Starts executors and ensures that none of their processes is left when they have ended: children
// by SIGCHLD, orphans because this process is a subreaper, and executors of an earlier life, which
// are not children of this process, by a pidfd and by searching /proc.

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "net/loop.h"
#include "slave/core/agent.h"
#include "slave/executor/gpus.h"
#include "slave/shell/fork_server.h"
#include "slave/shell/isolator.h"
#include "slave/shell/processes.h"
#include "slave/shell/sandboxes.h"
#include "slave/shell/secret_folders.h"

namespace proffer::agent {

// The first delay before the removal of a process group is retried; later delays are longer.
inline constexpr Duration kTidyAgain = milliseconds(50);
inline constexpr Duration kTidyAgainMax = seconds(10);

// The processes of a run that the kernel killed for lack of memory; none if there are none.
std::optional<OutOfMemory> out_of_memory(const std::optional<GroupUsage>& usage);
// For a run whose task has ended; none if nothing is counted.
std::optional<proto::TaskUsage> final_usage(const std::optional<GroupUsage>& usage);

class Supervisor {
 public:
  struct Options {
    AgentId agent = {};
    std::string user = {};           // the user that this process runs as
    std::string socket = {};         // of executors
    std::string http_address = {};   // serves the files of sandboxes
    std::string https_address = {};  // the same for other machines; empty: not served
    std::string bin_dir = {};        // the directory of builtin executors
    std::string work_dir = {};       // of the agent
    size_t descriptors = 0;          // soft limit for started processes; 0: as this process
    executor::Gpus gpus = {};        // of this machine
    std::string shm = "/dev/shm";    // a tmpfs for secrets of tasks
    bool has_own_memory = false;     // executors have shared memory of their own
  };
  // Called from the loop only, never from within a call of the owner.
  struct Handlers {
    std::function<void(const ExecutorExited&)> on_exited = {};
    // For start_fetch(): its process has ended, and none of its children is left. The run's group
    // stays.
    std::function<void(const ExecutorExited&)> on_fetch_ended = {};
    std::function<void(const LeftoverEnded&)> on_leftover_ended = {};
    // For exec(), with the status of waitpid().
    std::function<void(pid_t, int status)> on_exec_ended = {};
  };
  // Makes this process a subreaper and handles SIGCHLD. `sandboxes` and `isolator` must outlive it.
  Supervisor(Loop& loop, const Sandboxes& sandboxes, Isolator& isolator, Options options,
             Handlers handlers);
  // Executors continue.
  ~Supervisor();
  Supervisor(const Supervisor&) = delete;
  Supervisor& operator=(const Supervisor&) = delete;

  // Starts a process in a new session and a new sandbox, as its user. Errors: kInvalidArgument (a
  // NUL in the environment); kFailedPrecondition (the user is unknown on this machine);
  // kPermissionDenied (the user may not use the sandbox, or has reached its disk quota); kNotFound
  // (a builtin program is missing), kResourceExhausted, kUnavailable, kTimeout: these are not
  // caused by the launcher of the task. None: the named spare cannot become this run, and is
  // unchanged.
  Result<std::optional<ExecutorStarted>> start(const StartExecutor& start);
  // The directory for the files of a run, and its owner.
  struct Place {
    std::string sandbox = {};
    uint32_t uid = 0;
  };
  // Before start() of the same run: starts proffer-fetch with these variables, as the run's user,
  // in its sandbox and its group. Errors: as start().
  Result<Place> start_fetch(const FetchFiles& fetch, const std::vector<std::string>& variables);
  // Its fetch has ended, and start() does not follow.
  void let_run_go(uint64_t run) { let_group_go(run); }
  // Finds an executor of an earlier life and watches it. None: it has ended, its remaining
  // processes are being killed, and on_exited follows. O(processes) if its pid is unknown.
  std::optional<ExecutorStarted> adopt(const proto::ExecutorRecord& executor);
  // All executors are adopted: kills the remaining processes of an earlier life, found by groups
  // and by their initial sandbox. O(processes).
  void adopted_all();
  // Unknown runs are ignored, since they have ended meanwhile.
  void kill(const KillExecutor& kill);
  void limit(const LimitExecutor& limit);
  // Starts another process in the sandbox and the groups of an executor's run, as its user; it ends
  // with the run at the latest. `streams`: the terminal, or standard input, output and error.
  // Errors: as start().
  struct Exec {
    RunningTask task = {};
    std::string command = {};  // for /bin/sh
    std::vector<std::string> environment = {};
    bool is_terminal = false;
    std::span<const int> streams = {};
  };
  Result<pid_t> exec(const Exec& asked);
  // Sends a signal to the process group of an exec(), if it has not ended.
  void signal_exec(pid_t pid, int signal);
  // Sends SIGKILL to its session.
  void end_exec(pid_t pid);
  // The user of the task. Errors: kFailedPrecondition.
  Result<uint32_t> uid_of(const RunningTask& task);
  std::string sandbox_of(const RunningTask& task) const;
  // The use of the executor's newest live run; none if nothing is counted.
  std::optional<GroupUsage> used(const FrameworkId& framework, const ExecutorId& executor) const;
  std::optional<GroupUsage> usage(const FrameworkId& framework, const ExecutorId& executor) const;
  void end_leftover(const proto::ExecutorRecord& executor);

  // The number of executors that run as this user.
  size_t runs_of(uint32_t uid) const;
  // As net/users.h; fast for users with executors.
  std::string name_of(uint32_t uid) const;

 private:
  struct Run {
    ExecutorStarted id;
    std::string sandbox;
    uint32_t uid = 0;
    bool is_fetch = false;
  };
  // A recent answer of the user database.
  struct KnownUser {
    executor::RunAs run_as = {};
    Time at = {};
  };
  struct Ended {
    ExecutorExited exited;
    Time at;
    bool is_fetch = false;
    bool is_late = false;  // noted in the log
  };
  // An executor of an earlier life that was alive at the last check.
  struct Adopted {
    proto::ExecutorRecord record = {};
    uint32_t uid = 0;
    int pidfd = -1;  // or it is checked repeatedly
    std::unique_ptr<FdWatcher> watcher = {};
  };
  // To be killed with all its processes.
  struct Leftover {
    proto::ExecutorRecord record = {};
    bool adopted = false;  // on_exited follows, else on_leftover_ended
    std::optional<Time> since = {};
    bool is_late = false;
  };
  using AdoptedRuns = std::map<uint64_t, Adopted>;
  // A prepared run, and the request to the fork server, without variables and arguments.
  struct Ground {
    Place place = {};
    executor::LaunchRequest request = {};
  };
  Result<Ground> prepare(const StartExecutor& start);
  Result<std::string> make_sandbox(const FrameworkId& framework, const ExecutorId& executor,
                                   uint64_t run, const executor::RunAs& user) const;
  void make_place(const proto::ExecutorRecord& executor);
  Run* take_spare(const StartExecutor& start);
  Result<ExecutorStarted> go_on_as(const StartExecutor& start, Run& spare,
                                   const Result<Ground>& ground);
  Result<pid_t> begin(const StartExecutor& start, Ground ground, bool is_fetch);
  Result<executor::RunAs> find_user(const std::string& user);
  void count_run(uint32_t uid);
  void uncount_run(uint32_t uid);
  void watch(const proto::ExecutorRecord& executor);
  void look_at_adopted();
  void end_adopted(AdoptedRuns::iterator at);
  std::optional<Process> find_by_sandbox(const proto::ExecutorRecord& executor) const;
  Result<pid_t> fork(const executor::LaunchRequest& request, std::span<const int> passed = {});
  void reap();
  void sweep();
  static void note_unkillable(const ExecutorExited& exited);
  bool end_strays();
  bool is_of_a_live_run(pid_t pid) const;
  pid_t pid_of(uint64_t run) const;
  bool lives(uint64_t run) const;
  void end_leftovers();
  void end_unnamed();
  std::string sandbox_path(const proto::ExecutorRecord& executor) const;
  // O(log n).
  uint64_t newest_run(const FrameworkId& framework, const ExecutorId& executor) const;
  void let_group_go(uint64_t run, bool is_empty = false);
  void tidy_up();

  Loop& loop_;
  const Sandboxes& sandboxes_;
  Isolator& isolator_;
  Options options_;
  SecretFolders secrets_;
  Handlers handlers_;
  ForkServer fork_server_;
  std::map<std::string, KnownUser> users_;
  std::map<uint32_t, size_t> runs_by_user_;
  std::set<std::tuple<FrameworkId, ExecutorId, uint64_t>> live_runs_;  // of runs_ and adopted_
  std::map<pid_t, Run> runs_;
  std::map<pid_t, uint64_t> execs_;  // with the run of each
  std::set<std::string> live_sandboxes_;
  std::vector<Ended> ended_;  // some of their processes may be left
  AdoptedRuns adopted_;       // by run
  std::vector<Leftover> leftovers_;
  Timer sweep_timer_;
  Timer adopted_timer_;
  Timer leftover_timer_;
  Timer tidy_timer_;
  Duration tidy_wait_ = kTidyAgain;
};

}  // namespace proffer::agent
