// Custom executors of a framework author, as real processes (tests/integration/executors).

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/integration/processes.h"

namespace proffer::test::executors_test {
namespace {

using testing::HasSubstr;
using testing::Not;

Exit run_executors(const Cluster& cluster, const std::string& executor, const std::string& count) {
  return run(
      {program("../tests/executors_framework"), executor, count, "--master=" + cluster.master()});
}

TEST(Executors, SeveralOfOneFrameworkRunOnOneAgentAndAnswerMessages) {
  const Cluster cluster({.agents = 1});
  const Exit exit =
      run_executors(cluster, "exec '" + program("examples/prime_executor") + "'", "4");
  EXPECT_EQ(exit.code, 0) << exit.out << exit.err;
  for (int task = 0; task < 8; ++task) {  // 25 primes are below 100
    EXPECT_THAT(exit.out, HasSubstr("task-" + std::to_string(task) + " finished none 25"));
  }
  // Each executor ran its own two tasks in its own process.
  for (int executor = 0; executor < 4; ++executor) {
    EXPECT_THAT(exit.out,
                HasSubstr("executor-" + std::to_string(executor) + ": ran 2 tasks in one process"));
  }
}

TEST(Executors, AProgramThatIsMissingIsNamedInTheUpdate) {
  const Cluster cluster({.agents = 1});
  const Exit absolute = run_executors(cluster, "exec /no/such/executor --flag", "1");
  EXPECT_EQ(absolute.code, 1) << absolute.out << absolute.err;
  EXPECT_THAT(absolute.out, HasSubstr("failed launch_failed"));
  EXPECT_THAT(absolute.out, HasSubstr("there is no program '/no/such/executor' on agent agent-1"));
  const Exit relative = run_executors(cluster, "exec no_such_executor", "1");
  EXPECT_EQ(relative.code, 1) << relative.out << relative.err;
  EXPECT_THAT(relative.out, HasSubstr("failed launch_failed"));
  EXPECT_THAT(relative.out, HasSubstr("was not found on agent agent-1"));
  // The framework caused that itself, so the agent still takes tasks.
  EXPECT_THAT(cluster.proffer({"agents"}).out, Not(HasSubstr("takes no tasks")));
}

}  // namespace
}  // namespace proffer::test::executors_test
