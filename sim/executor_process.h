#pragma once

// The process of an executor on a simulated machine, for any program: its begin, its tasks, and its
// end. The journal records all tasks that run. Programs are subclasses.

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "proto/messages.h"
#include "sim/journal.h"
#include "sim/network.h"
#include "sim/world.h"
#include "slave/core/agent.h"

namespace proffer::sim {

class Host;

// How to start an executor; StartExecutor of the agent's core.
struct ProcessStart {
  FrameworkId framework = {};
  ExecutorId executor = {};
  uint64_t run = 0;
  std::string program = {};
  Secret token = {};
  // The process of this executor continues as the new one, if possible.
  std::optional<agent::SpareExecutor> spare = {};
  // The process of this executor is ended first.
  std::optional<agent::SpareExecutor> in_place_of = {};
};

class ExecutorProcess : public Node {
 public:
  ExecutorProcess(World& world, Network& network, Host& host, ProcessStart start, int32_t pid);

  // The parameters of its start, or of the run as which it continues since.
  const ProcessStart& started_as() const { return start_; }
  // It continues as another run. Its agent has recorded the ends of all its earlier tasks.
  void becomes(ProcessStart start);
  int32_t pid() const { return pid_; }
  const std::vector<TaskKey>& ran() const { return ran_; }
  Party party() const { return party_; }
  // The program begins, after the time of a fork and an exec. This may happen after kill().
  void begin();
  // SIGKILL to the session: no process of it remains.
  void kill();

 protected:
  // The life begins.
  virtual void on_begin() = 0;
  // The life ends by kill().
  virtual void on_killed() = 0;

  Host& host() { return host_; }
  Network& network() { return network_; }
  Line line() const { return *line_; }
  // Connects to the agent. Once in its life.
  void call(Caller* caller);
  bool is_running(const TaskId& task) const { return running_.count(task) > 0; }
  // False: a law is broken, and the world stops.
  bool task_starts(const proto::RunTask& run);
  // Requires is_running().
  void task_ends(const TaskId& task, Ending ending, int32_t exit_code, int32_t signal);
  // Likewise. The program's report is the only information about the end.
  void task_ends_as_reported(const proto::TaskStatus& status);
  // Ends by itself. `told_all`: its agent has the ends of all its earlier tasks.
  void exits(int32_t exit_code, bool told_all);

 private:
  void journal_taken_down();

  Network& network_;
  Host& host_;
  ProcessStart start_;
  int32_t pid_;
  Party party_;
  std::optional<Line> line_;
  bool begun_ = false;
  bool ended_ = false;
  std::set<TaskId> running_;
  std::vector<TaskKey> ran_;
};

}  // namespace proffer::sim
