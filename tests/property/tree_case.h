#pragma once

// Random clusters and work, as scenarios: trees of roles with quotas, agents that come and go,
// frameworks of all kinds, and asks of all kinds. A failure is printed as a scenario file.

#include <string>
#include <vector>

#include "common/prng.h"
#include "common/text.h"
#include "sim/scenario.h"

namespace proffer::tree_case {

// The features of a case. Without any: single tasks of one or two kinds, roles with weights.
struct Features {
  bool quotas = true;
  bool gangs = true;
  bool constraints = true;  // also spread, max_per and prefer
  bool reservations = true;
  bool gpus = true;
  bool expiry = true;
  bool lending = true;     // borrow: false, revocable_ok, bands, reclaim modes
  bool tempers = true;     // frameworks that decline, hoard or take open offers
  bool departures = true;  // agents and frameworks that leave, return, drain
  bool forever = true;     // tasks that never end
  int64_t agents_max = 5;
  int64_t frameworks_max = 6;
  Duration duration_max = seconds(40);
  Duration arrives_max = seconds(60);
};

inline constexpr int64_t kCpuStep = 500;         // half a CPU
inline constexpr int64_t kMemStep = 512 * 1000;  // half a GiB

class CaseMaker {
 public:
  CaseMaker(uint64_t seed, const Features& features)
      : random_(seed),
        random_below_(seed + (uint64_t{1} << 32)),
        random_apart_(seed + (uint64_t{1} << 33)),
        features_(features) {
    case_.seed = seed;
  }

  sim::Scenario make() {
    const int64_t agents = random_.between(1, features_.agents_max);
    for (int64_t i = 0; i < agents; ++i) add_agent(i);
    add_roles(RoleName(), 0);
    if (features_.reservations && random_.chance(1, 4)) reserve();
    if (features_.quotas) add_quotas();
    const int64_t frameworks = random_.between(1, features_.frameworks_max);
    for (int64_t i = 0; i < frameworks; ++i) add_framework(i);
    if (features_.lending && random_.chance(1, 3)) {
      case_.options["reclaim"] = random_.chance(1, 2) ? "fair_share" : "off";
    }
    return case_;
  }

 private:
  Duration some_seconds(Duration most) {
    return milliseconds(random_.between(0, most.millis() / 500) * 500);
  }

  void add_agent(int64_t number) {
    sim::ScenarioAgent agent;
    agent.name = text("agent-", number);
    agent.resources.amounts =
        ResourceVector::of(random_.between(2, 16) * kCpuStep, random_.between(2, 16) * kMemStep);
    if (features_.gpus && random_.chance(1, 5)) {
      const int64_t gpus = random_.between(1, 2);
      agent.resources.amounts[ResourceKind::kGpus] = gpus * 1000;
      for (int32_t i = 0; i < gpus; ++i) agent.resources.gpus.push_back({i, 1000});
    }
    agent.resources.ports =
        PortSet({{31000, static_cast<uint16_t>(random_.between(31000, 31005))}});
    agent.attributes["rack"] = text("r", random_.below(2));
    if (random_.chance(1, 2)) agent.attributes["disk"] = random_.chance(1, 2) ? "ssd" : "hdd";
    if (number > 0 && random_.chance(1, 4)) agent.joins = some_seconds(features_.arrives_max);
    if (features_.departures && number > 0 && random_.chance(1, 3)) {
      const Duration at = agent.joins + seconds(1) + some_seconds(features_.arrives_max * 2);
      if (random_.chance(1, 3)) {
        agent.drains = at;
        agent.drain_grace = some_seconds(seconds(20));
      } else {
        agent.leaves = at;
        if (random_.chance(2, 3)) agent.returns = at + seconds(1) + some_seconds(seconds(60));
      }
    }
    total_ += agent.resources.amounts;
    case_.agents.push_back(std::move(agent));
  }

  void add_roles(const RoleName& parent, int depth) {
    const int64_t count = depth == 0 ? random_.between(1, 3) : random_.between(0, 2);
    for (int64_t i = 0; i < count && depth < 3; ++i) {
      const std::string own(1, static_cast<char>((depth == 0 ? 'p' : 'a') + i));
      const RoleName role(parent.empty() ? own : text(parent.str(), "/", own));
      names_.push_back(role);
      constexpr int64_t kWeights[] = {500, 1000, 1000, 1500, 2000, 3000};
      const int64_t weight = kWeights[random_.below(6)];
      if (weight != kWeightOne) case_.roles[role].weight = weight;
      add_roles(role, depth + 1);
    }
  }

  // Sets some kinds of a quota, without values that contradict each other.
  Quota some_quota(uint64_t parts) {
    Quota quota;
    for (const ResourceKind kind : {ResourceKind::kCpus, ResourceKind::kMem}) {
      const int64_t step = kind == ResourceKind::kCpus ? kCpuStep : kMemStep;
      if (random_.chance(1, 5)) continue;
      const int64_t most = total_[kind] / step / static_cast<int64_t>(parts);
      quota.set(kind, random_.between(1, std::max<int64_t>(most, 1)) * step);
    }
    return quota;
  }
  void add_quotas() {
    for (const RoleName& role : names_) {
      RoleSettings settings;
      if (const auto at = case_.roles.find(role); at != case_.roles.end()) settings = at->second;
      if (random_.chance(1, 3)) settings.guarantee = some_quota(2);
      if (random_.chance(1, 4)) settings.limit = some_quota(1);
      if (!check_role(case_.roles, role, settings)) settings.limit = {};
      if (!check_role(case_.roles, role, settings)) settings.guarantee = {};
      if (settings == RoleSettings()) continue;
      case_.roles[role] = settings;
    }
  }

