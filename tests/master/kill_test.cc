// Kills by schedulers and operators, and the answers to reconciliation.

#include "tests/master/cluster.h"

namespace proffer::master::kill_test {
namespace {

using proto::TaskReason;
using proto::TaskState;

proto::KillTask kill(const std::string& task, std::optional<Duration> grace = {}) {
  return {.framework = FrameworkId("forged"), .task = TaskId(task), .grace = grace};
}

TEST(Kill, GoesToTheAgentAndIsAnsweredByTheTask) {
  MasterScenario s;
  TestAgent& a = s.registered_agent("a1");
  TestScheduler& f = s.with_task("t1");
  a.updates(f.id, "t1", TaskState::kRunning);
  f.told();
  f.sends(kill("t1", seconds(7)));
  const auto sent = a.take_one<proto::KillTask>();
  EXPECT_EQ(sent.framework, f.id);
  EXPECT_EQ(sent.grace, seconds(7));
  EXPECT_EQ(s.task(f.id, "t1")->state, TaskState::kKilling);
  EXPECT_EQ(f.told(), Lines{});
  f.sends(kill("t1", seconds(1)));  // with a shorter grace period
  EXPECT_EQ(a.take_one<proto::KillTask>().grace, seconds(1));
  a.updates(f.id, "t1", TaskState::kKilled, TaskReason::kKilledByScheduler);
  EXPECT_EQ(f.told(), (Lines{"t1 killed killed_by_scheduler"}));
}

TEST(Kill, OfWhatTheAgentDoesNotKnowIsLost) {
  MasterScenario s;
  TestAgent& a = s.registered_agent("a1");
  TestScheduler& f = s.with_task("t1");
  f.sends(kill("t1"));
  proto::TaskStatus unknown;
  unknown.task = TaskId("t1");
  unknown.state = TaskState::kLost;
  unknown.reason = TaskReason::kTaskUnknown;
  a.sends(proto::Update{f.id, unknown});
  EXPECT_EQ(f.told(), (Lines{"t1 lost task_unknown"}));
  EXPECT_EQ(s.allocated(), "");
}

TEST(Kill, OfAnUnknownTaskIsAnsweredWhenEveryAgentIsBackOrGone) {
  MasterScenario s;
  TestAgent& a = s.registered_agent("a1");
  s.registered_agent("a2");
  TestScheduler& f = s.subscribed("f");
  f.sends(kill("t9"));
  EXPECT_EQ(f.told(), (Lines{"t9 lost task_unknown"}));

  s.restart_master();
  f.subscribes();
  f.sends(kill("t9"));
  EXPECT_EQ(f.told(), Lines{});
  a.registers();
  EXPECT_EQ(f.told(), Lines{});
  s.advance(s.options.reregistration_timeout);
  EXPECT_EQ(f.told(), (Lines{"t9 lost task_unknown"}));
}

// A new master does not know the task before its agent returns; the kill is not repeated.
TEST(Kill, WaitsForTheAgentThatTellsOfTheTask) {
  MasterScenario s;
  TestAgent& a = s.registered_agent("a1");
  TestScheduler& f = s.with_task("t1");
  a.updates(f.id, "t1", TaskState::kRunning);
  f.told();
  s.restart_master();
  f.subscribes();
  f.sends(kill("t1", seconds(7)));
  f.sends(proto::Reconcile{.tasks = {TaskId("t1")}});  // it does not replace the kill
  a.registers();
  EXPECT_EQ(a.take_one<proto::KillTask>().grace, seconds(7));
  EXPECT_EQ(s.task(f.id, "t1")->state, TaskState::kKilling);
  a.updates(f.id, "t1", TaskState::kKilled, TaskReason::kKilledByScheduler);
  EXPECT_THAT(f.told(), testing::Contains("t1 killed killed_by_scheduler"));
}

TEST(Kill, OfATaskThatEndedMeanwhileIsAnsweredByItsEnd) {
  MasterScenario s;
  TestAgent& a = s.registered_agent("a1");
  TestScheduler& f = s.with_task("t1");
  a.updates(f.id, "t1", TaskState::kRunning);
  f.told();
  s.restart_master();
  a.updates(f.id, "t1", TaskState::kFinished);
  f.subscribes();
  f.sends(kill("t1"));
  a.registers();
  EXPECT_TRUE(a.take<proto::KillTask>().empty());
  EXPECT_THAT(f.told(), testing::Contains(testing::HasSubstr("t1 finished")));
}

TEST(OperatorKill, FindsATaskByAnyUniquePrefix) {
  for (const std::string name : {"f-1-1/t1", "f-1-1/t", "f", "t", "t1"}) {
    MasterScenario s;
    TestAgent& a = s.registered_agent("a1");
    TestScheduler& f = s.with_task("t1");
    ASSERT_TRUE(s.operator_kill(name).has_value()) << name;
    EXPECT_EQ(a.take_one<proto::KillTask>().task.str(), "t1");
    a.updates(f.id, "t1", TaskState::kKilled, TaskReason::kKilledByScheduler);
    EXPECT_EQ(f.told(), (Lines{"t1 killed killed_by_operator"}));
  }
}

TEST(OperatorKill, EndsAllTasksOfAFramework) {
  MasterScenario s;
  TestAgent& a = s.registered_agent("a1");
  TestScheduler& web = s.subscribed("web");
  TestScheduler& other = s.subscribed("other");
  for (TestScheduler* f : {&web, &other}) {
    f->asks("cpus:1", 2);
    s.settle();
    f->accepts(f->offers,
               {TestScheduler::spec("t1", "cpus:1"), TestScheduler::spec("t2", "cpus:1")});
    s.settle();
  }
  EXPECT_EQ(s.calls(OperatorKill{.grace = seconds(3), .framework = "web"}), "done");
  const auto sent = a.take<proto::KillTask>();
  ASSERT_EQ(sent.size(), 2u);
  for (const proto::KillTask& kill : sent) {
    EXPECT_EQ(kill.framework, web.id);
    EXPECT_EQ(kill.grace, seconds(3));
  }
  EXPECT_TRUE(web.is_connected());
  EXPECT_THAT(s.calls(OperatorKill{.framework = "nobody"}), testing::HasSubstr("'nobody'"));
  EXPECT_THAT(s.calls(OperatorKill{.task = "t1", .framework = "web"}),
              testing::HasSubstr("name either a task"));
  EXPECT_THAT(s.calls(OperatorKill{}), testing::HasSubstr("name either a task"));
}

TEST(OperatorKill, ListsTheCandidatesOfAnAmbiguousName) {
  MasterScenario s;
  TestAgent& a = s.registered_agent("a1", "cpus:10;mem:10GiB");
  TestScheduler& f = s.subscribed("f");
  f.asks("cpus:1", 8);
  s.settle();
  std::vector<proto::TaskSpec> specs;
  for (int i = 1; i <= 8; ++i) specs.push_back(f.spec(i == 8 ? "t" : text("t", i), "cpus:1"));
  f.accepts(f.offers, specs);
  const Result<void> ambiguous = s.operator_kill("f-1-1/");
  ASSERT_FALSE(ambiguous);
  EXPECT_EQ(ambiguous.error().code(), ErrorCode::kInvalidArgument);
  EXPECT_THAT(ambiguous.error().message(), testing::HasSubstr("f-1-1/t1, f-1-1/t2"));
  EXPECT_THAT(ambiguous.error().message(), testing::Not(testing::HasSubstr("t6")));
  // An exact name selects one task, even if it is a prefix of others.
  EXPECT_TRUE(s.operator_kill("t"));
  EXPECT_EQ(a.take_one<proto::KillTask>().task.str(), "t");
  EXPECT_TRUE(s.operator_kill("f-1-1/t"));

  const Result<void> none = s.operator_kill("nothing");
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().code(), ErrorCode::kNotFound);
  EXPECT_THAT(none.error().hint(), testing::HasSubstr("proffer tasks"));
  EXPECT_EQ(s.operator_kill("").error().code(), ErrorCode::kInvalidArgument);
}

TEST(Reconcile, TellsTheTruthAboutTheTasksThatItNames) {
  MasterScenario s;
  TestAgent& a = s.registered_agent("a1");
  TestScheduler& f = s.with_task("t1");
  f.sends(proto::Reconcile{.tasks = {TaskId("t1"), TaskId("t9")}});
  for (const proto::Message& message : f.inbox) {
    if (const auto* update = std::get_if<proto::Update>(&message)) {
      EXPECT_EQ(update->status.sequence, 0u);
    }
  }
  EXPECT_EQ(f.told(), (Lines{"t1 staging", "t9 lost task_unknown"}));
  a.updates(f.id, "t1", TaskState::kFinished);
  f.told();
  f.sends(proto::Reconcile{.tasks = {TaskId("t1")}});
  EXPECT_EQ(f.told(), (Lines{"t1 finished"}));
}

TEST(Reconcile, WithoutTasksTellsOfAllThatHaveNotEnded) {
  MasterScenario s;
  TestAgent& a = s.registered_agent("a1");
  TestScheduler& f = s.subscribed("f");
  f.asks("cpus:1", 2);
  s.settle();
  f.accepts(f.offers, {f.spec("t1", "cpus:1"), f.spec("t2", "cpus:1")});
  a.updates(f.id, "t1", TaskState::kFinished);
  f.told();
  f.sends(proto::Reconcile{});
  EXPECT_EQ(f.told(), (Lines{"t2 staging"}));
}

TEST(Reconcile, WaitsForTheAgentsThatMayKnowTheTask) {
  MasterScenario s;
  TestAgent& a = s.registered_agent("a1");
  TestScheduler& f = s.with_task("t1");
  a.updates(f.id, "t1", TaskState::kRunning);
  f.told();
  s.restart_master();
  f.subscribes();
  f.sends(proto::Reconcile{.tasks = {TaskId("t1"), TaskId("t9")}});
  EXPECT_EQ(f.told(), Lines{});
  a.registers();
  EXPECT_EQ(f.told(), (Lines{"t1 running", "t9 lost task_unknown"}));
}

}  // namespace
}  // namespace proffer::master::kill_test
