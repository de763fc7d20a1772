// Daemons: apps with an instance on each agent that they fit on. A scheduler learns of agents from
// offers, so a daemon always asks for some more instances than it has, at most one on each agent: a
// new agent is offered, and gets its slot (daemon_slot). A slot stays with its agent. It is given
// up when the agent is gone or drained, was not offered for a while (follow_agents), or does not
// meet the constraints of a new version. If the agent becomes usable again, it is offered again.

#include <algorithm>
#include <set>

#include "common/text.h"
#include "common/unfit.h"
#include "frameworks/service/core/state.h"

namespace proffer::service {
namespace {

// The most agents that get their first instance between two declarations of asks.
constexpr int64_t kOpenMax = 16;
// How long a slot may stay empty because its agent does not take the next instance; then it is
// given up.
constexpr Duration kEmptyMax = seconds(30);
// How long a slot is kept although the master reports that its agent does not fit the new version;
// the report may be about the previous ask.
constexpr Duration kStuckMax = seconds(5);
// After this time without a new agent, all agents have usually been offered.
constexpr Duration kLooksFor = seconds(3);

// The version of an instance on a new agent.
uint64_t version_of_further(const App& app) {
  return app.hold && app.is_wanted(app.ready_version) ? app.ready_version : app.version;
}

std::set<int64_t> slots_in_use(const App& app) {
  std::set<int64_t> used;
  for (const auto& [task, instance] : app.instances) used.insert(instance.id.slot);
  return used;
}

}  // namespace

// The slot of the agent, if it wants an instance of this version now, or a new one.
std::optional<int64_t> Service::State::daemon_slot(Step& step, RunningApp& running,
                                                   uint64_t version, const AgentId& agent) {
  App& app = running.app;
  for (const auto& [number, slot] : app.slots) {
    if (slot.agent != agent) continue;
    const auto launch = running.launches.find(number);
    if (launch == running.launches.end() || launch->second != version) return std::nullopt;
    return number;
  }
  if (app.stopping || app.waits || version != version_of_further(app)) return std::nullopt;
  const std::set<int64_t> used = slots_in_use(app);
  for (int64_t number = 0; number < kInstancesMax; ++number) {
    if (app.slots.count(number) > 0 || used.count(number) > 0) continue;
    app.slots[number].agent = agent;
    running.looks_until = step.now + kLooksFor;
    return number;
  }
  return std::nullopt;
}

void Service::State::follow_agents(Step& step, RunningApp& running) {
  App& app = running.app;
  if (!app.spec.daemon) return;
  const auto again = [&](Time at) {
    running.look_again = std::min(running.look_again.value_or(at), at);
  };
  const std::set<int64_t> used = slots_in_use(app);
  for (auto at = app.slots.begin(); at != app.slots.end();) {
    Slot& slot = at->second;
    if (used.count(at->first) > 0) {
      slot.empty_since.reset();
      // A version that is too large, or beyond the limit, fits no agent: then the update waits, and
      // is rolled back at its deadline. A canary does not end the instances beside it either.
      const bool is_excluded = running.cannot_fit.starts_with(kNoAgentMeets) && !app.hold;
      if (!is_excluded || running.launches.count(at->first) == 0) {
        slot.stuck_since.reset();
        ++at;
        continue;
      }
      // The next version was to start beside it, and cannot.
      if (!slot.stuck_since) slot.stuck_since = step.now;
      if (*slot.stuck_since + kStuckMax > step.now) {
        again(*slot.stuck_since + kStuckMax);
        ++at;
        continue;
      }
      again(step.now);  // instances without a slot are killed
      running.launches.erase(at->first);
      at = app.slots.erase(at);
      continue;
    }
    slot.stuck_since.reset();
    if (!slot.empty_since) slot.empty_since = step.now;
    const Time until = std::max(*slot.empty_since, slot.present.not_before) + kEmptyMax;
    if (until > step.now) {
      again(until);
      ++at;
      continue;
    }
    again(step.now);  // an update may have waited for it
    running.launches.erase(at->first);
    at = app.slots.erase(at);
  }
  if (running.looks_until == Time()) running.looks_until = step.now + kLooksFor;
  running.is_looking = !app.waits && step.now < running.looks_until;
  if (running.is_looking) again(running.looks_until);
}

// Slots that want an instance ask for their agents. If there are none, the daemon asks for new
// agents, but not for those of slots that wait after a failure.
std::vector<Service::State::Wanted> Service::State::daemon_asks(const RunningApp& running,
                                                                int64_t room) {
  const App& app = running.app;
  std::map<uint64_t, std::vector<std::string>> agents;  // by version, the agents that are asked for
  for (const auto& [number, version] : running.launches) {
    const auto slot = app.slots.find(number);
    if (slot == app.slots.end() || !app.is_wanted(version)) continue;
    agents[version].push_back(slot->second.agent.str());
  }
  const bool is_open = agents.empty() && !app.stopping && !app.waits;
  std::map<uint64_t, int64_t> planned;  // by version
  for (const TaskId& task : running.planned) {
    const Instance& instance = app.instances.at(task);
    if (instance.kill_asked || !app.is_wanted(instance.id.version)) continue;
    ++planned[instance.id.version];
    const auto asked = agents.find(instance.id.version);
    if (asked != agents.end()) asked->second.push_back(instance.agent.str());
  }
  std::vector<Wanted> asks;
  for (auto& [version, names] : agents) {
    std::sort(names.begin(), names.end());
    if (names.size() > kConstraintValuesMax) names.resize(kConstraintValuesMax);
    Wanted& one = asks.emplace_back(
        Wanted{.app = &app, .version = version, .count = static_cast<int64_t>(names.size())});
    one.agents = {Constraint{"host", Constraint::Operator::kIn, std::move(names)}};
    planned.erase(version);
  }
  const int64_t open = std::clamp<int64_t>(
      std::min(room, kInstancesMax - static_cast<int64_t>(app.slots.size())), 0, kOpenMax);
  if (is_open && open > 0) planned[version_of_further(app)] += open;
  for (const auto& [version, count] : planned) {
    Wanted& one = asks.emplace_back(Wanted{.app = &app, .version = version, .count = count});
    std::vector<std::string> away;
    for (const auto& [number, slot] : app.slots) {
      if (slot.empty_since && away.size() < kConstraintValuesMax) away.push_back(slot.agent.str());
    }
    std::sort(away.begin(), away.end());
    if (!away.empty()) {
      one.agents = {Constraint{"host", Constraint::Operator::kNotIn, std::move(away)}};
    }
  }
  return asks;
}

// The task is not at fault: the agent is not usable for it now.
bool Service::State::leaves_its_agent(const proto::TaskStatus& status) {
  return status.state == proto::TaskState::kGone || status.reason == proto::TaskReason::kDrained ||
         status.reason == proto::TaskReason::kRevoked ||
         status.reason == proto::TaskReason::kAgentRemoved;
}

}  // namespace proffer::service
