#pragma once

// One cluster with the scheduler under test. A proxy between scheduler and master observes their
// frames (conformance_witness.h judges them) and makes the faults of frames; agents, executors,
// master and scheduler are killed as processes.

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cli/conformance_options.h"
#include "cli/conformance_proxy.h"
#include "cli/conformance_report.h"
#include "cli/conformance_witness.h"
#include "cli/local_cluster.h"

namespace proffer::cli {

// How long a master waits for the scheduler's answer, and for silent agents.
struct TrialTimes {
  Duration lease = seconds(5);
  Duration agent_timeout = seconds(4);
  Duration reregistration = seconds(4);
  Duration revoke_grace = seconds(3);
  Duration delay = {};  // of each frame between scheduler and master, both ways
};

class Trial {
 public:
  // `options` must outlive it. `dir` must exist and be empty.
  Trial(const ConformanceOptions& options, std::string dir, const TrialTimes& times);
  ~Trial();
  Trial(const Trial&) = delete;
  Trial& operator=(const Trial&) = delete;

  // Starts the cluster and the proxy, then the scheduler.
  Result<void> start();
  // Restarts it with --restart-with after its end.
  Result<void> start_scheduler_again();
  void end_scheduler(int signal);
  // Starts a framework in a role that is guaranteed the whole cluster; it asks for all of it.
  // Errors: the master's.
  Result<void> start_rival();
  Result<void> drain(const AgentId& agent);
  // kill -9 of the executor of a task; false if it does not run.
  bool kill_executor(const TaskId& task) const;
  // The tasks that the master knows as alive. None: it does not answer.
  std::optional<std::vector<TaskId>> living_tasks() const;

  // --- events ------------------------------------------------------------------------------------
  Time now() const { return loop_.now(); }
  bool has_ended() const { return how_.has_value(); }
  // "exit code 0", "signal 9 (Killed)".
  const std::optional<std::string>& how() const { return how_; }
  bool wait(Duration at_most, const std::function<bool()>& ready);
  // Waits until the scheduler has a task, or has had none for a reasonable time.
  void await_work();
  // Holds all frames after one that matches. False: none came, or the scheduler ended before.
  bool hold_after(ConformanceProxy::Matches matches);
  // Waits for the scheduler's end, or until nothing more happens, or `is_enough`. `at_least`: the
  // duration of the fault.
  void settle(Duration at_least = Duration(), const std::function<bool()>& is_enough = nullptr);
  // Call it after settle(). `wrong`: the problems that the item itself found.
  Outcome judge(const std::string& seen, std::vector<std::string> wrong = {});
  Outcome failed(std::string why) const;
  std::vector<std::string> last_output() const;

  ConformanceProxy& proxy() { return *proxy_; }
  const ConformanceWitness& witness() const { return witness_; }
  LocalCluster& cluster() { return cluster_; }
  const ConformanceOptions& options() const { return options_; }
  const TrialTimes& times() const { return times_; }

 private:
  Result<void> start_scheduler(std::vector<std::string> command);
  Result<void> start_shell(const std::string& name, const std::string& command);
  void on_seen(ConformanceProxy::To to, const proto::Message& message);
  void on_ended(const std::string& name, const std::string& how);
  std::string with_places(std::string word, const std::string& master) const;
  std::string log_of(const std::string& name) const { return dir_ + "/" + name + ".log"; }
  std::string how_it_stands() const;
  std::string lost_tasks();

  const ConformanceOptions& options_;
  const std::string dir_;
  const TrialTimes times_;
  Loop loop_;
  Children children_;
  ConformanceWitness witness_;
  LocalCluster cluster_;
  std::unique_ptr<ConformanceProxy> proxy_;
  std::optional<std::string> how_;
  bool work_began_ = false;
  std::string work_failed_;
};

}  // namespace proffer::cli
