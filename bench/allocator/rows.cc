// The cases of the table in bench/RESULTS.md: large clusters in each mode, from all resources free
// to all offered, and then the cost of one change. bench/decisions runs each case alone.

#include <memory>

#include <benchmark/benchmark.h>
#include <sys/resource.h>

#include "bench/allocator/world.h"

namespace proffer::bench {
namespace {

constexpr int64_t kQuotaRoles = 3'000;

// The peak of the process since its start: of this case if it runs alone.
double peak_mib() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

WorldOptions options_of(const benchmark::State& state, OfferMode mode) {
  return {.agents = state.range(0),
          .frameworks = state.range(1),
          .mode = mode,
          .roles = state.range(2) == 1 ? Roles::kOne : Roles::kEach};
}

WorldOptions quota_options(OfferMode mode) {
  return {.agents = kQuotaRoles,
          .frameworks = kQuotaRoles,
          .mode = mode,
          .quota = true,
          .tasks = WorldOptions::Tasks::kQuarter};
}

// All agents are free; one decision offers all.
void all_free(benchmark::State& state, const WorldOptions& options) {
  int64_t offers = 0;
  for (auto _ : state) {
    state.PauseTiming();
    auto world = std::make_unique<World>(options);
    state.ResumeTiming();
    offers = world->decide();
    state.PauseTiming();
    state.counters["peak_mib"] = peak_mib();
    world.reset();
    state.ResumeTiming();
  }
  state.counters["offers"] = static_cast<double>(offers);
}

// Everything is offered; one offer is returned, and the decision offers it again.
void freed(benchmark::State& state, const WorldOptions& options) {
  World& world = full_world(options, false);
  int64_t offers = 0;
  for (auto _ : state) {
    world.return_one();
    offers += world.decide();
  }
  state.counters["offers"] =
      benchmark::Counter(static_cast<double>(offers), benchmark::Counter::kAvgIterations);
  state.counters["peak_mib"] = peak_mib();
}

void all_free_asks(benchmark::State& state) {
  all_free(state, options_of(state, OfferMode::kAsks));
}
void all_free_open(benchmark::State& state) {
  all_free(state, options_of(state, OfferMode::kOpen));
}
void freed_asks(benchmark::State& state) { freed(state, options_of(state, OfferMode::kAsks)); }
void freed_open(benchmark::State& state) { freed(state, options_of(state, OfferMode::kOpen)); }
void quota_all_free_asks(benchmark::State& state) {
  all_free(state, quota_options(OfferMode::kAsks));
}
void quota_all_free_open(benchmark::State& state) {
  all_free(state, quota_options(OfferMode::kOpen));
}
void quota_freed_asks(benchmark::State& state) { freed(state, quota_options(OfferMode::kAsks)); }
void quota_freed_open(benchmark::State& state) { freed(state, quota_options(OfferMode::kOpen)); }

// `roles` is 1: all frameworks are in one role; else each is in its own.
#define PROFFER_AGENTS_FRAMEWORKS ArgNames({"agents", "frameworks", "roles"})
BENCHMARK(all_free_asks)
    ->PROFFER_AGENTS_FRAMEWORKS->Unit(benchmark::kMillisecond)
    ->Iterations(3)
    ->Args({10'000, 1'000, 1})
    ->Args({10'000, 1'000, 1'000})
    ->Args({50'000, 1'000, 1'000});
BENCHMARK(all_free_open)
    ->PROFFER_AGENTS_FRAMEWORKS->Unit(benchmark::kMillisecond)
    ->Iterations(1)
    ->Args({10'000, 1'000, 1})
    ->Args({10'000, 1'000, 1'000})
    ->Args({50'000, 1'000, 1})
    ->Args({50'000, 1'000, 1'000});
BENCHMARK(freed_asks)
    ->PROFFER_AGENTS_FRAMEWORKS->Unit(benchmark::kMicrosecond)
    ->Args({10'000, 1'000, 1})
    ->Args({10'000, 1'000, 1'000});
BENCHMARK(freed_open)
    ->PROFFER_AGENTS_FRAMEWORKS->Unit(benchmark::kMicrosecond)
    ->Args({10'000, 1'000, 1})
    ->Args({10'000, 1'000, 1'000});
BENCHMARK(quota_all_free_open)->Unit(benchmark::kMillisecond)->Iterations(1);
BENCHMARK(quota_freed_open)->Unit(benchmark::kMicrosecond);
BENCHMARK(quota_all_free_asks)->Unit(benchmark::kMillisecond)->Iterations(1);
BENCHMARK(quota_freed_asks)->Unit(benchmark::kMicrosecond);

// Declares each role's guarantee and limit to an allocator without agents.
void quota_declare_roles(benchmark::State& state) {
  const RoleTable roles = quota_roles(kQuotaRoles);
  for (auto _ : state) {
    Allocator allocator{AllocatorOptions{.is_audited = false}};
    for (const auto& [role, settings] : roles) allocator.set_role(role, settings);
  }
}
BENCHMARK(quota_declare_roles)->Unit(benchmark::kMillisecond)->Iterations(1);

// Endless asks for tasks of 1, 2 and 4 CPUs.
WorldOptions small_tasks(const benchmark::State& state) {
  return {
      .agents = state.range(0), .frameworks = state.range(1), .tasks = WorldOptions::Tasks::kMixed};
}

// All agents are free; one decision offers them for these tasks.
void tasks_until_full(benchmark::State& state) { all_free(state, small_tasks(state)); }
// Then all these offers are accepted.
void tasks_until_full_settle(benchmark::State& state) {
  int64_t tasks = 0;
  for (auto _ : state) {
    state.PauseTiming();
    auto world = std::make_unique<World>(small_tasks(state));
    world->decide();
    state.ResumeTiming();
    tasks = world->accept();
    state.PauseTiming();
    state.counters["peak_mib"] = peak_mib();
    world.reset();
    state.ResumeTiming();
  }
  state.counters["tasks"] = static_cast<double>(tasks);
}
// Then one task ends, the decision offers its resources, and the offer is accepted.
void task_ends(benchmark::State& state) {
  World& world = full_world(small_tasks(state), true);
  for (auto _ : state) {
    world.end_one();
    world.decide();
    world.accept();
  }
  state.counters["peak_mib"] = peak_mib();
}
BENCHMARK(tasks_until_full)
    ->ArgNames({"agents", "frameworks"})
    ->Unit(benchmark::kMillisecond)
    ->Iterations(3)
    ->Args({10'000, 1'000});
BENCHMARK(tasks_until_full_settle)
    ->ArgNames({"agents", "frameworks"})
    ->Unit(benchmark::kMillisecond)
    ->Iterations(3)
    ->Args({10'000, 1'000});
BENCHMARK(task_ends)
    ->ArgNames({"agents", "frameworks"})
    ->Unit(benchmark::kMicrosecond)
    ->Args({10'000, 1'000});

// The same by each placement policy, numbered as in allocator/values.h.
WorldOptions tasks_by_policy(const benchmark::State& state) {
  WorldOptions options = small_tasks(state);
  options.placement = static_cast<Placement>(state.range(2));
  return options;
}
void placed_until_full(benchmark::State& state) { all_free(state, tasks_by_policy(state)); }
void placed_task_ends(benchmark::State& state) {
  World& world = full_world(tasks_by_policy(state), true);
  for (auto _ : state) {
    world.end_one();
    world.decide();
    world.accept();
  }
}
BENCHMARK(placed_until_full)
    ->ArgNames({"agents", "frameworks", "policy"})
    ->Unit(benchmark::kMillisecond)
    ->Iterations(1)
    ->ArgsProduct({{1'000}, {100}, {0, 1, 2, 3, 4, 5}});
BENCHMARK(placed_task_ends)
    ->ArgNames({"agents", "frameworks", "policy"})
    ->Unit(benchmark::kMicrosecond)
    ->ArgsProduct({{1'000}, {100}, {0, 1, 2, 3, 4, 5}});

// Each framework declines each offer for an hour, until there are no more offers.
void all_declined(benchmark::State& state) {
  int64_t offers = 0;
  for (auto _ : state) {
    state.PauseTiming();
    auto world = std::make_unique<World>(WorldOptions{
        .agents = state.range(0), .frameworks = state.range(1), .mode = OfferMode::kOpen});
    state.ResumeTiming();
    offers = world->decline_until_quiet();
    state.PauseTiming();
    world.reset();
    state.ResumeTiming();
  }
  state.counters["offers"] = static_cast<double>(offers);
  state.counters["peak_mib"] = peak_mib();
}
BENCHMARK(all_declined)
    ->ArgNames({"agents", "frameworks"})
    ->Unit(benchmark::kMillisecond)
    ->Iterations(1)
    ->Args({1'000, 200});

// --- growth --------------------------------------------------------------------------------------

// How one change grows with the cluster: with the agents for 1,000 frameworks, and with the
// frameworks for 10,000 agents.
void sizes(benchmark::internal::Benchmark* of) {
  for (const int64_t agents : {1'000, 2'000, 5'000, 10'000, 20'000, 50'000}) {
    of->Args({agents, 1'000});
  }
  for (const int64_t frameworks : {1, 10, 100, 3'000, 6'000}) of->Args({10'000, frameworks});
}

void growth_freed_asks(benchmark::State& state) {
  freed(state, {.agents = state.range(0), .frameworks = state.range(1), .mode = OfferMode::kAsks});
}
void growth_freed_open(benchmark::State& state) {
  freed(state, {.agents = state.range(0), .frameworks = state.range(1), .mode = OfferMode::kOpen});
}
// Four tasks fill an agent.
void growth_task_ends(benchmark::State& state) {
  World& world = full_world({.agents = state.range(0),
                             .frameworks = state.range(1),
                             .tasks = WorldOptions::Tasks::kQuarter},
                            true);
  for (auto _ : state) {
    world.end_one();
    world.decide();
    world.accept();
  }
  state.counters["peak_mib"] = peak_mib();
}
#define PROFFER_GROWTH \
  ArgNames({"agents", "frameworks"})->Unit(benchmark::kMicrosecond)->Apply(sizes)
BENCHMARK(growth_freed_asks)->PROFFER_GROWTH;
BENCHMARK(growth_freed_open)->PROFFER_GROWTH;
BENCHMARK(growth_task_ends)->PROFFER_GROWTH;

}  // namespace
}  // namespace proffer::bench
