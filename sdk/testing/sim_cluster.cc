// The cluster around the schedulers: machines, a master, the network, and faults. Read the
// constructor first.

#include "sdk/testing/sim_cluster.h"

#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <map>
#include <utility>

#include "common/check.h"
#include "common/roles.h"
#include "common/text.h"
#include "sdk/testing/sim_executor.h"
#include "sdk/testing/sim_host.h"
#include "sim/agent_node.h"
#include "sim/master_node.h"

namespace proffer::sdk {
namespace {

constexpr std::string_view kDefaultPorts = ";ports:[31000-31999]";
constexpr Duration kStartTimeout = minutes(1);
// The time after which a supervisor restarts a process.
constexpr Duration kSupervisedMin = seconds(1);
constexpr Duration kSupervisedMax = seconds(10);
// Connections that waited longer are probably found broken.
constexpr Duration kBreaksAfter = seconds(15);
constexpr Duration kStormGapMin = seconds(5);
constexpr Duration kStormGapMax = seconds(15);

uint64_t chosen_seed(uint64_t given) {
  const char* named = std::getenv("PROFFER_SIM_SEED");
  if (named == nullptr || *named == '\0') return given;
  const Result<int64_t> seed = parse_whole("$PROFFER_SIM_SEED", named, 0, INT64_MAX);
  CHECK(seed.has_value()) << seed.error().message();
  return static_cast<uint64_t>(*seed);
}

std::ostream* chosen_trace(std::ostream* given) {
  const char* wanted = std::getenv("PROFFER_SIM_TRACE");
  return given == nullptr && wanted != nullptr && std::string_view(wanted) == "1" ? &std::cerr
                                                                                  : given;
}

template <class Value>
Value wanted(std::string_view what, Result<Value> parsed) {
  CHECK(parsed.has_value()) << "SimCluster: " << what << ": " << parsed.error().message();
  return *std::move(parsed);
}

// The first update of the command executor.
std::string told_ports(const proto::RunTask& run) {
  if (run.assignment.ports.empty() || run.spec.executor != proto::kCommandExecutor) return {};
  std::string list;
  for (const auto& [name, port] : run.assignment.ports) {
    list += text(list.empty() ? "" : ",", "\"", name, "\":", port);
  }
  return text("{\"ports\":{", list, "}}");
}

struct Machine {
  std::unique_ptr<sim::Host> host = {};
  std::unique_ptr<sim::AgentNode> agent = {};
};

}  // namespace

// --- schedulers ----------------------------------------------------------------------------------

class SimScheduler::State {
 public:
  explicit State(std::unique_ptr<SimHost> made) : host(std::move(made)) {}
  std::unique_ptr<SimHost> host;
};

SimScheduler::SimScheduler(std::unique_ptr<State> state) : state_(std::move(state)) {}
SimScheduler::~SimScheduler() = default;
const std::string& SimScheduler::name() const { return state_->host->name(); }
bool SimScheduler::is_up() const { return state_->host->is_up(); }
std::optional<int> SimScheduler::exit_code() const { return state_->host->exit_code(); }
Scheduler& SimScheduler::scheduler() { return state_->host->scheduler(); }
const FrameworkId& SimScheduler::framework() const { return state_->host->current_framework(); }
const std::optional<Error>& SimScheduler::refused() const { return state_->host->refusal(); }
size_t SimScheduler::offers() const { return state_->host->offers; }
size_t SimScheduler::rescinds() const { return state_->host->rescinds; }
size_t SimScheduler::disconnects() const { return state_->host->disconnects; }
size_t SimScheduler::sessions() const { return state_->host->sessions; }
std::optional<proto::TaskStatus> SimScheduler::last_told(const TaskId& task) const {
  for (const auto& [key, status] : state_->host->told()) {
    if (key.second == task) return status;
  }
  return std::nullopt;
}

// --- the cluster ---------------------------------------------------------------------------------

class SimCluster::Inside {
 public:
  explicit Inside(const SimClusterOptions& options)
      : world(chosen_seed(options.seed), chosen_trace(options.trace)),
        network(world),
        chance(world.chance("SimCluster")) {
    master::MasterOptions made;
    made.agent_timeout = options.agent_timeout;
    made.reregistration_timeout = options.reregistration_timeout;
    made.allocator.offer_timeout = options.offer_timeout;
    made.allocator.roles = table_of(wanted("weights", parse_role_weights(options.weights)));
    master = std::make_unique<sim::MasterNode>(world, network, std::move(made));
    master->set_on_failed([this] { world.after(supervised(), [this] { master->start(); }); });
  }

