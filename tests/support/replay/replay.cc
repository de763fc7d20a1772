// Virtual time, and agents and frameworks that join and leave. Read run_until() first.

#include "tests/support/replay/replay.h"

#include <algorithm>

#include "common/check.h"
#include "common/text.h"

namespace proffer::replay {
namespace {

// The time after which a disconnected agent is given up.
constexpr Duration kGivenUpAfter = kAgentTimeout;

AllocatorOptions allocator_options(const sim::Scenario& scenario, AllocatorOptions options) {
  options.roles = scenario.roles;
  for (const auto& [name, value] : scenario.options) {
    if (name == "reclaim") {
      options.reclaim = value == "off"          ? ReclaimMode::kOff
                        : value == "fair_share" ? ReclaimMode::kFairShare
                                                : ReclaimMode::kGuarantee;
    } else if (name == "placement") {
      options.placement = parse_placement(name, value).value();
    } else if (name == "offer_timeout") {
      options.offer_timeout = parse_duration(value).value();
    } else if (name == "claim_after") {
      options.claim_after = parse_duration(value).value();
    } else if (name == "minimum_runtime") {
      options.minimum_runtime = parse_duration(value).value();
    } else if (name == "revoke_grace") {
      options.revoke_grace = parse_duration(value).value();
    } else if (name == "revokes_per_minute") {
      options.revokes_per_minute = parse_whole(name, value, 0, kAskCountMax).value();
    } else {
      CHECK(false) << "a replay knows no option " << name;
    }
  }
  return options;
}

}  // namespace

Replay::Replay(sim::Scenario scenario, ReplayOptions options)
    : scenario_(std::move(scenario)),
      options_(std::move(options)),
      allocator_(std::make_unique<Allocator>(allocator_options(scenario_, options_.allocator))),
      roles_(scenario_.roles),
      now_(kBeginning) {
  for (const sim::ScenarioAgent& spec : scenario_.agents) {
    for (int64_t i = 0; i < spec.count; ++i) {
      plan_agent(spec, AgentId(spec.count == 1 ? spec.name : text(spec.name, "-", i)));
    }
  }
  for (const sim::ScenarioFramework& spec : scenario_.frameworks) {
    const FrameworkId id(spec.name);
    Framework& framework = frameworks_[id];
    framework.spec = &spec;
    for (const sim::ScenarioTasks& tasks : spec.tasks) {
      CHECK(tasks.running.empty()) << "a replay begins with nothing that runs";
      Group group;
      group.spec = &tasks;
      group.matcher = ConstraintMatcher::compile(tasks.ask.constraints).value();
      framework.groups.push_back(std::move(group));
    }
    at(kBeginning + spec.joins, [this, id] { framework_joins(id); });
    if (spec.leaves) at(kBeginning + *spec.leaves, [this, id] { framework_leaves(id); });
  }
}

// --- time ---------------------------------------------------------------------------------------

void Replay::at(Time when, std::function<void()> what) {
  plan_.emplace(std::pair(std::max(when, now_), ++planned_), std::move(what));
}

void Replay::run() { run_until(scenario_.until.value_or(sim::kScenarioUntilDefault)); }

// Applies all events of one instant before the decision at that instant.
void Replay::run_until(Duration until) {
  const Time end = kBeginning + until;
  while (wrong_.empty()) {
    std::optional<Time> next = allocator_->next_decision(now_);
    if (next) next = std::max(*next, now_);
    if (!plan_.empty() && (!next || plan_.begin()->first.first <= *next)) {
      next = plan_.begin()->first.first;
    }
    if (!next || *next > end) break;
    now_ = *next;
    bool happened = false;
    while (!plan_.empty() && plan_.begin()->first.first <= now_) {
      const std::function<void()> what = std::move(plan_.begin()->second);
      plan_.erase(plan_.begin());
      what();
      happened = true;
    }
    if (happened) check_state("events");
    const std::optional<Time> due = allocator_->next_decision(now_);
    if (due && *due <= now_) decide();
  }
  now_ = std::max(now_, end);
}

void Replay::decide() {
  if (++decisions_ > options_.decisions_max) return broken("decisions do not end");
  const Duration before = options_.cpu_clock ? options_.cpu_clock() : Duration();
  const Decision decision = allocator_->decide(now_);
  if (options_.cpu_clock) decision_cpu_ = decision_cpu_ + (options_.cpu_clock() - before);
  if (options_.trace) {
    const std::string printed = print(decision);
    if (!printed.empty()) trace_.push_back(text((now_ - kBeginning).millis(), " ms: ", printed));
  }
  check_state("a decision");
  if (options_.audit) audit(decision);
  const std::optional<Time> due = allocator_->next_decision(now_);
  if (due && *due <= now_) broken("a decision leaves something due");

  std::map<FrameworkId, std::vector<OfferId>> offers;
  for (const Grant& grant : decision.grants) offers[grant.framework].push_back(grant.offer.id);
  for (auto& [id, of_framework] : offers) {
    if (frameworks_.at(id).spec->takes == sim::Takes::kHoard) continue;
    if (options_.holding.count(id.str()) > 0) continue;
    at(now_ + scenario_.network.delay,
       [this, framework = id, ids = of_framework] { answer(framework, ids); });
  }
  for (const Revoke& each : decision.revokes) revoke(each);
}

void Replay::check_state(const std::string& after) {
  if (!options_.audit) return;
  for (const Violation& violation : allocator_->violations()) {
    broken(text(violation.what, " (after ", after, ")"));
  }
}

void Replay::broken(const std::string& what) {
  wrong_.push_back(text("at ", (now_ - kBeginning).millis(), " ms: ", what));
}

void Replay::set_role(const RoleName& role, const RoleSettings& settings) {
  if (settings == RoleSettings()) {
    roles_.erase(role);
  } else {
    roles_[role] = settings;
  }
  allocator_->set_role(role, settings);
}

void Replay::set_connected(const std::string& agent, bool connected) {
  agents_.at(AgentId(agent)).active = connected;
  allocator_->set_agent_active(AgentId(agent), connected);
}

// --- agents -------------------------------------------------------------------------------------

void Replay::plan_agent(const sim::ScenarioAgent& spec, const AgentId& id) {
  at(kBeginning + spec.joins, [this, id, &spec] { agent_joins(id, spec); });
  if (spec.drains) {
    at(kBeginning + *spec.drains, [this, id] {
      if (agents_.count(id) == 0) return;
      agents_.at(id).draining = true;
      allocator_->set_agent_draining(id, true);
    });
    at(kBeginning + *spec.drains + spec.drain_grace, [this, id] {
      if (agents_.count(id) > 0) empty_agent(id);
    });
  }
  if (!spec.leaves) return;
  at(kBeginning + *spec.leaves, [this, id] {
    if (agents_.count(id) == 0) return;
    agents_.at(id).active = false;
    allocator_->set_agent_active(id, false);
  });
  const Duration gone = *spec.leaves + kGivenUpAfter;
  if (!spec.returns || *spec.returns >= gone) {
    at(kBeginning + gone, [this, id] { agent_is_gone(id); });
  }
  if (spec.returns) {
    at(kBeginning + *spec.returns, [this, id, &spec] { agent_joins(id, spec); });
  }
}

// The agent joins for the first time or again: its tasks are still there if it returns in time.
void Replay::agent_joins(const AgentId& id, const sim::ScenarioAgent& spec) {
  if (const auto known = agents_.find(id); known != agents_.end()) {
    known->second.active = true;
    allocator_->set_agent_active(id, true);
    return;
  }
  Agent& agent = agents_[id];
  agent.spec = &spec;
  agent.active = true;
  AgentResources brings{.attributes = spec.attributes, .ports = spec.resources.ports};
  Resources rest{.amounts = spec.resources.amounts, .gpus = spec.resources.gpus};
  for (const auto& [role, amounts] : spec.reserved) {
    const Resources part = carve(amounts, rest);
    rest -= part;
    brings.slices.push_back({.resources = part, .reserved_for = role});
  }
  brings.slices.push_back({.resources = rest});
  allocator_->set_agent(id, std::move(brings));
}

void Replay::agent_is_gone(const AgentId& id) {
  if (agents_.count(id) == 0 || agents_.at(id).active) return;
  // The agent and all of its tasks are removed together, as the master does.
  allocator_->remove_agent(id);
  agents_.erase(id);
  for (auto& [framework_id, framework] : frameworks_) {
    for (size_t g = 0; g < framework.groups.size(); ++g) {
      std::vector<int64_t> lost;
      for (const auto& [number, running] : framework.groups[g].running) {
        if (running.agent == id) lost.push_back(number);
      }
      for (const int64_t number : lost) lose_task(framework_id, g, number, false);
    }
  }
}

// Tasks that are still on the agent at the deadline are killed.
void Replay::empty_agent(const AgentId& id) {
  for (auto& [framework_id, framework] : frameworks_) {
    for (size_t g = 0; g < framework.groups.size(); ++g) {
      std::vector<int64_t> left;
      for (const auto& [number, running] : framework.groups[g].running) {
        if (running.agent == id) left.push_back(number);
      }
      for (const int64_t number : left) lose_task(framework_id, g, number, true);
    }
  }
}

// --- frameworks ---------------------------------------------------------------------------------

void Replay::framework_joins(const FrameworkId& id) {
  Framework& framework = frameworks_.at(id);
  framework.joined = true;
  const sim::Takes takes = framework.spec->takes;
  allocator_->add_framework(id, framework.spec->role,
                            takes == sim::Takes::kAsks ? OfferMode::kAsks : OfferMode::kOpen);
  for (size_t g = 0; g < framework.groups.size(); ++g) {
    const sim::ScenarioTasks& spec = *framework.groups[g].spec;
    if (!spec.every) {
      at(kBeginning + spec.arrives, [this, id, g, count = spec.count] { arrive(id, g, 0, count); });
      continue;
    }
    for (int64_t i = 0; i < spec.count; ++i) {
      at(kBeginning + spec.arrival(i), [this, id, g, i] { arrive(id, g, i, 1); });
    }
  }
}

void Replay::framework_leaves(const FrameworkId& id) {
  Framework& framework = frameworks_.at(id);
  if (!framework.joined) return;
  framework.joined = false;
  allocator_->remove_framework(id);
  for (Group& group : framework.groups) {
    group.running.clear();
    group.wanted.clear();
  }
}

void Replay::arrive(const FrameworkId& id, size_t g, int64_t first, int64_t count) {
  Framework& framework = frameworks_.at(id);
  if (!framework.joined) return;
  for (int64_t i = first; i < first + count; ++i) framework.groups[g].wanted.emplace(i, now_);
  declare(id);
}

// Declares asks for all tasks that are wanted now, including those in outstanding offers.
void Replay::declare(const FrameworkId& id) {
  Framework& framework = frameworks_.at(id);
  if (!framework.joined) return;
  if (framework.spec->takes != sim::Takes::kAsks) return allocator_->revive(id);
  std::vector<Ask> asks;
  for (Group& group : framework.groups) {
    Ask ask = group.spec->declared();
    ask.count = static_cast<int64_t>(group.wanted.size()) / ask.gang * ask.gang;
    note_declared(id, group, ask.count);
    if (ask.count == 0) continue;
    const Result<void> ok = check_ask(ask);
    CHECK(ok.has_value()) << ok.error().message();
    asks.push_back(std::move(ask));
  }
  allocator_->declare_asks(id, std::move(asks), now_);
}

// A repeated declaration, or new tasks, start a new locality wait.
void Replay::note_declared(const FrameworkId& id, Group& group, int64_t count) {
  const Ask& ask = group.spec->ask;
  if (count > 0 && !group.is_declared) {
    group.prefers_since = now_;
    group.expires.reset();
    if (ask.expiry > Duration()) group.expires = now_ + ask.expiry;
  }
  const int64_t offered = offered_of(id, group);
  const auto unmet = [&](int64_t of) {
    if (group.expires && *group.expires <= now_) return int64_t{0};
    return std::max<int64_t>(of - offered, 0) / ask.gang * ask.gang;
  };
  if (unmet(group.declared) == 0 && unmet(count) > 0) group.prefers_since = now_;
  group.declared = count;
  group.is_declared = count > 0;
}

// --- results ------------------------------------------------------------------------------------

GroupResult Replay::group(const std::string& framework, const std::string& tasks) const {
  for (const Group& group : frameworks_.at(FrameworkId(framework)).groups) {
    if (group.spec->name != tasks) continue;
    return {.pending = static_cast<int64_t>(group.wanted.size()),
            .running = static_cast<int64_t>(group.running.size()),
            .finished = group.finished,
            .revoked = group.revoked,
            .wait_max = group.wait_max};
  }
  CHECK(false) << "no tasks " << tasks << " of " << framework;
  return {};
}

int64_t Replay::running(const std::string& framework) const {
  size_t sum = 0;
  for (const Group& group : frameworks_.at(FrameworkId(framework)).groups) {
    sum += group.running.size();
  }
  return static_cast<int64_t>(sum);
}

int64_t Replay::pending(const std::string& framework) const {
  size_t sum = 0;
  for (const Group& group : frameworks_.at(FrameworkId(framework)).groups) {
    sum += group.wanted.size();
  }
  return static_cast<int64_t>(sum);
}

ResourceVector Replay::use(const RoleName& role) const {
  ResourceVector sum;
  for (const auto& [id, framework] : frameworks_) {
    for (const Group& group : framework.groups) {
      for (const auto& [number, running] : group.running) {
        if (is_within(running.task.claim.role, role)) sum += group.spec->resources;
      }
    }
  }
  for (const Grant* grant : allocator_->offers()) {
    if (is_within(grant->role, role)) sum += grant->offer.total().amounts;
  }
  return sum;
}

ResourceVector Replay::use_of(const FrameworkId& id) const {
  ResourceVector sum;
  for (const Group& group : frameworks_.at(id).groups) {
    sum += group.spec->resources * static_cast<int64_t>(group.running.size());
  }
  for (const Grant* grant : allocator_->offers()) {
    if (grant->framework == id) sum += grant->offer.total().amounts;
  }
  return sum;
}

}  // namespace proffer::replay
