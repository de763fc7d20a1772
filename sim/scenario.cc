// The rules of a scenario across values. ScenarioChecker::add is called for each part in order: by
// the reader, which knows the line, and by check_scenario, which has no text.

#include "sim/scenario.h"

#include <algorithm>

#include "allocator/allocator.h"
#include "common/check.h"
#include "common/intervals.h"
#include "common/text.h"
#include "sim/scenario_checker.h"

namespace proffer::sim {
namespace {

constexpr std::string_view kTakesNames[] = {"asks", "open", "hoard", "decline"};

// An option of the master, and the parser of its value.
struct OptionRow {
  std::string_view name;
  Result<void> (*set)(std::string_view name, std::string_view value,
                      master::MasterOptions& options);
};

template <Duration master::MasterOptions::*Member>
Result<void> set_core(std::string_view name, std::string_view value,
                      master::MasterOptions& options) {
  const Result<Duration> parsed = parse_interval(name, value);
  if (!parsed) return parsed.error();
  options.*Member = *parsed;
  return {};
}

template <Duration AllocatorOptions::*Member>
Result<void> set_allocator(std::string_view name, std::string_view value,
                           master::MasterOptions& options) {
  const Result<Duration> parsed = parse_interval(name, value);
  if (!parsed) return parsed.error();
  options.allocator.*Member = *parsed;
  return {};
}

Result<void> set_reclaim(std::string_view name, std::string_view value,
                         master::MasterOptions& options) {
  if (value == "off") {
    options.allocator.reclaim = ReclaimMode::kOff;
  } else if (value == "guarantee") {
    options.allocator.reclaim = ReclaimMode::kGuarantee;
  } else if (value == "fair_share") {
    options.allocator.reclaim = ReclaimMode::kFairShare;
  } else {
    return Error::invalid_argument(
        text(name, " must be off, guarantee or fair_share, not ", quoted(value)));
  }
  return {};
}

Result<void> set_placement(std::string_view name, std::string_view value,
                           master::MasterOptions& options) {
  const Result<Placement> parsed = parse_placement(name, value);
  if (!parsed) return parsed.error();
  options.allocator.placement = *parsed;
  return {};
}

Result<void> set_revokes(std::string_view name, std::string_view value,
                         master::MasterOptions& options) {
  const Result<int64_t> parsed = parse_whole(name, value, 0, 1'000'000);
  if (!parsed) return parsed.error();
  options.allocator.revokes_per_minute = *parsed;
  return {};
}

Result<void> set_min_offer(std::string_view name, std::string_view value,
                           master::MasterOptions& options) {
  const Result<ResourceVector> parsed = parse_shape(value);
  if (!parsed) return Error(parsed.error()).in(name);
  options.allocator.min_offer = *parsed;
  return {};
}

constexpr OptionRow kOptions[] = {
    {"agent_timeout", set_core<&master::MasterOptions::agent_timeout>},
    {"claim_after", set_allocator<&AllocatorOptions::claim_after>},
    {"heartbeat", set_core<&master::MasterOptions::heartbeat>},
    {"min_offer", set_min_offer},
    {"minimum_runtime", set_allocator<&AllocatorOptions::minimum_runtime>},
    {"offer_timeout", set_allocator<&AllocatorOptions::offer_timeout>},
    {"placement", set_placement},
    {"reclaim", set_reclaim},
    {"reregistration_timeout", set_core<&master::MasterOptions::reregistration_timeout>},
    {"revoke_grace", set_allocator<&AllocatorOptions::revoke_grace>},
    {"revokes_per_minute", set_revokes},
    {"task_start_timeout", set_core<&master::MasterOptions::task_start_timeout>},
};

}  // namespace

AgentId ScenarioAgent::name_of(int64_t number) const {
  return AgentId(count == 1 ? name : text(name, "-", number));
}

std::string_view to_text(Takes takes) { return kTakesNames[static_cast<size_t>(takes)]; }

std::optional<Takes> parse_takes(std::string_view text) {
  for (size_t i = 0; i < std::size(kTakesNames); ++i) {
    if (kTakesNames[i] == text) return static_cast<Takes>(i);
  }
  return std::nullopt;
}

int64_t ScenarioTasks::running_count() const {
  int64_t sum = 0;
  for (const ScenarioRunning& one : running) sum += one.count;
  return sum;
}

void ScenarioTasks::set_waves(std::vector<ScenarioWave> all) {
  std::stable_sort(all.begin(), all.end(), [](const ScenarioWave& a, const ScenarioWave& b) {
    return a.arrives < b.arrives;
  });
  waves.clear();
  count = 0;
  for (ScenarioWave& wave : all) {
    wave.first = count;
    count += wave.count;
    if (!waves.empty() && waves.back().arrives == wave.arrives &&
        waves.back().duration == wave.duration) {
      waves.back().count += wave.count;
    } else {
      waves.push_back(wave);
    }
  }
}

const ScenarioWave& ScenarioTasks::wave_of(int64_t number) const {
  const auto after = std::upper_bound(
      waves.begin(), waves.end(), number,
      [](int64_t wanted, const ScenarioWave& wave) { return wanted < wave.first; });
  CHECK(after != waves.begin()) << number;
  return *std::prev(after);
}

Duration default_until(const Scenario& scenario) {
  Duration last;
  for (const ScenarioFramework& framework : scenario.frameworks) {
    for (const ScenarioTasks& tasks : framework.tasks) {
      for (const ScenarioWave& wave : tasks.waves) {
        last = std::max(last, wave.arrives + wave.duration.value_or(Duration()));
      }
    }
  }
  return std::min(last + kScenarioUntilDefault, kScenarioUntilMax);
}

std::vector<std::string_view> option_names() {
  std::vector<std::string_view> names;
  for (const OptionRow& row : kOptions) names.push_back(row.name);
  return names;
}

Result<void> set_option(std::string_view name, std::string_view value,
                        master::MasterOptions& options) {
  for (const OptionRow& row : kOptions) {
    if (row.name != name) continue;
    Result<void> done = row.set(name, value, options);
    if (!done && done.error().message().find(name) == std::string::npos) {
      return std::move(done).error().in(name);
    }
    return done;
  }
  const std::string_view near = nearest(name, option_names());
  std::string all;
  for (const std::string_view one : option_names()) all += text(all.empty() ? "" : ", ", one);
  return Error::invalid_argument(
             text("the master has no option ", quoted(name),
                  near.empty() ? std::string() : text("; did you mean ", quoted(near), "?")))
      .with_hint(name == "weights"
                     ? "put weights into roles, for example: roles: [{name: eng, weight: 2}]"
                     : text("the options are ", all));
}

std::optional<std::vector<Slice>> take_for(const RoleName& role, const ResourceVector& shape,
                                           std::vector<Slice>& free) {
  std::vector<Slice> usable;
  std::vector<Slice> others;
  for (const Slice& slice : free) {
    const bool may_use = slice.reserved_for.empty() || is_within(role, slice.reserved_for);
    (may_use ? usable : others).push_back(slice);
  }
  std::optional<std::vector<Slice>> taken = take(shape, usable);
  if (!taken) return std::nullopt;
  free = std::move(others);
  free.insert(free.end(), usable.begin(), usable.end());
  return taken;
}

// --- rules across values -------------------------------------------------------------------------

Result<void> ScenarioChecker::add(const ScenarioAgent& agent) {
  const auto wrong = [&](const std::string& what) {
    return Error::invalid_argument(text("agent ", quoted(agent.name), ": ", what));
  };
  if (Result<void> ok = check_name("agent name", agent.name); !ok) return ok;
  if (agent.resources.amounts.is_zero()) return wrong("it has no resources");
  agents_ += agent.count;
  if (agents_ > kScenarioAgentsMax) {
    return wrong(text("with it there are ", agents_, " agents; at most ", kScenarioAgentsMax,
                      " can be simulated"));
  }
  // Counted as in the master, which would refuse further agents again and again.
  for (const ResourceKind kind : kResourceKinds) {
    const int64_t each = agent.resources.amounts[kind];
    if (each != 0 && agent.count > (kAmountMax - total_[kind]) / each) {
      return wrong(text("with it the cluster has more ", to_text(kind), " than the ",
                        print_milli(kAmountMax), " that can be counted"));
    }
    total_[kind] += each * agent.count;
  }
  const Result<std::vector<Slice>> slices = agent::to_slices(agent.resources, agent.reserved);
  if (!slices) return Error(slices.error()).in(text("agent ", quoted(agent.name), ": reserved"));
  for (int64_t i = 0; i < agent.count; ++i) {
    if (!free_.emplace(agent.name_of(i), Machine{*slices, agent.joins}).second) {
      return wrong(text("there are two agents ", quoted(agent.name_of(i).str())));
    }
  }
  if (agent.drains && *agent.drains < agent.joins) return wrong("it drains before it joins");
  if (agent.undrains && (!agent.drains || *agent.undrains <= *agent.drains)) {
    return wrong("its drain ends (undrains) before it begins (drains)");
  }
  if (agent.leaves && *agent.leaves <= agent.joins) {
    return wrong("it leaves before it joins");
  }
  if (agent.returns && (!agent.leaves || *agent.returns <= *agent.leaves)) {
    return wrong("it returns before it leaves");
  }
  return {};
}

Result<void> ScenarioChecker::add(const ScenarioFramework& framework) {
  const auto wrong = [&](const std::string& what) {
    return Error::invalid_argument(text("framework ", quoted(framework.name), ": ", what));
  };
  if (Result<void> ok = check_name("framework name", framework.name); !ok) return ok;
  if (!frameworks_.insert(framework.name).second) {
    return wrong("there are two frameworks of this name");
  }
  if (frameworks_.size() > static_cast<size_t>(kScenarioFrameworksMax)) {
    return wrong(text("it is one more than the ", kScenarioFrameworksMax,
                      " frameworks that can be simulated"));
  }
  if (framework.leaves && *framework.leaves <= framework.joins) {
    return wrong("it leaves before it joins");
  }
  const auto wanting = static_cast<size_t>(std::count_if(
      framework.tasks.begin(), framework.tasks.end(),
      [](const ScenarioTasks& tasks) { return tasks.running_count() < tasks.count; }));
  if (wanting > kScenarioTaskGroupsMax || framework.tasks.size() > kScenarioEntriesMax) {
    return wrong(text("it has ", framework.tasks.size(), " entries of tasks; at most ",
                      kScenarioTaskGroupsMax, " are allowed, and ", kScenarioEntriesMax,
                      " for those whose tasks all run at 0s"));
  }
  std::set<std::string> names;
  for (const ScenarioTasks& tasks : framework.tasks) {
    if (!names.insert(tasks.name).second) {
      return wrong(text("two entries of tasks are named ", quoted(tasks.name)));
    }
    if (Result<void> ok = check(framework, tasks); !ok) {
      return std::move(ok).error().in(text("tasks ", quoted(tasks.name)));
    }
  }
  return {};
}

Result<void> ScenarioChecker::check(const ScenarioFramework& framework,
                                    const ScenarioTasks& tasks) {
  const auto wrong = [](const std::string& what) { return Error::invalid_argument(what); };
  if (Result<void> ok = check_name("name", tasks.name); !ok) return ok;
  if (tasks.name.size() > kTaskNameBytesMax) {
    return wrong(text("the name is longer than ", kTaskNameBytesMax, " bytes"));
  }
  if (Result<void> ok = check_shape(tasks.resources); !ok) return ok;
  if (tasks.resources.is_zero()) return wrong("a task must take some resources");
  if (tasks.duration && *tasks.duration <= Duration()) {
    return wrong("a duration must be above zero, or forever");
  }
  if (tasks.duration_spread > kScenarioSpreadMax) {
    return wrong(text("the spread of a duration must be at most 0.999, not ", tasks.duration_spread,
                      " millionths"));
  }
  if (tasks.declared_duration && framework.takes != Takes::kAsks) {
    return wrong(text("declared_duration belongs to asks, but a framework that takes ",
                      to_text(framework.takes), " has none"))
        .with_hint("takes: asks");
  }
  if (tasks.every && *tasks.every <= Duration()) {
    return wrong("the interval between arrivals must be more than zero");
  }
  if (Result<void> ok = check_waves(tasks); !ok) return ok;
  tasks_ += tasks.count;
  if (tasks_ > kScenarioTasksMax) {
    return wrong(text("with it there are ", tasks_, " tasks; at most ", kScenarioTasksMax,
                      " can be simulated"));
  }
  const Ask& ask = tasks.ask;
  if (!ask.role.empty() && !is_within(ask.role, framework.role)) {
    return wrong(text("its role ", quoted(ask.role.str()), " is not within that of the framework, ",
                      quoted(framework.role.str())))
        .with_hint(
            text("give the framework a role above both, or leave out the role of the tasks"));
  }
  if (tasks.count % ask.gang != 0) {
    return wrong(text("count ", tasks.count, " must be a multiple of gang ", ask.gang));
  }
  Ask whole = tasks.declared();
  whole.count = tasks.count;
  if (Result<void> ok = check_ask(whole); !ok) return ok;
  const Ask plain = {.name = ask.name,
                     .shape = ask.shape,
                     .count = ask.count,
                     .constraints = ask.constraints,
                     .priority = ask.priority};
  if (framework.takes != Takes::kAsks && ask != plain) {
    return wrong(text("role, spread, max_per, group, prefer, gang, band, borrow, revocable_ok and "
                      "time_limit belong to asks, but a framework that takes ",
                      to_text(framework.takes), " has none"))
        .with_hint("takes: asks");
  }
  return check_running(framework, tasks);
}

Result<void> ScenarioChecker::check_waves(const ScenarioTasks& tasks) {
  if (tasks.waves.empty()) return {};
  if (tasks.declared_duration) {
    return Error::invalid_argument("an ask declares one duration, but each wave has its own")
        .with_hint("leave declared_duration out");
  }
  if (!tasks.running.empty()) {
    return Error::invalid_argument("tasks in waves cannot run at 0s")
        .with_hint("give the running tasks their own entry");
  }
  for (const ScenarioWave& wave : tasks.waves) {
    if (wave.duration && *wave.duration <= Duration()) {
      return Error::invalid_argument("the duration of a wave must be above zero, or forever");
    }
  }
  return {};
}

Result<void> ScenarioChecker::check_running(const ScenarioFramework& framework,
                                            const ScenarioTasks& tasks) {
  if (tasks.running.empty()) return {};
  const auto wrong = [](const std::string& what) {
    return Error::invalid_argument(text("running: ", what));
  };
  if (framework.joins > Duration())
    return wrong("only frameworks that join at 0s can have running tasks");
  if (tasks.running_count() > tasks.count) {
    return wrong(text(tasks.running_count(), " tasks run, but count is ", tasks.count));
  }
  if (tasks.running_count() % tasks.ask.gang != 0) {
    return wrong(text(tasks.running_count(), " tasks run, which is not a multiple of gang, ",
                      tasks.ask.gang));
  }
  if (tasks.arrival(tasks.running_count() - 1) > Duration() && !tasks.every) {
    return wrong("they run at 0s, but arrive later");
  }
  for (const ScenarioRunning& one : tasks.running) {
    const auto machine = free_.find(one.agent);
    if (machine == free_.end()) {
      return wrong(text("there is no agent ", quoted(one.agent.str())))
          .with_hint("agents with count above 1 are named NAME-0, NAME-1, ...");
    }
    if (machine->second.joins > Duration()) {
      return wrong(text("agent ", quoted(one.agent.str()), " has not joined at 0s"));
    }
    if (tasks.duration && one.since >= *tasks.duration - tasks.duration_width()) {
      return wrong(text("they have run for ", to_text(one.since), " already, but end after ",
                        to_text(*tasks.duration - tasks.duration_width())));
    }
    for (int64_t i = 0; i < one.count; ++i) {
      if (take_for(tasks.role_in(framework.role), tasks.resources, machine->second.free)) continue;
      return wrong(text("agent ", quoted(one.agent.str()), " has no room for ", one.count,
                        " tasks of ", to_text(tasks.resources), " beside the others"));
    }
  }
  return {};
}

Result<void> ScenarioChecker::check_times(const Scenario& scenario) const {
  const auto in_time = [&](std::string_view what, Duration at) -> Result<void> {
    const Duration until = scenario.until.value_or(kScenarioUntilMax);
    if (at <= until) return {};
    return Error::invalid_argument(
        text(what, " ", to_text(at), " is after the end at ", to_text(until)));
  };
  for (const Duration at : scenario.report_at) {
    if (Result<void> ok = in_time("report_at", at); !ok) return ok;
  }
  return {};
}

Result<void> check_scenario(const Scenario& scenario) {
  ScenarioChecker checker;
  for (const ScenarioAgent& agent : scenario.agents) {
    if (Result<void> ok = checker.add(agent); !ok) return ok;
  }
  if (Result<void> ok = check_roles(scenario.roles); !ok) return ok;
  for (const ScenarioFramework& framework : scenario.frameworks) {
    if (Result<void> ok = checker.add(framework); !ok) return ok;
  }
  master::MasterOptions options;
  for (const auto& [name, value] : scenario.options) {
    if (Result<void> ok = set_option(name, value, options); !ok) return ok;
  }
  return checker.check_times(scenario);
}

}  // namespace proffer::sim
