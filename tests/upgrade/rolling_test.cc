// Rolling upgrades by real processes of an earlier version and the current one, while tasks run:
// the order of docs/guides/upgrade.md, other orders, and downgrades. The result is judged by the
// records of the tasks' own processes and the schedulers (tests/integration/kill_oracle.h). A long
// test: in ./test --long, if tools/previous could build the earlier versions.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/upgrade/long_upgrade.h"

namespace proffer::upgrade_test {
namespace {

using namespace test;
using testing::HasSubstr;
using testing::Not;

class RollingUpgrade : public LongUpgrade {};
INSTANTIATE_TEST_SUITE_P(From, RollingUpgrade, testing::ValuesIn(versions()), name_of);

// The guide's order. After each change, members that are not upgraded yet are N-1 beside N.
TEST_P(RollingUpgrade, MasterThenAgentsThenSchedulersLosesNothing) {
  expect_nothing_is_lost({"master", "agent", "agent", "agent", "scheduler", "scheduler"});
}

// A task that runs all the time: its executor survives the upgrade of its agent, and its scheduler
// gets its end from current masters and agents.
TEST_P(RollingUpgrade, ATaskRunsThroughAllOfIt) {
  MixedCluster cluster(version());
  cluster.set_master(Of::kBefore);
  cluster.set_agent(Of::kBefore);
  ASSERT_TRUE(eventually([&] { return cluster.has_agent(Of::kBefore); }));
  const auto task = cluster.start(
      Of::kBefore, {"run", "--",
                    "echo $$ >> " + cluster.path("starts") + "; echo begun; until [ -e " +
                        cluster.path("end") + " ]; do sleep 0.05; done; exit 7"});
  ASSERT_TRUE(task->line_with("begun")) << task->err();
  const std::string starts = read_file(cluster.path("starts"));

  cluster.set_master(Of::kToday);
  ASSERT_TRUE(eventually([&] { return cluster.has_agent(Of::kToday); })) << cluster.agent().err();
  // Old executors reconnect to the current agent.
  cluster.set_agent(Of::kToday);
  ASSERT_TRUE(eventually([&] { return cluster.has_agent(Of::kToday); })) << cluster.agent().err();
  ASSERT_TRUE(eventually([&] {
    const auto tasks = proto::parse_tasks(cluster.proffer(Of::kToday, {"tasks", "--json"}).out);
    return tasks && tasks->size() == 1 && tasks->front().state == proto::TaskState::kRunning;
  })) << cluster.proffer(Of::kToday, {"tasks"}).out;
  EXPECT_EQ(read_file(cluster.path("starts")), starts);
  EXPECT_TRUE(is_alive(std::stoi(starts)));
  write_file(cluster.path("end"), "");
  const Exit ended = task->wait();
  EXPECT_EQ(ended.code, 7) << ended.err;
  EXPECT_EQ(read_file(cluster.path("starts")), starts);

  // Then current schedulers.
  EXPECT_EQ(cluster.proffer(Of::kToday, {"run", "--", "echo new"}).out, "new\n");
}

// An end with a reason that only later versions know is reported with an older reason: otherwise
// the scheduler would refuse the frame, reconnect, and get it again.
TEST_P(RollingUpgrade, ASchedulerOfBeforeHearsOfEndsThatItsVersionDidNotKnow) {
  MixedCluster cluster(version());
  cluster.set_master(Of::kToday);
  cluster.set_agent(Of::kToday);
  ASSERT_TRUE(eventually([&] { return cluster.has_agent(Of::kToday); })) << cluster.agent().err();
  const Exit ended = cluster.proffer(
      Of::kBefore, {"run", "--disk=1MiB", "--", "head -c 3000000 /dev/zero > filled; sleep 1000"});
  EXPECT_NE(ended.code, 0);
  EXPECT_EQ(ended.signal, 0) << ended.err;
  EXPECT_THAT(ended.err, HasSubstr("and the maximum is 1 MiB"));
}

class SocketUpgrade : public LongUpgrade {};
INSTANTIATE_TEST_SUITE_P(From, SocketUpgrade, testing::ValuesIn(versions_by_socket()), name_of);

// This is not the guide's order, but it must work too.
TEST_P(SocketUpgrade, AgentsAndSchedulersBeforeTheMasterLosesNothing) {
  expect_nothing_is_lost({"scheduler", "agent", "agent", "scheduler", "master", "agent"});
}

TEST_P(SocketUpgrade, GoingBackAndForthLosesNothing) {
  expect_nothing_is_lost({"master", "back master", "master", "agent", "back agent", "agent",
                          "scheduler", "back scheduler", "agent", "scheduler", "agent", "scheduler",
                          "back master", "master"});
}

// Standbys and the leader, one after another; each of them may lead meanwhile.
TEST_P(SocketUpgrade, ThreeMastersOneAfterTheOtherLosesNothing) {
  expect_nothing_is_lost({"master", "master", "back master", "master", "master", "agent", "agent",
                          "agent", "scheduler", "scheduler"},
                         3);
}

}  // namespace
}  // namespace proffer::upgrade_test
