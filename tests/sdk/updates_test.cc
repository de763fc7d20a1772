// Updates: exactly once and in order, for any repetitions by the network and masters.

#include "sdk/core/known_tasks.h"
#include "tests/sdk/driver_world.h"

namespace proffer::sdk::updates_test {
namespace {

using proto::TaskState;
using proto::UpdateSource;
using Story = std::vector<std::string>;

TEST(Updates, AreAcknowledgedRightAfterTheAuthorHeardThem) {
  DriverWorld w;
  w.subscribe();
  w.hear_offers({1});
  w.want(accept_of({1}, {task_of("t1")}));
  w.forget();

  w.hear_update(status_of("t1", TaskState::kRunning, 1));

  EXPECT_EQ(w.story(), (Story{"task t1 running", ">acknowledge"}));
  EXPECT_EQ(w.sent<proto::Acknowledge>(),
            (std::vector<proto::Acknowledge>{
                {{}, TaskId("t1"), AgentId("a1"), UpdateSource::kAgent, 1}}));
}

TEST(Updates, ARepeatedOneIsAcknowledgedAgainAndNotHeardAgain) {
  DriverWorld w;
  w.subscribe();
  w.launch("t1", 1);
  w.reconnect();
  w.forget();
  w.hear_update(status_of("t1", TaskState::kRunning, 1));
  EXPECT_EQ(w.story(), Story{">acknowledge"});
}

TEST(Updates, AnOlderOneThanWasHeardIsNoNews) {
  DriverWorld w;
  w.subscribe();
  w.launch("t1", 1);
  w.hear_update(status_of("t1", TaskState::kRunning, 3));
  w.forget();
  w.hear_update(status_of("t1", TaskState::kRunning, 2));
  EXPECT_EQ(w.story(), Story{">acknowledge"});
}

TEST(Updates, OfAgentAndMasterAreCountedApart) {
  DriverWorld w;
  w.subscribe();
  w.launch("t1", 1);
  w.forget();
  w.hear_update(status_of("t1", TaskState::kUnreachable, 70, UpdateSource::kMaster));
  w.hear_update(status_of("t1", TaskState::kRunning, 71, UpdateSource::kMaster));
  w.hear_update(status_of("t1", TaskState::kFinished, 2));
  EXPECT_EQ(w.states_told(), (Story{"t1 unreachable", "t1 running", "t1 finished"}));
  EXPECT_TRUE(w.driver.live_tasks().empty());
}

TEST(Updates, ProgressInTheSameStateIsHeard) {
  DriverWorld w;
  w.subscribe();
  w.launch("t1", 1);
  w.forget();
  w.hear_update(status_of("t1", TaskState::kRunning, 2));
  w.hear_update(status_of("t1", TaskState::kRunning, 3));
  EXPECT_EQ(w.told<proto::TaskStatus>().size(), 2u);
}

TEST(Updates, NothingIsHeardAfterTheEnd) {
  DriverWorld w;
  w.subscribe();
  w.launch("t1", 1);
  w.hear_update(status_of("t1", TaskState::kGone, 9, UpdateSource::kMaster));
  w.forget();
  // Its agent returned and killed it.
  w.hear_update(status_of("t1", TaskState::kKilled, 2));
  w.hear_update(status_of("t1", TaskState::kRunning, 0));
  EXPECT_EQ(w.story(), Story{">acknowledge"});
}

TEST(Updates, OfATaskThatTheDriverNeverLaunchedAreHeard) {
  DriverWorld w;
  w.subscribe();
  w.hear_update(status_of("old", TaskState::kFinished, 4));
  EXPECT_EQ(w.states_told(), Story{"old finished"});
  w.hear_update(status_of("old", TaskState::kFinished, 4));
  EXPECT_TRUE(w.states_told().empty());
  EXPECT_TRUE(w.driver.live_tasks().empty());
}

TEST(EndsOfAnAuthor, AreAcknowledgedWhenTheAuthorSaysSo) {
  DriverOptions options = DriverWorld::options();
  options.acknowledges_ends = true;
  DriverWorld w(options);
  w.subscribe();
  w.launch("t1", 1);
  w.forget();
  w.hear_update(status_of("t1", TaskState::kRunning, 2));
  EXPECT_EQ(w.sent<proto::Acknowledge>().size(), 1u);  // progress is acknowledged as usual
  w.forget();
  w.hear_update(status_of("t1", TaskState::kFinished, 3));
  EXPECT_TRUE(w.sent<proto::Acknowledge>().empty());
  // The agent repeats the end, which the author has received.
  w.hear_update(status_of("t1", TaskState::kFinished, 3));
  EXPECT_TRUE(w.sent<proto::Acknowledge>().empty());
  EXPECT_EQ(w.told<proto::TaskStatus>().size(), 1u);
  w.want(AcknowledgeEnd{TaskId("t1")});
  const auto sent = w.sent<proto::Acknowledge>();
  ASSERT_EQ(sent.size(), 1u);
  EXPECT_EQ(sent[0].task, TaskId("t1"));
  EXPECT_EQ(sent[0].sequence, 3u);
  // The acknowledgement was lost: from now on the driver repeats it.
  w.hear_update(status_of("t1", TaskState::kFinished, 3));
  EXPECT_EQ(w.sent<proto::Acknowledge>().size(), 1u);
}

TEST(EndsOfAnAuthor, HandledWithoutAMasterAreAcknowledgedInTheNextSession) {
  DriverOptions options = DriverWorld::options();
  options.acknowledges_ends = true;
  DriverWorld w(options);
  w.subscribe();
  w.launch("t1", 1);
  w.launch("t2", 2);
  w.hear_update(status_of("t1", TaskState::kFinished, 2));
  w.hear_update(status_of("t2", TaskState::kFailed, 2));
  w.disconnect();
  w.want(AcknowledgeEnd{TaskId("t1")});
  w.forget();
  w.subscribe(true);
  w.hear_update(status_of("t1", TaskState::kFinished, 2));
  w.hear_update(status_of("t2", TaskState::kFailed, 2));
  const auto sent = w.sent<proto::Acknowledge>();
  ASSERT_EQ(sent.size(), 1u);  // the author has not handled the other one yet
  EXPECT_EQ(sent[0].task, TaskId("t1"));
  EXPECT_TRUE(w.told<proto::TaskStatus>().empty());
  w.want(AcknowledgeEnd{TaskId("unknown")});
  w.want(AcknowledgeEnd{TaskId("t2")});
  EXPECT_EQ(w.sent<proto::Acknowledge>().size(), 1u);
}

TEST(EndsOfAnAuthor, AreHeardByTheNextLifeOfTheScheduler) {
  DriverOptions options = DriverWorld::options();
  options.acknowledges_ends = true;
  options.framework = FrameworkId("f-1");
  DriverWorld w(options);
  w.subscribe(true);
  w.hear_update(status_of("t1", TaskState::kFinished, 2));
  EXPECT_EQ(w.told<proto::TaskStatus>().size(), 1u);
  EXPECT_TRUE(w.sent<proto::Acknowledge>().empty());
}

TEST(Updates, OfAnotherFrameworkAreIgnored) {
  DriverWorld w;
  w.subscribe();
  w.forget();
  w.hear(proto::Update{.framework = FrameworkId("other"),
                       .status = status_of("t1", TaskState::kRunning, 1)});
  EXPECT_TRUE(w.story().empty());
}

TEST(Reconciliation, AnswersThatChangeNothingAreNotHeardAndNoneIsAcknowledged) {
  DriverWorld w;
  w.subscribe();
  w.launch("t1", 1);
  w.launch("t2", 2);
  w.reconnect();
  w.forget();
  w.hear_update(status_of("t1", TaskState::kRunning, 0, UpdateSource::kMaster));
  w.hear_update(status_of("t2", TaskState::kLost, 0, UpdateSource::kMaster));
  EXPECT_EQ(w.story(), Story{"task t2 lost"});
  EXPECT_EQ(w.driver.live_tasks(), std::vector<TaskId>{TaskId("t1")});
}

TEST(Reconciliation, AnswersThatChangeTheHealthAreHeardOnce) {
  DriverWorld w;
  w.subscribe();
  w.launch("t1", 1);
  w.forget();
  const auto hear = [&](std::optional<bool> healthy, uint64_t sequence) {
    const auto source = sequence == 0 ? UpdateSource::kMaster : UpdateSource::kAgent;
    proto::TaskStatus status = status_of("t1", TaskState::kRunning, sequence, source);
    status.healthy = healthy;
    w.hear_update(status);
    return w.told<proto::TaskStatus>().size();
  };
  EXPECT_EQ(hear(true, 2), 1u);
  EXPECT_EQ(hear(true, 0), 0u);
  EXPECT_EQ(hear(false, 3), 1u);
  EXPECT_EQ(hear(false, 3), 0u);
  EXPECT_EQ(hear(false, 0), 0u);
  EXPECT_EQ(hear({}, 0), 0u);  // from a master that does not know the health yet
  EXPECT_EQ(hear(true, 0), 1u);
  EXPECT_EQ(hear(true, 0), 0u);
}

TEST(Reconciliation, WhatAnAnswerToldIsNotToldAgainByTheUpdateItself) {
  DriverWorld w;
  w.subscribe();
  proto::TaskStatus known = status_of("old", TaskState::kRunning, 0, UpdateSource::kMaster);
  known.healthy = false;
  w.hear_update(known);
  EXPECT_EQ(w.told<proto::TaskStatus>().size(), 1u);
  // A new master repeats the update.
  proto::TaskStatus update = status_of("old", TaskState::kRunning, 7);
  update.healthy = false;
  w.forget();
  w.hear_update(update);
  EXPECT_EQ(w.story(), Story{">acknowledge"});
  // A later update is new, even with equal content.
  update.sequence = 8;
  w.hear_update(update);
  EXPECT_EQ(w.told<proto::TaskStatus>().size(), 1u);
}

TEST(Reconciliation, FindsOutWhatBecameOfAnAcceptThatWasLost) {
  DriverWorld w;
  w.subscribe();
  w.hear_offers({1});
  w.want(accept_of({1}, {task_of("t1")}));  // never arrives
  w.disconnect();
  EXPECT_EQ(w.driver.live_tasks(), std::vector<TaskId>{TaskId("t1")});
  w.forget();
  w.subscribe(true);
  EXPECT_EQ(w.sent<proto::Reconcile>().at(0).tasks, std::vector<TaskId>{TaskId("t1")});
  w.hear_update(status_of("t1", TaskState::kLost, 0, UpdateSource::kMaster));
  EXPECT_EQ(w.states_told(), Story{"t1 lost"});
}

TEST(Reconciliation, ComesInPartsThatFitAMessage) {
  DriverWorld w;
  w.subscribe();
  const size_t count = kTasksPerMessageMax + 5;
  for (size_t i = 0; i < count; ++i) {
    w.hear_update(status_of("t" + std::to_string(i), TaskState::kRunning, 1));
  }
  w.disconnect();
  w.forget();
  w.subscribe(true);
  const auto parts = w.sent<proto::Reconcile>();
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_EQ(parts[0].tasks.size(), kTasksPerMessageMax);
  EXPECT_EQ(parts[1].tasks.size(), 5u);
}

TEST(Reconciliation, AskedWhileAwayIsKeptForTheNextSession) {
  DriverWorld w;
  w.want(proto::Reconcile{.tasks = {TaskId("mine")}});
  w.want(proto::Reconcile{});
  w.subscribe();
  EXPECT_EQ(w.sent<proto::Reconcile>(), (std::vector<proto::Reconcile>{{}, {{TaskId("mine")}}}));
}

TEST(Reconciliation, AQuestionIsAskedInEachSessionUntilItIsAnswered) {
  DriverWorld w;
  w.subscribe();
  w.want(proto::Reconcile{.tasks = {TaskId("mine")}});
  w.forget();
  w.reconnect();  // the answer was lost with the connection
  EXPECT_EQ(w.sent<proto::Reconcile>(), (std::vector<proto::Reconcile>{{{TaskId("mine")}}}));
  w.hear_update(status_of("mine", TaskState::kLost, 0, UpdateSource::kMaster));
  EXPECT_EQ(w.states_told(), Story{"mine lost"});
  w.reconnect();
  EXPECT_TRUE(w.sent<proto::Reconcile>().empty());
}

TEST(Reconciliation, AProcessThatTookOverAsksForAllInEachSession) {
  DriverWorld w;
  w.subscribe(true);
  EXPECT_EQ(w.sent<proto::Reconcile>(), std::vector<proto::Reconcile>{{}});
  w.reconnect();
  EXPECT_EQ(w.sent<proto::Reconcile>(), std::vector<proto::Reconcile>{{}});
}

TEST(Reconciliation, WhatIsNoTaskIdIsAnsweredAtOnce) {
  DriverWorld w;
  w.subscribe();
  w.forget();
  w.want(proto::Reconcile{.tasks = {TaskId("not/an id")}});
  EXPECT_TRUE(w.sent<proto::Reconcile>().empty());
  const auto told = w.told<proto::TaskStatus>();
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].state, TaskState::kLost);
  EXPECT_EQ(told[0].reason, proto::TaskReason::kTaskUnknown);
}

