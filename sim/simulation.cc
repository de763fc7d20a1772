// The story of one run. Read run first: build, the safety phase with its faults, heal, the liveness
// phase until nothing is owed.

#include "sim/simulation.h"

#include <algorithm>

#include "common/check.h"
#include "common/text.h"
#include "sim/batch_workload.h"
#include "sim/checkers.h"
#include "sim/task_workload.h"

namespace proffer::sim {
namespace {

// Shorter than in life, so that runs see it happen.
constexpr Duration kReregistration = minutes(2);
// After healing everything must have come to its end within this: re-registration, executors that
// wait for an agent that is gone, fail-over of abandoned frameworks, and the tasks themselves.
constexpr Duration kLivenessBound = minutes(40);
constexpr Duration kAbandonedFailover = seconds(20);
// How often it is asked whether everything has come to its end.
constexpr Duration kLook = seconds(1);

}  // namespace

std::string replay_command(const SimOptions& options) {
  std::string command = text("proffer-sim --seed ", options.seed);
  if (!options.workload.empty()) command += text(" --workload ", options.workload);
  if (options.agents != 0) command += text(" --agents ", options.agents);
  if (!options.faults) command += " --no-faults";
  return command + " --trace";
}

Simulation::Simulation(const SimOptions& options)
    : options_(options),
      world_(options.seed, options.trace),
      network_(world_),
      chance_(world_.chance("cluster")) {
  build();
}

Simulation::~Simulation() = default;

void Simulation::build() {
  const uint64_t drawn_workload = chance_.below(std::size(kWorkloads));
  if (options_.workload.empty()) options_.workload = std::string(kWorkloads[drawn_workload]);
  const size_t drawn_agents = static_cast<size_t>(chance_.between(1, 8));
  if (options_.agents == 0) options_.agents = drawn_agents;
  world_.set_check_every(options_.agents <= 2 ? 1 : 4 * options_.agents);

  master::MasterOptions master;
  master.reregistration_timeout = kReregistration;
  master_ = std::make_unique<MasterNode>(world_, network_, master);
  for (size_t i = 0; i < options_.agents; ++i) {
    const std::string name = text("a", i + 1);
    const Result<Resources> total = parse_agent_resources(
        text("cpus:", chance_.between(2, 8), ";mem:", chance_.between(2, 16) * 1'024,
             ";ports:[31000-31003]"));
    CHECK(total.has_value()) << total.error().message();
    hosts_.push_back(std::make_unique<Host>(world_, network_, journal_, AgentId(name), *total));
    hosts_.back()->set_scripts([this](const proto::RunTask& run, const AgentId& machine,
                                      Prng& chance) { return script(run, machine, chance); });
    agents_.push_back(std::make_unique<AgentNode>(world_, network_, *hosts_.back(),
                                                  master_->place(),
                                                  Attributes{{"rack", text("r", i % 2)}}));
  }
  for_good_.resize(options_.agents);
  add_schedulers();
  plan_faults();

  // They come up within the first seconds, in any order.
  const auto soon = [this] { return milliseconds(chance_.between(0, 3'000)); };
  world_.after(soon(), [this] { master_->start(); });
  for (auto& agent : agents_) {
    world_.after(soon(), [one = agent.get()] { one->start(); });
  }
  for (auto& scheduler : schedulers_) {
    world_.after(soon(), [one = scheduler.get()] { one->start(); });
  }
}

void Simulation::add_schedulers() {
  const auto add = [this](std::unique_ptr<Workload> workload) {
    schedulers_.push_back(std::make_unique<SchedulerNode>(world_, network_, journal_,
                                                          master_->place(), std::move(workload)));
  };
  const auto tasks = [&](TaskWorkloadOptions workload) {
    workload.name = text("f", schedulers_.size() + 1);
    workload.role = RoleName(chance_.chance(1, 2) ? "ads" : "web");
    workload.seed = chance_.next();
    workload.ports = chance_.chance(1, 2) ? 50 : 0;
    workload.shares = chance_.chance(1, 2) ? 40 : 0;
    workload.tasks = static_cast<size_t>(chance_.between(5, 40));
    add(std::make_unique<TaskWorkload>(workload));
  };
  const auto batch = [&] {
    add(std::make_unique<BatchWorkload>(
        BatchWorkloadOptions{.name = text("f", schedulers_.size() + 1),
                             .seed = chance_.next(),
                             .maps = static_cast<size_t>(chance_.between(1, 40)),
                             .reducers = chance_.between(1, 6)}));
  };
  const auto several = [&] { return chance_.between(1, 3); };
  const std::string& which = options_.workload;
  if (which == "many_small") {
    for (int64_t i = several(); i > 0; --i) tasks({.declines = 5, .holds = 3});
  } else if (which == "open_offers") {
    for (int64_t i = several(); i > 0; --i) {
      tasks({.mode = OfferMode::kOpen, .declines = 10, .holds = 10});
    }
  } else if (which == "kills") {
    for (int64_t i = several(); i > 0; --i) tasks({.kills = 60});
    tasks({.kills = 20,
           .teardown_at = Time() + seconds(chance_.between(20, 120)),
           .failover_timeout = kAbandonedFailover});
  } else if (which == "mixed") {
    tasks({.declines = 5});
    tasks({.mode = OfferMode::kOpen, .holds = 5});
    tasks({.kills = 40});
    batch();
  } else {
    CHECK(which == "batch") << "there is no workload " << which;
    batch();
    if (chance_.chance(1, 2)) batch();
  }
}

void Simulation::plan_faults() {
  plan_ = options_.faults ? draw_faults(world_.chance("faults"), agents_.size(), schedulers_.size())
                          : FaultPlan{.healed_at = Time() + seconds(1)};
  network_.set_rates(plan_.network);
  for (auto& host : hosts_) host->set_start_failures(plan_.start_failures);
  for (const Fault& fault : plan_.faults) {
    world_.at(fault.at, [this, fault] { befall(fault); });
  }
  world_.at(plan_.healed_at, [this] { heal(); });
}

void Simulation::befall(const Fault& fault) {
  if (healed_) return;
  world_.note("fault",
              {.what = to_text(fault.kind), .fields = {{"target", std::to_string(fault.target)}}});
  const auto agent_again = [this, index = fault.target] {
    AgentNode& agent = *agents_[index];
    if (for_good_[index]) return;
    if (agent.is_up() && agent.is_crash_armed()) agent.crash();
    agent.start();
  };
  switch (fault.kind) {
    case FaultKind::kAgentCrash:
      agents_[fault.target]->crash();
      return world_.after(fault.down, agent_again);
    case FaultKind::kAgentCrashInStep:
      agents_[fault.target]->crash_in_next_step();
      return world_.after(fault.down, agent_again);
    case FaultKind::kAgentCrashForGood:
      for_good_[fault.target] = true;
      return agents_[fault.target]->crash();
    case FaultKind::kAgentStop:
    case FaultKind::kAgentStopKilling:
      agents_[fault.target]->stop(fault.kind == FaultKind::kAgentStopKilling);
      return world_.after(seconds(20) + fault.down, [this, fault, agent_again] {
        agents_[fault.target]->crash();
        agent_again();
      });
    case FaultKind::kMachineReboot:
    case FaultKind::kMachineForGood:
      for_good_[fault.target] = for_good_[fault.target] || fault.kind == FaultKind::kMachineForGood;
      agents_[fault.target]->crash();
      hosts_[fault.target]->reboot();
      return world_.after(fault.down, agent_again);
    case FaultKind::kExecutorCrash:
      return hosts_[fault.target]->crash_executor(chance_);
    case FaultKind::kMasterCrash:
      master_->crash();
      return world_.after(fault.down, [this] { master_->start(); });
    case FaultKind::kSchedulerCrash: {
      SchedulerNode& scheduler = *schedulers_[fault.target];
      if (!scheduler.workload().survives_crash()) return;
      scheduler.crash();
      return world_.after(fault.down, [&scheduler] { scheduler.start(); });
    }
  }
}

void Simulation::heal() {
  healed_ = true;
  world_.note("fault", {.what = "healed"});
  network_.set_rates(NetworkRates());
  for (auto& host : hosts_) host->set_start_failures(0);
  master_->start();
  for (auto& scheduler : schedulers_) scheduler->start();
  for (size_t i = 0; i < agents_.size(); ++i) {
    if (!for_good_[i]) agents_[i]->start();
  }
}

TaskScript Simulation::script(const proto::RunTask& run, const AgentId& machine, Prng& chance) {
  if (run.spec.executor != proto::kBatchExecutor) {
    return TaskScript{parse_sim_task(run.spec.command), {}};
  }
  Shuffle shuffle;
  shuffle.write = [this](const TaskKey& map, int64_t bytes) { map_outputs_[map] = bytes; };
  shuffle.read = [this](const std::string& address, const TaskKey& map) -> std::optional<int64_t> {
    const auto entry = journal_.entries().find(map);
    if (entry == journal_.entries().end() || entry->second.ending != Ending::kExited) {
      world_.violated("shuffle", {text(to_text(map), " is to be read, but did not finish")});
      return std::nullopt;
    }
    for (const auto& agent : agents_) {
      if (text(agent->name(), ":5081") != address) continue;
      if (agent->host().name() != entry->second.machine) {
        world_.violated("shuffle", {text(to_text(map), " is to be read at ", address)});
      }
      if (agent->is_up()) return map_outputs_.at(map);
    }
    return std::nullopt;
  };
  return batch_script(run, machine, shuffle, chance);
}

std::vector<Violation> Simulation::unfinished() const {
  return sim::unfinished({*master_, agents_, schedulers_, journal_});
}

SimReport Simulation::run() {
  world_.run_until(plan_.healed_at, {});
  Time look = world_.now();
  const bool done = world_.run_until(world_.now() + kLivenessBound, [&] {
    if (!healed_ || world_.now() < look) return false;
    look = world_.now() + kLook;
    return unfinished().empty();
  });
  if (!done && world_.violations().empty()) {
    for (const Violation& owed : unfinished()) world_.violated("liveness", owed);
  }
  const auto check = [this](const Node& node) {
    if (!node.is_up()) return;
    for (const Violation& violation : node.violations()) world_.violated(node.name(), violation);
  };
  check(*master_);
  for (const auto& agent : agents_) check(*agent);
  for (const auto& scheduler : schedulers_) check(*scheduler);
  return report();
}

SimReport Simulation::report() {
  return SimReport{.violations = world_.violations(),
                   .hash = world_.history().hash(),
                   .ended_at = world_.now(),
                   .steps = world_.steps(),
                   .frames = network_.frames(),
                   .events = world_.history().events(),
                   .tasks = journal_.accepted(),
                   .workload = options_.workload,
                   .agents = agents_.size(),
                   .faults = plan_.describe(),
                   .last_events = world_.history().last()};
}

SimReport simulate(const SimOptions& options) { return Simulation(options).run(); }

}  // namespace proffer::sim
