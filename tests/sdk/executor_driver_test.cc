// An executor's session with its agent, which the test plays.

#include "sdk/core/executor_driver.h"

#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "common/prng.h"
#include "proto/channel.h"

namespace proffer::sdk::executor_driver_test {
namespace {

using proto::TaskState;

class Scenario {
 public:
  Scenario() {
    options.framework = FrameworkId("batch-1-1");
    options.executor = ExecutorId("e1");
    options.token = Secret("0123456789abcdef0123456789abcdef");
  }

  void step(const ExecutorDriverEvent& event) {
    ExecutorDriverOutbox out;
    driver.handle(event, now, out);
    for (const Violation& violation : driver.violations()) ADD_FAILURE() << violation.what;
    for (ExecutorDriverAction& action : out.actions) actions.push_back(std::move(action));
  }
  void connect() {
    agent = proto::Channel();
    step(AgentConnected{});
  }
  void from_agent(proto::Message message) {
    step(AgentFrame{agent.stamp(LeaderEpoch(1), std::move(message))});
  }
  void welcome() { from_agent(proto::ExecutorWelcome{SessionEpoch(1), seconds(5), seconds(30)}); }
  void open() {
    connect();
    welcome();
    actions.clear();
  }
  // In an executor that several tasks share.
  void run(const std::string& task) {
    from_agent(proto::RunTask{
        options.framework, {.id = TaskId(task), .executor_id = options.executor}, {}});
  }
  void run_own(const std::string& task) {
    from_agent(proto::RunTask{options.framework, {.id = TaskId(task)}, {}});
  }
  void tell(const std::string& task, TaskState state) {
    step(TellUpdate{{.task = TaskId(task), .state = state}});
  }
  void acknowledge(const std::string& task, uint64_t sequence) {
    from_agent(proto::Acknowledge{
        .framework = options.framework, .task = TaskId(task), .sequence = sequence});
  }
  void pass(Duration duration) {
    const Time until = now + duration;
    while (driver.next_deadline() && *driver.next_deadline() <= until) {
      now = std::max(now, *driver.next_deadline());
      step(ExecutorTick{});
    }
    now = until;
  }
  template <class T>
  std::vector<T> take() {
    std::vector<T> found;
    std::erase_if(actions, [&](ExecutorDriverAction& action) {
      auto* one = std::get_if<T>(&action);
      if (one != nullptr) found.push_back(std::move(*one));
      return one != nullptr;
    });
    return found;
  }
  template <class T>
  std::vector<T> sent() {
    std::vector<T> found;
    std::erase_if(actions, [&](ExecutorDriverAction& action) {
      auto* send = std::get_if<SendToAgent>(&action);
      auto* message = send == nullptr ? nullptr : std::get_if<T>(&*send->envelope.message);
      if (message != nullptr) found.push_back(std::move(*message));
      return message != nullptr;
    });
    return found;
  }
  std::vector<std::string> updates() {
    std::vector<std::string> lines;
    for (const proto::ExecutorUpdate& update : sent<proto::ExecutorUpdate>()) {
      lines.push_back(update.status.task.str() + " " + std::to_string(update.status.sequence) +
                      " " + std::string(to_text(update.status.state)));
    }
    return lines;
  }

