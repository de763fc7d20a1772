// Agents that accept tasks but report nothing about them, once or repeatedly.

#include <gmock/gmock.h>

#include "tests/master/cluster.h"

namespace proffer::master::starts_test {
namespace {

using proto::TaskReason;
using proto::TaskState;
using Lines = std::vector<std::string>;

// Launches one task on each outstanding offer.
void launches(TestScheduler& f, const std::vector<std::string>& tasks) {
  for (const std::string& task : tasks) {
    ASSERT_FALSE(f.offers.empty()) << task;
    f.accepts({f.offers.front()}, {TestScheduler::spec(task, "cpus:1;mem:1GiB")});
  }
}

// The framework launches the tasks on the only agent, one after another.
void launches_in_turn(MasterScenario& s, TestScheduler& f, const std::vector<std::string>& tasks) {
  for (const std::string& task : tasks) {
    f.asks("cpus:1;mem:1GiB", 1);
    s.settle();
    launches(f, {task});
    s.settle();
  }
}

void says_what_it_waits_for(TestAgent& agent, const FrameworkId& framework,
                            const std::string& task) {
  agent.sends(proto::Update{framework,
                            {.task = TaskId(task),
                             .agent = AgentId(agent.name),
                             .state = TaskState::kStaging,
                             .message = "its files are being fetched"}});
}

TEST(Starts, ATaskOfWhichItsAgentSaysNothingIsLost) {
  MasterScenario s;
  TestAgent& a = s.registered_agent("a1");
  TestScheduler& f = s.with_task("t1");
  s.advance(s.options.task_start_timeout - seconds(1));
  EXPECT_EQ(s.task(f.id, "t1")->state, TaskState::kStaging);
  s.advance(seconds(1));
  EXPECT_EQ(f.told(), (Lines{"t1 lost not_started"}));
  EXPECT_EQ(s.task(f.id, "t1")->message,
            "agent a1 received the task and did not report it for 10m");
  EXPECT_EQ(a.take_one<proto::KillTask>().task, TaskId("t1"));

  // The agent may still start it, so its resources are not free.
  EXPECT_EQ(s.allocated(), "cpus:1;mem:1024");
  a.updates(f.id, "t1", TaskState::kKilled, TaskReason::kKilledByScheduler);
  EXPECT_EQ(s.allocated(), "");
  EXPECT_TRUE(f.told().empty());
}

TEST(Starts, ATaskThatIsBeingKilledIsGivenUpTheSame) {
  MasterScenario s;
  s.registered_agent("a1");
  TestScheduler& f = s.with_task("t1");
  f.sends(proto::KillTask{.framework = {}, .task = TaskId("t1"), .grace = {}});
  s.advance(s.options.task_start_timeout);
  EXPECT_EQ(f.told(), (Lines{"t1 lost not_started"}));
}

TEST(Starts, AnAgentThatSaysWhatATaskWaitsForKeepsIt) {
  MasterScenario s;
  TestAgent& a = s.registered_agent("a1");
  TestScheduler& f = s.with_task("t1");
  for (int hour = 0; hour < 6; ++hour) {
    s.advance(s.options.task_start_timeout - seconds(1));
    says_what_it_waits_for(a, f.id, "t1");
  }
  EXPECT_EQ(s.task(f.id, "t1")->state, TaskState::kStaging);
  const auto explained = s.master->explain_task(text(f.id.str(), "/t1"), f.by.get());
  ASSERT_TRUE(explained.has_value()) << explained.error().message();
  EXPECT_EQ(explained->answer, "it is being started on agent a1: its files are being fetched");
  EXPECT_TRUE(f.told().empty());

  a.updates(f.id, "t1", TaskState::kRunning);
  EXPECT_EQ(f.told(), (Lines{"t1 running"}));
  // A running task has no start timeout, and late reports change nothing.
  says_what_it_waits_for(a, f.id, "t1");
  EXPECT_EQ(s.task(f.id, "t1")->message, "");
  s.advance(hours(1));
  EXPECT_EQ(s.task(f.id, "t1")->state, TaskState::kRunning);
}

TEST(Starts, AnAgentThatComesBackHasItsTimeAnew) {
  MasterScenario s;
  TestAgent& a = s.registered_agent("a1");
  TestScheduler& f = s.with_task("t1");
  s.advance(s.options.task_start_timeout - seconds(10));
  a.lose();
  s.advance(seconds(20));
  EXPECT_EQ(s.task(f.id, "t1")->state, TaskState::kStaging);
  a.registers();
  s.advance(s.options.task_start_timeout - seconds(1));
  EXPECT_EQ(s.task(f.id, "t1")->state, TaskState::kStaging);
  s.advance(seconds(1));
  EXPECT_EQ(f.told(), (Lines{"t1 lost not_started"}));
}

TEST(Starts, AMasterThatWasStartedAgainWaitsForThemToo) {
  MasterScenario s;
  TestAgent& a = s.registered_agent("a1");
  TestScheduler& f = s.with_task("t1");
  s.restart_master();
  f.subscribes();
  a.registers();
  s.settle();
  f.told();
  s.advance(s.options.task_start_timeout);
  EXPECT_EQ(f.told(), (Lines{"t1 lost not_started"}));
}

// Its tasks still count as allocated, so the agent has room for many.
TEST(Starts, AnAgentThatStartsNothingIsClosedAndThenTriedWithOneTask) {
  MasterScenario s;
  TestAgent& a = s.registered_agent("a1", "cpus:16;mem:32GiB");
  TestScheduler& f = s.subscribed("f");
  launches_in_turn(s, f, {"t1", "t2"});
  s.advance(s.options.task_start_timeout);
  EXPECT_EQ(f.told(), (Lines{"t1 lost not_started", "t2 lost not_started"}));
  EXPECT_EQ(s.agent_row("a1").trouble, "");

  launches_in_turn(s, f, {"t3"});
  s.advance(s.options.task_start_timeout);
  EXPECT_EQ(f.told(), (Lines{"t3 lost not_started"}));
  EXPECT_EQ(s.agent_row("a1").trouble,
            "it did not report the last 3 tasks launched on it, for 10m each; the next attempt is "
            "after 10m");
  f.asks("cpus:1;mem:256MiB", 3);
  s.settle();
  EXPECT_TRUE(f.offers.empty());
  EXPECT_THAT(s.master->explain(f.id.str(), nullptr)->answer,
              ::testing::HasSubstr("it did not report the last 3 tasks"));

  // After this time it gets one trial task, and no other until it reports on that.
  s.advance(s.options.task_start_timeout);
  ASSERT_FALSE(f.offers.empty());
  EXPECT_EQ(s.agent_row("a1").trouble, "");
  f.accepts({f.offers.front()}, {TestScheduler::spec("t4", "cpus:1;mem:256MiB")});
  s.settle();
  EXPECT_TRUE(f.offers.empty());
  EXPECT_THAT(s.agent_row("a1").trouble, ::testing::HasSubstr("it gets one task as a trial"));

  // No report again: the pause doubles.
  s.advance(s.options.task_start_timeout);
  EXPECT_EQ(f.told(), (Lines{"t4 lost not_started"}));
  EXPECT_THAT(s.agent_row("a1").trouble, ::testing::EndsWith("the next attempt is after 20m"));
  s.advance(s.options.task_start_timeout * 2);
  ASSERT_FALSE(f.offers.empty());
  f.accepts({f.offers.front()}, {TestScheduler::spec("t5", "cpus:1;mem:256MiB")});
  s.settle();
  a.updates(f.id, "t5", TaskState::kRunning);
  s.settle();
  EXPECT_EQ(s.agent_row("a1").trouble, "");
  EXPECT_FALSE(f.offers.empty());
}

TEST(Starts, ATaskThatIsStartedBeginsTheCountAnew) {
  MasterScenario s;
  TestAgent& a = s.registered_agent("a1", "cpus:8;mem:8GiB");
  TestScheduler& f = s.subscribed("f");
  launches_in_turn(s, f, {"t1", "t2"});
  s.advance(s.options.task_start_timeout);
  launches_in_turn(s, f, {"t3"});
  a.updates(f.id, "t3", TaskState::kRunning);
  launches_in_turn(s, f, {"t4", "t5"});
  s.advance(s.options.task_start_timeout);
  EXPECT_EQ(s.agent_row("a1").trouble, "");
}

// The agent does not know the trial task, so it gets another one.
TEST(Starts, ATrialOfWhichNothingWillBeHeardIsOver) {
  MasterScenario s;
  TestAgent& a = s.registered_agent("a1");
  a.receives_tasks = false;
  TestScheduler& f = s.subscribed("f");
  launches_in_turn(s, f, {"t1", "t2", "t3"});
  s.advance(s.options.task_start_timeout * 2);
  f.told();
  launches_in_turn(s, f, {"t4"});
  EXPECT_THAT(s.agent_row("a1").trouble, ::testing::HasSubstr("it gets one task as a trial"));
  f.sends(proto::KillTask{.framework = {}, .task = TaskId("t4"), .grace = {}});
  a.sends(proto::Update{f.id,
                        {.task = TaskId("t4"),
                         .agent = AgentId("a1"),
                         .state = TaskState::kLost,
                         .reason = TaskReason::kTaskUnknown}});
  EXPECT_EQ(f.told(), (Lines{"t4 lost task_unknown"}));
  EXPECT_EQ(s.agent_row("a1").trouble, "");
}

// The pause continues while the agent is away, and ends in time.
TEST(Starts, AnAgentThatRegistersAgainIsStillClosed) {
  MasterScenario s;
  TestAgent& a = s.registered_agent("a1");
  TestScheduler& f = s.subscribed("f");
  launches_in_turn(s, f, {"t1", "t2", "t3"});
  s.advance(s.options.task_start_timeout);
  f.asks("cpus:1;mem:256MiB", 1);
  a.registers();
  s.settle();
  EXPECT_NE(s.agent_row("a1").trouble, "");
  EXPECT_TRUE(f.offers.empty());
  a.lose();
  s.advance(s.options.task_start_timeout);
  a.registers();
  s.settle();
  EXPECT_EQ(s.agent_row("a1").trouble, "");
  EXPECT_FALSE(f.offers.empty());
}

}  // namespace
}  // namespace proffer::master::starts_test
