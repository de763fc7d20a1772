#pragma once

// A scenario happens: the production master, agents and drivers under virtual time, on an
// undisturbed network unless it says otherwise.

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
#include "sim/scenario.h"
#include "sim/task_book.h"
#include "sim/tenant.h"
#include "sim/world.h"

namespace proffer::sim {

struct RunSetup {
  // What the master says in a step has entries for its history.
  bool keeps_history = false;
  // The master finds why asks wait.
  bool looks_at_waits = true;
  // Master and frameworks are there so long before it begins; agents are not.
  Duration begun_before = {};
  // What the registry has when the master begins: agents that are drained (their secrets are the
  // machines') and reservations. Of agents by the names of machines; times count from Time() when
  // the scenario begins.
  std::vector<proto::AgentRecord> drained = {};
  std::vector<proto::ReservationRecord> reservations = {};
  // Is told each step of the master; outlives the run.
  master::StepWatcher* watcher = nullptr;
};

class ScenarioRun {
 public:
  // Needs a checked scenario, which is copied. Every event is printed to `trace` as it happens.
  // `naive`: for tests of the rules.
  explicit ScenarioRun(const Scenario& scenario, std::ostream* trace = nullptr,
                       const NaiveRules& naive = {}, const RunSetup& setup = {});
  ~ScenarioRun();
  ScenarioRun(const ScenarioRun&) = delete;
  ScenarioRun& operator=(const ScenarioRun&) = delete;

  // All of it. Once. Ends early if something is violated.
  proto::SimulateReport run();
  // Instead: until so long since it began, or until `done` holds between two instants, or something
  // is violated. True if `done` held.
  bool run_until(Duration until, const std::function<bool()>& done = {}) {
    return world_.run_until(at(until), done);
  }
  // When tasks arrive that the scenario has arrive at 0s: from -begun_before on. Before it runs.
  void set_arrivals(TaskBook::Arrivals arrivals) { book_.set_arrivals(std::move(arrivals)); }
  // How long tasks run, in place of what the scenario says. Before it runs.
  void set_durations(TaskBook::Durations durations) { book_.set_durations(std::move(durations)); }

  // --- what a test may look at -----------------------------------------------------------------
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
  // What runs when it begins, as the registry and the agents' checkpoints say.
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
  // When it begins: masters and schedulers that are there from the first have found each other.
  const Time zero_;
  std::set<Duration> counted_at_;  // when the total is counted, because agents join
  World world_;
  Network network_;
  TaskBook book_;
  std::unique_ptr<MasterNode> master_;
  std::vector<std::unique_ptr<Machine>> machines_;
  std::vector<std::unique_ptr<Tenant>> tenants_;
};

}  // namespace proffer::sim
