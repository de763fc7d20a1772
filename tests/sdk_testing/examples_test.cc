// Examples in a simulated cluster, as their authors would test them. failover_framework is in
// guide_test.cc, hello_framework in sim_cluster_test.cc.

#include <sstream>

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
  // For a reason: the same offers did not come again and again.
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
    SimScheduler& raw =
        cluster.add(open_offers(), [&](Scheduler& self) { examples::raw_offers(self, "", out); });
    cluster.drop_messages(seconds(20), 30);
    cluster.after(milliseconds(500), [&] { cluster.fail_over_master(); });
    cluster.run_for(minutes(20));
    EXPECT_EQ(raw.exit_code(), 0) << out.str();
    EXPECT_THAT(cluster, finished("raw", 4));
    EXPECT_THAT(cluster, no_task_lost());
  }
}

}  // namespace
}  // namespace proffer::sdk::examples_test
