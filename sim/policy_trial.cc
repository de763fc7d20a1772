// Read try_policy first. The figures of all runs, including the recorded one, are computed from the
// steps of a master in the same way.

#include "sim/policy_trial.h"

#include <algorithm>
#include <memory>

#include <fmt/format.h>

#include "common/text.h"
#include "sim/scenario_run.h"
#include "sim/work_figures.h"

namespace proffer::sim {
namespace {

// The duration of a task without a recorded end, if no task of the recording ended.
constexpr Duration kDurationOtherwise = minutes(1);

// --- changes -------------------------------------------------------------------------------------

constexpr std::string_view kSettings = "weight=NUMBER, guarantee=AMOUNTS or limit=AMOUNTS";

Error wrong_change(std::string_view change, const std::string& what) {
  return Error::invalid_argument(text("--with ", quoted(change), ": ", what))
      .with_hint("for example --with 'role eng weight=3 limit=cpus:20;mem:64GiB'");
}

Result<void> set_setting(RoleChange& change, std::string_view name, std::string_view value) {
  if (name == "weight") {
    const Result<int64_t> weight = parse_milli(value);
    if (!weight) return weight.error();
    if (*weight < kWeightMin || *weight > kWeightMax) {
      return Error::invalid_argument(text("the weight must be between ", print_milli(kWeightMin),
                                          " and ", print_milli(kWeightMax), ", not ",
                                          quoted(value)));
    }
    change.weight = *weight;
    return {};
  }
  if (name != "guarantee" && name != "limit") {
    return Error::invalid_argument(text("a role has ", kSettings, ", but no ", quoted(name)));
  }
  const Result<Quota> quota = parse_quota(value);
  if (!quota) return quota.error();
  (name == "limit" ? change.limit : change.guarantee) = *quota;
  return {};
}

void apply_change(const RoleChange& change, RoleTable& roles) {
  RoleSettings& settings = roles[change.role];
  settings.weight = change.weight.value_or(settings.weight);
  settings.guarantee = change.guarantee.value_or(settings.guarantee);
  settings.limit = change.limit.value_or(settings.limit);
}

// Later settings of operators must not undo the change.
bool survives(master::SetRole& set, const std::vector<RoleChange>& changes) {
  for (const RoleChange& change : changes) {
    if (change.role != set.role) continue;
    if (set.unset) return false;
    if (change.weight) set.weight.reset();
    if (change.guarantee) set.guarantee.reset();
    if (change.limit) set.limit.reset();
  }
  return true;
}

// --- the scenario --------------------------------------------------------------------------------

class Planner {
 public:
  explicit Planner(const Work& work) : work_(work) {}

  Result<WorkScenario> plan(const std::vector<RoleChange>& changes);

 private:
  Duration since_zero(Time at) const { return std::max(at - work_.begins, Duration()); }
  void note(std::string what) { made_.notes.push_back(std::move(what)); }
  void add_agents();
  void name_agents(master::MasterEvent& operation, Time at) const;
  void measure_durations();
  std::optional<Duration> duration_seen(const WorkItem& item) const;
  Duration duration_of(const WorkItem& item);
  void add_frameworks();
  void add_tasks(ScenarioFramework& framework, const std::vector<uint32_t>& kinds);