  void reserve() {
    sim::ScenarioAgent& agent = case_.agents[random_.below(case_.agents.size())];
    const ResourceVector& all = agent.resources.amounts;
    agent.reserved[names_[random_.below(names_.size())]] =
        ResourceVector::of(random_.between(1, all[ResourceKind::kCpus] / kCpuStep) * kCpuStep,
                           random_.between(1, all[ResourceKind::kMem] / kMemStep) * kMemStep);
  }

  void add_framework(int64_t number) {
    sim::ScenarioFramework framework;
    framework.name = text("f", number);
    framework.role = names_[random_.below(names_.size())];
    if (features_.tempers && random_.chance(1, 4)) {
      constexpr sim::Takes kTempers[] = {sim::Takes::kOpen, sim::Takes::kHoard,
                                         sim::Takes::kDecline};
      framework.takes = kTempers[random_.below(3)];
    }
    if (random_.chance(1, 3)) framework.joins = some_seconds(features_.arrives_max);
    if (features_.departures && random_.chance(1, 8)) {
      framework.leaves = framework.joins + some_seconds(features_.arrives_max * 2);
    }
    const int64_t groups = random_.between(1, 3);
    for (int64_t i = 0; i < groups; ++i) framework.tasks.push_back(some_tasks(framework, i));
    case_.frameworks.push_back(std::move(framework));
  }

  sim::ScenarioTasks some_tasks(const sim::ScenarioFramework& framework, int64_t number) {
    sim::ScenarioTasks tasks;
    tasks.name = text("t", number);
    tasks.count = random_.between(1, 8);
    tasks.resources =
        ResourceVector::of(random_.between(1, 4) * kCpuStep, random_.between(0, 4) * kMemStep);
    if (random_.chance(1, 10)) tasks.resources = ResourceVector::of(0, kMemStep);
    if (features_.gpus && random_.chance(1, 8)) {
      tasks.resources[ResourceKind::kGpus] = random_.chance(1, 2) ? 500 : 1000;
    }
    if (!features_.forever || random_.chance(4, 5)) {
      tasks.duration = milliseconds(500) + some_seconds(features_.duration_max);
    }
    if (random_.chance(1, 2)) tasks.arrives = some_seconds(features_.arrives_max);
    if (random_.chance(1, 6)) {
      tasks.arrives = {};
      tasks.every = milliseconds(500) + some_seconds(seconds(10));
    }
    Ask& ask = tasks.ask;
    if (framework.takes != sim::Takes::kAsks) return tasks;
    if (random_.chance(1, 4)) ask.priority = static_cast<int32_t>(random_.below(3));
    if (random_.chance(1, 10)) ask.ports = random_.between(1, 2);
    if (features_.gangs && random_.chance(1, 5)) {
      ask.gang = random_.between(2, 4);
      tasks.count = ask.gang * random_.between(1, 3);
      if (tasks.every) tasks.every.reset();
    }
    if (random_below_.chance(1, 3)) ask.role = some_role_below(framework.role);
    if (features_.constraints) add_constraints(ask);
    if (features_.constraints && random_apart_.chance(1, 8)) keep_apart(ask);
    if (features_.expiry && random_apart_.chance(1, 10)) {
      ask.expiry = milliseconds(500) + milliseconds(random_apart_.between(0, 120) * 500);
    }
    if (features_.lending) {
      if (random_.chance(1, 10)) ask.borrow = false;
      if (random_.chance(1, 6)) ask.revocable_ok = true;
      if (random_.chance(1, 4)) ask.band = static_cast<Band>(random_.below(kBandCount));
    }
    return tasks;
  }

  // A role below the framework's own, if there is one.
  RoleName some_role_below(const RoleName& role) {
    std::vector<RoleName> below;
    for (const RoleName& name : names_) {
      if (name != role && is_within(name, role)) below.push_back(name);
    }
    return below.empty() ? RoleName() : below[random_below_.below(below.size())];
  }

  void add_constraints(Ask& ask) {
    constexpr const char* kConstraints[] = {"disk == ssd", "rack != r1", "disk in [ssd, hdd]",
                                            "host =~ agent-[01]", "disk exists"};
    if (random_.chance(1, 5)) {
      ask.constraints.push_back(parse_constraint(kConstraints[random_.below(5)]).value());
    }
    if (random_.chance(1, 8)) ask.spread = random_.chance(1, 2) ? "rack" : "host";
    if (random_.chance(1, 8)) {
      ask.max_per.push_back(
          {.attribute = random_.chance(1, 2) ? "rack" : "host", .count = random_.between(1, 3)});
    }
    if (random_.chance(1, 8)) {
      if (random_.chance(1, 2)) ask.prefer.hosts.push_back(text("agent-", random_.below(3)));
      if (ask.prefer.hosts.empty() || random_.chance(1, 2)) ask.prefer.racks.push_back("r0");
      ask.prefer.wait = some_seconds(seconds(20));
    }
  }

  // Spreads by two or three attributes, also for gangs.
  void keep_apart(Ask& ask) {
    constexpr const char* kAttributes[] = {"disk", "host", "rack"};
    const uint64_t without = random_apart_.below(4);
    ask.max_per.clear();
    for (uint64_t i = 0; i < 3; ++i) {
      if (i == without) continue;
      ask.max_per.push_back({.attribute = kAttributes[i], .count = random_apart_.between(1, 3)});
    }
  }

  Prng random_;
  Prng random_below_;  // separate, so that its draws do not change others
  Prng random_apart_;  // separate as well
  const Features features_;
  sim::Scenario case_;
  std::vector<RoleName> names_;
  ResourceVector total_;
};

inline sim::Scenario random_case(uint64_t seed, const Features& features) {
  return CaseMaker(seed, features).make();
}

}  // namespace proffer::tree_case
