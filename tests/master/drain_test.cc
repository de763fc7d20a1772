// An agent is drained: its tasks are told, leave or are killed, and it gets no more.

#include "tests/master/cluster.h"

namespace proffer::master::drain_test {
namespace {

using proto::RevokeNotice;
using proto::TaskReason;
using proto::TaskState;

DrainAgent drain(const std::string& agent, std::optional<Duration> grace = {}) {
  return {.agent = AgentId(agent), .grace = grace};
}
UndrainAgent undrain(const std::string& agent) { return {.agent = AgentId(agent)}; }

TEST(Drain, TellsTheTasksOfTheAgentAndKillsWhatIsLeftAtTheDeadline) {
  MasterScenario s;
  TestAgent& a = s.registered_agent("a1");
  TestScheduler& f = s.with_task("t1");
  a.updates(f.id, "t1", TaskState::kRunning);
  EXPECT_EQ(s.calls(drain("a1", seconds(20))), "done");
  EXPECT_EQ(f.take_one<RevokeNotice>(), (RevokeNotice{.tasks = {TaskId("t1")},
                                                      .agent = AgentId("a1"),
                                                      .reason = RevokeReason::kDraining,
                                                      .beneficiary = {},
                                                      .grace = seconds(20)}));
  EXPECT_EQ(s.agent_row("a1").drained_by, s.now + seconds(20));
  s.advance(seconds(19));
  EXPECT_TRUE(a.take<proto::KillTask>().empty());
  s.advance(seconds(1));
  EXPECT_EQ(a.take_one<proto::KillTask>().task, TaskId("t1"));
  f.told();
  a.updates(f.id, "t1", TaskState::kKilled, TaskReason::kKilledByScheduler);
  EXPECT_EQ(f.told(), (Lines{"t1 killed drained"}));
  EXPECT_EQ(s.task(f.id, "t1")->message, "agent a1 was drained");
}

TEST(Drain, AnAgentGetsNoMoreAndItsOffersAreRescinded) {
  MasterScenario s;
  s.registered_agent("a1");
  TestScheduler& f = s.subscribed("f");
  f.asks("cpus:1", 1);
  s.settle();
  ASSERT_EQ(f.offers.size(), 1u);
  EXPECT_EQ(s.calls(drain("a1")), "done");
  s.settle();
  EXPECT_TRUE(f.offers.empty());
  EXPECT_EQ(s.calls(undrain("a1")), "done");
  s.settle();
  EXPECT_EQ(f.offers.size(), 1u);
}

TEST(Drain, OneThatLeavesInTimeIsNotKilled) {
  MasterScenario s;
  TestAgent& a = s.registered_agent("a1");
  TestScheduler& f = s.with_task("t1");
  a.updates(f.id, "t1", TaskState::kRunning);
  s.calls(drain("a1", seconds(20)));
  a.updates(f.id, "t1", TaskState::kFinished, TaskReason::kCommandExited);
  s.advance(seconds(30));
  EXPECT_TRUE(a.take<proto::KillTask>().empty());
  EXPECT_EQ(f.told(), (Lines{"t1 running", "t1 finished command_exited"}));
}

TEST(Drain, KillsAlsoTheTasksOfASchedulerThatIsAwayAndTellsItWhatIsLeftWhenItIsBack) {
  MasterScenario s;
  TestAgent& a = s.registered_agent("a1");
  TestScheduler& f = s.with_task("t1");
  a.updates(f.id, "t1", TaskState::kRunning);
  f.lose();
  s.calls(drain("a1", seconds(20)));
  s.advance(seconds(5));
  f.subscribes();
  EXPECT_EQ(f.take_one<RevokeNotice>().grace, seconds(15));
  f.lose();
  s.advance(seconds(15));
  EXPECT_EQ(a.take_one<proto::KillTask>().task, TaskId("t1"));
}

TEST(Drain, HoldsOverARestartOfTheMasterAndOfTheAgent) {
  MasterScenario s;
  TestAgent& a = s.registered_agent("a1");
  TestScheduler& f = s.with_task("t1");
  a.updates(f.id, "t1", TaskState::kRunning);
  s.calls(drain("a1", seconds(60)));
  const Time deadline = s.now + seconds(60);
  s.advance(seconds(10));
  s.restart_master();
  f.subscribes();
  f.asks("cpus:1", 1);
  f.take<RevokeNotice>();
  a.registers();
  s.settle();
  EXPECT_EQ(s.agent_row("a1").drained_by, deadline);
  EXPECT_EQ(f.take_one<RevokeNotice>().grace, seconds(50));
  EXPECT_TRUE(f.offers.empty());
  a.lose();
  a.registers();
  s.settle();
  EXPECT_TRUE(f.take<RevokeNotice>().empty());  // It was told.
  EXPECT_TRUE(f.offers.empty());
  s.advance(seconds(50));
  EXPECT_EQ(a.take_one<proto::KillTask>().task, TaskId("t1"));
}

TEST(Drain, AskedForAgainChangesTheTimeAndUndrainEndsIt) {
  MasterScenario s;
  TestAgent& a = s.registered_agent("a1");
  TestScheduler& f = s.with_task("t1");
  a.updates(f.id, "t1", TaskState::kRunning);
  s.calls(drain("a1", seconds(10)));
  s.calls(drain("a1", seconds(100)));
  EXPECT_EQ(f.take<RevokeNotice>().size(), 2u);
  s.advance(seconds(50));
  EXPECT_TRUE(a.take<proto::KillTask>().empty());
  EXPECT_EQ(s.calls(undrain("a1")), "done");
  s.advance(seconds(100));
  EXPECT_TRUE(a.take<proto::KillTask>().empty());
  EXPECT_FALSE(s.agent_row("a1").drained_by.has_value());
}

TEST(Drain, ATaskThatIsBeingKilledKeepsItsReason) {
  MasterScenario s;
  TestAgent& a = s.registered_agent("a1");
  TestScheduler& f = s.with_task("t1");
  a.updates(f.id, "t1", TaskState::kRunning);
  f.sends(proto::KillTask{.framework = {}, .task = TaskId("t1"), .grace = {}});
  s.calls(drain("a1", seconds(5)));
  s.advance(seconds(5));
  f.told();
  a.updates(f.id, "t1", TaskState::kKilled, TaskReason::kKilledByScheduler);
  EXPECT_EQ(f.told(), (Lines{"t1 killed killed_by_scheduler"}));
}

TEST(Drain, SaysWhatIsWrong) {
  MasterScenario s;
  s.registered_agent("a1");
  EXPECT_EQ(s.calls(drain("a2")), "there is no agent 'a2'");
  EXPECT_EQ(s.calls(undrain("a1")), "agent 'a1' is not being drained");
}

TEST(Drain, ASchedulerOfTheVersionBeforeHearsAReasonThatItKnows) {
  MasterScenario s;
  TestAgent& a = s.registered_agent("a1");
  TestScheduler& f = s.scheduler("f");
  f.version = proto::kProtocolVersionMin;
  f.subscribes();
  f.asks("cpus:1", 1);
  s.settle();
  f.accepts({f.offers.at(0)}, {TestScheduler::spec("t1", "cpus:1")});
  a.updates(f.id, "t1", TaskState::kRunning);
  s.calls(drain("a1", seconds(1)));
  s.advance(seconds(1));
  f.told();
  a.updates(f.id, "t1", TaskState::kKilled, TaskReason::kKilledByScheduler);
  EXPECT_EQ(f.told(), (Lines{"t1 killed killed_by_operator"}));
}

}  // namespace
}  // namespace proffer::master::drain_test
