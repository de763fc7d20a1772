// Careless schedulers as real processes, which make one mistake for ever: an honest scheduler
// beside them still gets offers, the history of others is kept, and explain reports the mistake.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include "common/text.h"
#include "tests/integration/processes.h"

namespace proffer::test::careless_test {
namespace {

using testing::HasSubstr;

struct Row {
  std::string fault;
  std::string explained;
  std::string waits = "no offers for another";
};

const Row kRows[] = {
    {"reused_id", "launched nothing in"},  // its own SDK refuses it
    {"negative_shape", "launched nothing in"},
    {"no_ask", "it names no ask: a task must name the ask that it fills, one of work"},
    {"wrong_ask",
     "the ask 'other' is not declared: a task must name the ask that it fills, one of work"},
    {"declines", "declined    1 of 1 agent for now",
     "declined by the framework itself, for a while"},
    {"too_large", "it needs cpus:64;mem:32, but of the offers of agent 'agent-1' only"},
};

TEST(CarelessSchedulers, HurtNobodyAndAreExplained) {
  const Cluster cluster({.agents = 1});
  ASSERT_EQ(cluster.proffer({"run", "--name", "before", "--", "true"}).code, 0);
  for (const Row& row : kRows) {
    SCOPED_TRACE(row.fault);
    Process careless({program_of_tests("careless_framework"), "--master=" + cluster.master(),
                      "--name=" + row.fault, "--fault=" + row.fault});
    ASSERT_TRUE(careless.line_with("offer 4")) << careless.err();
    EXPECT_EQ(cluster.proffer({"run", "--", "true"}).code, 0);
    std::string explained;
    EXPECT_TRUE(eventually([&] {
      explained = cluster.proffer({"explain", "framework", row.fault}).out;
      return explained.find(row.waits) != std::string::npos &&
             explained.find(row.explained) != std::string::npos;
    })) << explained;
    careless.kill(SIGTERM);
    EXPECT_EQ(careless.wait().code, 143);
  }
  EXPECT_THAT(cluster.proffer({"tasks", "--all"}).out, HasSubstr("before-"));
}

TEST(CarelessSchedulers, AllTasksOfOneAreKilledByOneCommand) {
  const Cluster cluster({.agents = 1});
  Process careless({program_of_tests("careless_framework"), "--master=" + cluster.master(),
                    "--fault=reused_id"});
  ASSERT_TRUE(eventually([&] {
    return cluster.proffer({"tasks", "careless"}).out.find("running") != std::string::npos;
  })) << careless.err();
  EXPECT_EQ(cluster.proffer({"kill"}).code, 2);
  EXPECT_EQ(cluster.proffer({"kill", "--framework", "nobody"}).code, 1);
  EXPECT_EQ(cluster.proffer({"kill", "--framework", "careless", "--grace", "0s"}).code, 0);
  EXPECT_TRUE(eventually([&] {
    return cluster.proffer({"tasks", "--all", "careless"}).out.find("killed") != std::string::npos;
  }));
  careless.kill(SIGTERM);
  EXPECT_EQ(careless.wait().code, 143);
}

}  // namespace
}  // namespace proffer::test::careless_test
