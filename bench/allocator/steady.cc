// The cost of a decision in the steady state: the cluster is full, and all frameworks want more.
// One task ends, its resources are granted to the first framework, and the offer is accepted. Time
// per such cycle (release, decide, settle).

#include <deque>
#include <utility>

#include <benchmark/benchmark.h>

#include "allocator/allocator.h"
#include "common/prng.h"
#include "common/text.h"

namespace proffer {
namespace {

constexpr int64_t kTasksPerAgent = 16;

struct Cluster {
  struct Task {
    AgentId agent;
    FrameworkId framework;
    TaskId id;
  };

  // If `mixed`, shapes of 1, 2 and 4 CPUs, so that many freed slices fit only some asks.
  Cluster(int64_t agents, int64_t frameworks, bool mixed) {
    for (int64_t i = 0; i < agents; ++i) {
      allocator.set_agent(AgentId(text("agent-", 100'000 + i)),
                          {.slices = {Slice{.resources = {.amounts = ResourceVector::of(
                                                              kTasksPerAgent * 1'000,
                                                              kTasksPerAgent * 1'024'000)}}}});
    }
    for (int64_t i = 0; i < frameworks; ++i) {
      const FrameworkId id(text("framework-", 100'000 + i));
      allocator.add_framework(id, RoleName(text("role-", i)), OfferMode::kAsks);
      const int64_t size = mixed ? int64_t{1} << (i % 3) : 1;
      allocator.declare_asks(id,
                             {{.name = AskName("task"),
                               .shape = ResourceVector::of(size * 1'000, size * 1'024'000),
                               .count = kAskCountMax}},
                             now);
      shapes[id] = ResourceVector::of(size * 1'000, size * 1'024'000);
    }
  }

  // Accepts all grants of one decision. Returns the number of tasks.
  int64_t decide_and_accept() {
    int64_t count = 0;
    const Decision decision = allocator.decide(now);
    for (const Grant& grant : decision.grants) {
      const ResourceVector& shape = shapes.at(grant.framework);
      std::vector<RunningTask> launched;
      for (const AskFill& fill : grant.offer.fills) {
        for (int64_t i = 0; i < fill.count; ++i) {
          launched.push_back(
              {.task = TaskId(text("t-", ++number)),
               .ask = fill.ask,
               .claim = {.slices = {Slice{.resources = {.amounts = shape}}}, .role = grant.role},
               .since = now});
          tasks.push_back({grant.offer.agent, grant.framework, launched.back().task});
        }
        count += fill.count;
      }
      allocator.settle({grant.offer.id}, std::move(launched), {}, now);
    }
    return count;
  }
  void end_one() {
    std::swap(tasks[random.below(tasks.size())], tasks.back());
    allocator.release(tasks.back().agent, tasks.back().framework, tasks.back().id);
    tasks.pop_back();
  }

  Allocator allocator{AllocatorOptions{.is_audited = false}};
  std::map<FrameworkId, ResourceVector> shapes;
  std::deque<Task> tasks;
  uint64_t number = 0;
  Prng random{1};
  Time now = Time() + seconds(1);
};

void one_task_ends(benchmark::State& state) {
  Cluster cluster(state.range(0), state.range(1), state.range(2) != 0);
  cluster.decide_and_accept();
  int64_t grants = 0;
  for (auto _ : state) {
    cluster.end_one();
    cluster.now = cluster.now + microseconds(100);
    grants += cluster.decide_and_accept();
  }
  state.counters["grants_per_cycle"] =
      benchmark::Counter(static_cast<double>(grants), benchmark::Counter::kAvgIterations);
}
BENCHMARK(one_task_ends)
    ->ArgNames({"agents", "frameworks", "mixed"})
    ->Args({100, 10, 0})
    ->Args({100, 10, 1})
    ->Args({1'000, 100, 0})
    ->Args({1'000, 100, 1})
    ->Args({10'000, 1'000, 0})
    ->Args({10'000, 1'000, 1});

// From an empty to a full cluster in one decision; time per task.
void fill_an_empty_cluster(benchmark::State& state) {
  int64_t tasks = 0;
  for (auto _ : state) {
    state.PauseTiming();
    auto cluster = std::make_unique<Cluster>(state.range(0), state.range(1), true);
    state.ResumeTiming();
    tasks += cluster->decide_and_accept();
    state.PauseTiming();
    cluster.reset();
    state.ResumeTiming();
  }
  state.SetItemsProcessed(tasks);
}
BENCHMARK(fill_an_empty_cluster)
    ->ArgNames({"agents", "frameworks"})
    ->Unit(benchmark::kMillisecond)
    ->Args({100, 10})
    ->Args({1'000, 100})
    ->Args({10'000, 1'000});

// All offers have been declined for an hour; one agent's resources become free and are declined
// again.
void everything_declined(benchmark::State& state) {
  Allocator allocator{AllocatorOptions{.is_audited = false}};
  Time now = Time() + seconds(1);
  for (int64_t i = 0; i < state.range(0); ++i) {
    allocator.set_agent(
        AgentId(text("agent-", 100'000 + i)),
        {.slices = {Slice{.resources = {.amounts = ResourceVector::of(16'000, 16'384'000)}}}});
  }
  for (int64_t i = 0; i < state.range(1); ++i) {
    allocator.add_framework(FrameworkId(text("framework-", i)), RoleName(text("role-", i)),
                            OfferMode::kOpen);
  }
  while (true) {
    const Decision decision = allocator.decide(now);
    if (decision.grants.empty()) break;
    for (const Grant& grant : decision.grants) {
      allocator.settle({grant.offer.id}, {}, {.refuse_for = hours(1)}, now);
    }
  }
  for (auto _ : state) {
    allocator.set_agent_active(AgentId("agent-100000"), false);
    allocator.set_agent_active(AgentId("agent-100000"), true);
    now = now + microseconds(1);
    benchmark::DoNotOptimize(allocator.decide(now));
  }
}
BENCHMARK(everything_declined)
    ->ArgNames({"agents", "open frameworks"})
    ->Args({100, 10})
    ->Args({10'000, 50})
    ->Iterations(10'000);  // each run of the function first declines all offers

}  // namespace
}  // namespace proffer
