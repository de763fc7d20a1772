#pragma once

// Runs a scenario: the production master, agents and drivers under virtual time, on a network
// without faults unless the scenario has some.

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "proto/records.h"
#include "proto/simulate_report.h"
#include "sim/machine.h"
#include "sim/master_node.h"
#include "sim/network.h"
#include "sim/report.h"
#include "sim/scenario.h"
#include "sim/task_book.h"
#include "sim/tenant.h"
#include "sim/world.h"

namespace proffer::sim {

struct RunSetup {
  // The master's steps include entries for its history.
  bool keeps_history = false;
  // The master determines why asks wait.
  bool looks_at_waits = true;
  // Master and frameworks start this long before the scenario begins; agents do not.
  Duration begun_before = {};
  // The registry when the master begins: drained agents (their secrets are the machines') and
  // reservations. Agents have the names of machines; times count from Time() when the scenario
  // begins.
  std::vector<proto::AgentRecord> drained = {};
  std::vector<proto::ReservationRecord> reservations = {};
  // Receives each step of the master; must outlive the run.
  master::StepWatcher* watcher = nullptr;
};

class ScenarioRun {
 public:
  // Requires a checked scenario, which is copied. Every event is printed to `trace` as it happens.
  // `naive`: for tests of the rules.
  explicit ScenarioRun(const Scenario& scenario, std::ostream* trace = nullptr,
                       const NaiveRules& naive = {}, const RunSetup& setup = {});
  ~ScenarioRun();
  ScenarioRun(const ScenarioRun&) = delete;
  ScenarioRun& operator=(const ScenarioRun&) = delete;

  // Runs all of it, once. Ends early after a violation.
  proto::SimulateReport run();
  // Instead of run(): runs until this time after the begin, or until `done` holds between two
  // instants, or until a violation. True if `done` held.
  bool run_until(Duration until, const std::function<bool()>& done = {}) {
    return world_.run_until(at(until), done);
  }
  // The arrival times of tasks that arrive at 0s in the scenario: from -begun_before on. Call it
  // before the run.
  void set_arrivals(TaskBook::Arrivals arrivals) { book_.set_arrivals(std::move(arrivals)); }
  // The run times of tasks, in place of the scenario's. Call it before the run.
  void set_durations(TaskBook::Durations durations) { book_.set_durations(std::move(durations)); }

  // --- for tests -------------------------------------------------------------------------------
  World& world() { return world_; }
  const master::Master& master() const { return master_->core(); }
  MasterNode& master_node() { return *master_; }
  Time zero() const { return zero_; }
  const TaskBook& book() const { return book_; }
  uint64_t frames() const { return network_.frames(); }

 private:
  void build();
  void add_machine(const ScenarioAgent& agent, AgentId name);
  void add_tenant(const ScenarioFramework& framework);
  // The tasks that run at the beginning, put into the registry and the agents' checkpoints.
  void inherit();
  void plan();
  void plan_agent(const ScenarioAgent& agent, Machine& machine);
  void count_totals();
  bool is_over() const;
  void check_all();

  Time at(Duration since_zero) const { return zero_ + since_zero; }

  const Scenario scenario_;
  const NaiveRules naive_;
  const RunSetup setup_;
  // The beginning: masters and schedulers that exist from the start have found each other.
  const Time zero_;
  std::set<Duration> counted_at_;  // when the total is counted, because agents join
  World world_;
  Network network_;
  TaskBook book_;
  std::unique_ptr<MasterNode> master_;
  std::vector<std::unique_ptr<Machine>> machines_;
  std::vector<std::unique_ptr<Tenant>> tenants_;
  LagsOfGone lags_;
};

}  // namespace proffer::sim
