// Agents, schedulers and masters that leave and return: whose state of a task counts.

#include "tests/master/cluster.h"

namespace proffer::master::lost_test {
namespace {

using proto::AgentState;
using proto::TaskReason;
using proto::TaskState;

TEST(AgentLoss, RescindsItsOffersAtOnce) {
  MasterScenario s;
  TestAgent& a = s.registered_agent("a1");
  TestScheduler& f = s.subscribed("f");
  f.asks("cpus:1", 1);
  s.settle();
  ASSERT_EQ(f.offers.size(), 1u);
  const Offer offer = f.offers[0];
  a.lose();
  s.settle();
  EXPECT_TRUE(f.offers.empty());
  f.accepts({offer}, {f.spec("t1", "cpus:1")});
  EXPECT_EQ(f.told(), (Lines{"t1 refused agent_not_available"}));
}

TEST(AgentLoss, BySilenceMakesItUnreachableAfterTheTimeout) {
  MasterScenario s;
  TestAgent& a = s.registered_agent("a1");
  TestScheduler& f = s.with_task("t1");
  a.updates(f.id, "t1", TaskState::kRunning);
  f.told();
  a.silent = true;
  s.advance(s.options.agent_timeout - seconds(2));
  EXPECT_EQ(s.agent_row("a1").state, AgentState::kConnected);
  EXPECT_TRUE(a.is_connected());
  s.advance(seconds(3));
  EXPECT_TRUE(a.was_dropped());
  EXPECT_EQ(s.agent_row("a1").state, AgentState::kUnreachable);
  EXPECT_EQ(f.told(), (Lines{"t1 unreachable agent_unreachable"}));
  EXPECT_EQ(s.allocated(), "");
  EXPECT_TRUE(std::get<proto::AgentRecord>(s.records.back().row).unreachable);
}

TEST(AgentLoss, KeepsItsTasksThroughAShortDisconnection) {
  MasterScenario s;
  TestAgent& a = s.registered_agent("a1");
  TestScheduler& f = s.with_task("t1");
  a.updates(f.id, "t1", TaskState::kRunning);
  f.told();
  a.lose();
  EXPECT_EQ(s.agent_row("a1").state, AgentState::kDisconnected);
  EXPECT_EQ(s.allocated(), "cpus:1;mem:1024");
  s.advance(s.options.agent_timeout - seconds(1));
  a.registers();
  EXPECT_EQ(s.allocated(), "cpus:1;mem:1024");
  EXPECT_EQ(f.told(), Lines{});
  s.advance(s.options.agent_timeout);
  EXPECT_EQ(s.agent_row("a1").state, AgentState::kConnected);
}

TEST(AgentLoss, BringsItsTasksBackIfItReturnsInTime) {
  MasterScenario s;
  TestAgent& a = s.registered_agent("a1");
  TestScheduler& f = s.with_task("t1");
  a.updates(f.id, "t1", TaskState::kRunning);
  a.lose();
  s.advance(s.options.agent_timeout);
  EXPECT_EQ(s.task(f.id, "t1")->state, TaskState::kUnreachable);
  f.told();
  a.registers();
  EXPECT_EQ(f.told(), (Lines{"t1 running agent_returned"}));
  EXPECT_EQ(s.allocated(), "cpus:1;mem:1024");
  EXPECT_FALSE(std::get<proto::AgentRecord>(s.records.back().row).unreachable);
}

// The agent was killed at the start of the task. `failed` would count as a failure of the task's
// own work.
TEST(AgentLoss, OfATaskThatNeverBeganIsALossWhenTheAgentReturns) {
  MasterScenario s;
  TestAgent& a = s.registered_agent("a1");
  TestScheduler& f = s.with_task("t1");
  a.lose();
  s.advance(s.options.agent_timeout);
  EXPECT_EQ(f.told(), (Lines{"t1 unreachable agent_unreachable"}));
  a.updates(f.id, "t1", TaskState::kRefused, TaskReason::kAgentRestarted);
  a.registers();
  EXPECT_EQ(f.told(), (Lines{"t1 lost agent_restarted"}));
  EXPECT_EQ(s.allocated(), "");
}

TEST(AgentLoss, EndsInRemovalAndALateReturnKillsWhatItRuns) {
  MasterScenario s;
  TestAgent& a = s.registered_agent("a1");
  TestScheduler& f = s.with_task("t1");
  a.updates(f.id, "t1", TaskState::kRunning);
  f.told();
  a.lose();
  s.advance(s.options.reregistration_timeout + seconds(1));
  EXPECT_FALSE(s.knows_agent("a1"));
  EXPECT_EQ(f.told(), (Lines{"t1 unreachable agent_unreachable", "t1 gone agent_removed"}));
  EXPECT_EQ(f.take_one<proto::Failure>().agent.str(), "a1");
  EXPECT_TRUE(s.records.back().erase);

  a.registers();
  EXPECT_EQ(a.take_one<proto::KillTask>().task.str(), "t1");
  EXPECT_EQ(s.allocated(), "cpus:1;mem:1024");  // the task still runs
  EXPECT_EQ(s.task(f.id, "t1")->state, TaskState::kGone);
  a.updates(f.id, "t1", TaskState::kKilled);
  EXPECT_EQ(s.allocated(), "");
  EXPECT_EQ(f.told(), Lines{});
  EXPECT_FALSE(a.has(f.id, "t1"));
}

TEST(AgentLoss, LateReturnKillsTasksEvenIfTheSchedulerMissedTheirEnd) {
  MasterScenario s;
  TestAgent& a = s.registered_agent("a1");
  TestScheduler& f = s.with_task("t1");
  a.updates(f.id, "t1", TaskState::kRunning);
  f.lose();
  a.lose();
  s.advance(s.options.reregistration_timeout + seconds(1));
  a.registers();
  EXPECT_EQ(a.take_one<proto::KillTask>().task.str(), "t1");
  EXPECT_EQ(s.allocated(), "cpus:1;mem:1024");
  a.updates(f.id, "t1", TaskState::kKilled);
  EXPECT_EQ(s.allocated(), "");
}

TEST(AgentLoss, ByItsOwnWordEndsItsTasks) {
  MasterScenario s;
  TestAgent& a = s.registered_agent("a1");
  TestScheduler& f = s.with_task("t1");
  a.sends(proto::UnregisterAgent{});
  EXPECT_TRUE(a.was_dropped());
  EXPECT_EQ(f.told(), (Lines{"t1 gone agent_removed"}));
}

// Otherwise it would get the same task again as quickly as it can refuse it.
TEST(StoppingAgent, IsNotOfferedUntilItRegistersAgain) {
  MasterScenario s;
  TestAgent& a = s.registered_agent("a1");
  TestScheduler& f = s.with_task("t1");
  a.updates(f.id, "t1", TaskState::kRefused, proto::TaskReason::kAgentNotAvailable);
  f.asks("cpus:1;mem:1GiB", 1);
  s.settle();
  EXPECT_TRUE(f.offers.empty());
  a.lose();
  a.registers();  // it repeats the refusal of its earlier life, unacknowledged
  s.settle();
  EXPECT_EQ(f.offers.size(), 1u);
}

TEST(Reregistration, SendsAgainWhatWasNeverReceived) {
  MasterScenario s;
  TestAgent& a = s.registered_agent("a1");
  a.receives_tasks = false;
  TestScheduler& f = s.with_task("t1");
  a.take<proto::RunTask>();
  a.lose();
  a.receives_tasks = true;
  a.registers();
  const auto run = a.take_one<proto::RunTask>();
  EXPECT_EQ(run.spec.id.str(), "t1");
  EXPECT_EQ(run.spec.command, "true");
  EXPECT_EQ(s.allocated(), "cpus:1;mem:1024");
  a.updates(f.id, "t1", TaskState::kRunning);
  EXPECT_EQ(f.told(), (Lines{"t1 running"}));
}

// After a power failure, or with a damaged checkpoint, the task may have run and be forgotten.
TEST(Reregistration, DoesNotSendAgainWhatTheAgentMayHaveForgotten) {
  MasterScenario s;
  TestAgent& a = s.registered_agent("a1");
  a.receives_tasks = false;
  TestScheduler& f = s.with_task("t1");
  a.lose();
  a.memory = 2;
  a.take<proto::RunTask>();
  a.registers();
  EXPECT_TRUE(a.take<proto::RunTask>().empty());
  EXPECT_EQ(f.told(), (Lines{"t1 lost agent_forgot"}));
  EXPECT_EQ(s.allocated(), "");
}

TEST(Reregistration, DoesNotSendAgainWhatTheAgentNoLongerHasRoomFor) {
  MasterScenario s;
  TestAgent& a = s.registered_agent("a1");
  a.receives_tasks = false;
  TestScheduler& f = s.with_task("t1");
  a.lose();
  a.slices[0].resources.amounts = ResourceVector::of(500, 100'000);
  a.take<proto::RunTask>();
  a.registers();
  EXPECT_TRUE(a.take<proto::RunTask>().empty());
  EXPECT_EQ(f.told(), (Lines{"t1 lost agent_forgot"}));
}

TEST(Reregistration, LosesWhatTheAgentForgot) {
  for (const bool killing : {false, true}) {
    MasterScenario s;
    TestAgent& a = s.registered_agent("a1");
    TestScheduler& f = s.with_task("t1");
    a.updates(f.id, "t1", TaskState::kRunning);
    if (killing) f.sends(proto::KillTask{.framework = {}, .task = TaskId("t1"), .grace = {}});
    f.told();
    a.lose();
    a.tasks.clear();
    a.registers();
    EXPECT_EQ(f.told(), (Lines{"t1 lost agent_forgot"}));
    EXPECT_EQ(s.allocated(), "");
  }
}

TEST(Reregistration, KillsAgainWhatWasBeingKilled) {
  MasterScenario s;
  TestAgent& a = s.registered_agent("a1");
  TestScheduler& f = s.with_task("t1");
  a.updates(f.id, "t1", TaskState::kRunning);
  a.lose();
  f.sends(proto::KillTask{.framework = {}, .task = TaskId("t1"), .grace = seconds(3)});
  EXPECT_EQ(s.task(f.id, "t1")->state, TaskState::kKilling);
  a.registers();
  EXPECT_EQ(a.take_one<proto::KillTask>().grace, seconds(3));
}

TEST(Reregistration, KillsWhatWasToBeKilledWhileItWasUnreachable) {
  MasterScenario s;
  TestAgent& a = s.registered_agent("a1");
  TestScheduler& f = s.with_task("t1");
  a.updates(f.id, "t1", TaskState::kRunning);
  a.lose();
  s.advance(s.options.agent_timeout);
  f.sends(proto::KillTask{.framework = {}, .task = TaskId("t1"), .grace = {}});
  EXPECT_EQ(s.task(f.id, "t1")->state, TaskState::kUnreachable);
  a.registers();
  EXPECT_EQ(a.take_one<proto::KillTask>().task.str(), "t1");
  EXPECT_EQ(s.task(f.id, "t1")->state, TaskState::kKilling);
}

TEST(Reregistration, OfAnAgentWithLessKeepsWhatItRuns) {
  MasterScenario s;
  TestAgent& a = s.registered_agent("a1", "cpus:4;mem:8GiB");
  TestScheduler& f = s.with_task("t1", "cpus:3;mem:1GiB");
  a.updates(f.id, "t1", TaskState::kRunning);
  a.lose();
  a.slices[0].resources.amounts = ResourceVector::of(1000, 8'192'000);
  a.registers();
  EXPECT_EQ(s.allocated(), "cpus:3;mem:1024");
  a.updates(f.id, "t1", TaskState::kFinished);
  EXPECT_EQ(s.agent_row("a1").free[ResourceKind::kCpus], 1000);
}

TEST(MasterRestart, AdoptsWhatAgentsRun) {
  MasterScenario s;
  TestAgent& a = s.registered_agent("a1", "cpus:4;mem:8GiB;ports:[31000-31009]");
  TestScheduler& f = s.subscribed("f");
  f.asks("cpus:1", 1);
  s.settle();
  ASSERT_EQ(f.offers.size(), 1u);
  proto::TaskSpec spec = f.spec("t1", "cpus:1");
  spec.port_names = {"http"};
  f.accepts({f.offers[0]}, {spec});
  a.updates(f.id, "t1", TaskState::kRunning);
  f.told();
  s.restart_master();

  EXPECT_EQ(s.master->frameworks().front().state, proto::FrameworkState::kDisconnected);
  EXPECT_EQ(s.agent_row("a1").state, AgentState::kDisconnected);
  a.registers();
  EXPECT_EQ(s.task(f.id, "t1")->state, TaskState::kRunning);
  EXPECT_EQ(s.allocated(), "cpus:1");
  f.subscribes();
  EXPECT_TRUE(f.take<proto::Subscribed>().back().failed_over);
  EXPECT_EQ(f.told(), Lines{});
  a.updates(f.id, "t1", TaskState::kFinished);
  EXPECT_EQ(f.told(), (Lines{"t1 finished"}));
  EXPECT_FALSE(a.has(f.id, "t1"));
}

TEST(MasterRestart, TellsAgainWhatWasNotAcknowledged) {
  MasterScenario s;
  TestAgent& a = s.registered_agent("a1");
  TestScheduler& f = s.with_task("t1");
  f.acknowledges_by_itself = false;
  a.updates(f.id, "t1", TaskState::kRunning);
  s.restart_master();
  a.updates(f.id, "t1", TaskState::kFinished);  // while there is no master
  f.told();
  f.acknowledges_by_itself = true;
  f.subscribes();
  a.registers();
  EXPECT_EQ(f.told(), (Lines{"t1 running", "t1 finished"}));
  EXPECT_FALSE(a.has(f.id, "t1"));
  EXPECT_EQ(s.allocated(), "");
}

// Found by the simulator (seed 85): the task was adopted as running, and reported as failed.
TEST(MasterRestart, TellsARefusedLaunchAsRefusedAgain) {
  MasterScenario s;
  TestAgent& a = s.registered_agent("a1");
  TestScheduler& f = s.with_task("t1");
  f.acknowledges_by_itself = false;
  a.updates(f.id, "t1", TaskState::kRefused, proto::TaskReason::kAgentNotAvailable);
  EXPECT_EQ(f.told(), (Lines{"t1 refused agent_not_available"}));
  s.restart_master();
  f.acknowledges_by_itself = true;
  f.subscribes();
  a.registers();
  EXPECT_EQ(f.told(), (Lines{"t1 refused agent_not_available"}));
  EXPECT_FALSE(a.has(f.id, "t1"));
}

TEST(MasterRestart, EndsAFrameworkThatDoesNotComeBackAndItsTasks) {
  MasterScenario s;
  TestAgent& a = s.registered_agent("a1");
  TestScheduler& f = s.with_task("t1");
  a.updates(f.id, "t1", TaskState::kRunning);
  s.restart_master();
  a.registers();
  EXPECT_EQ(s.allocated(), "cpus:1;mem:1024");
  s.advance(f.subscribe.failover_timeout);
  EXPECT_EQ(a.take_one<proto::ShutdownFramework>().framework, f.id);
  a.updates(f.id, "t1", TaskState::kKilled);
  EXPECT_EQ(s.allocated(), "");
  EXPECT_TRUE(s.master->frameworks().empty());
}

TEST(MasterRestart, KillsTheTasksOfFrameworksThatCannotComeBack) {
  MasterScenario s;
  TestAgent& a = s.registered_agent("a1");
  TestScheduler& f = s.scheduler("f");
  f.subscribe.failover_timeout = Duration();
  f.subscribes();
  f.asks("cpus:1", 1);
  s.settle();
  ASSERT_EQ(f.offers.size(), 1u);
  f.accepts({f.offers[0]}, {f.spec("t1", "cpus:1")});
  a.updates(f.id, "t1", TaskState::kRunning);
  s.restart_master();
  a.registers();
  EXPECT_EQ(a.take_one<proto::ShutdownFramework>().framework, f.id);
  EXPECT_EQ(s.allocated(), "cpus:1");
  EXPECT_TRUE(s.master->frameworks().empty());
  EXPECT_TRUE(s.master->roles().empty());
  a.updates(f.id, "t1", TaskState::kKilled);
  EXPECT_EQ(s.allocated(), "");
  f.subscribes();
  EXPECT_EQ(f.take_one<proto::ErrorMessage>().code, ErrorCode::kNotFound);
}

TEST(MasterRestart, RemovesAgentsThatDoNotComeBack) {
  MasterScenario s;
  s.registered_agent("a1");
  s.restart_master();
  s.advance(s.options.agent_timeout);
  EXPECT_EQ(s.agent_row("a1").state, AgentState::kUnreachable);
  s.restart_master();
  EXPECT_EQ(s.agent_row("a1").state, AgentState::kUnreachable);
  s.advance(s.options.reregistration_timeout);
  EXPECT_FALSE(s.knows_agent("a1"));
}

// Found by the simulator (seeds 7300404, 88001343, 88001738). If an agent was removed and this
// master has never seen it, nobody knows its tasks: they may run on until the agent returns.
TEST(MasterRestart, KnowsNothingOfTheTasksOfAnAgentThatWasRemoved) {
  for (const bool removed_before : {true, false}) {
    MasterScenario s;
    TestAgent& a = s.registered_agent("a1");
    TestScheduler& f = s.with_task("t1");
    a.updates(f.id, "t1", TaskState::kRunning);
    a.lose();
    f.lose();
    if (removed_before) s.advance(s.options.reregistration_timeout + seconds(1));
    s.restart_master();
    f.subscribes();
    f.told();
    f.sends(proto::Reconcile{.tasks = {TaskId("t1")}});
    if (!removed_before) {
      EXPECT_EQ(f.told(), Lines{}) << "its agent may still come";
      s.advance(s.options.agent_timeout + s.options.reregistration_timeout);
    }
    EXPECT_EQ(f.told(), Lines{"t1 lost task_unknown"});

    a.registers();
    EXPECT_EQ(a.take_one<proto::KillTask>().task.str(), "t1");
    a.updates(f.id, "t1", TaskState::kKilled);
    EXPECT_EQ(f.told(), Lines{});
    EXPECT_EQ(s.allocated(), "");
  }
}

// Found by the simulator (seed 988300): the end of such a task was reported at the second
// registration.
TEST(MasterRestart, AdoptsNothingAtALaterRegistration) {
  MasterScenario s;
  TestAgent& a = s.registered_agent("a1");
  TestScheduler& f = s.with_task("t1");
  a.updates(f.id, "t1", TaskState::kRunning);
  a.sends(proto::UnregisterAgent{});
  f.lose();
  s.restart_master();
  f.subscribes();
  f.told();
  f.sends(proto::Reconcile{.tasks = {TaskId("t1")}});
  EXPECT_EQ(f.told(), Lines{"t1 lost task_unknown"});
  for (int i = 0; i < 2; ++i) {
    a.lose();
    a.registers();
  }
  EXPECT_FALSE(a.take<proto::KillTask>().empty());
  a.updates(f.id, "t1", TaskState::kFinished);
  EXPECT_EQ(f.told(), Lines{});
  EXPECT_EQ(s.allocated(), "");
}

// The updates that a scheduler gets from a restarted master, and when they are complete.
TEST(Reconciled, SaysHowManyAgentsAreMissingAndThenThatNoneIs) {
  MasterScenario s;
  TestAgent& a = s.registered_agent("a1");
  TestAgent& b = s.registered_agent("a2");
  TestScheduler& f = s.with_task("t1");  // on a1
  a.updates(f.id, "t1", TaskState::kRunning);
  f.lose();
  s.restart_master();
  f.subscribes();
  EXPECT_EQ(f.take<proto::Subscribed>().back().missing_agents, 2u);
  f.told();
  f.sends(proto::Reconcile{});
  EXPECT_EQ(f.take_one<proto::Reconciled>().missing_agents, 2u);
  a.registers();
  EXPECT_EQ(f.told(), Lines{"t1 running"}) << "each task is told as soon as its agent is back";
  EXPECT_TRUE(f.take<proto::Reconciled>().empty());
  b.registers();
  EXPECT_EQ(f.take_one<proto::Reconciled>().missing_agents, 0u);
  EXPECT_EQ(f.told(), Lines{});
  f.sends(proto::Reconcile{});
  EXPECT_EQ(f.take_one<proto::Reconciled>().missing_agents, 0u);
  EXPECT_EQ(f.told(), Lines{"t1 running"});
}

TEST(Reconciled, IsSaidWhenTheLastMissingAgentIsRemoved) {
  MasterScenario s;
  s.registered_agent("a1");
  TestScheduler& f = s.subscribed("f");
  s.restart_master();
  f.subscribes();
  f.sends(proto::Reconcile{});
  EXPECT_EQ(f.take_one<proto::Reconciled>().missing_agents, 1u);
  s.advance(s.options.agent_timeout + s.options.reregistration_timeout);
  EXPECT_EQ(f.take_one<proto::Reconciled>().missing_agents, 0u);
}

TEST(Failover, WithoutATimeoutEndsTheFrameworkWithItsConnection) {
  MasterScenario s;
  TestAgent& a = s.registered_agent("a1");
  TestScheduler& f = s.scheduler("f");
  f.subscribe.failover_timeout = Duration();
  f.subscribes();
  f.asks("cpus:1", 1);
  s.settle();
  f.accepts({f.offers.at(0)}, {f.spec("t1", "cpus:1")});
  f.lose();
  EXPECT_EQ(a.take_one<proto::ShutdownFramework>().framework, f.id);
  EXPECT_TRUE(s.master->frameworks().empty());
  EXPECT_EQ(s.task(f.id, "t1")->state, TaskState::kKilling);
  EXPECT_EQ(s.allocated(), "cpus:1");  // the task still runs
  a.updates(f.id, "t1", TaskState::kKilled);
  EXPECT_EQ(s.allocated(), "");
  EXPECT_EQ(s.task(f.id, "t1")->reason, TaskReason::kFrameworkTornDown);
  EXPECT_FALSE(a.has(f.id, "t1"));
}

class BriefFailover : public testing::Test {
 protected:
  TestScheduler& brief(TestScheduler& f) {
    f.subscribe.failover_timeout = seconds(10);
    f.subscribes();
    return f;
  }
  // The framework lives for exactly this time from now on.
  void lives_for(Duration span) {
    s.advance(span - seconds(1));
    EXPECT_EQ(s.master->frameworks().size(), 1u);
    s.advance(seconds(1));
    EXPECT_TRUE(s.master->frameworks().empty());
  }

  MasterScenario s;
  const Duration long_enough_ = s.options.silence_max() + s.options.silence_max();
};

TEST_F(BriefFailover, IsKeptWhenTheKernelClosedTheConnection) {
  brief(s.scheduler("f")).lose();
  lives_for(seconds(10));
}

TEST_F(BriefFailover, LastsTwiceTheSilenceWhenTheLinkIsSilent) {
  brief(s.scheduler("f")).silent = true;
  s.advance(s.options.silence_max());
  lives_for(long_enough_);
}

TEST_F(BriefFailover, LastsTwiceTheSilenceWhenTheMasterEndsTheSession) {
  TestScheduler& f = brief(s.scheduler("f"));
  s.step(PeerShed{f.peer()});
  lives_for(long_enough_);
}

TEST_F(BriefFailover, LastsTwiceTheSilenceWhenTheSchedulerReadsTooSlowly) {
  TestScheduler& f = brief(s.scheduler("f"));
  s.step(PeerLost{.peer = f.peer(), .is_closed = false});
  lives_for(long_enough_);
}

// The connection to the master before may be silent.
TEST_F(BriefFailover, LastsTwiceTheSilenceAfterARestartOfTheMaster) {
  brief(s.scheduler("f"));
  s.restart_master();
  lives_for(long_enough_);
}

TEST_F(BriefFailover, IsKeptWhenItIsLonger) {
  TestScheduler& f = s.scheduler("f");
  f.subscribe.failover_timeout = long_enough_ + minutes(1);
  f.subscribes();
  f.silent = true;
  s.advance(s.options.silence_max());
  lives_for(long_enough_ + minutes(1));
}

// What the master has not handled yet, or not read, may be what a timeout waits for.
TEST(Silence, IsNotJudgedWhileFramesOfThePeerWait) {
  MasterScenario s;
  TestAgent& a = s.registered_agent("a1");
  TestAgent& b = s.registered_agent("b1");
  s.step(Tick{});
  s.now = s.now + s.options.silence_max() + s.options.silence_max();
  EXPECT_EQ(s.master->silent_peers(s.now).size(), 2u);
  s.step(Tick{.waiting = {a.peer()}});
  EXPECT_FALSE(a.was_dropped());
  EXPECT_TRUE(b.was_dropped());
  a.sends(proto::Heartbeat{});
  s.now = s.now + seconds(1);
  s.step(Tick{});
  EXPECT_FALSE(a.was_dropped());
}

TEST(Silence, IsNotJudgedByADeafMaster) {
  MasterScenario s;
  TestAgent& a = s.registered_agent("a1");
  TestScheduler& f = s.scheduler("f");
  f.subscribe.failover_timeout = seconds(10);
  f.subscribes();
  f.lose();
  s.now = s.now + minutes(10);
  s.step(Tick{.is_deaf = true});
  EXPECT_FALSE(a.was_dropped());
  EXPECT_EQ(s.master->frameworks().size(), 1u);
  s.now = s.now + seconds(1);
  s.step(Tick{});
  EXPECT_TRUE(a.was_dropped());
  EXPECT_TRUE(s.master->frameworks().empty());
}

TEST(Failover, LastsAsLongAsItsTimeout) {
  MasterScenario s;
  TestAgent& a = s.registered_agent("a1");
  TestScheduler& f = s.with_task("t1");
  a.updates(f.id, "t1", TaskState::kRunning);
  f.lose();
  s.advance(f.subscribe.failover_timeout - seconds(1));
  EXPECT_TRUE(a.take<proto::ShutdownFramework>().empty());
  s.advance(seconds(1));
  EXPECT_EQ(a.take<proto::ShutdownFramework>().size(), 1u);
  EXPECT_TRUE(s.records.back().erase);
  f.subscribes();
  const auto error = f.take_one<proto::ErrorMessage>();
  EXPECT_EQ(error.code, ErrorCode::kNotFound);
  EXPECT_FALSE(error.retry);
  const FrameworkId before = f.id;
  f.id = FrameworkId();
  f.subscribes();  // The same secret starts a new framework.
  EXPECT_NE(f.id, before);
}

TEST(Teardown, KillsTheTasksAndForgetsTheFramework) {
  MasterScenario s;
  TestAgent& a = s.registered_agent("a1");
  TestAgent& b = s.registered_agent("b1");
  TestScheduler& f = s.with_task("t1", "cpus:4;mem:1GiB");
  TestAgent& with = a.tasks.empty() ? b : a;
  TestAgent& without = a.tasks.empty() ? a : b;
  with.updates(f.id, "t1", TaskState::kRunning);
  f.sends(proto::Teardown{});
  EXPECT_TRUE(f.was_dropped());
  EXPECT_EQ(with.take<proto::ShutdownFramework>().size(), 1u);
  EXPECT_TRUE(without.take<proto::ShutdownFramework>().empty());
  EXPECT_TRUE(s.records.back().erase);
  EXPECT_TRUE(s.master->frameworks().empty());

  // The agent with the task disconnects and returns: the task must still be killed.
  with.lose();
  with.registers();
  EXPECT_EQ(with.take<proto::ShutdownFramework>().size(), 1u);
  with.updates(f.id, "t1", TaskState::kKilled);
  EXPECT_EQ(s.allocated(), "");
  EXPECT_FALSE(with.has(f.id, "t1"));
}

TEST(Teardown, IsAlsoTheWordOfAnOperatorForASchedulerThatWillNotComeBack) {
  MasterScenario s;
  TestAgent& a = s.registered_agent("a1");
  TestScheduler& f = s.with_task("t1");
  f.lose();
  EXPECT_EQ(s.calls(TearDownFramework{.framework = f.id.str()}), "done");
  EXPECT_EQ(a.take_one<proto::ShutdownFramework>().framework, f.id);
  a.updates(f.id, "t1", TaskState::kKilled);
  EXPECT_EQ(s.allocated(), "");
  f.subscribes();
  EXPECT_EQ(f.take_one<proto::ErrorMessage>().code, ErrorCode::kNotFound);
}

TEST(Teardown, TakesNoPrefixAndNoNameOfSeveral) {
  MasterScenario s;
  TestScheduler& one = s.subscribed("web");
  TestScheduler& two = s.subscribed("web");
  EXPECT_THAT(s.calls(TearDownFramework{.framework = "web"}),
              testing::HasSubstr("the name of several frameworks"));
  EXPECT_THAT(s.calls(TearDownFramework{.framework = one.id.str().substr(0, 5)}),
              testing::HasSubstr("no framework has the id or name 'web-1'"));
  EXPECT_EQ(s.calls(TearDownFramework{.framework = two.id.str()}), "done");
  EXPECT_EQ(s.calls(TearDownFramework{.framework = "web"}), "done");
  EXPECT_THAT(s.calls(TearDownFramework{.framework = "web"}),
              testing::HasSubstr("no framework has the id or name 'web'"));
}

TEST(Teardown, LetsAgentsForgetWhatWasNotAcknowledged) {
  MasterScenario s;
  TestAgent& a = s.registered_agent("a1");
  TestScheduler& f = s.with_task("t1");
  f.acknowledges_by_itself = false;
  a.updates(f.id, "t1", TaskState::kFinished);
  EXPECT_TRUE(a.has(f.id, "t1"));
  f.sends(proto::Teardown{});
  EXPECT_FALSE(a.has(f.id, "t1"));
  EXPECT_EQ(s.task(f.id, "t1")->state, TaskState::kFinished);
}

TEST(Teardown, WithItsAgentUnreachableEndsWhenThatIsRemovedOrBack) {
  MasterScenario s;
  TestAgent& a = s.registered_agent("a1");
  TestScheduler& f = s.with_task("t1");
  a.updates(f.id, "t1", TaskState::kRunning);
  a.lose();
  s.advance(s.options.agent_timeout);
  f.sends(proto::Teardown{});
  EXPECT_EQ(s.task(f.id, "t1")->state, TaskState::kUnreachable);
  a.registers();
  EXPECT_EQ(s.task(f.id, "t1")->state, TaskState::kKilling);
  EXPECT_EQ(a.take<proto::ShutdownFramework>().size(), 1u);
  a.lose();
  s.advance(s.options.reregistration_timeout + seconds(1));
  EXPECT_EQ(s.task(f.id, "t1")->state, TaskState::kGone);
}

TEST(SchedulerLoss, RescindsItsOffersAndForgetsItsAsks) {
  MasterScenario s;
  s.registered_agent("a1");
  TestScheduler& f = s.subscribed("f");
  f.asks("cpus:1", 1);
  s.settle();
  ASSERT_EQ(f.offers.size(), 1u);
  const Offer offer = f.offers[0];
  f.lose();
  s.settle();
  EXPECT_TRUE(s.master->offers().empty());
  f.subscribes();
  s.settle();
  EXPECT_TRUE(f.offers.empty());  // it has not declared its asks again
  f.accepts({offer}, {f.spec("t1", "cpus:1")});
  EXPECT_EQ(f.told(), (Lines{"t1 refused offer_not_valid"}));
}

}  // namespace
}  // namespace proffer::master::lost_test