  const Work& work_;
  WorkScenario made_;
  std::vector<std::vector<const WorkItem*>> items_;  // by kind
  std::vector<Duration> usual_;                      // by kind: the median
  // The time of joining, and the name in the scenario, by recorded name.
  std::map<AgentId, std::map<Time, std::string>> names_;
  int64_t guessed_ = 0;
  int64_t trimmed_ = 0;
};

void Planner::add_agents() {
  std::map<AgentId, int> times;
  std::vector<std::string> came_back;
  for (const WorkAgent& agent : work_.agents) {
    const int time = ++times[agent.agent];
    if (agent.total.amounts.is_zero()) continue;
    std::string name = agent.agent.str();
    if (time > 1) {
      name += text(".", time);
      came_back.push_back(agent.agent.str());
    }
    names_[agent.agent][agent.joins] = name;
    ScenarioAgent made{.name = std::move(name),
                       .resources = agent.total,
                       .attributes = agent.attributes,
                       .reserved = agent.reserved,
                       .joins = since_zero(agent.joins)};
    made.resources.ports = PortSet();
    if (agent.leaves && since_zero(*agent.leaves) > made.joins) {
      made.leaves = since_zero(*agent.leaves);
    }
    made_.scenario.agents.push_back(std::move(made));
  }
  if (!came_back.empty()) {
    note(
        text("agents that came back, or changed their resources, are separate agents here, named "
             "NAME.2: ",
             listed(came_back)));
  }
}

// An operation concerns the agent that has the name at that time.
void Planner::name_agents(master::MasterEvent& operation, Time at) const {
  AgentId* agent = nullptr;
  if (auto* drain = std::get_if<master::DrainAgent>(&operation)) agent = &drain->agent;
  if (auto* undrain = std::get_if<master::UndrainAgent>(&operation)) agent = &undrain->agent;
  if (auto* reserve = std::get_if<master::ReserveForRole>(&operation)) agent = &reserve->agent;
  const auto names = agent == nullptr ? names_.end() : names_.find(*agent);
  if (names == names_.end()) return;
  const auto after = names->second.upper_bound(at);
  if (after != names->second.begin()) *agent = AgentId(std::prev(after)->second);
}

// How long the task held its resources, if its end was recorded.
std::optional<Duration> Planner::duration_seen(const WorkItem& item) const {
  const WorkAttempt& last = item.attempts.back();
  if (!last.launched || !last.ended || *last.ended <= *last.launched) return std::nullopt;
  return *last.ended - *last.launched;
}

Duration median_of(std::vector<Duration> all, Duration otherwise) {
  if (all.empty()) return otherwise;
  const auto middle = all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2);
  std::nth_element(all.begin(), middle, all.end());
  return *middle;
}

void Planner::measure_durations() {
  items_.resize(work_.kinds.size());
  std::vector<std::vector<Duration>> seen(work_.kinds.size());
  std::vector<Duration> all;
  for (const WorkItem& item : work_.items) {
    items_[item.kind].push_back(&item);
    if (const std::optional<Duration> duration = duration_seen(item)) {
      seen[item.kind].push_back(*duration);
      all.push_back(*duration);
    }
  }
  const Duration of_all = median_of(std::move(all), kDurationOtherwise);
  for (std::vector<Duration>& of_kind : seen) {
    usual_.push_back(median_of(std::move(of_kind), of_all));
  }
}

Duration Planner::duration_of(const WorkItem& item) {
  if (const std::optional<Duration> seen = duration_seen(item)) return *seen;
  ++guessed_;
  const WorkAttempt& last = item.attempts.back();
  const Duration so_far = last.launched ? work_.ends - *last.launched : Duration();
  return std::max(usual_[item.kind], so_far);
}

void Planner::add_tasks(ScenarioFramework& framework, const std::vector<uint32_t>& kinds) {
  // If a framework has too many kinds, those with the same shape and role are merged.
  for (const uint32_t kind : kinds) {
    const Ask& ask = work_.kinds[kind].ask;
    std::vector<ScenarioWave> waves;
    for (const WorkItem* item : items_[kind]) {
      waves.push_back({.count = 1,
                       .arrives = since_zero(item->attempts.front().wanted),
                       .duration = duration_of(*item)});
    }
    // Only whole gangs.
    const size_t whole = waves.size() - waves.size() % static_cast<size_t>(ask.gang);
    trimmed_ += static_cast<int64_t>(waves.size() - whole);
    waves.resize(whole);
    if (waves.empty()) continue;
    ScenarioTasks tasks{.name = text("t", framework.tasks.size()), .resources = ask.shape};
    tasks.ask = framework.takes == Takes::kOpen ? Ask{.priority = ask.priority} : ask;
    tasks.ask.name = AskName();
    tasks.ask.shape = ResourceVector();
    tasks.set_waves(std::move(waves));
    framework.tasks.push_back(std::move(tasks));
  }
}

void Planner::add_frameworks() {
  std::vector<std::vector<uint32_t>> kinds(work_.frameworks.size());
  for (uint32_t kind = 0; kind < work_.kinds.size(); ++kind) {
    if (!items_[kind].empty()) kinds[work_.kinds[kind].framework].push_back(kind);
  }
  std::map<std::string, int> times;
  std::vector<std::string> open;
  for (size_t i = 0; i < work_.frameworks.size(); ++i) {
    const WorkFramework& framework = work_.frameworks[i];
    if (kinds[i].empty()) continue;
    const int time = ++times[framework.name];
    ScenarioFramework made{
        .name = time == 1 ? framework.name : text(framework.name, ".", time),
        .role = framework.role.empty() ? RoleName("default") : framework.role,
        .takes = framework.mode == OfferMode::kOpen ? Takes::kOpen : Takes::kAsks,
        .joins = since_zero(framework.joins)};
    if (framework.mode == OfferMode::kOpen) open.push_back(made.name);
    add_tasks(made, kinds[i]);
    if (!made.tasks.empty()) made_.scenario.frameworks.push_back(std::move(made));
  }
  if (!open.empty()) {
    note(
        text("these frameworks take open offers and declare no asks; here each of their tasks is "
             "wanted from its launch: ",
             listed(open)));
  }
}

Result<WorkScenario> Planner::plan(const std::vector<RoleChange>& changes) {
  made_.scenario.options = work_.options;
  if (!work_.is_over()) made_.scenario.until = work_.ends - work_.begins;
  made_.scenario.roles = work_.roles;
  for (const RoleChange& change : changes) apply_change(change, made_.scenario.roles);
  add_agents();
  measure_durations();
  add_frameworks();
  if (made_.scenario.agents.empty()) {
    return Error::failed_precondition(
        "the recording has no agents, so no change can be tried on it");
  }
  if (made_.scenario.frameworks.empty()) {
    return Error::failed_precondition(
        "the recording has no tasks, so no change can be tried on it");
  }
  for (const auto& [at, event] : work_.operations) {
    master::MasterEvent operation = event;
    auto* set = std::get_if<master::SetRole>(&operation);
    if (set != nullptr && !survives(*set, changes)) continue;
    name_agents(operation, at);
    made_.operations.emplace_back(since_zero(at), std::move(operation));
  }
  for (const proto::AgentRecord& one : work_.drained) {
    made_.drained.push_back(
        {.agent = one.agent, .drained_by = Time() + since_zero(*one.drained_by)});
  }
  made_.reservations = work_.reservations;
  for (const auto& [from, to] : work_.gaps) {
    made_.gaps.emplace_back(since_zero(from), since_zero(to));
  }
  if (work_.withdrawn > 0) {
    note(text("left out because they were withdrawn before their launch: tasks ", work_.withdrawn));
  }
  if (!work_.is_over()) {
    note(
        "tasks waited or ran when the recording ended, so the comparison covers the recorded time "
        "only");
  }
  if (work_.cut > 0) {
    note(
        text("at most ", kWorkPendingKept,
             " tasks of each ask that still wait at the end are simulated; left out: ", work_.cut));
  }
  if (guessed_ > 0) {
    note(text("tasks whose end is not recorded run as long as others of their ask: ", guessed_));
  }
  if (work_.inherited > 0) {
    note(text("tasks that ran before the recording began start with the simulation: ",
              work_.inherited));
  }
  if (trimmed_ > 0) note(text("left out because their gang is incomplete: tasks ", trimmed_));
  if (Result<void> ok = check_scenario(made_.scenario); !ok) {
    return std::move(ok).error().in("the work of the recording");
  }
  return std::move(made_);
}

// --- runs ----------------------------------------------------------------------------------------

struct WorkRun {
  Work work = {};
  Time zero = {};
};

Result<WorkRun> run_work(const WorkScenario& planned) {
  WorkReader reader;
  ScenarioRun run(
      planned.scenario, nullptr, {},
      {.drained = planned.drained, .reservations = planned.reservations, .watcher = &reader});
  MasterNode& master = run.master_node();
  for (const auto& operation : planned.operations) {
    run.world().at(run.zero() + operation.first,
                   [&master, event = &operation.second] { operate_as(master, *event); });
  }
  for (const auto& [from, to] : planned.gaps) {
    run.world().at(run.zero() + from, [&master] { master.crash(); });
    run.world().at(run.zero() + to, [&master] { master.start(); });
  }
  const proto::SimulateReport report = run.run();
  if (!report.violations.empty()) {
    return Error::internal(text("the simulation violated an invariant: ", report.violations[0]));
  }
  return WorkRun{reader.work(), run.zero()};
}

Result<void> check_known(const Work& work, const RoleChange& change) {
  std::vector<std::string_view> known;
  for (const WorkKind& kind : work.kinds) {
    if (is_within(kind.role, change.role)) return {};
    known.push_back(kind.role.str());
  }
  const std::string_view near = nearest(change.role.str(), known);
  return Error::not_found(text("the recording has no task in role ", quoted(change.role.str())))
      .with_hint(near.empty() ? std::string("name a role of the recording, or one above it")
                              : text("did you mean ", quoted(near), "?"));
}

using Figures = proto::PolicyTrial::Figures;

void fill_column(proto::PolicyTrial& trial, Figures proto::PolicyTrial::Role::*column,
                 const std::map<RoleName, Figures>& figures) {
  for (const auto& [role, of_role] : figures) {
    proto::PolicyTrial::Role& row = role.empty() ? trial.all : trial.roles[role.str()];
    row.*column = of_role;
  }
}

}  // namespace

