// From a master's knowledge to a scenario. Read scenario_of last: agents first, then the frameworks
// with their running tasks and asks. A file that cannot be read back is useless, so state that a
// scenario cannot express is left out and named in a note.

#include "sim/live_scenario.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "common/limits.h"
#include "common/text.h"
#include "proto/forecast.h"
#include "sim/scenario_checker.h"
#include "sim/scenario_writer.h"

namespace proffer::sim {
namespace {

using proto::LiveAsk;
using proto::LiveFramework;
using proto::LiveTask;

// More tasks of one ask are cut to the number that all agents could run at once, if that is
// smaller.
constexpr int64_t kPendingKept = 100'000;
// names in a note
constexpr size_t kNamed = 5;

// "a, b and 3 more".
std::string names_text(const std::vector<std::string>& names) {
  std::string out;
  for (size_t i = 0; i < names.size() && i < kNamed; ++i) out += text(i == 0 ? "" : ", ", names[i]);
  if (names.size() > kNamed) out += text(" and ", names.size() - kNamed, " more");
  return out;
}

// Equal tasks, which become one entry of tasks.
struct Kind {
  AskName ask = {};
  RoleName role = {};
  ResourceVector shape = {};
  int32_t priority = 0;
  Band band = Band::kBatch;
  int64_t gang = 1;
  bool ending = false;

