// Shares end to end, with declared resources and real processes. First the example of section 4.1
// of the DRF paper (Ghodsi et al., NSDI 2011).

#include <csignal>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/integration/processes.h"

namespace proffer::test {
namespace {

const Words kA = {"run",    "--name", "A",     "--role", "A",  "--count", "1000",
                  "--cpus", "1",      "--mem", "4GiB",   "--", "sleep 2"};
const Words kB = {"run",    "--name", "B",     "--role", "B",  "--count", "1000",
                  "--cpus", "3",      "--mem", "1GiB",   "--", "sleep 2"};

// Both have the number of tasks from the paper, at the same time.
bool is_settled(const Cluster& cluster) {
  return cluster.running_tasks("A-") == 3 && cluster.running_tasks("B-") == 2;
}

class DrfExample : public testing::TestWithParam<bool> {};

TEST_P(DrfExample, SettlesAtThreeAndTwoTasksWhoeverCameFirst) {
  Cluster cluster({.agents = 1, .resources = "cpus:9;mem:18GiB"});
  const bool a_first = GetParam();
  const auto first = cluster.start(a_first ? kA : kB);
  // Alone, each uses all it can: 4 tasks of A by memory, 3 of B by CPUs.
  ASSERT_TRUE(eventually(
      [&] { return cluster.running_tasks(a_first ? "A-" : "B-") == (a_first ? 4 : 3); }));

  const auto second = cluster.start(a_first ? kB : kA);

  // The promise is three task lengths of 2 s; the deadline is longer for busy machines.
  EXPECT_TRUE(eventually([&] { return is_settled(cluster); }, Seconds(30)));
  // It stays so: tasks end and are replaced, and neither framework ever gets more.
  int settled = 0;
  for (int look = 0; look < 20; ++look) {
    EXPECT_LE(cluster.running_tasks("A-"), 3);
    EXPECT_LE(cluster.running_tasks("B-"), 2);
    settled += is_settled(cluster) ? 1 : 0;
  }
  EXPECT_GE(settled, 1);
  first->kill(SIGINT);
  second->kill(SIGINT);
  first->wait();
  second->wait();
}

INSTANTIATE_TEST_SUITE_P(BothOrders, DrfExample, testing::Bool(),
                         [](const auto& order) { return order.param ? "AFirst" : "BFirst"; });

// Two frameworks with the same shape and more tasks than twelve CPUs can run.
void expect_shares(const std::string& weights, int of_a, int of_b) {
  Cluster::Options options{.agents = 2, .resources = "cpus:6;mem:6GiB"};
  if (!weights.empty()) options.more = {"--weights", weights};
  Cluster cluster(options);
  std::vector<std::unique_ptr<Process>> floods;
  for (const std::string name : {"A", "B"}) {
    floods.push_back(cluster.start({"run", "--name", name, "--role", name, "--count", "1000",
                                    "--cpus", "1", "--mem", "64", "--", "sleep 1"}));
  }
  EXPECT_TRUE(eventually(
      [&] { return cluster.running_tasks("A-") == of_a && cluster.running_tasks("B-") == of_b; },
      Seconds(30)))
      << cluster.running_tasks("A-") << " and " << cluster.running_tasks("B-");
  for (const auto& flood : floods) {
    flood->kill(SIGINT);
    flood->wait();
  }
}

TEST(Fairness, TwoThatFloodWithTheSameShapeSettleAtEqualShares) { expect_shares("", 6, 6); }

TEST(Fairness, WithWeightsTwoToOneTheySettleAtTwoToOne) { expect_shares("A=2", 8, 4); }

}  // namespace
}  // namespace proffer::test