Result<RoleChange> parse_role_change(std::string_view change) {
  std::vector<std::string_view> words;
  for (const std::string_view word : split(change, ' ')) {
    if (!word.empty()) words.push_back(word);
  }
  if (words.size() < 3 || words[0] != "role") {
    return wrong_change(change, text("it must be `role NAME` with ", kSettings));
  }
  Result<RoleName> role = parse_role(words[1]);
  if (!role) return wrong_change(change, role.error().message());
  RoleChange made{.role = *std::move(role)};
  for (size_t i = 2; i < words.size(); ++i) {
    const size_t equals = words[i].find('=');
    const std::string_view value =
        equals == std::string_view::npos ? std::string_view() : words[i].substr(equals + 1);
    if (const Result<void> ok = set_setting(made, words[i].substr(0, equals), value); !ok) {
      return wrong_change(change, ok.error().message());
    }
  }
  return made;
}

void operate_as(MasterNode& master, const master::MasterEvent& event) {
  if (const auto* set = std::get_if<master::SetRole>(&event)) {
    master.operate(*set);
  } else if (const auto* drain = std::get_if<master::DrainAgent>(&event)) {
    master.operate(*drain);
  } else if (const auto* undrain = std::get_if<master::UndrainAgent>(&event)) {
    master.operate(*undrain);
  } else if (const auto* reserve = std::get_if<master::ReserveForRole>(&event)) {
    master.operate(*reserve);
  }
}

