#pragma once

// Starts executors and sees to it that nothing of them is left when they have ended: children by
// SIGCHLD, orphans because this process is a subreaper, and what an earlier life of the agent left
// by looking through /proc.

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "net/loop.h"
#include "slave/core/agent.h"
#include "slave/shell/processes.h"
#include "slave/shell/sandboxes.h"

namespace proffer::agent {

class Supervisor {
 public:
  struct Options {
    AgentId agent = {};
    std::string socket = {};        // of executors
    std::string http_address = {};  // where the files of sandboxes are served
    std::string bin_dir = {};       // where builtin executors lie
  };
  // Called from the loop only, never from within a call of the owner.
  struct Handlers {
    std::function<void(const ExecutorExited&)> on_exited = {};
    std::function<void(const LeftoverEnded&)> on_leftover_ended = {};
  };
  // Makes this process a subreaper and takes SIGCHLD. `sandboxes` must outlive it.
  Supervisor(Loop& loop, const Sandboxes& sandboxes, Options options, Handlers handlers);
  // Leaves the executors running.
  ~Supervisor();
  Supervisor(const Supervisor&) = delete;
  Supervisor& operator=(const Supervisor&) = delete;

  // A process in its own session and new sandbox. Errors: kNotFound (a builtin program is missing),
  // kInvalidArgument (a NUL in the environment), kResourceExhausted, kUnavailable.
  Result<ExecutorStarted> start(const StartExecutor& start);
  // Unknown runs are ignored: they have ended meanwhile.
  void kill(const KillExecutor& kill);
  void end_leftover(const proto::ExecutorRecord& executor);

 private:
  struct Run {
    ExecutorStarted id;
    std::string sandbox;
  };
  struct Ended {
    ExecutorExited exited;
    Time at;
  };
  void reap();
  void sweep();
  bool is_of_a_live_run(pid_t pid) const;
  void end_leftovers();

  Loop& loop_;
  const Sandboxes& sandboxes_;
  Options options_;
  Handlers handlers_;
  std::map<pid_t, Run> runs_;
  std::set<std::string> live_sandboxes_;
  std::vector<Ended> ended_;  // processes of theirs may be left
  std::vector<proto::ExecutorRecord> leftovers_;
  Timer sweep_timer_;
  Timer leftover_timer_;
};

}  // namespace proffer::agent
