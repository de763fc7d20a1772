// The test of docs/guides/write-a-framework.md, which quotes it: examples/failover_framework in a
// simulated cluster.

#include <sstream>

#include "examples/failover_framework/keep_three.h"
#include "sdk/testing/matchers.h"
#include "sdk/testing/sim_cluster.h"

namespace guide_test {
namespace {

using namespace proffer;
using namespace proffer::sdk;

TEST(KeepThree, HasThreeTasksAgainAfterEverythingThatCanGoWrong) {
  SimCluster cluster({.seed = 7, .agents = 3});
  cluster.on_task([](const TaskStart&) { return TaskScript::forever(); });
  std::ostringstream out;
  SimScheduler& keeper = cluster.add({.name = "keeper", .session_file = "keeper.session"},
                                     [&](Scheduler& self) { examples::keep_three(self, out); });
  cluster.run_for(seconds(10));
  EXPECT_THAT(cluster, running("keeper", 3));

  cluster.restart_scheduler(keeper);  // kill -9, then a restart with its session file
  cluster.run_for(seconds(10));
  EXPECT_THAT(cluster, launched("keeper", 3));  // it found its tasks: none is launched again
  EXPECT_THAT(out.str(), testing::HasSubstr("finds 3 tasks"));

  cluster.fail_over_master();
  cluster.crash_executor("agent-1");
  cluster.lose_agent("agent-2");  // its tasks are given up after ten minutes
  cluster.run_for(minutes(15));
  EXPECT_THAT(cluster, running("keeper", 3));
  EXPECT_THAT(cluster, no_task_lost());
}

TEST(KeepThree, SurvivesAStorm) {
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    SimCluster cluster({.seed = seed, .agents = 3});
    SCOPED_TRACE(cluster.replay());
    cluster.on_task([](const TaskStart&) { return TaskScript::forever(); });
    std::ostringstream out;
    cluster.add({.name = "keeper", .session_file = "keeper.session"},
                [&](Scheduler& self) { examples::keep_three(self, out); });
    cluster.storm(minutes(10));
    cluster.run_for(minutes(30));
    EXPECT_THAT(cluster, running("keeper", 3));
    EXPECT_THAT(cluster, no_task_lost());
  }
}

}  // namespace
}  // namespace guide_test