Result<WorkScenario> scenario_of(const Work& work, const std::vector<RoleChange>& changes) {
  return Planner(work).plan(changes);
}

Result<proto::PolicyTrial> try_policy(const Work& work, const std::vector<RoleChange>& changes) {
  for (const RoleChange& change : changes) {
    if (Result<void> known = check_known(work, change); !known) return std::move(known).error();
  }
  Result<WorkScenario> as_it_was = scenario_of(work, {});
  if (!as_it_was) return std::move(as_it_was).error();
  Result<WorkScenario> changed = scenario_of(work, changes);
  if (!changed) return std::move(changed).error();
  Result<WorkRun> first = run_work(*as_it_was);
  if (!first) return std::move(first).error();
  Result<WorkRun> second = run_work(*changed);
  if (!second) return std::move(second).error();

  const Duration span = work.ends - work.begins;
  proto::PolicyTrial trial{.span = span, .notes = std::move(as_it_was->notes)};
  const auto column = [&](Figures proto::PolicyTrial::Role::*of, const Work& run, Time zero,
                          Time until) {
    fill_column(trial, of,
                figures_of(run, {.zero = zero, .share_until = zero + span, .until = until}));
  };
  using Role = proto::PolicyTrial::Role;
  column(&Role::recorded, work, work.begins, work.ends);
  column(&Role::again, first->work, first->zero, first->zero + span);
  const auto until = [&](const WorkRun& run) {
    return work.is_over() ? run.work.ends : run.zero + span;
  };
  column(&Role::as_it_was, first->work, first->zero, until(*first));
  column(&Role::changed, second->work, second->zero, until(*second));
  trial.tasks = static_cast<int64_t>(work.items.size());
  return trial;
}