  Duration supervised() {
    return nanoseconds(chance.between(kSupervisedMin.nanos(), kSupervisedMax.nanos()));
  }

  void add_machine(const std::string& name, std::string resources, const std::string& attributes) {
    if (resources.find("ports:") == std::string::npos) resources += kDefaultPorts;
    CHECK(is_valid_name(name)) << "SimCluster: an agent cannot be called " << quoted(name);
    CHECK(machines.count(name) == 0) << "SimCluster: there are two agents " << quoted(name);
    Machine& machine = machines[name];
    machine.host =
        std::make_unique<sim::Host>(world, network, journal, AgentId(name),
                                    wanted("resources", parse_agent_resources(resources)));
    machine.host->set_scripts([this](const proto::RunTask& run, const AgentId& agent, Prng&) {
      return script({run, agent});
    });
    machine.host->set_programs([this](sim::Host& host, const sim::ProcessStart& start,
                                      int32_t pid) { return process_of_author(host, start, pid); });
    machine.agent = std::make_unique<sim::AgentNode>(
        world, network, *machine.host, std::vector{master->place()},
        wanted("attributes", parse_attributes(attributes)));
    sim::AgentNode* agent = machine.agent.get();
    agent->set_on_failed([this, agent] { world.after(supervised(), [agent] { agent->start(); }); });
    world.after(milliseconds(chance.between(1, 900)), [agent] { agent->start(); });
    world.set_check_every(machines.size() <= 3 ? 1 : 4 * machines.size());
  }

  sim::TaskScript script(const TaskStart& run) {
    const TaskScript wanted_script = scripts ? scripts(run) : TaskScript();
    sim::TaskScript made{.task = {.runs = std::max(wanted_script.runs, Duration()),
                                  .exit_code = wanted_script.exit_code,
                                  .signal = wanted_script.signal,
                                  .stubborn = wanted_script.ignores_kill},
                         .data = wanted_script.data,
                         .first_data = wanted_script.first_data};
    if (made.first_data.empty()) made.first_data = told_ports(run);
    for (const TaskScript::Health& found : wanted_script.health) {
      made.health.emplace_back(found.after, found.healthy);
    }
    return made;
  }

  std::unique_ptr<sim::ExecutorProcess> process_of_author(sim::Host& host,
                                                          const sim::ProcessStart& start,
                                                          int32_t pid) {
    const std::pair<const std::string, std::function<void(Executor&)>>* found = nullptr;
    for (const auto& program : programs) {
      if (start.program.find(program.first) == std::string::npos) continue;
      if (found == nullptr || program.first.size() > found->first.size()) found = &program;
    }
    if (found == nullptr) return nullptr;
    return std::make_unique<SimExecutor>(world, network, host, start, pid, found->second);
  }

  Machine& machine(std::string_view name) {
    const auto at = machines.find(std::string(name));
    CHECK(at != machines.end()) << "SimCluster: there is no agent " << quoted(name);
    return at->second;
  }

  const SimHost* find(std::string_view name) const {
    for (const auto& scheduler : schedulers) {
      if (scheduler->name() == name) return &host_of(*scheduler);
    }
    return nullptr;
  }
  static SimHost& host_of(const SimScheduler& scheduler) { return *scheduler.state_->host; }

  bool run(Time until, const std::function<bool()>& done) {
    const bool held = world.run_until(until, done);
    if (!world.violations().empty() && !std::exchange(complained, true)) {
      std::cerr << "SimCluster: broken, at " << to_text(world.now() - Time()) << ", "
                << text("PROFFER_SIM_SEED=", world.seed()) << '\n';
      for (const Violation& violation : world.violations()) std::cerr << violation.what << '\n';
      for (const std::string& event : world.history().last()) std::cerr << "  " << event << '\n';
    }
    return held;
  }

