// A drain: tasks of the agent get notices, then leave or are killed, and the agent gets no more.

#include <gmock/gmock.h>

#include "tests/master/cluster.h"

namespace proffer::master::drain_test {
namespace {

using proto::RevokeNotice;
using proto::RevokeWithdrawn;
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

// As with a full disk: the agent gets no offers, and its tasks run on.
TEST(Trouble, OfAnAgentKeepsOffersAwayUntilItIsOver) {
  MasterScenario s;
  TestAgent& a = s.registered_agent("a1");
  TestScheduler& f = s.with_task("t1");
  a.updates(f.id, "t1", TaskState::kRunning);
  f.asks("cpus:1", 2);
  s.settle();
  const size_t offered = f.offers.size();
  ASSERT_GT(offered, 0u);
  a.sends(proto::AgentTrouble{"its disk is full"});
  s.settle();
  EXPECT_TRUE(f.offers.empty());
  EXPECT_EQ(s.agent_row("a1").trouble, "its disk is full");
  EXPECT_THAT(s.master->explain(f.id.str(), nullptr)->answer,
              ::testing::HasSubstr("taking no tasks: its disk is full"));
  EXPECT_TRUE(f.take<RevokeNotice>().empty());
  s.advance(minutes(5));
  EXPECT_EQ(s.task(f.id, "t1")->state, TaskState::kRunning);

  // A drain at the same time is a second reason; each ends by itself.
  EXPECT_EQ(s.calls(drain("a1", hours(1))), "done");
  a.sends(proto::AgentTrouble{});
  s.settle();
  EXPECT_TRUE(f.offers.empty());
  EXPECT_EQ(s.calls(undrain("a1")), "done");
  s.settle();
  EXPECT_EQ(f.offers.size(), offered);

  // A registration also carries the trouble, or its end.
  for (const std::string trouble : {"its disk is full", ""}) {
    a.trouble = trouble;
    a.registers();
    s.settle();
    EXPECT_EQ(f.offers.size(), trouble.empty() ? offered : 0);
    EXPECT_EQ(s.agent_row("a1").trouble, trouble);
  }
}

// The remedy is the end of the trouble; it includes the end of a drain only if there is one.
TEST(Trouble, OfAnAgentIsNamedByTheRemedy) {
  MasterScenario s;
  TestAgent& a = s.registered_agent("a1");
  TestScheduler& f = s.subscribed("f");
  f.asks("cpus:1", 1);
  a.sends(proto::AgentTrouble{"its disk is full"});
  s.settle();
  const auto remedies = [&] {
    const auto explained = s.master->explain(f.id.str(), nullptr);
    Lines said;
    for (const Remedy& remedy : explained->fair.asks.at(0).remedies) {
      said.push_back(to_text(remedy));
    }
    return said;
  };
  EXPECT_EQ(remedies(), (Lines{"when agent a1 takes tasks again: its disk is full"}));
  s.calls(drain("a1", hours(1)));
  s.settle();
  EXPECT_EQ(remedies(),
            (Lines{"when agent a1 is undrained and takes tasks again: its disk is full"}));
  a.sends(proto::AgentTrouble{});
  s.settle();
  EXPECT_EQ(remedies(), (Lines{"when agent a1 is undrained"}));
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

TEST(Drain, KillsTasksOfADisconnectedSchedulerAndNoticesShowTheTimeLeft) {
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
  EXPECT_TRUE(f.take<RevokeNotice>().empty());  // It already had a notice.
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

TEST(Drain, TellsWhoseTasksStayAfterAnUndrain) {
  MasterScenario s;
  TestAgent& a = s.registered_agent("a1");
  TestScheduler& f = s.with_task("t1");
  a.updates(f.id, "t1", TaskState::kRunning);
  s.calls(drain("a1", seconds(60)));
  s.calls(undrain("a1"));
  EXPECT_EQ(f.take_one<RevokeWithdrawn>(),
            (RevokeWithdrawn{.tasks = {TaskId("t1")}, .agent = AgentId("a1")}));
}

TEST(Drain, TellsNothingOfTasksThatEndAllTheSameAfterAnUndrain) {
  MasterScenario s;
  TestAgent& a = s.registered_agent("a1");
  TestScheduler& f = s.with_task("t1");
  a.updates(f.id, "t1", TaskState::kRunning);
  s.calls(drain("a1", seconds(10)));
  s.advance(seconds(10));
  EXPECT_EQ(a.take_one<proto::KillTask>().task, TaskId("t1"));
  s.calls(undrain("a1"));
  EXPECT_TRUE(f.take<RevokeWithdrawn>().empty());
}

TEST(Drain, TellsASchedulerThatWasAwayDuringAnUndrainOfNoNotice) {
  MasterScenario s;
  TestAgent& a = s.registered_agent("a1");
  TestScheduler& f = s.with_task("t1");
  a.updates(f.id, "t1", TaskState::kRunning);
  s.calls(drain("a1", seconds(60)));
  f.take<RevokeNotice>();
  f.lose();
  s.calls(undrain("a1"));
  f.subscribes();
  EXPECT_TRUE(f.take<RevokeNotice>().empty());
  EXPECT_TRUE(f.take<RevokeWithdrawn>().empty());
}

// A task that borrows an agent, an owner of the guarantee for all of it, and a drain during the
// revoke notice.
TEST(Drain, UndrainLeavesToWhatWasBorrowedTheNoticeThatItHad) {
  MasterOptions options;
  options.allocator.minimum_runtime = Duration();
  options.allocator.revoke_grace = seconds(20);
  options.allocator.roles[RoleName("owner")].guarantee = *parse_quota("cpus:4;mem:4GiB");
  for (const Duration drained_for : {seconds(5), seconds(60)}) {
    SCOPED_TRACE(to_text(drained_for));
    MasterScenario s(options);
    TestAgent& a = s.registered_agent("a1", "cpus:4;mem:4GiB");
    TestScheduler& borrower = s.subscribed("borrower");
    borrower.asks("cpus:4;mem:4GiB", 1);
    s.settle();
    borrower.accepts({borrower.offers.at(0)}, {TestScheduler::spec("t1", "cpus:4;mem:4GiB")});
    a.updates(borrower.id, "t1", TaskState::kRunning);
    TestScheduler& owner = s.subscribed("owner", "owner");
    owner.asks("cpus:4;mem:4GiB", 1);
    s.advance(milliseconds(1));
    EXPECT_EQ(borrower.take_one<RevokeNotice>().reason, RevokeReason::kReclaimed);
    s.calls(drain("a1", drained_for));
    s.advance(seconds(2));
    borrower.take<RevokeNotice>();
    s.calls(undrain("a1"));
    // If the drain's deadline was earlier, the borrower gets its own notice again.
    const std::vector<RevokeNotice> again = borrower.take<RevokeNotice>();
    EXPECT_EQ(again.size(), drained_for < seconds(20) ? 1u : 0u);
    EXPECT_TRUE(borrower.take<RevokeWithdrawn>().empty());
    s.advance(seconds(16));
    EXPECT_TRUE(a.take<proto::KillTask>().empty());
    s.advance(seconds(3));
    EXPECT_EQ(a.take_one<proto::KillTask>().task, TaskId("t1"));
    borrower.told();
    a.updates(borrower.id, "t1", TaskState::kKilled, TaskReason::kKilledByScheduler);
    EXPECT_EQ(borrower.told(), (Lines{"t1 killed revoked"}));
    s.settle();
    EXPECT_EQ(owner.offers.size(), 1u);
  }
}

// The agent reports the time of the launch, so the minimum runtime does not start again with a new
// master.
TEST(Reclaim, ATaskIsAsOldForANewMasterAsItIs) {
  MasterOptions options;
  options.allocator.minimum_runtime = seconds(30);
  options.allocator.roles[RoleName("owner")].guarantee = *parse_quota("cpus:4;mem:4GiB");
  for (const Duration ran : {seconds(10), seconds(40)}) {
    SCOPED_TRACE(to_text(ran));
    MasterScenario s(options);
    TestAgent& a = s.registered_agent("a1", "cpus:4;mem:4GiB");
    TestScheduler& borrower = s.subscribed("borrower");
    borrower.asks("cpus:4;mem:4GiB", 1);
    s.settle();
    borrower.accepts({borrower.offers.at(0)}, {TestScheduler::spec("t1", "cpus:4;mem:4GiB")});
    a.updates(borrower.id, "t1", TaskState::kRunning);
    s.advance(ran);
    s.restart_master();
    borrower.subscribes();
    a.registers();
    TestScheduler& owner = s.subscribed("owner", "owner");
    owner.asks("cpus:4;mem:4GiB", 1);
    s.advance(seconds(1));
    EXPECT_EQ(borrower.take<RevokeNotice>().size(), ran > seconds(30) ? 1u : 0u);
    s.advance(seconds(25));
    EXPECT_EQ(borrower.take<RevokeNotice>().size(), ran > seconds(30) ? 0u : 1u);
  }
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
