// A master with a lost registry must not end frameworks and agents that it does not know (ADR
// 0049).

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/master/cluster.h"

namespace proffer::master {
namespace clusters_test {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

const ClusterId kOurs(std::string(32, 'a'));
const ClusterId kTheirs(std::string(32, 'b'));

// A master with an empty registry.
MasterOptions new_cluster(const ClusterId& name) {
  MasterOptions options;
  options.cluster_if_new = name;
  return options;
}

TEST(Clusters, ARegistryKeepsTheIdThatItBeganWith) {
  MasterScenario s(new_cluster(kOurs));
  TestAgent& agent = s.agent("a1");
  agent.registers();
  EXPECT_EQ(agent.take_one<proto::AgentRegistered>().cluster, kOurs);
  TestScheduler& scheduler = s.scheduler("batch");
  scheduler.subscribes();
  EXPECT_EQ(scheduler.take_one<proto::Subscribed>().cluster, kOurs);
  s.options.cluster_if_new = kTheirs;
  s.restart_master();
  agent.registers();
  EXPECT_EQ(agent.take_one<proto::AgentRegistered>().cluster, kOurs);
}

TEST(Clusters, APeerThatHasNothingElsewhereJoins) {
  for (const ClusterId& told : {ClusterId(), kOurs}) {
    MasterScenario s(new_cluster(kOurs));
    TestAgent& agent = s.agent("a1");
    agent.cluster = told;
    agent.registers();
    EXPECT_EQ(agent.take<proto::AgentRegistered>().size(), 1u);
    TestScheduler& scheduler = s.scheduler("batch");
    scheduler.subscribe.cluster = told;
    scheduler.subscribes();
    EXPECT_EQ(scheduler.take<proto::Subscribed>().size(), 1u);
  }
}

TEST(Clusters, TheTasksOfAnotherAreNotEnded) {
  MasterScenario s(new_cluster(kTheirs));
  TestAgent& agent = s.agent("a1");
  agent.cluster = kOurs;
  agent.tasks[{FrameworkId("batch-1-1"), TaskId("t1")}] = {.framework = FrameworkId("batch-1-1"),
                                                           .task = TaskId("t1"),
                                                           .state = proto::TaskState::kRunning};
  agent.registers();
  const proto::ErrorMessage refused = agent.take_one<proto::ErrorMessage>();
  EXPECT_TRUE(refused.ends_session);
  EXPECT_FALSE(refused.retry);
  EXPECT_THAT(refused.message, HasSubstr(kOurs.str()));
  EXPECT_THAT(refused.message, HasSubstr(kTheirs.str()));
  EXPECT_THAT(refused.hint, HasSubstr("proffer registry restore"));
  EXPECT_THAT(agent.inbox, IsEmpty());
  EXPECT_FALSE(agent.is_connected());
}

// A permanent refusal would end it.
TEST(Clusters, AFrameworkOfAnotherMayTryAgain) {
  MasterScenario s(new_cluster(kTheirs));
  TestScheduler& scheduler = s.scheduler("batch");
  scheduler.id = FrameworkId("batch-1-1");
  scheduler.subscribe.cluster = kOurs;
  scheduler.subscribes();
  const proto::ErrorMessage refused = scheduler.take_one<proto::ErrorMessage>();
  EXPECT_TRUE(refused.ends_session);
  EXPECT_TRUE(refused.retry);
  EXPECT_THAT(refused.message, HasSubstr("batch-1-1"));
}

}  // namespace
}  // namespace clusters_test
}  // namespace proffer::master