  void drop_messages(Duration duration, int percent) {
    network.set_rates({.lost = static_cast<uint32_t>(std::clamp(percent, 0, 100)) * 10'000});
    world.after(duration, [this, serial = ++drops] {
      if (serial == drops) network.set_rates({});
    });
  }

  void cut_off(sim::Party party, Duration duration) {
    const sim::Site site = network.site_of(party);
    const sim::Site center = network.site_of(master->party());
    for (const auto& [from, to] : {std::pair(site, center), std::pair(center, site)}) {
      const uint64_t rule = network.add_rule({.from = {from}, .to = {to}, .blocked = true});
      world.after(duration, [this, rule, breaks = duration >= kBreaksAfter] {
        network.end_rule(rule, breaks);
      });
    }
  }

  void lose(Machine& machine) {
    if (!machine.host->is_powered()) return;
    machine.host->power_off(chance);
    machine.agent->crash();
  }

  void bring_back(Machine& machine) {
    machine.host->power_on();
    machine.agent->start();
  }

  void restart_agent(Machine& machine, Duration down) {
    machine.agent->crash();
    world.after(down, [&machine] { machine.agent->start(); });
  }

  template <class Operation>
  void operate(Operation operation) {
    CHECK(master->is_up()) << "SimCluster: the master is down";
    master->operate(std::move(operation),
                    [](const Error& error) { LOG(FATAL) << "SimCluster: " << error.message(); });
  }

  void fail_over_master(Duration down) {
    master->crash();
    world.after(down, [this] { master->start(); });
  }

  void inject(Time ends) {
    if (world.now() >= ends) return;
    const Duration left = ends - world.now();
    const auto lasts = [&](Duration at_most) {
      return nanoseconds(
          chance.between(milliseconds(100).nanos(), std::min(left, at_most).nanos()));
    };
    auto at = machines.begin();
    std::advance(at, static_cast<ptrdiff_t>(chance.below(machines.size())));
    Machine& machine = at->second;
    SimHost* host =
        schedulers.empty() ? nullptr : &host_of(*schedulers[chance.below(schedulers.size())]);
    switch (left <= milliseconds(100) ? 8 : chance.below(8)) {
      case 0:
        fail_over_master(lasts(seconds(20)));
        break;
      case 1:
        restart_agent(machine, lasts(seconds(20)));
        break;
      case 2:
        lose(machine);
        world.after(lasts(minutes(1)), [this, &machine] { bring_back(machine); });
        break;
      case 3:
        cut_off(machine.agent->party(), lasts(minutes(1)));
        break;
      case 4:
        if (host != nullptr) cut_off(host->party(), lasts(minutes(1)));
        break;
      case 5:
        drop_messages(lasts(seconds(10)), static_cast<int>(chance.between(1, 100)));
        break;
      case 6:
        if (host != nullptr && host->keeps_identity() && host->is_up()) {
          host->kill();
          world.after(lasts(seconds(20)), [host] { host->start(); });
        }
        break;
      case 7:
        if (sim::ExecutorProcess* executor = machine.host->some_executor(chance)) {
          machine.host->crash_executor(*executor);
        }
        break;
      default:
        break;
    }
    if (host != nullptr && chance.chance(1, 4)) host->break_connection();
    world.after(nanoseconds(chance.between(kStormGapMin.nanos(), kStormGapMax.nanos())),
                [this, ends] { inject(ends); });
  }

  sim::World world;
  sim::Network network;
  sim::Journal journal;
  Prng chance;
  std::unique_ptr<sim::MasterNode> master;
  std::map<std::string, Machine> machines;
  std::vector<std::unique_ptr<SimScheduler>> schedulers;
  TaskScripts scripts;
  std::map<std::string, std::function<void(Executor&)>> programs;
  Time nothing_until;
  uint64_t drops = 0;
  uint64_t requests = 0;
  bool complained = false;
};

SimCluster::SimCluster(const SimClusterOptions& options)
    : inside_(std::make_unique<Inside>(options)) {
  inside_->master->start();
  for (size_t i = 1; i <= options.agents; ++i) {
    inside_->add_machine(text("agent-", i), options.resources, options.attributes);
  }
  CHECK(run_until([&] { return agents_active() == options.agents; }, kStartTimeout) ||
        !violations().empty())
      << "SimCluster: the agents did not register";
}

SimCluster::~SimCluster() = default;

SimScheduler& SimCluster::add(SchedulerOptions options, std::function<void(Scheduler&)> install) {
  auto host =
      std::make_unique<SimHost>(inside_->world, inside_->network, inside_->journal,
                                inside_->master->place(), std::move(options), std::move(install));
  host->offer_nothing_until(inside_->nothing_until);
  auto state = std::make_unique<SimScheduler::State>(std::move(host));
  inside_->schedulers.push_back(std::unique_ptr<SimScheduler>(new SimScheduler(std::move(state))));
  SimScheduler& scheduler = *inside_->schedulers.back();
  start_scheduler(scheduler);
  return scheduler;
}

void SimCluster::add_agent(const std::string& name, const std::string& resources,
                           const std::string& attributes) {
  inside_->add_machine(name, resources, attributes);
}

void SimCluster::on_task(TaskScripts scripts) { inside_->scripts = std::move(scripts); }
void SimCluster::on_executor(std::string program, std::function<void(Executor&)> install) {
  CHECK(!program.empty()) << "SimCluster: on_executor needs the name of a program";
  inside_->programs.insert_or_assign(std::move(program), std::move(install));
}

// --- time ----------------------------------------------------------------------------------------

Time SimCluster::now() const { return inside_->world.now(); }
void SimCluster::run_for(Duration duration) { inside_->run(now() + duration, {}); }
bool SimCluster::run_until(const std::function<bool()>& done, Duration at_most) {
  return inside_->run(now() + at_most, done);
}
void SimCluster::after(Duration duration, std::function<void()> what) {
  inside_->world.after(std::max(duration, Duration()), std::move(what));
}

void SimCluster::request(const SimScheduler& scheduler, std::string data,
                         std::function<void(const Result<std::string>&)> answered,
                         Duration timeout) {
  CHECK(inside_->master->is_up()) << "SimCluster: the master is down";
  inside_->master->call({.framework = scheduler.framework().str(),
                         .id = text("request-", ++inside_->requests),
                         .timeout = timeout,
                         .data = std::move(data)},
                        std::move(answered));
}

// --- operators -----------------------------------------------------------------------------------

void SimCluster::drain_agent(std::string_view agent, Duration grace) {
  inside_->operate(master::DrainAgent{.agent = AgentId(std::string(agent)), .grace = grace});
}
void SimCluster::undrain_agent(std::string_view agent) {
  inside_->operate(master::UndrainAgent{.agent = AgentId(std::string(agent))});
}
void SimCluster::set_role(const RoleName& role, const RoleSettings& settings) {
  inside_->operate(master::SetRole{.role = role,
                                   .weight = settings.weight,
                                   .guarantee = settings.guarantee,
                                   .limit = settings.limit});
}

// --- faults --------------------------------------------------------------------------------------

void SimCluster::lose_agent(std::string_view agent) { inside_->lose(inside_->machine(agent)); }
void SimCluster::bring_back_agent(std::string_view agent) {
  inside_->bring_back(inside_->machine(agent));
}
void SimCluster::restart_agent(std::string_view agent, Duration down) {
  inside_->restart_agent(inside_->machine(agent), down);
}
void SimCluster::crash_executor(std::string_view agent) {
  sim::Host& host = *inside_->machine(agent).host;
  if (sim::ExecutorProcess* executor = host.some_executor(inside_->chance)) {
    host.crash_executor(*executor);
  }
}
void SimCluster::crash_executor(std::string_view agent, const ExecutorId& executor) {
  sim::Host& host = *inside_->machine(agent).host;
  for (sim::ExecutorProcess* process : host.executors_running()) {
    if (process->started_as().executor == executor) host.crash_executor(*process);
  }
}
void SimCluster::fail_over_master(Duration down) { inside_->fail_over_master(down); }
void SimCluster::kill_scheduler(SimScheduler& scheduler) { Inside::host_of(scheduler).kill(); }
void SimCluster::start_scheduler(SimScheduler& scheduler) { Inside::host_of(scheduler).start(); }
void SimCluster::restart_scheduler(SimScheduler& scheduler) {
  kill_scheduler(scheduler);
  start_scheduler(scheduler);
}
void SimCluster::signal(SimScheduler& scheduler, int signal) {
  Inside::host_of(scheduler).deliver_signal(signal);
}
void SimCluster::drop_messages(Duration duration, int percent) {
  inside_->drop_messages(duration, percent);
}
void SimCluster::cut_off_agent(std::string_view agent, Duration duration) {
  inside_->cut_off(inside_->machine(agent).agent->party(), duration);
}
void SimCluster::cut_off_scheduler(SimScheduler& scheduler, Duration duration) {
  inside_->cut_off(Inside::host_of(scheduler).party(), duration);
}
void SimCluster::break_connection(SimScheduler& scheduler) {
  Inside::host_of(scheduler).break_connection();
}
void SimCluster::offer_nothing_for(Duration duration) {
  inside_->nothing_until = now() + duration;
  for (const auto& scheduler : inside_->schedulers) {
    Inside::host_of(*scheduler).offer_nothing_until(inside_->nothing_until);
  }
}

void SimCluster::storm(Duration duration) {
  const Time ends = now() + duration;
  inside_->inject(ends);
  // Faults that were shortened to end by then have ended; supervisors may still wait.
  inside_->world.at(ends, [inside = inside_.get()] {
    inside->network.set_rates({});
    inside->master->start();
    for (auto& [name, machine] : inside->machines) inside->bring_back(machine);
  });
}

// --- results -------------------------------------------------------------------------------------

size_t SimCluster::launched(std::string_view scheduler) const {
  const SimHost* host = inside_->find(scheduler);
  if (host == nullptr) return 0;
  return static_cast<size_t>(
      std::count_if(inside_->journal.entries().begin(), inside_->journal.entries().end(),
                    [&](const auto& entry) { return host->accepted().count(entry.first) > 0; }));
}

size_t SimCluster::running(std::string_view scheduler) const {
  const SimHost* host = inside_->find(scheduler);
  if (host == nullptr) return 0;
  return static_cast<size_t>(std::count_if(
      inside_->journal.entries().begin(), inside_->journal.entries().end(), [&](const auto& entry) {
        return entry.second.ending == sim::Ending::kRuns && host->accepted().count(entry.first) > 0;
      }));
}

std::vector<ExecutorId> SimCluster::executors(std::string_view agent) const {
  std::vector<ExecutorId> ids;
  for (const sim::ExecutorProcess* process : inside_->machine(agent).host->executors_running()) {
    ids.push_back(process->started_as().executor);
  }
  return ids;
}

size_t SimCluster::told(std::string_view scheduler, proto::TaskState state) const {
  const SimHost* host = inside_->find(scheduler);
  if (host == nullptr) return 0;
  return static_cast<size_t>(
      std::count_if(host->told().begin(), host->told().end(),
                    [&](const auto& told) { return told.second.state == state; }));
}

std::vector<std::string> SimCluster::lost_tasks() const {
  std::vector<std::string> lost;
  for (const auto& scheduler : inside_->schedulers) {
    const SimHost& host = Inside::host_of(*scheduler);
    for (const sim::TaskKey& task : host.accepted()) {
      if (host.is_over(task.first)) continue;
      const auto told = host.told().find(task);
      if (told != host.told().end() && proto::is_terminal(told->second.state)) continue;
      const auto ran = inside_->journal.entries().find(task);
      // Messages of an earlier life may have been lost before they were received. Its tasks are
      // also unknown if their agent has forgotten them and the master was restarted.
      const bool is_known = host.launched(task);
      if (!is_known &&
          (ran == inside_->journal.entries().end() || inside_->journal.may_be_forgotten(task))) {
        continue;
      }
      if (ran != inside_->journal.entries().end() && ran->second.ending == sim::Ending::kRuns) {
        continue;
      }
      lost.push_back(text(
          host.name(), ": ", task.second.str(),
          ran == inside_->journal.entries().end() ? std::string(" was launched and never started")
                                                  : text(" ended on ", ran->second.machine.str()),
          ", and was last told as ",
          told == host.told().end() ? "nothing" : proto::to_text(told->second.state)));
    }
  }
  return lost;
}

std::vector<SimCluster::FrameworkShare> SimCluster::shares() const {
  std::vector<FrameworkShare> shares;
  if (!inside_->master->is_up()) return shares;
  std::map<RoleName, proto::RoleRow> roles;
  for (proto::RoleRow& row : inside_->master->core().roles()) roles[row.role] = std::move(row);
  for (const proto::FrameworkRow& row : inside_->master->core().frameworks()) {
    const proto::RoleRow& role = roles[row.role];
    FrameworkShare share{
        .scheduler = row.name,
        .role = row.role,
        .dominant_share_millionths = row.dominant_share_millionths,
        .role_share_millionths = role.dominant_share_millionths * kWeightOne / role.weight,
        .wants_more = row.mode == OfferMode::kOpen};
    for (const proto::AskRow& ask : row.asks) {
      share.wants_more = share.wants_more || (ask.wanted > 0 && ask.could_ever_fit);
    }
    share.wants_more = share.wants_more && !row.suppressed;
    shares.push_back(std::move(share));
  }
  return shares;
}

size_t SimCluster::agents_active() const {
  return inside_->master->is_up()
             ? static_cast<size_t>(inside_->master->core().status().agents_connected)
             : 0;
}

// --- failures ------------------------------------------------------------------------------------

const std::vector<Violation>& SimCluster::violations() const { return inside_->world.violations(); }
std::string SimCluster::replay() const { return text("PROFFER_SIM_SEED=", inside_->world.seed()); }
std::vector<std::string> SimCluster::last_events() const { return inside_->world.history().last(); }
uint64_t SimCluster::trace_hash() const { return inside_->world.history().hash(); }

}  // namespace proffer::sdk