TEST(Kill, IsSaidAgainInEachSessionUntilTheTaskHasEnded) {
  DriverWorld w;
  w.subscribe();
  w.launch("t1", 1);
  w.want(proto::KillTask{.task = TaskId("t1"), .grace = seconds(2)});
  EXPECT_EQ(w.sent<proto::KillTask>(),
            (std::vector<proto::KillTask>{{{}, TaskId("t1"), seconds(2)}}));
  w.reconnect();
  EXPECT_EQ(w.sent<proto::KillTask>(),
            (std::vector<proto::KillTask>{{{}, TaskId("t1"), seconds(2)}}));
  w.hear_update(status_of("t1", TaskState::kKilled, 2));
  w.reconnect();
  EXPECT_TRUE(w.sent<proto::KillTask>().empty());
}

TEST(Kill, WantedWhileAwayIsKept) {
  DriverWorld w;
  w.subscribe();
  w.launch("t1", 1);
  w.disconnect();
  w.forget();
  w.want(proto::KillTask{.task = TaskId("t1")});
  EXPECT_TRUE(w.story().empty());
  w.subscribe(true);
  EXPECT_EQ(w.sent<proto::KillTask>().size(), 1u);
}

TEST(Kill, OfATaskThatHasEndedIsNothing) {
  DriverWorld w;
  w.subscribe();
  w.launch("t1", 1);
  w.hear_update(status_of("t1", TaskState::kFinished, 2));
  w.forget();
  w.want(proto::KillTask{.task = TaskId("t1")});
  EXPECT_TRUE(w.story().empty());
}

