// Examples in a simulated cluster, as their authors would test them. failover_framework is in
// guide_test.cc, hello_framework in sim_cluster_test.cc.

#include <sstream>

#include "examples/exactly_once_framework/run_once.h"
#include "examples/raw_offers_framework/raw_offers.h"
#include "sdk/testing/matchers.h"
#include "sdk/testing/sim_cluster.h"

namespace proffer::sdk::examples_test {
namespace {

using testing::HasSubstr;

SchedulerOptions open_offers() {
  SchedulerOptions options{.name = "raw"};
  options.mode = OfferMode::kOpen;
  return options;
}

TEST(RawOffers, WaitsForAnAgentThatIsRightAndLargeEnough) {
  SimCluster cluster({.agents = 1});
  cluster.add_agent("tiny", "cpus:0.2;mem:512", "disk:ssd");
  std::ostringstream out;
  SimScheduler& raw =
      cluster.add(open_offers(), [&](Scheduler& self) { examples::raw_offers(self, "ssd", out); });
  cluster.run_for(hours(1));
  EXPECT_THAT(cluster, launched("raw", 0));
  EXPECT_THAT(out.str(), HasSubstr("agent-1: declined, its disk is not ssd"));
  EXPECT_THAT(out.str(), HasSubstr("tiny: declined, cpus:0.2;mem:512 is too little"));
  // Declines with a reason: the same offers did not return again and again.
  EXPECT_LE(raw.offers(), 4u);

  cluster.add_agent("large", "cpus:2;mem:2048", "disk:ssd");
  cluster.run_for(minutes(1));
  EXPECT_THAT(cluster, finished("raw", 4));
  EXPECT_EQ(raw.exit_code(), 0);
}

TEST(RawOffers, EndsWellAlthoughMessagesAreLostAndTheMasterFailsOver) {
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    SimCluster cluster({.seed = seed, .agents = 2, .resources = "cpus:1;mem:1024"});
    SCOPED_TRACE(cluster.replay());
    std::ostringstream out;
    SchedulerOptions options = open_offers();
    // it has no session file, and the default of 10 s is not enough here
    options.failover_timeout = minutes(5);
    SimScheduler& raw =
        cluster.add(options, [&](Scheduler& self) { examples::raw_offers(self, "", out); });
    cluster.drop_messages(seconds(20), 30);
    cluster.after(milliseconds(500), [&] { cluster.fail_over_master(); });
    cluster.run_for(minutes(20));
    EXPECT_EQ(raw.exit_code(), 0) << out.str();
    EXPECT_THAT(cluster, finished("raw", 4));
    EXPECT_THAT(cluster, no_task_lost());
  }
}

SchedulerOptions once() {
  SchedulerOptions options{.name = "once", .session_file = "once.session"};
  options.remembers_tasks = true;
  return options;
}

// The cluster itself checks that no task is started twice.
TEST(RunOnce, BeginsEachCommandOnceAlthoughMasterAndSchedulerDieTogether) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    SimCluster cluster({.seed = seed, .agents = 2, .resources = "cpus:0.5;mem:1024"});
    SCOPED_TRACE(cluster.replay());
    std::ostringstream out;
    std::unique_ptr<examples::RunOnce> life;
    SimScheduler& runner = cluster.add(once(), [&](Scheduler& self) {
      life = std::make_unique<examples::RunOnce>(self, std::vector<std::string>(80, "true"), out);
    });
    for (int i = 1; i <= 5; ++i) {
      cluster.after(milliseconds(700 * i), [&] {
        cluster.fail_over_master();
        cluster.restart_scheduler(runner);
      });
    }
    cluster.run_for(minutes(5));
    EXPECT_EQ(runner.exit_code(), 0) << out.str();
    EXPECT_THAT(cluster, launched("once", 80));
    EXPECT_THAT(cluster, finished("once", 80));
  }
}

TEST(RunOnce, DoesNotBeginAgainWhatRanOnAnAgentThatIsLost) {
  SimCluster cluster({.agents = 1});
  cluster.on_task([](const TaskStart&) { return TaskScript::forever(); });
  std::ostringstream out;
  std::unique_ptr<examples::RunOnce> life;
  SimScheduler& runner = cluster.add(once(), [&](Scheduler& self) {
    life = std::make_unique<examples::RunOnce>(self, std::vector<std::string>(3, "true"), out);
  });
  cluster.run_for(seconds(10));
  cluster.lose_agent("agent-1");
  cluster.add_agent("agent-2", "cpus:4;mem:4096");
  cluster.fail_over_master();
  cluster.restart_scheduler(runner);
  cluster.run_for(minutes(5));
  EXPECT_THAT(cluster, launched("once", 3)) << "its agent may come back";
  EXPECT_FALSE(runner.exit_code());
  cluster.run_for(minutes(15));
  EXPECT_THAT(cluster, launched("once", 3));
  EXPECT_THAT(out.str(), HasSubstr("command-0 is lost"));
  EXPECT_EQ(runner.exit_code(), 0);
}

}  // namespace
}  // namespace proffer::sdk::examples_test