// --- for people ----------------------------------------------------------------------------------

namespace {

std::string in_seconds(Duration duration) {
  return fmt::format("{:.3f}", static_cast<double>(duration.millis()) / 1e3);
}

std::string in_percent(int64_t thousandths) {
  return fmt::format("{:.1f}%", static_cast<double>(thousandths) / 10);
}

// The change as "+12.3%"; "=" if both values are zero, empty if only the first one is.
std::string change_text(int64_t from, int64_t to) {
  if (from == 0) return to == 0 ? "=" : "";
  return fmt::format("{:+.1f}%", static_cast<double>(to - from) * 100 / static_cast<double>(from));
}

struct FigureRow {
  std::string_view name;
  int64_t (*value)(const Figures&);
  std::string (*text)(int64_t);
};
std::string seconds_of(int64_t nanos) { return in_seconds(nanoseconds(nanos)); }
std::string count_of(int64_t count) { return std::to_string(count); }
constexpr FigureRow kLines[] = {
    {"wait, mean s", [](const Figures& f) { return f.wait_mean.nanos(); }, seconds_of},
    {"wait, p50 s", [](const Figures& f) { return f.wait_p50.nanos(); }, seconds_of},
    {"wait, p90 s", [](const Figures& f) { return f.wait_p90.nanos(); }, seconds_of},
    {"wait, sum s", [](const Figures& f) { return f.wait_sum.nanos(); }, seconds_of},
    {"still waiting", [](const Figures& f) { return f.waiting; }, count_of},
    {"mean share", [](const Figures& f) { return f.mean_share; }, in_percent},
    {"revokes", [](const Figures& f) { return f.revokes; }, count_of},
    {"makespan s", [](const Figures& f) { return f.makespan.nanos(); }, seconds_of}};

void add_lines(std::string& out, std::string_view name, const proto::PolicyTrial::Role& role) {
  for (const FigureRow& line : kLines) {
    const int64_t before = line.value(role.as_it_was);
    const int64_t after = line.value(role.changed);
    out += fmt::format("{:<20}  {:<13}{:>13}{:>13}{:>13}{:>11}\n", name, line.name,
                       line.text(line.value(role.recorded)), line.text(before), line.text(after),
                       change_text(before, after));
    name = "";
  }
}

}  // namespace

std::string trial_tables(const proto::PolicyTrial& trial) {
  std::string out = text("the work of ", to_text(milliseconds(trial.span.millis())), ", ",
                         trial.tasks, trial.tasks == 1 ? " task" : " tasks",
                         ", simulated unchanged and with another policy:\n");
  for (const std::string& with : trial.with) out += text("  ", with, "\n");
  out += fmt::format("\n{:<20}  {:<13}{:>13}{:>13}{:>13}{:>11}\n", "ROLE", "", "RECORDED",
                     "AS IT WAS", "CHANGED", "CHANGE");
  add_lines(out, "all", trial.all);
  for (const auto& [name, role] : trial.roles) add_lines(out, name, role);
  const proto::PolicyTrial::Role& all = trial.all;
  out += text(
      "\nhow well the simulation matches the recording: unchanged, the mean wait is simulated as ",
      in_seconds(all.again.wait_mean), " s, and was ", in_seconds(all.recorded.wait_mean), " s");
  const std::string off = change_text(all.recorded.wait_mean.nanos(), all.again.wait_mean.nanos());
  out += off.empty() ? std::string("\n") : text(" (", off, ")\n");
  for (const std::string& note : trial.notes) out += text("note: ", note, "\n");
  return out;
}

}  // namespace proffer::sim