TEST(Kill, OfATaskThatNobodyKnowsIsAnsweredByTheMaster) {
  DriverWorld w;
  w.subscribe();
  w.want(proto::KillTask{.task = TaskId("ghost")});
  EXPECT_EQ(w.sent<proto::KillTask>().size(), 1u);
  w.hear_update(status_of("ghost", TaskState::kLost, 5, UpdateSource::kMaster));
  EXPECT_EQ(w.states_told(), Story{"ghost lost"});
  w.reconnect();
  EXPECT_TRUE(w.sent<proto::KillTask>().empty());
}

TEST(Messages, GoToExecutorsOnlyInASession) {
  DriverWorld w;
  const proto::FrameworkMessage message{
      .agent = AgentId("a1"), .executor = ExecutorId("e1"), .data = "ping"};
  w.want(message);
  w.subscribe();
  EXPECT_TRUE(w.sent<proto::FrameworkMessage>().empty());
  w.want(message);
  EXPECT_EQ(w.sent<proto::FrameworkMessage>(), std::vector<proto::FrameworkMessage>{message});
  proto::FrameworkMessage large = message;
  large.data = std::string(kPayloadBytesMax + 1, 'x');
  w.want(large);
  EXPECT_TRUE(w.sent<proto::FrameworkMessage>().empty());
  w.hear(message);
  EXPECT_EQ(w.told<proto::FrameworkMessage>().size(), 1u);
}

