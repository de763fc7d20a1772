// Stories of apps: the faults that they survive, and how updates may affect them.

#include "frameworks/service/core/service_core.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/frameworks/service/service_scenario.h"

namespace proffer::service::service_core_test {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;
using State = proto::TaskState;
using Reason = proto::TaskReason;

// Three ready instances on three agents.
struct Web : ServiceScenario {
  explicit Web(AppSpec spec = app(3), bool has_store = true) : ServiceScenario(has_store) {
    for (const char* name : {"a1", "a2", "a3"}) agent(name, 2);
    EXPECT_EQ(apply(spec), "created");
    advance(seconds(5));
    EXPECT_EQ(row().ready, spec.instances);
  }
};

TEST(Service, RunsAsManyAsAreWanted) {
  Web s;
  EXPECT_THAT(s.tasks_of("web"), SizeIs(3));
  EXPECT_EQ(s.row().state, "running");
  EXPECT_EQ(s.row().why, "");
  const proto::TaskSpec& spec = s.tasks().begin()->second.spec;
  EXPECT_EQ(spec.command, "serve");
  EXPECT_EQ(spec.ask, AskName("web.1"));
}

TEST(Service, TellsThePortsOfItsInstances) {
  Web s(ServiceScenario::with_health(ServiceScenario::app(1)));
  const auto page = s.core().status_of("web", "");
  ASSERT_TRUE(page);
  EXPECT_EQ(page->instances.at(0).ports.at("http"), 31'000);
  s.start();  // ports are reported only once, so they are stored
  s.advance(seconds(5));
  EXPECT_EQ(s.core().status_of("web", "")->instances.at(0).ports.at("http"), 31'000);
  EXPECT_EQ(s.row().ready, 1);
}

TEST(Service, WithoutAStoreItWritesNothing) {
  Web s(ServiceScenario::app(3), false);
  s.crash(s.tasks_of("web").front());
  s.advance(seconds(2));
  EXPECT_EQ(s.row().ready, 3);
  EXPECT_TRUE(s.store().empty());
}

// --- users -------------------------------------------------------------------------------------

TEST(Service, RunsAppsAsTheUsersThatCreatedThem) {
  ServiceScenario s(true, true);
  const Caller ada{.user = "ada"};
  const Caller bob{.user = "bob"};
  const Caller root{.user = "root", .is_operator = true};
  s.agent("a1", 6);
  EXPECT_EQ(s.apply(ServiceScenario::app(1), ada), "created");
  EXPECT_EQ(s.apply(ServiceScenario::app(1, "other"), bob), "created");
  s.advance(seconds(5));
  const auto user_of = [&](const std::string& app) {
    return s.tasks().at(s.tasks_of(app).back()).spec.user;
  };
  EXPECT_EQ(user_of("web"), "ada");
  EXPECT_EQ(user_of("other"), "bob");

  const std::string refused = "user 'bob' may not change app 'web' of user 'ada'";
  EXPECT_THAT(s.apply(ServiceScenario::app(2), bob), HasSubstr(refused));
  EXPECT_THAT(s.request(Scale{"web", 2}, bob), HasSubstr(refused));
  EXPECT_THAT(s.request(Stop{"web"}, bob), HasSubstr(refused));
  EXPECT_EQ(s.row().instances, 1);

  // An operator that changes it does not become its owner, and a restart keeps the owner.
  EXPECT_THAT(s.request(Scale{"web", 2}, root), HasSubstr("scaled"));
  s.start();
  AppSpec changed = ServiceScenario::app(2);
  changed.command = "serve better";
  EXPECT_EQ(s.apply(changed, root), "updated to version 2");
  s.advance(seconds(60));
  ASSERT_THAT(s.tasks_of("web", 2), SizeIs(2));
  for (const std::string& id : s.tasks_of("web", 2)) EXPECT_EQ(s.tasks().at(id).spec.user, "ada");
  EXPECT_EQ(s.row().owner, "ada");
  EXPECT_THAT(s.request(Stop{"web"}, ada), HasSubstr("stopping"));
}

// Apps from before the scheduler served users run as its own user; only operators change them.
TEST(Service, AppsFromBeforeItServedUsersAreTheOperators) {
  AppSpec spec = ServiceScenario::app(1);
  Service core({.serves_users = true}, {{app_key("web"), encode(AppRecord{.spec = spec})}});
  ServiceOutbox out;
  core.handle(sdk::Notification(proto::Subscribed{.framework = FrameworkId("f")}), Time(), out);
  core.handle(Request{1, Stop{"web"}, {.user = "ada"}}, Time(), out);
  ASSERT_EQ(out.answers.size(), 1u);
  EXPECT_EQ(out.answers.front().result.error().message(),
            "user 'ada' may not change app 'web' of the scheduler's own user");
}

// --- readiness ---------------------------------------------------------------------------------

// Two instances that listen, with executors that check readiness.
struct Listening : ServiceScenario {
  explicit Listening(int64_t instances = 2) {
    says_ready(true);
    for (const char* name : {"a1", "a2", "a3"}) agent(name, 2);
    EXPECT_EQ(apply(listening(instances)), "created");
    advance(seconds(60));
  }
  static AppSpec listening(int64_t instances) {
    AppSpec spec = app(instances);
    spec.ports = {"http"};
    return spec;
  }
  void all_ready(uint64_t version = 0) {
    for (const std::string& id : tasks_of("web", version)) ready(id, true);
    advance(seconds(60));
  }
};

TEST(Ready, IsWhatItsExecutorSaysIsReady) {
  Listening s;
  EXPECT_EQ(s.row().ready, 0);
  EXPECT_EQ(s.row().why, "instance 0 is running but not ready yet");
  const std::string id = s.tasks_of("web").front();
  s.ready(id, false, "does not listen on port http (31000)");
  s.settle();
  EXPECT_EQ(s.row().why,
            "instance 0 is running but not ready yet: it does not listen on port http (31000)");
  EXPECT_EQ(s.core().status_of("web", "")->instances.at(0).why,
            "does not listen on port http (31000)");
  s.ready(id, true);
  s.settle();
  EXPECT_EQ(s.row().ready, 1);
  EXPECT_EQ(s.core().status_of("web", "")->instances.at(0).why, "");
  EXPECT_TRUE(std::any_of(s.traced().begin(), s.traced().end(), [](const std::string& line) {
    return line.find("instance not ready") != std::string::npos &&
           line.find("does not listen on port http (31000)") != std::string::npos;
  }));
}

TEST(Ready, OfAnAgentThatDoesNotLookIsWhatRuns) {
  Web s(Listening::listening(2));
  EXPECT_EQ(s.row().ready, 2);
}

TEST(Ready, AppsSayOnlyWithoutAHealthCheckWhenTheyAre) {
  const auto readiness = [](const AppSpec& spec) {
    return make_task(spec, {.app = "web", .unique = "1"}).readiness;
  };
  AppSpec spec = ServiceScenario::app(1);
  EXPECT_EQ(readiness(spec), (proto::Readiness{.after = kReadyAfter}));
  spec.ready = proto::Readiness{.after = seconds(9)};
  EXPECT_EQ(readiness(spec), spec.ready);
  EXPECT_EQ(readiness(Listening::listening(1)), (proto::Readiness{.ports = {"http"}}));
  EXPECT_EQ(readiness(ServiceScenario::with_health(ServiceScenario::app(1))), std::nullopt);
}

TEST(Ready, AnUpdateWaitsForOneThatNeverListensAndTakesNoMore) {
  Listening s;
  s.all_ready();
  ASSERT_EQ(s.row().ready, 2);
  AppSpec worse = Listening::listening(2);
  worse.command = "serve nothing";
  worse.update.rolls_back = false;
  EXPECT_EQ(s.apply(worse), "updated to version 2");
  s.advance(minutes(10));
  ASSERT_THAT(s.tasks_of("web", 2), SizeIs(1));
  EXPECT_EQ(s.row().ready, 1);
  s.ready(s.tasks_of("web", 2).front(), false, "does not listen on port http (31000)");
  s.settle();
  EXPECT_THAT(s.row().why, HasSubstr("the update waits: "));
  EXPECT_THAT(s.row().why, HasSubstr("does not listen on port http (31000)"));
  // The next instance follows as soon as this one is reported as ready.
  s.ready(s.tasks_of("web", 2).front(), true);
  s.settle();
  EXPECT_THAT(s.tasks_of("web", 2), SizeIs(2));
}

TEST(Ready, IsKnownToTheNextSchedulerAlthoughNobodyTellsItTwice) {
  Listening s;
  s.ready(s.tasks_of("web").front(), true);
  s.start();
  s.advance(seconds(60));
  EXPECT_EQ(s.row().ready, 1);
}

// --- ends --------------------------------------------------------------------------------------

TEST(Service, WaitsLongerAfterEachFailureAndForgivesWhatRanForAWhile) {
  Web s(ServiceScenario::app(1));
  for (const int64_t wait : {1, 2, 4, 8, 16, 32, 60, 60}) {
    s.crash(s.tasks_of("web").at(0));
    s.advance(seconds(wait) - milliseconds(1));
    EXPECT_THAT(s.tasks_of("web"), SizeIs(0)) << wait;
    s.advance(milliseconds(1));
    ASSERT_THAT(s.tasks_of("web"), SizeIs(1)) << wait;
  }
  s.advance(kForgivenAfter);
  s.crash(s.tasks_of("web").at(0));
  s.advance(seconds(1));
  EXPECT_THAT(s.tasks_of("web"), SizeIs(1));
}

TEST(Service, StartsAgainWhatExitsWithZeroToo) {
  Web s;
  s.end(s.tasks_of("web").front(), State::kFinished, Reason::kCommandExited, "exit code 0");
  s.advance(seconds(1));
  EXPECT_EQ(s.row().ready, 3);
}

TEST(Service, ReplacesAtOnceWhatALostAgentTook) {
  Web s;
  s.gone("a1");
  s.settle();
  EXPECT_EQ(s.row().ready, 3);
  EXPECT_THAT(s.tasks_on("a1"), SizeIs(0));
}

TEST(Service, ReplacesAtOnceWhatAnOperatorKilled) {
  Web s;
  s.end(s.tasks_of("web").front(), State::kKilled, Reason::kKilledByOperator);
  s.settle();
  EXPECT_EQ(s.row().ready, 3);
}

TEST(Service, KillsTheSurplusOneWhenAnUnreachableInstanceReturns) {
  Web s;
  const std::string old = s.tasks_on("a1").at(0);
  s.unreachable("a1");
  s.settle();
  EXPECT_EQ(s.row().ready, 3);
  EXPECT_THAT(s.tasks_of("web"), SizeIs(4));  // one of them may still run

  s.obey_kills(false);
  s.returns("a1");
  s.settle();
  int killed = 0;
  for (const auto& [id, task] : s.tasks()) killed += task.kill_asked;
  EXPECT_EQ(killed, 1);
  s.obey_kills(true);
  s.settle();
  EXPECT_THAT(s.tasks_of("web"), SizeIs(3));
  EXPECT_EQ(s.row().ready, 3);
}

// A machine is lost with all its tasks and returns; then the same happens to the other one.
TEST(Service, ALossIsNoFailureThoughTheAgentTellsTheEndAfterwards) {
  Web s(ServiceScenario::app(1));
  for (int round = 0; round < 5; ++round) {
    const std::string lost = s.tasks_of("web").at(0);
    const std::string agent = s.tasks().at(lost).agent.str();
    s.unreachable(agent);
    s.settle();  // no time passes
    ASSERT_EQ(s.row().ready, 1) << "round " << round << ": " << s.row().why;
    s.end(lost, State::kLost, Reason::kExecutorEnded,
          "the executor ended while the agent was not running");
    s.returns(agent);
    s.settle();
    EXPECT_EQ(s.row().ready, 1);
  }
}

TEST(Service, KeepsAnUnreachableInstanceThatReturnsBeforeItsReplacement) {
  Web s(ServiceScenario::app(1));
  const std::string old = s.tasks_of("web").at(0);
  s.start_tasks(false);
  s.unreachable(s.tasks().at(old).agent.str());
  s.settle();
  ASSERT_THAT(s.tasks_of("web"), SizeIs(2));
  s.returns(s.tasks().at(old).agent.str());
  s.settle();
  EXPECT_EQ(s.tasks_of("web"), std::vector<std::string>{old});
}

// --- health ------------------------------------------------------------------------------------

TEST(Health, ReadyIsOnlyWhatIsToldHealthy) {
  ServiceScenario s;
  s.agent("a1", 3);
  s.auto_healthy(false);
  s.apply(ServiceScenario::with_health(ServiceScenario::app(1)));
  s.settle();
  EXPECT_EQ(s.row().ready, 0);
  EXPECT_THAT(s.row().why, HasSubstr("not healthy yet"));
  s.healthy(s.tasks_of("web").at(0), true);
  s.settle();
  EXPECT_EQ(s.row().ready, 1);
}

TEST(Health, UnhealthyOnesAreReplacedOneAfterTheOther) {
  Web s(ServiceScenario::with_health(ServiceScenario::app(3)));
  s.auto_healthy(false);
  const std::vector<std::string> before = s.tasks_of("web");
  for (const std::string& id : before) s.healthy(id, false);
  s.settle();
  // One was killed and waits for its back-off; the others may recover.
  EXPECT_THAT(s.tasks_of("web"), SizeIs(2));
  s.advance(seconds(1));
  EXPECT_THAT(s.tasks_of("web"), SizeIs(3));  // launched again, without a result yet
  s.advance(minutes(5));
  EXPECT_THAT(s.tasks_of("web"), SizeIs(3));

  for (int round = 0; round < 20; ++round) {
    for (const std::string& id : s.tasks_of("web")) {
      if (std::find(before.begin(), before.end(), id) == before.end()) s.healthy(id, true);
    }
    s.advance(seconds(2));
  }
  EXPECT_EQ(s.row().ready, 3);
}

// --- updates -----------------------------------------------------------------------------------

TEST(Update, RollsOneAfterTheOther) {
  Web s;
  AppSpec next = ServiceScenario::app(3);
  next.command = "serve better";
  EXPECT_EQ(s.apply(next), "updated to version 2");
  s.tick();
  EXPECT_EQ(s.row().state, "updating");
  int64_t least = 3;
  for (int i = 0; i < 100; ++i) {
    s.advance(milliseconds(100));
    least = std::min(least, s.row().ready);
  }
  EXPECT_GE(least, 2);
  EXPECT_THAT(s.tasks_of("web", 2), SizeIs(3));
  EXPECT_THAT(s.tasks_of("web"), SizeIs(3));
  EXPECT_EQ(s.row().state, "running");
}

TEST(Update, TheSameFileAgainChangesNothing) {
  Web s;
  const std::vector<std::string> before = s.tasks_of("web");
  EXPECT_EQ(s.apply(ServiceScenario::app(3)), "unchanged");
  AppSpec faster = ServiceScenario::app(3);
  faster.update.max_unavailable = 2;
  EXPECT_EQ(s.apply(faster), "changed in its update settings");
  s.advance(minutes(1));
  EXPECT_EQ(s.tasks_of("web"), before);
}

TEST(Update, AVersionThatCrashesStopsAtTheFirstAndSaysWhy) {
  Web s;
  AppSpec bad = ServiceScenario::app(3);
  bad.command = "exit 1";
  bad.update.rolls_back = false;
  s.apply(bad);
  for (int i = 0; i < 100; ++i) {
    s.advance(milliseconds(500));
    for (const std::string& id : s.tasks_of("web", 2)) s.crash(id);
    ASSERT_EQ(s.row().ready, 2) << "round " << i;
  }
  EXPECT_THAT(s.tasks_of("web", 1), SizeIs(2));
  s.advance(milliseconds(1));
  EXPECT_EQ(s.row().state, "updating");
  EXPECT_THAT(s.row().why, HasSubstr("the update waits"));
  EXPECT_THAT(s.row().why, HasSubstr("exit code 1"));

  // Apply the old file again to go back.
  s.apply(ServiceScenario::app(3));
  s.advance(seconds(30));
  EXPECT_EQ(s.row().ready, 3);
  EXPECT_EQ(s.row().outdated, 0);
}

TEST(Update, AVersionThatIsNeverHealthyStopsAtTheFirst) {
  Web s(ServiceScenario::with_health(ServiceScenario::app(3)));
  s.auto_healthy(false);
  AppSpec bad = ServiceScenario::with_health(ServiceScenario::app(3));
  bad.command = "serve nothing";
  bad.update.rolls_back = false;
  s.apply(bad);
  for (int i = 0; i < 100; ++i) {
    s.advance(seconds(1));
    for (const std::string& id : s.tasks_of("web", 2)) s.healthy(id, false);
    ASSERT_EQ(s.row().ready, 2);
  }
  EXPECT_THAT(s.tasks_of("web", 1), SizeIs(2));
}

TEST(Update, TakesAsManyAtOnceAsMayBeUnavailable) {
  AppSpec spec = ServiceScenario::app(5);
  spec.update.max_unavailable = 2;
  Web s(spec);
  s.obey_kills(false);
  spec.command = "serve better";
  s.apply(spec);
  s.advance(seconds(5));
  int killed = 0;
  for (const auto& [id, task] : s.tasks()) killed += task.kill_asked;
  EXPECT_EQ(killed, 2);
}

TEST(Update, WhatWasNotYetReadyTurnsBackAtOnce) {
  ServiceScenario s;
  s.agent("a1", 5);
  s.start_tasks(false);
  s.apply(ServiceScenario::app(3));
  s.settle();
  AppSpec next = ServiceScenario::app(3);
  next.command = "serve better";
  s.apply(next);
  s.advance(seconds(5));
  EXPECT_THAT(s.tasks_of("web", 2), SizeIs(3));
  EXPECT_THAT(s.tasks_of("web", 1), SizeIs(0));
}

TEST(Update, ScaledInTheMiddleItEndsAtTheNewSize) {
  Web s;
  AppSpec next = ServiceScenario::app(3);
  next.command = "serve better";
  s.apply(next);
  s.advance(milliseconds(500));
  EXPECT_EQ(s.scale("web", 6), "scaled from 3 to 6 instances");
  s.advance(seconds(60));
  EXPECT_THAT(s.tasks_of("web", 2), SizeIs(6));
  s.apply(ServiceScenario::app(3));
  s.advance(milliseconds(2500));
  s.scale("web", 1);
  s.advance(seconds(60));
  EXPECT_THAT(s.tasks_of("web", 1), SizeIs(1));
  EXPECT_THAT(s.tasks_of("web"), SizeIs(1));
}

TEST(Update, StoppedInTheMiddleNothingIsLeft) {
  Web s;
  AppSpec next = ServiceScenario::app(3);
  next.command = "serve better";
  s.apply(next);
  s.advance(milliseconds(500));
  s.stop("web");
  s.settle();
  EXPECT_THAT(s.tasks(), SizeIs(0));
  EXPECT_TRUE(s.core().status().empty());
  EXPECT_TRUE(s.store().empty());
}

// --- scale and stop ----------------------------------------------------------------------------

TEST(Scale, DownTakesWhatIsNotReadyFirstThenTheNewest) {
  Web s;
  s.advance(seconds(1));
  s.scale("web", 4);
  s.start_tasks(false);
  s.settle();
  const std::vector<std::string> all = s.tasks_of("web");
  ASSERT_THAT(all, SizeIs(4));
  EXPECT_EQ(s.row().ready, 3);
  s.scale("web", 3);
  s.settle();
  EXPECT_EQ(s.row().ready, 3);
  EXPECT_THAT(s.tasks_of("web"), SizeIs(3));
}

TEST(Scale, ToZeroKeepsTheApp) {
  Web s;
  s.scale("web", 0);
  s.settle();
  EXPECT_THAT(s.tasks(), SizeIs(0));
  EXPECT_EQ(s.row().state, "running");
  s.scale("web", 2);
  s.settle();
  EXPECT_EQ(s.row().ready, 2);
}

TEST(Scale, RefusesWhatItCannotDo) {
  Web s;
  EXPECT_THAT(s.scale("wep", 1), HasSubstr("there is no app 'wep'"));
  EXPECT_THAT(s.scale("web", 10'001), HasSubstr("from 0 to 10000"));
  s.apply(ServiceScenario::app(2, "api"));
  EXPECT_THAT(s.scale("web", 9'999), HasSubstr("would have 10001 instances; at most 10000"));
  s.obey_kills(false);
  s.stop("web");
  EXPECT_THAT(s.scale("web", 1), HasSubstr("is stopping"));
}

TEST(Stop, WaitsForTheLastInstanceAndForgetsTheApp) {
  Web s;
  s.obey_kills(false);
  EXPECT_EQ(s.stop("web"), "stopping 3 instances");
  EXPECT_EQ(s.stop("web"), "already stopping");
  s.advance(minutes(1));
  EXPECT_EQ(s.row().state, "stopping");
  EXPECT_EQ(s.row().live, 3);
  s.obey_kills(true);
  s.settle();
  EXPECT_TRUE(s.core().status().empty());
  EXPECT_TRUE(s.store().empty());
}

TEST(Stop, AskedForAgainAtItsEndTheAppStays) {
  Web s;
  s.obey_kills(false);
  s.stop("web");
  s.tick();
  s.hold_store(true);
  EXPECT_EQ(s.apply(ServiceScenario::app(3)), "none yet");
  s.obey_kills(true);
  s.settle();  // the last instance ends during this write
  s.hold_store(false);
  s.advance(seconds(5));
  EXPECT_EQ(s.row().ready, 3);
  EXPECT_EQ(s.core().snapshot(), s.store());
}

TEST(Stop, KillsAnUnreachableInstanceWhenItReturns) {
  Web s;
  s.unreachable("a1");
  s.settle();
  s.stop("web");
  s.settle();
  EXPECT_THAT(s.tasks(), SizeIs(1));
  EXPECT_EQ(s.row().state, "stopping");
  EXPECT_EQ(s.row().why,
            "1 instance has not ended yet; waiting for unreachable agents to come back or be given "
            "up: a1");
  s.returns("a1");
  s.settle();
  EXPECT_THAT(s.tasks(), SizeIs(0));
  EXPECT_TRUE(s.core().status().empty());
}

// --- restarts of the scheduler -----------------------------------------------------------------

TEST(Restart, FindsItsInstancesAndStartsNothing) {
  Web s;
  const std::vector<std::string> before = s.tasks_of("web");
  s.start();
  s.advance(minutes(1));
  EXPECT_EQ(s.tasks_of("web"), before);
  EXPECT_EQ(s.row().ready, 3);
}

TEST(Restart, BeforeTheRecordIsWrittenNothingIsLaunchedTwice) {
  ServiceScenario s;
  s.agent("a1", 5);
  s.apply(ServiceScenario::app(3));
  s.tick();
  s.hold_store(true);
  s.offer_once();
  EXPECT_THAT(s.tasks(), SizeIs(0));
  s.start();
  s.hold_store(false);
  s.advance(minutes(1));
  EXPECT_EQ(s.row().ready, 3);
  EXPECT_THAT(s.tasks(), SizeIs(3));
}

TEST(Restart, ReplacesInstancesWhoseLaunchWasLostAfterTheirRecord) {
  ServiceScenario s;
  s.agent("a1", 5);
  s.apply(ServiceScenario::app(3));
  s.tick();
  s.expire_offers();
  s.offer_once();
  s.disconnect();
  // The launches are lost before they reach the master, but their records exist.
  for (const std::string& id : s.tasks_of("web")) s.end(id, State::kLost);
  ASSERT_TRUE(s.store().count(block_key({.app = "web"})) == 1);
  s.start();
  s.advance(minutes(1));
  EXPECT_EQ(s.row().ready, 3);
  EXPECT_THAT(s.tasks(), SizeIs(3));
  EXPECT_EQ(s.store(), s.core().snapshot());
}

TEST(Restart, InTheMiddleOfAnUpdateGoesOn) {
  Web s(ServiceScenario::with_health(ServiceScenario::app(3)));
  AppSpec next = ServiceScenario::with_health(ServiceScenario::app(3));
  next.command = "serve better";
  s.obey_kills(false);
  s.apply(next);
  s.settle();
  for (int i = 0; i < 10; ++i) {
    s.obey_kills(i % 2 == 1);
    s.start();
    s.advance(milliseconds(2'100));
    EXPECT_GE(s.row().ready, 2);
  }
  s.obey_kills(true);
  s.advance(seconds(60));
  EXPECT_THAT(s.tasks_of("web", 2), SizeIs(3));
  EXPECT_EQ(s.row().ready, 3);
}

TEST(Restart, InTheMiddleOfAStopGoesOn) {
  Web s;
  s.obey_kills(false);
  s.stop("web");
  s.settle();
  s.start();
  s.obey_kills(true);
  s.advance(seconds(30));
  EXPECT_THAT(s.tasks(), SizeIs(0));
  EXPECT_TRUE(s.store().empty());
}

// Found by the simulator, seed 5051: the master drops the kill of a task whose agent is not back
// yet.
TEST(Restart, AKillThatWasNotHeardIsSaidAgainToWhomeverTellsOfTheTask) {
  Web s;
  const std::string task = s.tasks_of("web").front();
  s.obey_kills(false);
  s.scale("web", 0);
  s.settle();
  proto::TaskStatus running;
  running.task = TaskId(task);
  running.state = State::kRunning;
  ServiceOutbox out;
  s.core().handle(sdk::Notification(running), s.now(), out);
  ASSERT_THAT(out.commands, SizeIs(1));
  EXPECT_EQ(std::get<proto::KillTask>(out.commands[0]).task, running.task);
}

TEST(Stop, SaysAKillAgainThatHasNoEffect) {
  Web s(ServiceScenario::app(1));
  s.obey_kills(false);
  s.stop("web");
  s.settle();
  s.forget_kills();
  s.advance(kKillGrace + seconds(29));
  EXPECT_EQ(s.row().state, "stopping");
  s.obey_kills(true);
  s.advance(seconds(1));
  EXPECT_TRUE(s.core().status().empty());
}

TEST(Restart, ARequestIsAnsweredOnceTheStoreIsRead) {
  Web s;
  s.hold_store(true);
  s.start();
  EXPECT_EQ(s.scale("web", 1), "none yet");
  s.hold_store(false);
  EXPECT_EQ(s.answer(2), "scaled from 3 to 1 instances");
}

TEST(Snapshot, IsWhatTheStoreHoldsAndRestoresIt) {
  Web s;
  EXPECT_EQ(s.core().snapshot(), s.store());
  Service again({.has_store = true, .life = "again"}, s.store());
  EXPECT_EQ(again.snapshot(), s.store());
  EXPECT_TRUE(again.loaded());
}

// --- the store and the master ------------------------------------------------------------------

TEST(Store, AnAnswerWaitsForTheRecord) {
  ServiceScenario s;
  s.hold_store(true);
  EXPECT_EQ(s.apply(ServiceScenario::app(3)), "none yet");
  EXPECT_TRUE(s.core().status().empty());
  s.hold_store(false);
  EXPECT_EQ(s.answer(1), "created");
}

TEST(Store, WhatItRefusesIsRefused) {
  ServiceScenario s;
  s.agent("a1", 5);
  s.refuse_writes(ErrorCode::kResourceExhausted);
  EXPECT_EQ(s.apply(ServiceScenario::app(3)), "error: cannot store the app: no room");
  s.refuse_writes(std::nullopt);
  s.advance(seconds(2));
  EXPECT_EQ(s.apply(ServiceScenario::app(3)), "created");
  s.refuse_writes(ErrorCode::kResourceExhausted);
  s.advance(seconds(20));
  EXPECT_THAT(s.tasks(), SizeIs(0));
  EXPECT_THAT(s.row().why, HasSubstr("no room"));
  s.refuse_writes(std::nullopt);
  s.advance(seconds(20));
  EXPECT_EQ(s.row().ready, 3);
}

TEST(Store, WhileItIsAwayWritesWait) {
  ServiceScenario s;
  s.agent("a1", 5);
  s.refuse_writes(ErrorCode::kUnavailable);
  EXPECT_EQ(s.apply(ServiceScenario::app(3)), "none yet");
  s.advance(seconds(20));
  s.refuse_writes(std::nullopt);
  s.advance(seconds(20));
  EXPECT_EQ(s.answer(1), "created");
  EXPECT_EQ(s.row().ready, 3);
}

TEST(Master, AnOfferThatEndedBeforeItWasUsedIsNoLoss) {
  ServiceScenario s;
  s.agent("a1", 5);
  s.apply(ServiceScenario::app(3));
  s.tick();
  s.hold_store(true);
  s.offer_once();
  s.expire_offers();
  s.hold_store(false);
  EXPECT_THAT(s.tasks(), SizeIs(0));
  s.advance(seconds(5));
  EXPECT_EQ(s.row().ready, 3);
}

TEST(Master, AwayForAWhileItMissesNothing) {
  Web s;
  s.disconnect();
  s.crash(s.tasks_of("web").front());
  s.advance(seconds(10));
  s.connect();
  s.advance(seconds(10));
  EXPECT_EQ(s.row().ready, 3);
}

TEST(Master, AskThatFitsNowhereIsSaid) {
  ServiceScenario s;
  s.apply(ServiceScenario::app(3));
  s.tick();
  proto::AskReport report;
  report.rows.push_back({AskName("web.1"), false, "no agent has disk == ssd"});
  s.notify(report);
  EXPECT_THAT(s.row().why, HasSubstr("no agent has disk == ssd"));
  EXPECT_EQ(s.row().state, "starting");
}

TEST(Master, ATaskOfNoAppIsKilled) {
  Web s;
  proto::TaskStatus status;
  status.task = TaskId("old.1.0-x");
  status.state = State::kRunning;
  ServiceOutbox out;
  s.core().handle(sdk::Notification(status), s.now(), out);
  ASSERT_THAT(out.commands, SizeIs(1));
  EXPECT_EQ(std::get<proto::KillTask>(out.commands[0]).task, status.task);
}

TEST(Apps, HaveAskAndVersionsOfTheirOwn) {
  ServiceScenario s;
  s.agent("a1", 10);
  s.apply(ServiceScenario::app(2, "web"));
  s.apply(ServiceScenario::app(3, "web.api"));
  s.settle();
  EXPECT_EQ(s.row("web").ready, 2);
  EXPECT_EQ(s.row("web.api").ready, 3);
  s.stop("web");
  s.settle();
  EXPECT_EQ(s.row("web.api").ready, 3);
  EXPECT_THAT(s.tasks(), SizeIs(3));
}

}  // namespace
}  // namespace proffer::service::service_core_test
