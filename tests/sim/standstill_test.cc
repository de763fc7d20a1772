// An agent that freezes just after its restart, while its executors run on.

#include <sstream>

#include <gtest/gtest.h>

#include "sim/simulation.h"

namespace proffer::sim::standstill_test {
namespace {

// Longer than the executor reregistration timeout.
constexpr Duration kStandstill = seconds(25);

TEST(Standstill, OfARestartedAgentCostsNoTask) {
  size_t executors = 0;
  for (uint64_t seed = 1; seed <= 8; ++seed) {
    std::ostringstream trace;
    Simulation run(
        {.seed = seed, .workload = "steady", .agents = 2, .faults = FaultKinds(), .trace = &trace});
    AgentNode& agent = *run.agents()[0];
    World& world = run.world();
    world.after(seconds(20), [&] {
      executors += agent.host().executors_running().size();
      agent.crash();
    });
    world.after(seconds(21), [&] { agent.start(); });
    // It has found its executors, which have not said hello yet.
    world.after(seconds(21) + milliseconds(2), [&] {
      agent.freeze();
      run.network().freeze(agent.party());
    });
    // Timers run before received frames, as may happen when a process resumes.
    world.after(seconds(21) + kStandstill, [&] {
      agent.thaw(true);
      run.network().thaw(agent.party());
    });
    const SimReport report = run.run();
    EXPECT_TRUE(report.ok()) << replay_command(report.options);
    EXPECT_EQ(trace.str().find(to_text(proto::TaskReason::kExecutorTimeout)), std::string::npos)
        << replay_command(report.options);
  }
  EXPECT_GT(executors, 0u);
}

}  // namespace
}  // namespace proffer::sim::standstill_test
