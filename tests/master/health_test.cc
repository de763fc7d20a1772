// The health of a task in the master, and its delivery after a disconnection.

#include "tests/master/cluster.h"

namespace proffer::master::health_test {
namespace {

using proto::TaskState;
using Healths = std::vector<std::optional<bool>>;

// An update of the agent: the task runs, and is healthy or not.
void tell_health(TestAgent& agent, const TestScheduler& f, bool healthy) {
  proto::AgentTask& known = agent.tasks.at({f.id, TaskId("t1")});
  known.state = TaskState::kRunning;
  known.unacknowledged.push_back({.task = TaskId("t1"),
                                  .agent = AgentId(agent.name),
                                  .state = TaskState::kRunning,
                                  .sequence = ++known.sequence,
                                  .healthy = healthy});
  if (agent.is_connected()) agent.sends(proto::Update{f.id, known.unacknowledged.back()});
}

Healths told(TestScheduler& f) {
  Healths healths;
  for (const proto::Update& update : f.take<proto::Update>()) {
    healths.push_back(update.status.healthy);
  }
  return healths;
}

TEST(Health, IsToldInOrderAndShownWhileTheTaskRuns) {
  MasterScenario s;
  TestAgent& a = s.registered_agent("a1");
  TestScheduler& f = s.with_task("t1");
  a.updates(f.id, "t1", TaskState::kRunning);
  EXPECT_EQ(s.task(f.id, "t1")->healthy, std::nullopt);
  tell_health(a, f, true);
  EXPECT_EQ(s.task(f.id, "t1")->healthy, true);
  tell_health(a, f, false);
  EXPECT_EQ(s.task(f.id, "t1")->healthy, false);
  EXPECT_EQ(s.task(f.id, "t1")->state, TaskState::kRunning);
  EXPECT_EQ(told(f), (Healths{std::nullopt, true, false}));
  a.updates(f.id, "t1", TaskState::kFailed);
  EXPECT_EQ(s.task(f.id, "t1")->healthy, std::nullopt);
  EXPECT_EQ(s.allocated(), "");
}

TEST(Health, IsPartOfTheTruthThatASchedulerAsksFor) {
  MasterScenario s;
  TestAgent& a = s.registered_agent("a1");
  TestScheduler& f = s.with_task("t1");
  a.updates(f.id, "t1", TaskState::kRunning);
  tell_health(a, f, false);
  f.lose();
  f.subscribes();
  told(f);
  f.sends(proto::Reconcile{});
  EXPECT_EQ(told(f), Healths{false});
  f.sends(proto::Reconcile{.tasks = {TaskId("t1")}});
  EXPECT_EQ(told(f), Healths{false});
}

TEST(Health, ThatChangedWhileTheAgentWasAwayIsToldWhenItIsBack) {
  MasterScenario s;
  TestAgent& a = s.registered_agent("a1");
  TestScheduler& f = s.with_task("t1");
  a.updates(f.id, "t1", TaskState::kRunning);
  tell_health(a, f, true);
  told(f);
  a.lose();
  s.advance(minutes(3));
  tell_health(a, f, false);
  a.registers();
  // Unreachable, then back with the old health, then the new health.
  EXPECT_EQ(told(f), (Healths{true, true, false}));
  EXPECT_EQ(s.task(f.id, "t1")->state, TaskState::kRunning);
}

TEST(Health, IsKnownToANewMasterFromTheLastUpdateThatTheAgentRepeats) {
  MasterScenario s;
  TestAgent& a = s.registered_agent("a1");
  TestScheduler& f = s.with_task("t1");
  a.updates(f.id, "t1", TaskState::kRunning);
  tell_health(a, f, false);
  proto::AgentTask& known = a.tasks.at({f.id, TaskId("t1")});
  EXPECT_TRUE(known.unacknowledged.empty());
  const proto::TaskStatus last = {.task = TaskId("t1"),
                                  .agent = AgentId("a1"),
                                  .state = TaskState::kRunning,
                                  .sequence = known.sequence,
                                  .healthy = false};
  told(f);
  // A master that knows the health ignores the repetition.
  known.unacknowledged = {last};
  a.registers();
  EXPECT_EQ(told(f), Healths{});
  EXPECT_TRUE(known.unacknowledged.empty());

  s.restart_master();
  known.unacknowledged = {last};
  a.registers();
  EXPECT_EQ(s.task(f.id, "t1")->state, TaskState::kRunning);
  EXPECT_EQ(s.task(f.id, "t1")->healthy, false);
  f.subscribes();
  EXPECT_EQ(told(f), Healths{false});
  EXPECT_TRUE(known.unacknowledged.empty());
}

}  // namespace
}  // namespace proffer::master::health_test
