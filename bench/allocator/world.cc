// Cluster of the allocator's benchmarks: setup in the constructor, then one function for each
// event that a case measures.

#include "bench/allocator/world.h"

#include <memory>
#include <utility>

#include "common/check.h"
#include "common/text.h"

namespace proffer::bench {
namespace {

// Time between two decisions: short enough that no lease ends during a run.
constexpr Duration kStep = microseconds(1);

FrameworkId framework_id(int64_t i) { return FrameworkId(text("framework-", 100'000 + i)); }
RoleName role_name(int64_t i) { return RoleName(text("role-", 100'000 + i)); }

Quota quota_of(std::string_view amounts) {
  const Result<Quota> quota = parse_quota(amounts);
  CHECK(quota.has_value());
  return *quota;
}

ResourceVector agent_amounts(const WorldOptions& options) {
  if (options.tasks == WorldOptions::Tasks::kMixed) return ResourceVector::of(16'000, 16'384'000);
  return ResourceVector::of(24'000, 4'096'000, 4'096'000);
}

ResourceVector shape_of(const WorldOptions& options, int64_t framework) {
  switch (options.tasks) {
    case WorldOptions::Tasks::kWholeAgent:
      break;
    case WorldOptions::Tasks::kQuarter:
      return ResourceVector::of(6'000, 1'024'000, 1'024'000);
    case WorldOptions::Tasks::kMixed:
      return ResourceVector::of(1'000, 1'024'000) * (int64_t{1} << (framework % 3));
  }
  return agent_amounts(options);
}

}  // namespace

RoleTable quota_roles(int64_t count) {
  const RoleSettings settings = {.guarantee = quota_of("cpus:6;mem:1024"),
                                 .limit = quota_of("cpus:12;mem:2048")};
  RoleTable roles;
  for (int64_t i = 0; i < count; ++i) roles[role_name(i)] = settings;
  return roles;
}

World::World(const WorldOptions& options)
    : options_(options),
      allocator_(
          AllocatorOptions{.placement = options.placement,
                           .roles = options.quota ? quota_roles(options.frameworks) : RoleTable(),
                           .is_audited = false}) {
  for (int64_t i = 0; i < options.agents; ++i) {
    allocator_.set_agent(AgentId(text("agent-", 100'000 + i)),
                         {.slices = {Slice{.resources = {.amounts = agent_amounts(options)}}},
                          .ports = PortSet({PortRange{31'000, 32'000}})});
  }
  for (int64_t i = 0; i < options.frameworks; ++i) {
    const FrameworkId id = framework_id(i);
    allocator_.add_framework(id, role_name(options.roles == Roles::kEach ? i : 0), options.mode);
    if (options.mode != OfferMode::kAsks) continue;
    const ResourceVector shape = shape_of(options, i);
    shapes_[id] = shape;
    allocator_.declare_asks(id, {{.name = AskName("task"), .shape = shape, .count = kAskCountMax}},
                            now_);
  }
}

int64_t World::decide() {
  now_ = now_ + kStep;
  const Decision decision = allocator_.decide(now_);
  CHECK(decision.rescinds.empty() && decision.revokes.empty());
  for (const Grant& grant : decision.grants) {
    const auto shape = shapes_.find(grant.framework);
    offers_.push_back({grant.offer.id, grant.offer.agent, grant.framework, grant.role,
                       shape == shapes_.end() ? ResourceVector() : shape->second,
                       grant.offer.fills});
  }
  return static_cast<int64_t>(decision.grants.size());
}

int64_t World::accept() {
  int64_t count = 0;
  for (const Held& held : std::exchange(offers_, {})) {
    std::vector<RunningTask> launched;
    for (const AskFill& fill : held.fills) {
      for (int64_t i = 0; i < fill.count; ++i) {
        launched.push_back(
            {.task = TaskId(text("t-", ++number_)),
             .ask = fill.ask,
             .claim = {.slices = {Slice{.resources = {.amounts = held.shape}}}, .role = held.role},
             .since = now_});
        tasks_.push_back({held.agent, held.framework, launched.back().task});
      }
      count += fill.count;
    }
    allocator_.settle({held.offer}, std::move(launched), {}, now_);
  }
  return count;
}

void World::return_one() {
  std::swap(offers_[random_.below(offers_.size())], offers_.back());
  allocator_.settle({offers_.back().offer}, {}, {}, now_);
  offers_.pop_back();
}

void World::end_one() {
  std::swap(tasks_[random_.below(tasks_.size())], tasks_.back());
  allocator_.release(tasks_.back().agent, tasks_.back().framework, tasks_.back().id);
  tasks_.pop_back();
}

int64_t World::decline_until_quiet() {
  int64_t count = 0;
  while (decide() > 0) {
    count += outstanding();
    for (const Held& held : std::exchange(offers_, {})) {
      allocator_.settle({held.offer}, {}, {.refuse_for = hours(1)}, now_);
    }
  }
  return count;
}

World& full_world(const WorldOptions& options, bool accepted) {
  static std::unique_ptr<World> world;
  static bool world_accepted = false;
  if (world == nullptr || world->options() != options || world_accepted != accepted) {
    world = std::make_unique<World>(options);
    world->decide();
    if (accepted) world->accept();
    world_accepted = accepted;
  }
  return *world;
}

}  // namespace proffer::bench