  ExecutorDriverOptions options;
  ExecutorDriver driver{make_options()};
  Time now = Time::from_nanos(1'000'000'000);
  proto::Channel agent;
  std::vector<ExecutorDriverAction> actions;

 private:
  static ExecutorDriverOptions make_options() {
    return {.framework = FrameworkId("batch-1-1"),
            .executor = ExecutorId("e1"),
            .token = Secret("0123456789abcdef0123456789abcdef")};
  }
};

using Lines = std::vector<std::string>;

TEST(ExecutorDriver, SaysHelloWithItsTokenOnEachConnection) {
  Scenario s;
  s.connect();
  const auto hellos = s.sent<proto::ExecutorHello>();
  ASSERT_EQ(hellos.size(), 1u);
  EXPECT_EQ(hellos[0].token, s.options.token);
  s.step(AgentDisconnected{});
  s.connect();
  EXPECT_EQ(s.sent<proto::ExecutorHello>().size(), 1u);
}

TEST(ExecutorDriver, SaysTheRunOfItsStartUntilItHasATask) {
  ExecutorDriverOptions options{.framework = FrameworkId("batch-1-1"),
                                .executor = ExecutorId("e1"),
                                .token = Secret("0123456789abcdef0123456789abcdef"),
                                .run = 7};
  ExecutorDriver driver(options);
  ExecutorDriverOutbox out;
  driver.handle(AgentConnected{}, Time(), out);
  const auto& sent = std::get<SendToAgent>(out.actions.at(0));
  EXPECT_EQ(std::get<proto::ExecutorHello>(*sent.envelope.message).run, 7u);
}

TEST(ExecutorDriver, StartsATaskOnceHoweverOftenItIsSent) {
  Scenario s;
  s.open();
  s.run("t1");
  s.run("t1");
  EXPECT_EQ(s.take<StartTask>().size(), 1u);
}

TEST(ExecutorDriver, KeepsUpdatesUntilAcknowledgedAndSendsThemAgain) {
  Scenario s;
  s.open();
  s.run("t1");
  s.tell("t1", TaskState::kRunning);
  EXPECT_EQ(s.updates(), (Lines{"t1 1 running"}));
  s.step(AgentDisconnected{});
  s.tell("t1", TaskState::kFinished);
  EXPECT_TRUE(s.updates().empty());
  s.connect();
  EXPECT_TRUE(s.updates().empty());
  s.welcome();
  EXPECT_EQ(s.updates(), (Lines{"t1 1 running", "t1 2 finished"}));
  s.acknowledge("t1", 1);
  s.connect();
  s.welcome();
  EXPECT_EQ(s.updates(), (Lines{"t1 2 finished"}));
  s.acknowledge("t1", 2);
  s.connect();
  s.welcome();
  EXPECT_TRUE(s.updates().empty());
}

TEST(ExecutorDriver, ATaskOfAnEndedNameCanRunAgain) {
  Scenario s;
  s.open();
  s.run("t1");
  s.tell("t1", TaskState::kFinished);
  s.acknowledge("t1", 1);
  s.take<StartTask>();
  s.run("t1");
  EXPECT_EQ(s.take<StartTask>().size(), 1u);
}

// Its agent's checkpoint was damaged, and the end was lost with it.
TEST(ExecutorDriver, ItsOwnTaskThatHasEndedIsNotStartedAgainButToldAgain) {
  Scenario s;
  s.open();
  s.run_own("t1");
  EXPECT_EQ(s.take<StartTask>().size(), 1u);
  s.tell("t1", TaskState::kRunning);
  s.tell("t1", TaskState::kFinished);
  s.acknowledge("t1", 2);
  s.sent<proto::ExecutorUpdate>();

  s.open();
  s.run_own("t1");
  EXPECT_TRUE(s.take<StartTask>().empty());
  const auto told = s.sent<proto::ExecutorUpdate>();
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].status.state, TaskState::kFinished);
  EXPECT_EQ(told[0].status.sequence, 2u);
}

TEST(ExecutorDriver, SaysNothingAfterTheEndAndNothingOfUnknownTasks) {
  Scenario s;
  s.open();
  s.run("t1");
  s.tell("t1", TaskState::kFinished);
  s.tell("t1", TaskState::kFailed);
  s.tell("nobody", TaskState::kRunning);
  EXPECT_EQ(s.updates(), (Lines{"t1 1 finished"}));
}

TEST(ExecutorDriver, UpdatesThatNobodyAcknowledgesAreBounded) {
  Scenario s;
  s.open();
  s.run("t1");
  for (int i = 0; i < 1'000; ++i) s.tell("t1", TaskState::kRunning);
  s.tell("t1", TaskState::kFinished);
  EXPECT_EQ(s.updates().size(), kUpdatesPerTaskMax);
}

TEST(ExecutorDriver, OfManyUpdatesThatWaitTheNewestIsToldWhenThereIsRoom) {
  Scenario s;
  s.open();
  s.run("t1");
  for (int i = 0; i < 1'000; ++i) {
    s.step(TellUpdate{{.task = TaskId("t1"), .state = TaskState::kRunning, .healthy = i % 2 == 1}});
  }
  const size_t told = s.updates().size();
  EXPECT_LT(told, kUpdatesPerTaskMax);
  s.acknowledge("t1", 3);
  const auto newest = s.sent<proto::ExecutorUpdate>();
  ASSERT_EQ(newest.size(), 1u);
  EXPECT_EQ(newest[0].status.sequence, told + 1);
  EXPECT_EQ(newest[0].status.healthy, true);
  s.acknowledge("t1", told + 1);
  EXPECT_TRUE(s.updates().empty());
}

TEST(ExecutorDriver, PassesKillsOfTasksThatRun) {
  Scenario s;
  s.open();
  s.run("t1");
  s.from_agent(proto::KillTask{s.options.framework, TaskId("t1"), seconds(3)});
  const auto ends = s.take<EndTask>();
  ASSERT_EQ(ends.size(), 1u);
  EXPECT_EQ(ends[0].grace, seconds(3));
  s.tell("t1", TaskState::kKilled);
  s.from_agent(proto::KillTask{s.options.framework, TaskId("t1"), {}});
  EXPECT_TRUE(s.take<EndTask>().empty());
}

TEST(ExecutorDriver, FinishesWhenEverythingIsAcknowledged) {
  Scenario s;
  s.open();
  s.run("t1");
  s.tell("t1", TaskState::kFinished);
  s.step(FinishWhenAcknowledged{});
  EXPECT_TRUE(s.take<Finished>().empty());
  s.acknowledge("t1", 1);
  EXPECT_EQ(s.take<Finished>().size(), 1u);
  EXPECT_FALSE(s.driver.next_deadline());
}

TEST(ExecutorDriver, BeatsWhenIdleAndBeginsAnewWhenTheAgentIsSilent) {
  Scenario s;
  s.open();
  s.pass(seconds(29));
  EXPECT_EQ(s.sent<proto::Heartbeat>().size(), 5u);
  EXPECT_TRUE(s.take<ResetAgent>().empty());
  s.pass(seconds(1));
  EXPECT_EQ(s.take<ResetAgent>().size(), 1u);
}

TEST(ExecutorDriver, AGapEndsTheConnection) {
  Scenario s;
  s.open();
  s.agent.stamp(LeaderEpoch(1), proto::Heartbeat{});  // this frame is lost
  s.run("t1");
  EXPECT_EQ(s.take<ResetAgent>().size(), 1u);
  EXPECT_TRUE(s.take<StartTask>().empty());
}

TEST(ExecutorDriver, ShutdownEndsAllTasksOnce) {
  Scenario s;
  s.open();
  s.run("t1");
  s.from_agent(proto::ExecutorShutdown{});
  s.from_agent(proto::ExecutorShutdown{});
  const auto ends = s.take<EndAll>();
  ASSERT_EQ(ends.size(), 1u);
  EXPECT_FALSE(ends[0].agent_away);
}

TEST(ExecutorDriver, EndsWhenTheAgentStaysAwayAlsoWhatWasNeverAcknowledged) {
  Scenario s;
  s.open();
  s.run("t1");
  s.tell("t1", TaskState::kRunning);
  s.step(AgentDisconnected{});
  s.pass(kExecutorWaitsForAgent - seconds(1));
  EXPECT_TRUE(s.take<EndAll>().empty());
  s.pass(seconds(1));
  const auto ends = s.take<EndAll>();
  ASSERT_EQ(ends.size(), 1u);
  EXPECT_TRUE(ends[0].agent_away);
  s.tell("t1", TaskState::kKilled);
  s.step(FinishWhenAcknowledged{});
  EXPECT_EQ(s.take<Finished>().size(), 1u);
}

TEST(ExecutorDriver, AnAgentThatComesBackInTimeStopsTheClock) {
  Scenario s;
  s.open();
  s.step(AgentDisconnected{});
  s.pass(minutes(9));
  s.open();
  s.step(AgentDisconnected{});
  s.pass(minutes(9));
  EXPECT_TRUE(s.take<EndAll>().empty());
}

TEST(ExecutorDriver, AnAgentThatIsBackWhileEverythingEndsHearsHowItEnded) {
  Scenario s;
  s.open();
  s.run("t1");
  s.step(AgentDisconnected{});
  s.pass(minutes(10));
  EXPECT_TRUE(s.take<EndAll>().at(0).agent_away);
  s.connect();
  s.welcome();
  s.tell("t1", TaskState::kKilled);
  s.step(FinishWhenAcknowledged{});
  EXPECT_TRUE(s.take<Finished>().empty());
  s.acknowledge("t1", 1);
  EXPECT_EQ(s.take<Finished>().size(), 1u);
}

TEST(ExecutorDriver, AnAgentThatWasNeverReachedIsNotWaitedForLonger) {
  Scenario s;
  EXPECT_EQ(s.driver.next_deadline(), Time());
  s.step(ExecutorTick{});
  s.pass(kExecutorWaitsForAgent);
  EXPECT_EQ(s.take<EndAll>().size(), 1u);
}

TEST(ExecutorDriver, AnAgentThatRefusesItForGoodEndsIt) {
  Scenario s;
  s.connect();
  s.from_agent(proto::ErrorMessage{.message = "not known", .ends_session = true, .retry = false});
  EXPECT_TRUE(s.take<EndAll>().at(0).agent_away);
}

TEST(ExecutorDriver, KeepsItsInvariantsInAStorm) {
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Prng chance(seed);
    Scenario s;
    for (int i = 0; i < 300; ++i) {
      const std::string task = "t" + std::to_string(chance.below(4));
      switch (chance.below(9)) {
        case 0:
          s.open();
          break;
        case 1:
          s.step(AgentDisconnected{});
          break;
        case 2:
        case 3:
          s.run(task);
          break;
        case 4:
          s.tell(task, TaskState::kRunning);
          break;
        case 5:
          s.tell(task, TaskState::kFinished);
          break;
        case 6:
          s.acknowledge(task, chance.below(6));
          break;
        case 7:
          s.from_agent(proto::KillTask{s.options.framework, TaskId(task), {}});
          break;
        case 8:
          s.pass(milliseconds(static_cast<int64_t>(chance.below(20'000))));
          break;
      }
    }
  }
}

TEST(ExecutorDriver, OneThatBecameAnotherExecutorSaysHelloAsThat) {
  Scenario s;
  s.open();
  s.run("t1");
  s.step(TellUpdate{{.task = TaskId("t1"), .state = TaskState::kFinished}, true});
  s.acknowledge("t1", 1);
  proto::RunTask next{.framework = s.options.framework, .spec = {.id = TaskId("t2")}};
  next.becomes = {ExecutorId("e2"), "/sandboxes/e2"};
  s.from_agent(next);
  s.take<StartTask>();
  s.sent<proto::ExecutorHello>();
  s.step(AgentDisconnected{});
  s.connect();
  const std::vector<proto::ExecutorHello> hellos = s.sent<proto::ExecutorHello>();
  ASSERT_EQ(hellos.size(), 1u);
  EXPECT_EQ(hellos[0].executor, ExecutorId("e2"));
  EXPECT_EQ(hellos[0].token, s.options.token);
}

// --- repeated launches of an agent that lost records -------------------------------------------

proto::RunTask next_task(const Scenario& s, const std::string& task, uint64_t run) {
  proto::RunTask next{.framework = s.options.framework, .spec = {.id = TaskId(task)}, .run = run};
  next.becomes = {ExecutorId(task), "/sandboxes/" + task};
  return next;
}
// The executor's own task begins and ends, and the agent gets both updates.
void begins_and_ends(Scenario& s, const std::string& task, uint64_t run) {
  s.from_agent(next_task(s, task, run));
  EXPECT_EQ(s.take<StartTask>().size(), 1u) << task;
  s.step(TellUpdate{{.task = TaskId(task), .state = TaskState::kFinished}, true});
  s.acknowledge(task, 1);
}

TEST(ExecutorDriver, ItsHelloNamesTheRunAndWhatLivesAndHasEndedInIt) {
  Scenario s;
  s.open();
  begins_and_ends(s, "t1", 1);
  begins_and_ends(s, "t2", 5);
  s.from_agent(next_task(s, "t3", 9));
  s.tell("t3", TaskState::kRunning);
  s.sent<proto::ExecutorHello>();
  s.step(AgentDisconnected{});
  s.connect();
  const std::vector<proto::ExecutorHello> hellos = s.sent<proto::ExecutorHello>();
  ASSERT_EQ(hellos.size(), 1u);
  EXPECT_EQ(hellos[0].run, 9u);
  EXPECT_TRUE(hellos[0].tells_runs);
  ASSERT_EQ(hellos[0].runs.size(), 3u);
  EXPECT_EQ(hellos[0].runs[0].task, TaskId("t3"));
  EXPECT_FALSE(hellos[0].runs[0].ended);
  EXPECT_EQ(hellos[0].runs[0].acknowledged, 0u);
  EXPECT_EQ(hellos[0].runs[1].task, TaskId("t2"));
  EXPECT_EQ(hellos[0].runs[2].task, TaskId("t1"));
  EXPECT_EQ(hellos[0].runs[2].run, 1u);
  EXPECT_TRUE(hellos[0].runs[2].ended);
  ASSERT_TRUE(hellos[0].runs[2].status);
  EXPECT_EQ(hellos[0].runs[2].status->state, TaskState::kFinished);
}

TEST(ExecutorDriver, ATaskThatHasEndedIsToldAgainAndNotRunAgain) {
  Scenario s;
  s.open();
  begins_and_ends(s, "t1", 1);
  begins_and_ends(s, "t2", 5);
  s.from_agent(next_task(s, "t3", 9));
  s.take<StartTask>();
  s.sent<proto::ExecutorUpdate>();
  s.from_agent(next_task(s, "t1", 1));
  EXPECT_TRUE(s.take<StartTask>().empty());
  const std::vector<proto::ExecutorUpdate> told = s.sent<proto::ExecutorUpdate>();
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].status.task, TaskId("t1"));
  EXPECT_EQ(told[0].status.state, TaskState::kFinished);
  EXPECT_EQ(told[0].status.sequence, 1u);
  // A task that the executor does not know either belongs to a finished run.
  s.from_agent(next_task(s, "t0", 3));
  EXPECT_TRUE(s.take<StartTask>().empty());
  EXPECT_EQ(s.sent<proto::ExecutorUpdate>().at(0).status.state, TaskState::kFailed);
  s.acknowledge("t1", 1);
  // The same id may be launched again.
  s.from_agent(next_task(s, "t1", 12));
  EXPECT_EQ(s.take<StartTask>().size(), 1u);
}

TEST(ExecutorDriver, OfASharedExecutorALaunchIsKnownByItsTime) {
  Scenario s;
  s.open();
  proto::RunTask task{.framework = s.options.framework, .spec = {.id = TaskId("t1")}, .run = 4};
  task.spec.executor_id = ExecutorId("shared");
  task.assignment.launched_at = Time::from_nanos(7);
  s.from_agent(task);
  EXPECT_EQ(s.take<StartTask>().size(), 1u);
  s.tell("t1", TaskState::kFinished);
  s.acknowledge("t1", 1);
  s.from_agent(task);
  EXPECT_TRUE(s.take<StartTask>().empty());
  s.acknowledge("t1", 1);
  task.assignment.launched_at = Time::from_nanos(8);
  s.from_agent(task);
  EXPECT_EQ(s.take<StartTask>().size(), 1u);
}

TEST(ExecutorDriver, ThatItTakesAnotherTaskIsSaidWithTheEndAndSaidAgainWithIt) {
  Scenario s;
  s.open();
  s.run("t1");
  s.step(TellUpdate{{.task = TaskId("t1"), .state = TaskState::kRunning}, true});
  s.step(TellUpdate{{.task = TaskId("t1"), .state = TaskState::kFinished}, true});
  for (int session = 0; session < 2; ++session) {
    const std::vector<proto::ExecutorUpdate> told = s.sent<proto::ExecutorUpdate>();
    ASSERT_EQ(told.size(), 2u);
    EXPECT_FALSE(told[0].takes_another);
    EXPECT_TRUE(told[1].takes_another);
    s.step(AgentDisconnected{});
    s.connect();
    s.welcome();
  }
}

}  // namespace
}  // namespace proffer::sdk::executor_driver_test