  bool operator==(const Kind&) const = default;
};

struct Group {
  Kind kind = {};
  Ask ask = {};
  int64_t pending = 0;
  bool claims = false;
  std::vector<const LiveTask*> running = {};
};

// At most as far back as a scenario goes.
Duration whole_seconds(Duration duration) {
  return seconds(std::min(duration, kScenarioUntilMax).millis() / 1'000);
}

// True if the ask declares the duration of its tasks, and none of them has run longer already.
bool keeps_declared_duration(const Group& group) {
  const Duration declared = group.ask.duration;
  if (group.kind.ending || declared == Duration()) return false;
  if (declared == kDurationMax) return true;
  return declared <= kScenarioUntilMax &&
         std::all_of(group.running.begin(), group.running.end(),
                     [&](const LiveTask* task) { return whole_seconds(task->since) < declared; });
}

ScenarioTasks tasks_of(Group&& group, std::string name) {
  const bool ends = group.kind.ending;
  const bool declared = keeps_declared_duration(group);
  std::optional<Duration> duration;
  if (ends) duration = kKillGrace;
  if (declared && group.ask.duration < kDurationMax) duration = group.ask.duration;
  group.ask.duration = Duration();
  ScenarioTasks tasks{.name = std::move(name),
                      .count = group.pending + static_cast<int64_t>(group.running.size()),
                      .resources = group.kind.shape,
                      .duration = duration,
                      .declared_duration = declared,
                      .ask = std::move(group.ask)};
  // The members of a gang are adjacent. Whole seconds make a shorter file.
  const auto order = [&](const LiveTask* task) {
    return std::tuple(group.kind.gang > 1 ? task->gang : 0, task->agent,
                      Duration() - (ends ? Duration() : whole_seconds(task->since)));
  };
  std::stable_sort(group.running.begin(), group.running.end(),
                   [&](const LiveTask* a, const LiveTask* b) { return order(a) < order(b); });
  for (const LiveTask* task : group.running) {
    const Duration since = ends ? Duration() : whole_seconds(task->since);
    if (!tasks.running.empty() && tasks.running.back().agent == task->agent &&
        tasks.running.back().since == since) {
      ++tasks.running.back().count;
    } else {
      tasks.running.push_back({.agent = task->agent, .since = since});
    }
  }
  return tasks;
}

class Maker {
 public:
  explicit Maker(const proto::LiveSnapshot& live) : live_(live) {
    // The total stays well below the simulator's limit.
    const auto asks = static_cast<int64_t>(std::max<size_t>(live.asks.size(), 1));
    pending_kept_ = std::max<int64_t>(kScenarioTasksMax / 2 / asks, 1);
  }

  LiveScenario make(Duration until) {
    made_.scenario.until = until;
    made_.scenario.options = live_.options;
    for (const proto::LiveRole& role : live_.roles) {
      made_.scenario.roles[role.role] = role.settings;
    }
    add_agents();
    add_frameworks();
    return std::move(made_);
  }

 private:
  void note(std::string what) { made_.notes.push_back(std::move(what)); }
  void note_if_any(const std::vector<std::string>& names, std::string_view what) {
    if (!names.empty()) note(text(what, ": ", names_text(names)));
  }

  void add_agents();
  void add_frameworks();
  void add_framework(const LiveFramework& framework, const std::string& name);
  void place_tasks();
  bool place(const LiveTask& task);
  std::vector<Group> groups_of(const LiveFramework& framework) const;
  void keep_to_ports(Group& group) const;
  void add_tasks(const LiveFramework& framework, std::vector<Group>& groups) const;
  int64_t most_at_once(const ResourceVector& shape) const;

  const proto::LiveSnapshot& live_;
  LiveScenario made_;
  std::map<AgentId, std::vector<Slice>> free_;
  std::map<FrameworkId, std::vector<const LiveTask*>> running_;
  std::map<FrameworkId, std::vector<const LiveAsk*>> asks_;
  int64_t pending_kept_ = 0;  // of each ask
  std::vector<std::string> suppressed_;
  std::vector<std::string> cut_;
};

// --- agents --------------------------------------------------------------------------------------

void Maker::add_agents() {
  std::vector<std::string> unreachable;
  std::vector<std::string> disconnected;
  for (const proto::LiveAgent& agent : live_.agents) {
    const std::string& name = agent.agent.str();
    const Result<std::vector<Slice>> slices = agent::to_slices(agent.total, agent.reserved);
    if (agent.state == proto::AgentState::kUnreachable || agent.total.amounts.is_zero() ||
        !slices) {
      unreachable.push_back(name);
      continue;
    }
    if (agent.state == proto::AgentState::kDisconnected) disconnected.push_back(name);
    ScenarioAgent& made = made_.scenario.agents.emplace_back(
        ScenarioAgent{.name = name, .resources = agent.total, .attributes = agent.attributes});
    made.reserved = agent.reserved;
    if (agent.drains_for) {
      made.drains = Duration();
      made.drain_grace = std::min(*agent.drains_for, kScenarioUntilMax);
    }
    free_[agent.agent] = *slices;
  }
  note_if_any(unreachable, "left out with their tasks, because they are unreachable: agents");
  note_if_any(disconnected,
              "connected in this scenario, but disconnected when the snapshot was taken: agents");
}

// --- frameworks ----------------------------------------------------------------------------------

bool Maker::place(const LiveTask& task) {
  if (task.estimated || task.shape.is_zero() || !check_shape(task.shape)) return false;
  const auto agent = free_.find(task.agent);
  return agent != free_.end() && take_for(task.role, task.shape, agent->second).has_value();
}

void Maker::place_tasks() {
  std::vector<std::string> homeless;
  size_t ending = 0;
  for (const LiveTask& task : live_.tasks) {
    if (place(task)) {
      running_[task.framework].push_back(&task);
      if (task.ending) ++ending;
    } else if (free_.contains(task.agent)) {
      homeless.push_back(text(task.framework.str(), "/", task.task.str()));
    }
  }
  note_if_any(homeless,
              "left out, because the resources that their agent reports are too small: tasks");
  if (ending > 0) {
    note(text("of the running tasks, ", ending, ending == 1 ? " task was" : " tasks were",
              " being killed when the snapshot was taken: in this scenario they end after ",
              to_text(kKillGrace)));
  }
}

void at_most_one_per_agent(Ask& ask) {
  const auto at = std::find_if(ask.max_per.begin(), ask.max_per.end(),
                               [](const MaxPer& one) { return one.attribute == "host"; });
  if (at != ask.max_per.end()) {
    at->count = 1;
  } else if (ask.max_per.size() < kMaxPerMax) {
    ask.max_per.push_back({.attribute = "host", .count = 1});
    std::sort(ask.max_per.begin(), ask.max_per.end(),
              [](const MaxPer& a, const MaxPer& b) { return a.attribute < b.attribute; });
  }
}

// Machines have no ports here. Static ports remain as rules: an agent has each of them once, and
// only agents with all of them count, unless a task of another ask has one now.
void Maker::keep_to_ports(Group& group) const {
  const std::vector<uint16_t>& wanted = group.ask.static_ports;
  if (wanted.empty()) return;
  at_most_one_per_agent(group.ask);
  std::set<AgentId> taken;
  for (const LiveTask& task : live_.tasks) {
    const bool is_its_own =
        std::find(group.running.begin(), group.running.end(), &task) != group.running.end();
    const bool has_one = std::any_of(task.ports.begin(), task.ports.end(), [&](uint16_t port) {
      return std::find(wanted.begin(), wanted.end(), port) != wanted.end();
    });
    if (has_one && !is_its_own) taken.insert(task.agent);
  }
  std::vector<std::string> may;
  std::vector<std::string> may_not;
  for (const proto::LiveAgent& agent : live_.agents) {
    const bool has_all = std::all_of(wanted.begin(), wanted.end(), [&](uint16_t port) {
      return agent.total.ports.contains(PortSet({{port, port}}));
    });
    (has_all && !taken.contains(agent.agent) ? may : may_not).push_back(agent.agent.str());
  }
  if (may_not.empty()) return;
  if (may.empty()) may.push_back(text("no-agent-has-port-", wanted.front()));
  const auto add = [&](Constraint::Operator op, const std::vector<std::string>& agents, size_t at) {
    const size_t end = std::min(agents.size(), at + kConstraintValuesMax);
    group.ask.constraints.push_back({"host",
                                     op,
                                     {agents.begin() + static_cast<std::ptrdiff_t>(at),
                                      agents.begin() + static_cast<std::ptrdiff_t>(end)}});
  };
  const size_t room = kConstraintsMax - std::min(kConstraintsMax, group.ask.constraints.size());
  const size_t parts = (may_not.size() + kConstraintValuesMax - 1) / kConstraintValuesMax;
  if (room == 0) return;
  if (may.size() <= kConstraintValuesMax || parts > room) {
    return add(Constraint::Operator::kIn, may, 0);
  }
  for (size_t part = 0; part < parts; ++part) {
    add(Constraint::Operator::kNotIn, may_not, part * kConstraintValuesMax);
  }
}

// Each ask, and the running tasks: with their ask if it is still declared as at their launch.
std::vector<Group> Maker::groups_of(const LiveFramework& framework) const {
  std::vector<Group> groups;
  const auto declared = asks_.find(framework.framework);
  if (declared != asks_.end() && framework.mode == OfferMode::kAsks) {
    for (const LiveAsk* live : declared->second) {
      const Ask* ask = &live->ask;
      Group& group = groups.emplace_back();
      group.kind = {.ask = ask->name,
                    .role = ask->role.empty() ? framework.role : ask->role,
                    .shape = ask->shape,
                    .priority = ask->priority,
                    .band = ask->band,
                    .gang = ask->gang};
      group.ask = *ask;
      group.pending = ask->count;
      group.claims = live->claims;
    }
  }
  add_tasks(framework, groups);
  for (Group& group : groups) {
    group.ask.name = AskName();
    group.ask.shape = ResourceVector();
    group.ask.count = 0;
    keep_to_ports(group);
    group.ask.ports = 0;
    group.ask.static_ports.clear();
    group.ask.expiry = Duration();
    if (group.ask.role == framework.role) group.ask.role = RoleName();
    if (framework.mode == OfferMode::kOpen) group.ask = {.priority = group.ask.priority};
  }
  return groups;
}

void Maker::add_tasks(const LiveFramework& framework, std::vector<Group>& groups) const {
  const auto tasks = running_.find(framework.framework);
  if (tasks == running_.end()) return;
  std::map<std::string, int64_t> members;
  const auto gang_of = [](const LiveTask& task) {
    return text(task.gang, "|", task.ask.str(), "|", task.role.str(), "|", to_text(task.shape), "|",
                task.priority, "|", to_text(task.band));
  };
  for (const LiveTask* task : tasks->second) {
    if (!task->ending) ++members[gang_of(*task)];
  }
  std::map<AskName, int64_t> gang_sizes;
  for (const Group& group : groups) gang_sizes[group.kind.ask] = group.kind.gang;
  for (const LiveTask* task : tasks->second) {
    Kind kind{.ask = task->ask,
              .role = task->role,
              .shape = task->shape,
              .priority = task->priority,
              .band = task->band,
              .ending = task->ending};
    if (task->gang != 0 && !task->ending && framework.mode == OfferMode::kAsks) {
      // Members of a gang that is no longer whole continue one by one.
      const int64_t together = members.at(gang_of(*task));
      const auto size = gang_sizes.find(task->ask);
      if (size == gang_sizes.end() || size->second == together) kind.gang = together;
    }
    auto group = std::find_if(groups.begin(), groups.end(),
                              [&](const Group& one) { return one.kind == kind; });
    if (group == groups.end()) {
      const Ask plain{
          .priority = kind.priority, .role = kind.role, .gang = kind.gang, .band = kind.band};
      group = groups.insert(groups.end(), Group{.kind = kind, .ask = plain});
    }
    group->running.push_back(task);
  }
}

int64_t Maker::most_at_once(const ResourceVector& shape) const {
  int64_t most = 0;
  for (const ScenarioAgent& agent : made_.scenario.agents) {
    most += count_that_fits(shape, agent.resources, kPendingKept);
  }
  return most;
}

void Maker::add_framework(const LiveFramework& framework, const std::string& name) {
  ScenarioFramework made{.name = name,
                         .role = framework.role,
                         .takes = framework.mode == OfferMode::kOpen ? Takes::kOpen : Takes::kAsks};
  std::set<std::string> names;
  bool wants = false;
  std::vector<LiveOrigin> origins;
  for (Group& group : groups_of(framework)) {
    wants = wants || group.pending > 0;
    const int64_t wanted = group.pending;
    if (framework.suppressed) group.pending = 0;
    if (group.pending > std::min(pending_kept_, kPendingKept)) {
      const int64_t most =
          std::min(std::max(most_at_once(group.kind.shape), kPendingKept), pending_kept_);
      if (most < group.pending) cut_.push_back(text(name, "/", group.kind.ask.str()));
      group.pending = std::min(group.pending, most / group.kind.gang * group.kind.gang);
    }
    if (group.pending == 0 && group.running.empty()) continue;
    origins.push_back(
        {.framework = framework.framework,
         .name = framework.name,
         .role = group.kind.role,
         .ask = group.kind.ask,
         .kind = proto::kind_of(
             group.kind.ask,
             group.running.empty() ? std::string_view() : group.running.front()->task.str(),
             group.kind.shape),
         .pending = wanted,
         .ending = group.kind.ending,
         .claims = group.claims});
    std::string own = group.kind.ask.empty() ? "task" : group.kind.ask.str();
    own = own.substr(0, kTaskNameBytesMax - 8);
    std::string unique = own;
    for (size_t i = 2; !names.insert(unique).second; ++i) unique = text(own, "-", i);
    made.tasks.push_back(tasks_of(std::move(group), std::move(unique)));
  }
  if (framework.suppressed && wants) suppressed_.push_back(name);
  made_.scenario.frameworks.push_back(std::move(made));
  made_.origins.push_back(std::move(origins));
}

void Maker::add_frameworks() {
  place_tasks();
  std::vector<std::string> with_ports;
  std::vector<std::string> expiring;
  for (const LiveAsk& ask : live_.asks) {
    asks_[ask.framework].push_back(&ask);
    const std::string name = text(ask.framework.str(), "/", ask.ask.name.str());
    const auto by_number = static_cast<int64_t>(ask.ask.static_ports.size());
    if (ask.ask.count > 0 && ask.ask.ports > by_number) with_ports.push_back(name);
    if (ask.ask.count > 0 && ask.ask.expiry > Duration()) expiring.push_back(name);
  }
  std::map<std::string, int> uses;
  for (const LiveFramework& framework : live_.frameworks) ++uses[framework.name];
  std::set<std::string> taken;
  for (const auto& [name, count] : uses) {
    if (count == 1) taken.insert(name);
  }
  std::vector<std::string> away;
  std::vector<std::string> open;
  for (const LiveFramework& framework : live_.frameworks) {
    std::string name = framework.name;
    if (uses[name] > 1) {  // Their ids distinguish them, and may be another's name.
      name = framework.framework.str();
      for (size_t i = 2; !taken.insert(name).second; ++i) {
        name = text(framework.framework.str(), "-", i);
      }
    }
    if (!framework.connected) {
      away.push_back(name);
      if (!running_.contains(framework.framework)) continue;
    } else if (framework.mode == OfferMode::kOpen && !framework.suppressed) {
      open.push_back(name);
    }
    add_framework(framework, name);
  }
  note_if_any(away, "left out or without new tasks, because they are disconnected: frameworks");
  note_if_any(open,
              "wants no more tasks than it runs, because it takes open offers and declares no "
              "asks: framework");
  note_if_any(suppressed_,
              "wants no more tasks than it runs, because it has suppressed offers: framework");
  note_if_any(cut_, "reduced to as many tasks as all agents could run at once: ask");
  note_if_any(with_ports, "without its ports: ask");
  note_if_any(expiring, "without its expiry: ask");
}

}  // namespace

Result<LiveScenario> scenario_of(const proto::LiveSnapshot& live, Duration until) {
  LiveScenario made = Maker(live).make(until);
  if (made.scenario.agents.empty()) {
    return Error::failed_precondition("no agent can be simulated")
        .with_hint("list the agents that the master knows with: proffer agents");
  }
  if (Result<void> checked = check_scenario(made.scenario); !checked) {
    return std::move(checked).error().in("the cluster as a scenario");
  }
  return made;
}

std::string to_yaml(const LiveScenario& live) {
  std::string out =
      "# A live cluster, as `proffer snapshot` found it. Edit it, and simulate the effect with:\n# "
      "  proffer simulate FILE\n# The remaining durations of its tasks are unknown: here all of "
      "them run to the end.\n";
  for (const std::string& note : live.notes) out += text("# - ", note, "\n");
  return out + to_yaml(live.scenario);
}

}  // namespace proffer::sim