TEST(KnownTasks, RemembersABoundedNumberOfEndedOnes) {
  KnownTasks tasks(3);
  for (int i = 0; i < 5; ++i) {
    EXPECT_TRUE(tasks.hear(status_of("t" + std::to_string(i), TaskState::kFinished, 1)).is_news);
    EXPECT_TRUE(tasks.violations().empty());
  }
  EXPECT_FALSE(tasks.has_ended(TaskId("t1")));
  for (const char* recent : {"t2", "t3", "t4"}) {
    EXPECT_TRUE(tasks.has_ended(TaskId(recent)));
    EXPECT_FALSE(tasks.hear(status_of(recent, TaskState::kFinished, 1)).is_news);
  }
}

TEST(KnownTasks, AnIdTriedAgainAndAgainDoesNotGrowTheRing) {
  KnownTasks tasks(3);
  for (int i = 0; i < 50; ++i) {
    tasks.launch(TaskId("t"), AgentId("a"), AskName(), 1, 1);
    EXPECT_TRUE(tasks
                    .hear(status_of("t", TaskState::kRefused, static_cast<uint64_t>(i) + 1,
                                    UpdateSource::kMaster))
                    .has_ended);
    EXPECT_TRUE(tasks.violations().empty());
    EXPECT_TRUE(tasks.has_ended(TaskId("t")));
  }
}

TEST(KnownTasks, ARefusedLaunchOfAnIdThatRunsGivesTheRunningTaskBack) {
  KnownTasks tasks(3);
  tasks.launch(TaskId("t"), AgentId("a"), AskName(), 1, 1);
  EXPECT_TRUE(tasks.hear(status_of("t", TaskState::kRefused, 8, UpdateSource::kMaster)).has_ended);
  EXPECT_TRUE(tasks.hear(status_of("t", TaskState::kRunning, 0, UpdateSource::kMaster)).is_news);
  EXPECT_TRUE(tasks.is_live(TaskId("t")));
  EXPECT_FALSE(tasks.hear(status_of("t", TaskState::kRefused, 8, UpdateSource::kMaster)).is_news);
  EXPECT_TRUE(tasks.hear(status_of("t", TaskState::kFinished, 2)).has_ended);
  EXPECT_FALSE(tasks.may_launch(TaskId("t")));
}

}  // namespace
}  // namespace proffer::sdk::updates_test
