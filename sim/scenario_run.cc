// Runs a scenario. Read run first, then plan: an event at a time has reached the master at that
// time, despite the delays of its messages.

#include "sim/scenario_run.h"

#include <algorithm>

#include "common/check.h"
#include "common/text.h"
#include "sim/report.h"
#include "sim/trace.h"

namespace proffer::sim {
namespace {

// On links without losses no peer becomes silent, so heartbeats are unnecessary: a day of a
// thousand idle agents costs nothing.
constexpr Duration kNoHeartbeats = hours(24 * 365 * 4);
// Frames that a connection carries before the scenario begins.
constexpr int64_t kFramesBefore = 8;
constexpr Duration kBefore = seconds(1);
// Violations are checked after this many steps, so that the checks cost no more than the rest.
constexpr uint64_t kStepsPerTask = 8;
constexpr uint64_t kChecks = 20;

// In the master; it is not queried.
constexpr size_t kEndedKept = 256;

Duration connects_in(const Scenario& scenario) { return scenario.network.delay * 2; }

master::MasterOptions options_of(const Scenario& scenario) {
  master::MasterOptions options;
  if (scenario.network.loss == 0) {
    options.heartbeat = kNoHeartbeats;
    options.silence = kNoHeartbeats * 2;
  }
  for (const auto& [name, value] : scenario.options) {
    const Result<void> set = set_option(name, value, options);
    CHECK(set.has_value()) << set.error().message();
  }
  options.allocator.roles = scenario.roles;
  options.ended_kept = kEndedKept;
  return options;
}

FrameworkId inherited_id(const ScenarioFramework& framework) {
  return FrameworkId(text(framework.name, "-1-1"));
}

}  // namespace

ScenarioRun::ScenarioRun(const Scenario& scenario, std::ostream* trace, const NaiveRules& naive,
                         const RunSetup& setup)
    : scenario_(scenario),
      naive_(naive),
      setup_(setup),
      zero_(Time() + setup.begun_before + kBefore + scenario.network.delay * kFramesBefore),
      world_(scenario.seed, trace, zero_),
      network_(world_),
      book_(scenario_, zero_) {
  build();
}

ScenarioRun::~ScenarioRun() = default;

void ScenarioRun::build() {
  network_.set_plain();
  network_.set_rates({.delay_min = scenario_.network.delay,
                      .delay_max = scenario_.network.delay,
                      .lost = scenario_.network.loss,
                      .repeated = scenario_.network.duplicate,
                      .connects_in = connects_in(scenario_)});
  master::MasterOptions options = options_of(scenario_);
  options.allocator.naive = naive_;
  options.keeps_history = setup_.keeps_history;
  options.looks_at_waits = setup_.looks_at_waits;
  master_ = std::make_unique<MasterNode>(world_, network_, options);
  master_->set_commit_time(Duration());
  master_->set_watcher(setup_.watcher);
  for (const ScenarioFramework& framework : scenario_.frameworks) add_tenant(framework);
  uint64_t tasks = 0;
  for (const ScenarioFramework& framework : scenario_.frameworks) {
    for (const ScenarioTasks& of : framework.tasks) tasks += static_cast<uint64_t>(of.count);
  }
  for (const ScenarioAgent& agent : scenario_.agents) {
    for (int64_t i = 0; i < agent.count; ++i) add_machine(agent, agent.name_of(i));
  }
  world_.set_check_every(
      std::max(machines_.size() <= 4 ? 1 : machines_.size(), tasks * kStepsPerTask / kChecks));
  inherit();
  plan();
}

void ScenarioRun::add_machine(const ScenarioAgent& agent, AgentId name) {
  machines_.push_back(
      std::make_unique<Machine>(world_, network_, master_->place(), book_, agent, std::move(name)));
}

void ScenarioRun::add_tenant(const ScenarioFramework& framework) {
  tenants_.push_back(std::make_unique<Tenant>(world_, network_, master_->place(), book_, framework,
                                              static_cast<uint32_t>(tenants_.size()),
                                              scenario_.network.delay));
}

// --- tasks from before ---------------------------------------------------------------------------

void ScenarioRun::inherit() {
  std::vector<proto::RegistryRow> rows;
  std::map<AgentId, std::vector<MachineTask>> running;
  for (uint32_t f = 0; f < scenario_.frameworks.size(); ++f) {
    const ScenarioFramework& framework = scenario_.frameworks[f];
    bool runs = false;
    for (uint32_t g = 0; g < framework.tasks.size(); ++g) {
      uint32_t number = 0;
      for (const ScenarioRunning& one : framework.tasks[g].running) {
        for (int64_t i = 0; i < one.count; ++i) {
          running[one.agent].push_back({{f, g, number++, 1},
                                        inherited_id(framework),
                                        framework.tasks[g].role_in(framework.role),
                                        one.since});
        }
        runs = true;
      }
    }
    if (!runs) continue;
    rows.push_back(proto::FrameworkRecord{
        .framework = inherited_id(framework),
        .name = framework.name,
        .role = framework.role,
        .mode = framework.takes == Takes::kAsks ? OfferMode::kAsks : OfferMode::kOpen,
        .secret = tenants_[f]->secret(),
        .failover_timeout = kFailoverTimeout});
    tenants_[f]->takes_over(inherited_id(framework));
  }
  std::map<AgentId, std::optional<Time>> admitted;  // and the ends of their drains
  for (const proto::AgentRecord& one : setup_.drained) {
    if (one.drained_by) admitted[one.agent] = zero_ + (*one.drained_by - Time());
  }
  for (const proto::ReservationRecord& one : setup_.reservations) admitted[one.agent];
  for (const auto& [agent, tasks] : running) admitted[agent];
  std::set<AgentId> there;
  for (const auto& machine : machines_) {
    const AgentId agent(machine->name());
    const auto known = admitted.find(agent);
    if (known == admitted.end()) continue;
    there.insert(agent);
    if (const auto tasks = running.find(agent); tasks != running.end())
      machine->runs(tasks->second);
    rows.push_back(proto::AgentRecord{
        .agent = agent, .secret = machine->secret(), .drained_by = known->second});
  }
  for (const proto::ReservationRecord& one : setup_.reservations) {
    if (there.contains(one.agent)) rows.push_back(one);
  }
  if (!rows.empty()) master_->restore(rows);
}

// --- planned events ------------------------------------------------------------------------------

void ScenarioRun::plan() {
  master_->start();
  for (size_t i = 0; i < tenants_.size(); ++i) {
    const ScenarioFramework& framework = scenario_.frameworks[i];
    Tenant* tenant = tenants_[i].get();
    // A framework with open offers is ready with its first frame, one with asks when it has
    // declared them. Frameworks that exist from the beginning have subscribed before.
    const int64_t frames = framework.takes == Takes::kAsks ? 3 : 1;
    const Duration before = connects_in(scenario_) + scenario_.network.delay * frames;
    world_.at(framework.joins == Duration() ? world_.now() : at(framework.joins) - before,
              [tenant] { tenant->join(); });
    if (framework.leaves) {
      world_.at(at(*framework.leaves) - scenario_.network.delay, [this, tenant] {
        lags_.note(master_->core());
        tenant->leave();
      });
    }
  }
  size_t next = 0;
  for (const ScenarioAgent& agent : scenario_.agents) {
    for (int64_t i = 0; i < agent.count; ++i) plan_agent(agent, *machines_[next++]);
  }
}

void ScenarioRun::plan_agent(const ScenarioAgent& agent, Machine& machine) {
  const Duration before = connects_in(scenario_) + scenario_.network.delay;
  const auto start = [&](Duration when) {
    world_.at(at(when) - before, [&machine] { machine.start(); });
    if (counted_at_.insert(when).second) world_.at(at(when), [this] { count_totals(); });
  };
  start(agent.joins);
  if (agent.drains) {
    world_.at(at(*agent.drains), [this, id = AgentId(machine.name()), grace = agent.drain_grace] {
      master_->operate(master::DrainAgent{.agent = id, .grace = grace}, [this](const Error& why) {
        world_.note("operator", DrainRefused{why.message()});
      });
    });
  }
  if (agent.undrains) {
    world_.at(at(*agent.undrains), [this, id = AgentId(machine.name())] {
      master_->operate(master::UndrainAgent{.agent = id}, [this](const Error& why) {
        world_.note("operator", UndrainRefused{why.message()});
      });
    });
  }
  if (agent.leaves) {
    world_.at(at(*agent.leaves), [this, &machine] {
      machine.crash();
      count_totals();
    });
  }
  if (agent.returns) start(*agent.returns);
}

// --- during the run ------------------------------------------------------------------------------

void ScenarioRun::count_totals() {
  ResourceVector total;
  for (const auto& machine : machines_) {
    if (machine->is_up()) total += machine->total().amounts;
  }
  book_.set_total(total, world_.now());
}

bool ScenarioRun::is_over() const { return book_.open() == 0; }

proto::SimulateReport ScenarioRun::run() {
  proto::SimulateReport report{.seed = scenario_.seed};
  const ScenarioCluster cluster{scenario_, *master_, book_, machines_, tenants_, lags_};
  for (const Duration when : scenario_.report_at) {
    world_.run_until(at(when), {});
    if (!world_.violations().empty()) break;
    report.snapshots.push_back(picture_of(cluster, world_.now()));
  }
  const Time until = at(scenario_.until.value_or(default_until(scenario_)));
  if (scenario_.until) {
    world_.run_until(until, {});
  } else {
    world_.run_until(std::max(until, world_.now()), [this] { return is_over(); });
  }
  check_all();
  report.end = picture_of(cluster, std::max(world_.now(), zero_));
  report.trace_hash = world_.history().hash();
  for (const Violation& violation : world_.violations()) {
    report.violations.push_back(violation.what);
  }
  return report;
}

void ScenarioRun::check_all() {
  if (!world_.violations().empty()) return;
  const auto check = [this](const Node& node) {
    if (!node.is_up()) return;
    for (const Violation& violation : node.violations()) world_.violated(node.name(), violation);
  };
  check(*master_);
  for (const auto& machine : machines_) check(*machine);
  for (const auto& tenant : tenants_) check(*tenant);
}

}  // namespace proffer::sim
