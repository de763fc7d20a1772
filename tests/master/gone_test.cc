// An operator declares that a machine never comes back, and sometimes it does; and two machines
// with the same identity.

#include "tests/master/cluster.h"

namespace proffer::master::gone_test {
namespace {

using proto::AgentState;
using proto::TaskState;

DeclareGone gone(const std::string& agent) { return {.agent = AgentId(agent)}; }

const proto::AgentRecord& last_record(const MasterScenario& s) {
  return std::get<proto::AgentRecord>(s.records.back().row);
}

TEST(Gone, EndsItsTasksAtOnceAndIsDurable) {
  MasterScenario s;
  TestAgent& a = s.registered_agent("a1");
  TestScheduler& f = s.with_task("t1");
  a.updates(f.id, "t1", TaskState::kRunning);
  f.told();
  a.lose();
  EXPECT_EQ(s.calls(gone("a1")), "done");
  EXPECT_EQ(f.told(), (Lines{"t1 gone agent_removed"}));
  EXPECT_EQ(f.take_one<proto::Failure>().agent.str(), "a1");
  EXPECT_EQ(s.task(f.id, "t1")->message, "agent a1 was declared gone by ada");
  EXPECT_EQ(s.allocated(), "");
  EXPECT_EQ(s.agent_row("a1").state, AgentState::kGone);
  EXPECT_EQ(s.master->status().agents_gone, 1);
  EXPECT_TRUE(last_record(s).gone_at);
  EXPECT_EQ(s.calls(gone("a1")), "done");  // the first answer may have been lost
  s.restart_master();
  EXPECT_EQ(s.agent_row("a1").state, AgentState::kGone);
}

TEST(Gone, AlsoWhileItIsUnreachable) {
  MasterScenario s;
  TestAgent& a = s.registered_agent("a1");
  TestScheduler& f = s.with_task("t1");
  a.updates(f.id, "t1", TaskState::kRunning);
  f.told();
  a.lose();
  s.advance(s.options.agent_timeout + seconds(1));
  EXPECT_EQ(s.calls(gone("a1")), "done");
  EXPECT_EQ(f.told(), (Lines{"t1 unreachable agent_unreachable", "t1 gone agent_removed"}));
}

TEST(Gone, ThatComesBackIsToldToEndWhatItRuns) {
  MasterScenario s;
  TestAgent& a = s.registered_agent("a1");
  TestScheduler& f = s.with_task("t1");
  a.updates(f.id, "t1", TaskState::kRunning);
  f.told();
  a.lose();
  s.calls(gone("a1"));
  f.told();
  for (const bool restarts : {false, true}) {
    if (restarts) s.restart_master();
    a.registers();
    EXPECT_TRUE(a.was_dropped());
    const auto refusal = a.take_one<proto::ErrorMessage>();
    EXPECT_TRUE(refusal.ends_tasks);
    EXPECT_FALSE(refusal.retry);
    EXPECT_EQ(refusal.message, "agent 'a1' was declared gone, and its tasks were reported as gone");
    EXPECT_NE(refusal.hint.find("empty --work_dir"), std::string::npos);
    EXPECT_EQ(s.agent_row("a1").state, AgentState::kGone);
    EXPECT_EQ(s.task(f.id, "t1").has_value(), !restarts);
  }
  EXPECT_EQ(f.told(), Lines{});
}

TEST(Gone, LeavesItsNameToANewAgentAndStillRefusesTheOldOne) {
  MasterScenario s;
  TestAgent& old = s.registered_agent("a1");
  old.lose();
  s.calls(gone("a1"));
  TestAgent& fresh = s.agent("a1");
  fresh.registers();
  EXPECT_TRUE(fresh.is_connected());
  EXPECT_EQ(s.agent_row("a1").state, AgentState::kConnected);
  EXPECT_EQ(s.master->status().agents_gone, 0);
  for (const bool restarts : {false, true}) {
    if (restarts) {
      s.restart_master();
      fresh.registers();
    }
    old.registers();
    EXPECT_TRUE(old.take_one<proto::ErrorMessage>().ends_tasks);
    EXPECT_TRUE(fresh.is_connected());
  }
}

TEST(Gone, IsRefusedForAnAgentThatIsThere) {
  MasterScenario s;
  TestAgent& a = s.registered_agent("a1");
  const Result<void> refused = s.operates(gone("a1"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message(), "agent 'a1' is connected, so its machine is running");
  EXPECT_NE(refused.error().hint().find("proffer drain a1"), std::string::npos);
  EXPECT_TRUE(a.is_connected());
}

TEST(Gone, OfAWrongNameSaysWhichIsNear) {
  MasterScenario s;
  s.registered_agent("node-17");
  const Result<void> refused = s.operates(gone("node-71"));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message(), "there is no agent 'node-71'");
  EXPECT_EQ(refused.error().hint(), "did you mean 'node-17'?");
}

TEST(Gone, IsForOperatorsAndAudited) {
  MasterScenario s;
  TestAgent& a = s.registered_agent("a1");
  a.lose();
  const auto bob = std::make_shared<Principal>(Principal{.user = "bob", .uid = 1002});
  EXPECT_EQ(s.calls(DeclareGone{.by = bob, .agent = AgentId("a1")}),
            "user 'bob' may not declare an agent gone");
  EXPECT_EQ(s.traced("audit: refused"), 1);
  EXPECT_EQ(s.calls(gone("a1")), "done");
  EXPECT_EQ(s.traced("audit: done"), 1);
}

// A new master waits for all agents before it reports a task as unknown.
TEST(Gone, IsNotAwaitedByANewMaster) {
  MasterScenario s;
  TestAgent& a = s.registered_agent("a1");
  TestScheduler& f = s.with_task("t1");
  a.updates(f.id, "t1", TaskState::kRunning);
  f.told();
  s.restart_master();
  f.subscribes();
  f.told();
  f.sends(proto::Reconcile{.tasks = {TaskId("t1")}});
  EXPECT_EQ(f.told(), Lines{});
  EXPECT_EQ(s.calls(gone("a1")), "done");
  EXPECT_EQ(f.told(), (Lines{"t1 lost task_unknown"}));
}

TEST(Gone, IsForgottenAfterAWeek) {
  MasterScenario s;
  TestAgent& a = s.registered_agent("a1");
  a.lose();
  s.calls(gone("a1"));
  s.now = s.now + (kGoneAgentAge - seconds(1));
  s.step(Tick{});
  EXPECT_TRUE(s.knows_agent("a1"));
  s.now = s.now + seconds(1);
  s.step(Tick{});
  EXPECT_FALSE(s.knows_agent("a1"));
  EXPECT_TRUE(s.records.back().erase);
  a.registers();
  EXPECT_EQ(s.agent_row("a1").state, AgentState::kConnected);
}

TEST(Gone, AtMostSoManyAreRemembered) {
  MasterScenario s;
  for (size_t i = 0; i <= kGoneAgentsMax; ++i) {
    TestAgent& a = s.registered_agent(text("a", i));
    a.lose();
    s.calls(gone(a.name));
    s.now = s.now + milliseconds(1);
  }
  EXPECT_EQ(s.master->status().agents_gone, static_cast<int64_t>(kGoneAgentsMax));
  EXPECT_FALSE(s.knows_agent("a0"));
  EXPECT_TRUE(s.knows_agent("a1"));
}

// --- one work directory on two machines ----------------------------------------------------------

struct Machines {
  explicit Machines(MasterScenario& s) : first(s.agent("a1")), copy(s.agent("a1")) {
    first.boot = 11;
    copy.boot = 22;
    copy.secret = first.secret;
    first.registers();
  }
  TestAgent& first;
  TestAgent& copy;
};

TEST(CopiedDirectory, IsRefusedWhileTheFirstMachineIsThere) {
  MasterScenario s;
  Machines m(s);
  for (int i = 0; i < 3; ++i) {
    m.copy.registers();
    EXPECT_TRUE(m.copy.was_dropped());
    const auto refusal = m.copy.take_one<proto::ErrorMessage>();
    EXPECT_EQ(refusal.message, "agent 'a1' is connected from another machine");
    EXPECT_TRUE(refusal.retry);
    EXPECT_FALSE(refusal.ends_tasks);
  }
  EXPECT_TRUE(m.first.is_connected());
  EXPECT_EQ(s.traced("two machines say that they are this agent; if its work directory was copied, "
                     "start one of them with an empty one and another --name"),
            1);
}

// Also after a reboot, before the master notices the end of the old connection.
TEST(CopiedDirectory, IsAdmittedWhenTheFirstMachineIsAway) {
  MasterScenario s;
  Machines m(s);
  m.copy.registers();
  ASSERT_TRUE(m.copy.was_dropped());
  m.first.lose();
  m.copy.registers();
  EXPECT_TRUE(m.copy.is_connected());
}

// When the copy registered without the tasks of the first machine, they were reported as lost.
TEST(CopiedDirectory, EndsTheFirstMachinesTasksOnceTheCopyWentOn) {
  MasterScenario s;
  Machines m(s);
  TestScheduler& f = s.with_task("t1");
  m.first.updates(f.id, "t1", TaskState::kRunning);
  f.told();
  m.first.lose();
  m.copy.registers();
  EXPECT_EQ(f.told(), (Lines{"t1 lost agent_forgot"}));
  m.first.registers();
  EXPECT_TRUE(m.first.was_dropped());
  const auto refusal = m.first.take_one<proto::ErrorMessage>();
  EXPECT_TRUE(refusal.ends_tasks);
  EXPECT_NE(refusal.message.find("a copy of this work directory"), std::string::npos);
  EXPECT_TRUE(m.copy.is_connected());
}

TEST(CopiedDirectory, AnAgentThatDoesNotTellItsBootIsAsBefore) {
  MasterScenario s;
  Machines m(s);
  m.copy.boot = 0;
  m.copy.registers();
  EXPECT_TRUE(m.copy.is_connected());
  EXPECT_TRUE(m.first.was_dropped());
}

TEST(CopiedDirectory, AnAgentThatWentBackToAVersionWithoutBootsComesAgain) {
  MasterScenario s;
  Machines m(s);
  for (const uint64_t boot : {uint64_t{0}, uint64_t{11}}) {
    m.first.lose();
    m.first.boot = boot;
    m.first.registers();
    EXPECT_TRUE(m.first.is_connected()) << boot;
  }
  // If an agent has reported two boots, the earlier one never returns.
  m.first.lose();
  m.copy.registers();
  m.first.registers();
  EXPECT_TRUE(m.first.was_dropped());
}

}  // namespace
}  // namespace proffer::master::gone_test
