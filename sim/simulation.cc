// One run. Read run() first: it builds the cluster, runs the safety phase with its faults, heals,
// and runs the liveness phase until all obligations are met.

#include "sim/simulation.h"

#include <algorithm>

#include "common/check.h"
#include "common/text.h"
#include "frameworks/batch/core/work.h"
#include "sim/batch_workload.h"
#include "sim/checkers.h"
#include "sim/once_workload.h"
#include "sim/service_workload.h"
#include "sim/task_workload.h"

namespace proffer::sim {
namespace {

// Shorter than in production, so that runs reach it.
constexpr Duration kReregistration = minutes(2);
// Everything must end within this time after healing: re-registration, executors that wait for a
// removed agent, failover of abandoned frameworks, and the tasks themselves.
constexpr Duration kLivenessBound = minutes(40);
// The bound if few machines are left for the work of many.
constexpr Duration kChurnLivenessBound = hours(3);
constexpr Duration kAbandonedFailover = seconds(20);
// How long batch schedulers stay: until disconnected agents are back.
constexpr Duration kStays = kReregistration + minutes(1);
// Enough guests to use the whole cluster: an agent has at most eight CPUs, and most tasks take at
// least half a CPU.
constexpr size_t kGuestsPerAgent = 8;
constexpr Duration kGuestsStay = minutes(12);
// The tasks of all tenants together, per CPU. A task takes one CPU for 10 s on average, so the
// cluster stays full for some minutes after the faults have ended.
constexpr int64_t kChurnTasksPerCpu = 40;
constexpr int64_t kChurnTasksMax = 3'000;
// How often the run checks whether everything has ended.
constexpr Duration kEndLook = seconds(1);
// How often the run checks what liars have received, and for how long after healing.
constexpr Duration kLiarsLook = milliseconds(500);
constexpr Duration kLiarsWatched = minutes(5);

}  // namespace

std::string replay_command(const SimOptions& options) {
  std::string command = text("proffer-sim --seed ", options.seed);
  if (!options.workload.empty()) command += text(" --workload ", options.workload);
  if (options.agents != 0) command += text(" --agents ", options.agents);
  if (options.tasks_max != 0) command += text(" --tasks ", options.tasks_max);
  if (options.faults) command += text(" --faults ", to_text(*options.faults));
  if (options.liars) command += " --liars";
  if (!options.skip_faults.empty())
    command += text(" --skip-faults ", to_text(options.skip_faults));
  return command;
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
  const bool many = chance_.chance(1, 12);
  const size_t drawn_agents = static_cast<size_t>(chance_.between(1, 8)) * (many ? 4 : 1);
  if (options_.agents == 0) options_.agents = drawn_agents;
  world_.set_check_every(options_.agents <= 2 ? 1 : 4 * options_.agents);

  master::MasterOptions master;
  master.reregistration_timeout = kReregistration;
  if (!options_.faults) options_.faults = draw_fault_kinds(world_, options_.workload == "masters");
  if (options_.liars) {
    options_.faults->insert({FaultKind::kLyingAgent, FaultKind::kLyingScheduler});
    options_.liars = false;  // They are faults from here on.
  }
  master.keeps_history = options_.faults->contains(FaultKind::kLyingAgent);
  if (options_.faults->contains(FaultKind::kRackCut)) {
    Prng brake = world_.chance("brake");
    master.brake.floor = brake.between(1, 3);
    master.brake.period = seconds(brake.between(20, 60));
  }
  if (options_.faults->contains(FaultKind::kAgentIdle)) {
    master.task_start_timeout = seconds(world_.chance("starts").between(125, 180));
  }
  // Drawn from a separate random source, so that other choices stay the same.
  Prng lending = world_.chance("lending");
  constexpr ReclaimMode kModes[] = {ReclaimMode::kOff, ReclaimMode::kGuarantee,
                                    ReclaimMode::kFairShare};
  master.allocator.reclaim = kModes[lending.below(std::size(kModes))];
  master.allocator.minimum_runtime = milliseconds(lending.between(0, 10'000));
  master.allocator.revoke_grace = milliseconds(lending.between(0, 15'000));
  if (options_.workload == "tenants" || options_.workload == "churn") {
    // An agent has at least two CPUs and two GiB, so the guarantees together fit the cluster.
    const auto agents = static_cast<int64_t>(options_.agents);
    // If nothing is lent, a role without a guarantee could starve in a small cluster.
    keeps_guarantees_ = master.allocator.reclaim != ReclaimMode::kOff;
    const bool promises = options_.workload == "tenants" || lending.chance(1, 2);
    for (const char* role : {"ads", "web"}) {
      const int64_t cpus = lending.between(0, agents);
      const int64_t mem = lending.between(0, agents);
      if (!keeps_guarantees_ || !promises) break;
      master.allocator.roles[RoleName(role)].guarantee =
          Quota::of(ResourceVector::of(cpus * 1'000, mem * 1'024'000));
    }
    // Only if the number of tasks is not given: then there are few enough to check.
    guests_fill_ = keeps_guarantees_ && options_.tasks_max == 0 && options_.workload == "tenants" &&
                   lending.chance(3, 4);
  }
  add_masters(master);
  for (size_t i = 0; i < options_.agents; ++i) {
    const std::string name = text("a", i + 1);
    const int64_t mem = chance_.between(2, 16) * 1'024;
    const int64_t cpus = chance_.between(2, 8);
    const Result<Resources> total =
        parse_agent_resources(text("cpus:", cpus, ";mem:", mem, ";ports:[31000-31003]"));
    CHECK(total.has_value()) << total.error().message();
    hosts_.push_back(std::make_unique<Host>(world_, network_, journal_, AgentId(name), *total));
    hosts_.back()->set_scripts([this](const proto::RunTask& run, const AgentId& machine,
                                      Prng& chance) { return script(run, machine, chance); });
    total_ += total->amounts;
    agents_.push_back(std::make_unique<AgentNode>(world_, network_, *hosts_.back(), master_places(),
                                                  Attributes{{"rack", text("r", i % 2)}}));
    // Restarts the agent, as a service supervisor does.
    agents_.back()->set_on_failed([this, agent = agents_.back().get()] {
      world_.after(milliseconds(chance_.between(1'000, 10'000)), [agent] { agent->start(); });
    });
  }
  for (auto& one : masters_) {
    one->set_on_failed([this, started = one.get()] {
      world_.after(milliseconds(chance_.between(1'000, 10'000)), [started] { started->start(); });
    });
  }
  add_schedulers();
  add_liars();
  plan_faults();

  // All processes start within the first seconds, in any order.
  const auto soon = [this] { return milliseconds(chance_.between(0, 3'000)); };
  for (auto& one : masters_) {
    world_.after(soon(), [started = one.get()] { started->start(); });
  }
  for (auto& agent : agents_) {
    world_.after(soon(), [one = agent.get()] { one->start(); });
  }
  for (auto& scheduler : schedulers_) {
    world_.after(soon(), [one = scheduler.get()] { one->start(); });
  }
}

void Simulation::add_masters(const master::MasterOptions& options) {
  constexpr size_t kMasters = 3;
  const auto given_up = [this](const AgentId& agent) {
    journal_.given_up(agent);
    for (auto& host : hosts_) {
      if (host->name() == agent) host->given_up();
    }
  };
  if (options_.workload == "masters") {
    ensemble_ = std::make_unique<Ensemble>(world_);
    for (size_t i = 1; i <= kMasters; ++i) {
      masters_.push_back(std::make_unique<MasterNode>(world_, network_, options, *ensemble_, i));
    }
    ensemble_->set_on_written([this] { masters_.front()->compare_admitted(); });
  } else {
    masters_.push_back(std::make_unique<MasterNode>(world_, network_, options));
  }
  masters_.front()->set_on_removed(given_up);
  if (!options_.record) return;
  for (auto& one : masters_) {
    recorders_.push_back(std::make_unique<LifeRecorder>(options_.record));
    one->set_watcher(recorders_.back().get());
  }
}

std::vector<Place> Simulation::master_places() const {
  std::vector<Place> places;
  for (const auto& one : masters_) places.push_back(one->place());
  return places;
}

const MasterNode& Simulation::master() const {
  const MasterNode* newest = masters_.front().get();
  for (const auto& one : masters_) {
    if (one->is_up() && (!newest->is_up() || newest->leader() < one->leader())) newest = one.get();
  }
  return *newest;
}

MasterNode& Simulation::master() { return const_cast<MasterNode&>(std::as_const(*this).master()); }

void Simulation::add_schedulers() {
  const auto add = [this](std::unique_ptr<Workload> workload) {
    schedulers_.push_back(std::make_unique<SchedulerNode>(world_, network_, journal_,
                                                          master_places(), std::move(workload)));
  };
  const std::string& which = options_.workload;
  const auto limited = [&](int64_t drawn) {
    const auto tasks = static_cast<size_t>(drawn);
    return options_.tasks_max == 0 ? tasks : std::min(tasks, options_.tasks_max);
  };
  const auto tasks = [&](TaskWorkloadOptions workload, size_t at_least = 0) {
    workload.name = text("f", schedulers_.size() + 1);
    if (workload.role == TaskWorkloadOptions().role) {
      workload.role = RoleName(chance_.chance(1, 2) ? "ads" : "web");
    }
    workload.seed = chance_.next();
    workload.ports = chance_.chance(1, 2) ? 50 : 0;
    workload.shares = chance_.chance(1, 2) ? 40 : 0;
    // Guests stay long, and a cluster may have only one machine.
    const int64_t most = which == "tenants" ? 16 : 40;
    const int64_t drawn = chance_.between(5, most) * (which == "steady" ? 3 : 1);
    workload.tasks = limited(std::max(drawn, static_cast<int64_t>(at_least)));
    add(std::make_unique<TaskWorkload>(workload));
  };
  const auto batch = [&] {
    add(std::make_unique<BatchWorkload>(
        BatchWorkloadOptions{.name = text("f", schedulers_.size() + 1),
                             .seed = chance_.next(),
                             .jobs = chance_.between(1, 3),
                             .maps = limited(chance_.between(1, 40)),
                             .reducers = chance_.between(1, 6)}));
  };
  const auto several = [&] { return chance_.between(1, 3); };
  if (which == "many_small") {
    for (int64_t i = several(); i > 0; --i) tasks({.declines = 5, .holds = 3});
  } else if (which == "open_offers") {
    for (int64_t i = several(); i > 0; --i) {
      tasks({.mode = OfferMode::kOpen, .declines = 10, .holds = 10});
    }
  } else if (which == "kills") {
    for (int64_t i = several(); i > 0; --i) tasks({.kills = 60});
    tasks({.kills = 20,
           .endless = 30,
           .teardown_at = Time() + seconds(chance_.between(20, 120)),
           .failover_timeout = kAbandonedFailover});
  } else if (which == "steady") {
    // Tasks arrive as long as faults happen.
    for (int64_t i = several(); i > 0; --i) {
      tasks({.arrive_within = seconds(200),
             .runs_max = seconds(6),
             .declines = 3,
             .holds = 3,
             .kills = 20});
    }
  } else if (which == "mixed" || which == "masters") {
    tasks({.declines = 5});
    tasks({.mode = OfferMode::kOpen, .holds = 5});
    tasks({.kills = 40});
    batch();
  } else if (which == "tenants") {
    // Roles without a guarantee borrow unused resources; later the owners come and want them back.
    TaskWorkloadOptions guests{.role = RoleName("other"),
                               .arrive_within = seconds(5),
                               .stays = 50,
                               .heeds = chance_.chance(1, 2)};
    // Sometimes the guests use the whole cluster and do not leave by themselves: roles with
    // guarantees only get resources in time by reclaiming.
    if (guests_fill_) {
      guests.endless = 100;
      guests.stays = 0;
      guests.teardown_at = Time() + kGuestsStay;
      guests.failover_timeout = kAbandonedFailover;
    }
    tasks(guests, guests_fill_ ? kGuestsPerAgent * options_.agents : 0);
    for (int64_t i = chance_.between(2, 4); i > 0; --i) {
      constexpr const char* kRoles[] = {"ads", "ads/eu", "web", "web/shop"};
      const RoleName role(kRoles[chance_.below(std::size(kRoles))]);
      const bool heeds = chance_.chance(1, 2);
      const auto band = static_cast<Band>(chance_.below(kBandCount));
      // If two roles without borrowing had tasks larger than half of the cluster, neither could
      // run.
      const bool borrow = chance_.chance(1, 2) || i > 1;
      tasks({.role = role,
             .arrive_within = seconds(200),
             // The master reclaims nothing more for a framework that does not use reclaimed
             // resources.
             .holds = guests_fill_ ? 0u : 2u,
             .kills = 10,
             .stays = 20,
             .heeds = heeds,
             .band = band,
             .borrow = borrow});
    }
  } else if (which == "churn") {
    const int64_t tenants = chance_.between(2, 4);
    const int64_t cpus = total_[ResourceKind::kCpus] / 1'000;
    for (int64_t i = 0; i < tenants; ++i) {
      constexpr const char* kRoles[] = {"ads", "web", "ads/eu", "other"};
      add(std::make_unique<TaskWorkload>(TaskWorkloadOptions{
          .name = text("f", i + 1),
          .role = RoleName(kRoles[chance_.below(std::size(kRoles))]),
          .seed = chance_.next(),
          .tasks = limited(std::min(cpus * kChurnTasksPerCpu, kChurnTasksMax) / tenants),
          .arrive_within = seconds(30)}));
    }
    churn_law_.emplace(schedulers_.size(), keeps_guarantees_);
  } else if (which == "once") {
    for (int64_t i = several(); i > 0; --i) {
      add(std::make_unique<OnceWorkload>(
          OnceWorkloadOptions{.name = text("f", schedulers_.size() + 1),
                              .role = RoleName(chance_.chance(1, 2) ? "ads" : "web"),
                              .seed = chance_.next(),
                              .tasks = limited(chance_.between(5, 40))}));
    }
  } else if (which == "service") {
    add(std::make_unique<ServiceWorkload>(ServiceWorkloadOptions{
        .name = "service", .seed = chance_.next(), .apps = chance_.between(1, 3)}));
    if (chance_.chance(1, 3)) batch();
  } else {
    CHECK(which == "batch") << "there is no workload " << which;
    batch();
    if (chance_.chance(1, 2)) batch();
  }
}

void Simulation::add_liars() {
  const auto spy = [this] { return known_of_others(); };
  if (options_.faults->contains(FaultKind::kLyingScheduler)) {
    lying_scheduler_ = std::make_unique<LyingScheduler>(world_, network_, master_places(), spy);
  }
  if (!options_.faults->contains(FaultKind::kLyingAgent)) return;
  lying_agent_ = std::make_unique<LyingAgent>(world_, network_, master_places(), spy,
                                              [this] { return framework_of_liars(); });
  for (auto& one : masters_) {
    one->set_on_history([this](const proto::HistoryRecord& record) {
      const std::optional<Violation> found = kept_for_liars(record, framework_of_liars());
      if (found) world_.violated("liar", *found);
    });
  }
}

FrameworkId Simulation::framework_of_liars() const {
  return lying_scheduler_ == nullptr ? FrameworkId() : lying_scheduler_->framework();
}

KnownOfOthers Simulation::known_of_others() const {
  KnownOfOthers known;
  for (const auto& scheduler : schedulers_) {
    if (!scheduler->framework().empty()) known.frameworks.push_back(scheduler->framework());
  }
  for (const auto& [task, entry] : journal_.entries()) known.tasks.push_back(task);
  for (const auto& host : hosts_) known.agents.push_back(host->name());
  return known;
}

// Watches the liars while they lie, and until all of their work has ended.
void Simulation::watch_liars() {
  if (master().is_up() && !master().is_frozen()) {
    for (const Violation& violation :
         given_to_liars(master().core(), framework_of_liars(), known_of_others(), total_)) {
      world_.violated("liar", violation);
    }
  }
  if (world_.now() > plan_.healed_at + kLiarsWatched) return;
  world_.after(kLiarsLook, [this] { watch_liars(); });
}

void Simulation::plan_faults() {
  plan_ = draw_faults(world_, *options_.faults, options_.skip_faults);
  network_.set_rates(plan_.network);
  for (auto& host : hosts_) host->set_start_failures(plan_.start_failures);
  for (const Fault& fault : plan_.faults) {
    world_.at(fault.at, [this, fault] { inject(fault); });
  }
  world_.at(plan_.healed_at, [this] { heal(); });
  Prng stays = world_.chance("stays");
  for (auto& scheduler : schedulers_) {
    auto* jobs = dynamic_cast<BatchWorkload*>(&scheduler->workload());
    if (jobs != nullptr && stays.chance(1, 2)) jobs->stay_until(plan_.healed_at + kStays);
  }
}

bool Simulation::only_deciders_fail() const {
  static const FaultKinds kDeciders = {FaultKind::kMasterCrash, FaultKind::kMasterCrashInStep,
                                       FaultKind::kSchedulerCrash,
                                       FaultKind::kSchedulerCrashInStep};
  return std::includes(kDeciders.begin(), kDeciders.end(), options_.faults->begin(),
                       options_.faults->end());
}

// A finished map runs again only if its agent is lost or unreachable: not in a run where only
// schedulers and masters crash.
void Simulation::watch_maps(const TaskKey& started) {
  if (!only_deciders_fail()) return;
  const std::optional<batch::TaskName> name = batch::parse_task_id(started.second);
  if (!name || name->kind != batch::TaskKind::kMap) return;
  for (const auto& [key, entry] : journal_.entries()) {
    const std::optional<batch::TaskName> other = batch::parse_task_id(key.second);
    if (key.first != started.first || key.second == started.second || !other ||
        other->job != name->job || other->kind != name->kind || other->number != name->number) {
      continue;
    }
    if (entry.ending == Ending::kRuns ||
        (entry.ending == Ending::kExited && entry.exit_code == 0)) {
      world_.violated("batch", {text(to_text(started), " begins again what ", to_text(key),
                                     " has done or does")});
    }
  }
}

TaskScript Simulation::script(const proto::RunTask& run, const AgentId& machine, Prng& chance) {
  if (run.spec.executor != proto::kBatchExecutor) {
    return TaskScript{.task = parse_sim_task(run.spec.command)};
  }
  if (!is_copy(run.spec)) watch_maps({run.framework, run.spec.id});
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
      const std::pair sandbox(map.first, ExecutorId(map.second.str()));
      if (agent->host().was_removed(sandbox)) watch_removed(map);
      if (!agent->host().sandboxes().contains(sandbox)) return std::nullopt;
      if (agent->is_up()) return map_outputs_.at(map);
    }
    return std::nullopt;
  };
  return batch_script(run, machine, shuffle, results_of_arrays(), chance);
}

Results Simulation::results_of_arrays() {
  Results results;
  results.read = [this](const std::string& plan) -> const std::multimap<uint32_t, KeptElement>& {
    return kept_elements_[plan];
  };
  results.keep = [this](const TaskKey& task, const std::string& plan, Duration after,
                        uint32_t position, KeptElement kept) {
    world_.at(world_.now() + after, [this, task, plan, position, kept] {
      const auto entry = journal_.entries().find(task);
      if (entry == journal_.entries().end() || entry->second.ending != Ending::kRuns) return;
      kept_elements_[plan].emplace(position, kept);
    });
  };
  results.running = [this](const TaskKey& task) -> std::optional<int64_t> {
    if (!only_deciders_fail()) return std::nullopt;
    const std::optional<batch::TaskName> name = batch::parse_task_id(task.second);
    return std::count_if(
        journal_.entries().begin(), journal_.entries().end(), [&](const auto& row) {
          const std::optional<batch::TaskName> other = batch::parse_task_id(row.first.second);
          return row.first.first == task.first && row.second.ending == Ending::kRuns && other &&
                 other->kind == batch::TaskKind::kRange && other->job == name->job;
        });
  };
  results.violated = [this](const Violation& violation) { world_.violated("batch", violation); };
  return results;
}

// A reduce of an ended job may still begin and fetch in vain. Other tasks may not.
void Simulation::watch_removed(const TaskKey& map) {
  const std::optional<batch::TaskName> name = batch::parse_task_id(map.second);
  for (const auto& scheduler : schedulers_) {
    const auto* jobs = dynamic_cast<const BatchWorkload*>(&scheduler->workload());
    if (jobs == nullptr || scheduler->framework() != map.first) continue;
    if (name && jobs->has_released(name->job.str())) continue;
    world_.violated("shuffle", {text(to_text(map), " is to be read, and was removed")});
  }
}

// Ended jobs leave no sandboxes behind.
std::vector<Violation> Simulation::sandboxes_left() const {
  std::vector<Violation> found;
  for (const auto& scheduler : schedulers_) {
    const auto* jobs = dynamic_cast<const BatchWorkload*>(&scheduler->workload());
    if (jobs == nullptr || jobs->has_left_early()) continue;
    for (const auto& agent : agents_) {
      if (!agent->is_up()) continue;
      const Host& host = agent->host();
      for (const auto& sandbox : host.sandboxes()) {
        if (sandbox.first != scheduler->framework() || host.was_given_up(sandbox)) continue;
        found.push_back({text(agent->name(), " still has the sandbox of ", sandbox.first.str(), "/",
                              sandbox.second.str())});
      }
    }
  }
  return found;
}

std::vector<Violation> Simulation::unfinished() const {
  std::vector<Violation> found = sim::unfinished({master(), agents_, schedulers_, journal_});
  for (Violation& one : sandboxes_left()) found.push_back(std::move(one));
  for (Violation& one : untidy()) found.push_back(std::move(one));
  return found;
}

SimReport Simulation::run() {
  world_.run_until(plan_.healed_at, {});
  Time look = world_.now();
  const Duration bound = churn_law_ ? kChurnLivenessBound : kLivenessBound;
  const bool done = world_.run_until(world_.now() + bound, [&] {
    if (!healed_ || world_.now() < look) return false;
    look = world_.now() + kEndLook;
    watch_guarantees();
    watch_churn();
    return unfinished().empty();
  });
  if (!done && world_.violations().empty()) {
    for (const Violation& owed : unfinished()) world_.violated("liveness", owed);
  }
  const auto check = [this](const Node& node) {
    if (!node.is_up()) return;
    for (const Violation& violation : node.violations()) world_.violated(node.name(), violation);
  };
  for (const auto& one : masters_) check(*one);
  for (const auto& agent : agents_) check(*agent);
  for (const auto& scheduler : schedulers_) check(*scheduler);
  return report();
}

SimReport Simulation::report() {
  SimReport report{.violations = world_.violations(),
                   .hash = world_.history().hash(),
                   .ended_at = world_.now(),
                   .steps = world_.steps(),
                   .frames = network_.frames(),
                   .events = world_.history().events(),
                   .tasks = journal_.accepted(),
                   .options = options_,
                   .faults = plan_.describe(),
                   .last_events = world_.history().last()};
  report.options.trace = nullptr;
  report.options.record = nullptr;
  for (auto& recorder : recorders_) recorder->ends();
  for (const Fault& fault : plan_.faults) report.fault_numbers.push_back(fault.number);
  return report;
}

SimOptions drawn(const SimOptions& options) { return Simulation(options).options(); }

SimReport simulate(const SimOptions& options) { return Simulation(options).run(); }

}  // namespace proffer::sim
