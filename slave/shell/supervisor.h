#pragma once

// Starts executors and sees to it that nothing of them is left when they have ended: children by
// SIGCHLD, orphans because this process is a subreaper, and those of an earlier life of the agent,
// which are nobody's children here, by a pidfd and by looking through /proc.

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
#include "slave/shell/isolator.h"
#include "slave/shell/processes.h"
#include "slave/shell/sandboxes.h"
#include "slave/shell/secret_folders.h"
#include "slave/shell/stem.h"

namespace proffer::agent {

// Groups of processes that could not be removed are tried again, less and less often.
inline constexpr Duration kTidyAgain = milliseconds(50);
inline constexpr Duration kTidyAgainMax = seconds(10);

// What the kernel killed of a run for want of memory; nothing if it killed nothing.
std::optional<OutOfMemory> out_of_memory(const std::optional<GroupUsage>& usage);
// Of a run whose task has ended; nothing if nothing is counted.
std::optional<proto::TaskUsage> final_usage(const std::optional<GroupUsage>& usage);

class Supervisor {
 public:
  struct Options {
    AgentId agent = {};
    std::string user = {};           // that this process runs as
    std::string socket = {};         // of executors
    std::string http_address = {};   // where the files of sandboxes are served
    std::string https_address = {};  // the same to other machines; empty: they are not
    std::string bin_dir = {};        // where builtin executors lie
    size_t descriptors = 0;          // soft limit of what is started; 0: this process's
    executor::Gpus gpus = {};        // of this machine
    std::string shm = "/dev/shm";    // a tmpfs, for secrets of tasks
  };
  // Called from the loop only, never from within a call of the owner.
  struct Handlers {
    std::function<void(const ExecutorExited&)> on_exited = {};
    // Of start_fetch(): its process ended, and nothing of it is left. The run's group stays.
    std::function<void(const ExecutorExited&)> on_fetch_ended = {};
    std::function<void(const LeftoverEnded&)> on_leftover_ended = {};
    // Of exec(), with what waitpid() says of it.
    std::function<void(pid_t, int status)> on_exec_ended = {};
  };
  // Makes this process a subreaper and takes SIGCHLD. `sandboxes` and `isolator` must outlive it.
  Supervisor(Loop& loop, const Sandboxes& sandboxes, Isolator& isolator, Options options,
             Handlers handlers);
  // Leaves the executors running.
  ~Supervisor();
  Supervisor(const Supervisor&) = delete;
  Supervisor& operator=(const Supervisor&) = delete;

  // A process in its own session and new sandbox, as its user. Errors: kInvalidArgument (a NUL in
  // the environment); kFailedPrecondition (this machine does not know the user); kPermissionDenied
  // (the user may not use the sandbox, or has used up its quota of the disk); kNotFound (a builtin
  // program is missing), kResourceExhausted, kUnavailable, kTimeout: for these no
  // launcher of tasks has a part in it.
  // None: the spare that is named cannot become this run, and is as it was.
  Result<std::optional<ExecutorStarted>> start(const StartExecutor& start);
  // Where the files of a run go, and whose they are.
  struct Place {
    std::string sandbox = {};
    uint32_t uid = 0;
  };
  // Before start() of the same run: proffer-fetch, with these variables, as the run's user, in its
  // sandbox, and in its group. Errors: as start().
  Result<Place> start_fetch(const FetchFiles& fetch, const std::vector<std::string>& variables);
  // Its fetch is over and start() does not follow.
  void let_run_go(uint64_t run) { let_group_go(run); }
  // Finds an executor of an earlier life and watches it. None: it is gone, what it left is being
  // ended, and on_exited follows. O(processes) if its pid is not known.
  std::optional<ExecutorStarted> adopt(const proto::ExecutorRecord& executor);
  // All that this life adopts is adopted: what others of an earlier life left is ended, by groups
  // and by the sandbox that they were started with. O(processes).
  void adopted_all();
  // Unknown runs are ignored: they have ended meanwhile.
  void kill(const KillExecutor& kill);
  void limit(const LimitExecutor& limit);
  // One more process in the sandbox and the groups of an executor's run, as its user; it ends with
  // the run at the latest. `streams`: the terminal, or standard input, output and error. Errors: as
  // start().
  struct Exec {
    RunningTask task = {};
    std::string command = {};  // of /bin/sh
    std::vector<std::string> environment = {};
    bool is_terminal = false;
    std::span<const int> streams = {};
  };
  Result<pid_t> exec(const Exec& asked);
  // Of exec(), if it has not ended: the signal goes to its group of processes.
  void signal_exec(pid_t pid, int signal);
  // SIGKILL to its session.
  void end_exec(pid_t pid);
  // The user that the task runs as; errors: kFailedPrecondition.
  Result<uint32_t> uid_of(const RunningTask& task);
  std::string sandbox_of(const RunningTask& task) const;
  // Of the executor's newest run that lives; nothing where nothing is counted.
  std::optional<GroupUsage> used(const FrameworkId& framework, const ExecutorId& executor) const;
  std::optional<GroupUsage> usage(const FrameworkId& framework, const ExecutorId& executor) const;
  void end_leftover(const proto::ExecutorRecord& executor);

  // Executors that run as this user.
  size_t runs_of(uint32_t uid) const;
  // As net/users.h, quickly for users that have executors.
  std::string name_of(uint32_t uid) const;

 private:
  struct Run {
    ExecutorStarted id;
    std::string sandbox;
    uint32_t uid = 0;
    bool is_fetch = false;
  };
  // What the user database said lately.
  struct KnownUser {
    executor::RunAs run_as = {};
    Time at = {};
  };
  struct Ended {
    ExecutorExited exited;
    Time at;
    bool is_fetch = false;
  };
  // Of an earlier life, alive when last looked at.
  struct Adopted {
    proto::ExecutorRecord record = {};
    uint32_t uid = 0;
    int pidfd = -1;  // or it is looked at again and again
    std::unique_ptr<FdWatcher> watcher = {};
  };
  // To be ended with all that belongs to it.
  struct Leftover {
    proto::ExecutorRecord record = {};
    bool adopted = false;  // on_exited follows, else on_leftover_ended
    std::optional<Time> since = {};
  };
  using AdoptedRuns = std::map<uint64_t, Adopted>;
  // A place for a run, and what the stem is asked for it; it needs its variables and arguments.
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
  bool end_strays();
  bool is_of_a_live_run(pid_t pid) const;
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
  Stem stem_;
  std::map<std::string, KnownUser> users_;
  std::map<uint32_t, size_t> runs_by_user_;
  std::set<std::tuple<FrameworkId, ExecutorId, uint64_t>> live_runs_;  // of runs_ and adopted_
  std::map<pid_t, Run> runs_;
  std::map<pid_t, uint64_t> execs_;  // and the runs that they belong to
  std::set<std::string> live_sandboxes_;
  std::vector<Ended> ended_;  // processes of theirs may be left
  AdoptedRuns adopted_;       // by run
  std::vector<Leftover> leftovers_;
  Timer sweep_timer_;
  Timer adopted_timer_;
  Timer leftover_timer_;
  Timer tidy_timer_;
  Duration tidy_wait_ = kTidyAgain;
};

}  // namespace proffer::agent
