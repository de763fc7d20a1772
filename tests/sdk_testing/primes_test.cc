// The test of an executor in docs/guides/write-a-framework.md, which quotes it: both programs of
// examples/custom_executor_framework in a simulated cluster.

#include <memory>
#include <sstream>

#include "examples/custom_executor_framework/count_primes.h"
#include "examples/custom_executor_framework/prime_executor.h"
#include "sdk/testing/matchers.h"
#include "sdk/testing/sim_cluster.h"

namespace primes_test {
namespace {

using namespace proffer;
using namespace proffer::sdk;
using testing::HasSubstr;

class Primes : public testing::Test {
 protected:
  SimScheduler& count(SimCluster& cluster) {
    cluster.on_executor("prime_executor", examples::run_prime_tasks);
    return cluster.add({.name = "primes"}, [this](Scheduler& self) {
      counts_ = std::make_unique<examples::CountPrimes>(self, "exec prime_executor", out_);
    });
  }
  std::ostringstream out_;
  std::unique_ptr<examples::CountPrimes> counts_;
};

TEST_F(Primes, AreCountedAndTheExecutorSaysHowManyTasksItRan) {
  SimCluster cluster({.agents = 1});
  SimScheduler& primes = count(cluster);
  cluster.run_for(minutes(1));
  EXPECT_EQ(out_.str(),
            "78498 primes below a million\n"
            "agent-1: ran 20 tasks in one process\n");
  EXPECT_EQ(primes.exit_code(), 0);
}

TEST_F(Primes, AreCountedOnceAlthoughExecutorsCrash) {
  SimCluster cluster({.seed = 7, .agents = 3, .resources = "cpus:0.2;mem:64"});
  SimScheduler& primes = count(cluster);
  for (const size_t counted : {0, 5, 10}) {
    ASSERT_TRUE(cluster.run_until(
        [&] { return cluster.finished("primes") >= counted && cluster.running("primes") > 0; }));
    for (const char* agent : {"agent-1", "agent-2", "agent-3"}) cluster.crash_executor(agent);
  }
  cluster.run_for(minutes(5));
  EXPECT_THAT(out_.str(), HasSubstr("78498 primes below a million"));
  EXPECT_THAT(cluster, launched("primes", testing::Gt(20u)));  // some ranges were started again
  EXPECT_THAT(cluster, finished("primes", 20));
  EXPECT_EQ(primes.exit_code(), 0);
}

}  // namespace
}  // namespace primes_test
