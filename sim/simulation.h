#pragma once

// One run: a cluster with its schedulers, a safety phase with faults, and a liveness phase without
// faults, in which all work must end.

#include <cstdint>
#include <iosfwd>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "common/result.h"
#include "sim/agent_node.h"
#include "sim/batch_workload.h"
#include "sim/churn_law.h"
#include "sim/faults.h"
#include "sim/host.h"
#include "sim/journal.h"
#include "sim/liars.h"
#include "sim/life_recorder.h"
#include "sim/master_node.h"
#include "sim/network.h"
#include "sim/scheduler_node.h"
#include "sim/world.h"

namespace proffer::sim {

struct SimOptions {
  uint64_t seed = 1;
  std::string workload = {};              // one of kWorkloads (or kFurtherWorkloads); empty: drawn
  size_t agents = 0;                      // 0: drawn
  std::optional<FaultKinds> faults = {};  // none: drawn
  bool liars = false;                     // in addition: both kinds of adversaries
  std::set<uint64_t> skip_faults = {};    // numbers in the plan of faults
  size_t tasks_max = 0;                   // of one framework; 0: as drawn
  std::ostream* trace = nullptr;          // every event, as it happens
  LifeRecorder::Keep record = {};         // receives the recordings of masters' lives
};

inline constexpr std::string_view kWorkloads[] = {"many_small", "open_offers", "kills",  "mixed",
                                                  "batch",      "steady",      "tenants"};
// Chosen only by name: drawing from more workloads would change the runs of known seeds.
inline constexpr std::string_view kFurtherWorkloads[] = {"service", "churn", "once", "masters"};

struct SimReport {
  std::vector<Violation> violations = {};
  uint64_t hash = 0;  // of the history: same options, same hash
  Time ended_at = {};
  uint64_t steps = 0;
  uint64_t frames = 0;
  uint64_t events = 0;
  size_t tasks = 0;                      // accepted tasks
  SimOptions options = {};               // with the drawn values
  std::vector<std::string> faults = {};  // the plan of faults, for people
  std::vector<uint64_t> fault_numbers = {};
  std::vector<std::string> last_events = {};

  bool ok() const { return violations.empty(); }
};

// Fills open options with the values that the seed draws.
SimOptions drawn(const SimOptions& options);
// One command that reproduces the run.
std::string replay_command(const SimOptions& options);

class Simulation {
 public:
  // Draws the cluster, its workload and its faults. Requires a known workload.
  explicit Simulation(const SimOptions& options);
  ~Simulation();
  Simulation(const Simulation&) = delete;
  Simulation& operator=(const Simulation&) = delete;

  // The options with the drawn values.
  const SimOptions& options() const { return options_; }
  // Runs all of it, once.
  SimReport run();

  // --- for tests, which may also disturb the run -------------------------------------------------
  World& world() { return world_; }
  Network& network() { return network_; }
  Journal& journal() { return journal_; }
  // The master that leads in the newest epoch, or any if none is up.
  MasterNode& master();
  const MasterNode& master() const;
  std::vector<std::unique_ptr<AgentNode>>& agents() { return agents_; }
  std::vector<std::unique_ptr<SchedulerNode>>& schedulers() { return schedulers_; }
  // The unfinished work of the cluster as it is; empty when all work has ended.
  std::vector<Violation> unfinished() const;

 private:
  void build();
  void add_masters(const master::MasterOptions& options);
  std::vector<Place> master_places() const;
  void add_schedulers();
  void plan_faults();
  // inject.cc
  void inject(const Fault& fault);
  void partition(const Fault& fault, Prng chance);
  void cut_rack(const Fault& fault, Prng chance);
  void flap(const LinkRule& there, const LinkRule& back, Time until, Prng chance);
  void declare_gone(const Fault& fault, const Host& host, Prng chance);
  void clog(const Fault& fault, Prng chance);
  void slow_process(const Fault& fault, Prng chance);
  LinkRule draw_rule(const Fault& fault, Prng& chance) const;
  void pause_leader(Prng chance);
  void freeze(Node& node, Party party, Duration lasts, Prng chance);
  // operators.cc
  void drain(const Fault& fault, const Host& host, Prng chance);
  void change_role(const Fault& fault, Prng chance);
  void reserve(const Fault& fault, const Host& host, Prng chance);
  // After healing: undoes the operators' operations, until nothing of them is left.
  void tidy_up();
  std::vector<Violation> untidy() const;
  // After healing: drains an agent once more, now that it can become empty in time.
  void drain_once_more();
  void expect_empty();
  std::set<AgentId> troubled() const;  // requires a master that is up
  void add_liars();
  KnownOfOthers known_of_others() const;
  FrameworkId framework_of_liars() const;
  void watch_liars();
  void watch_guarantees();
  void watch_churn();
  template <class Process>
  void comes_back(Process& process, Duration down, Prng chance);
  bool may_retire(const AgentNode& agent) const;
  void heal();
  void watch_maps(const TaskKey& started);
  void watch_removed(const TaskKey& map);
  std::vector<Violation> sandboxes_left() const;
  // The only faults are ends of schedulers and masters.
  bool only_deciders_fail() const;
  Results results_of_arrays();
  TaskScript script(const proto::RunTask& run, const AgentId& machine, Prng& chance);
  SimReport report();

  SimOptions options_;
  World world_;
  Network network_;
  Journal journal_;
  FaultPlan plan_;
  Prng chance_;
  std::vector<std::unique_ptr<LifeRecorder>> recorders_;  // of each master, if it is recorded
  std::unique_ptr<Ensemble> ensemble_;                    // of several masters
  std::vector<std::unique_ptr<MasterNode>> masters_;      // usually one
  std::vector<std::unique_ptr<Host>> hosts_;
  std::vector<std::unique_ptr<AgentNode>> agents_;
  std::vector<std::unique_ptr<SchedulerNode>> schedulers_;
  std::unique_ptr<LyingAgent> lying_agent_;          // none, unless it is among the faults
  std::unique_ptr<LyingScheduler> lying_scheduler_;  // likewise
  std::map<TaskKey, int64_t> map_outputs_;
  std::map<std::string, std::multimap<uint32_t, KeptElement>> kept_elements_;  // by plan
  bool healed_ = false;
  ResourceVector total_;              // of all machines
  std::set<RoleName> roles_changed_;  // by a fault
  std::map<RoleName, Time> unmet_;    // unmet guarantees, and since when
  bool keeps_guarantees_ = false;
  bool guests_fill_ = false;                // the machines, in `tenants`
  std::optional<ChurnLaw> churn_law_ = {};  // in `churn`
  AgentId drained_at_last_ = {};            // must be empty in time; empty: none
};

SimReport simulate(const SimOptions& options);

}  // namespace proffer::sim
