// Versions of apps: rollbacks, failed updates, canaries, pauses and surges.

#include "frameworks/service/core/versions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/prng.h"
#include "tests/frameworks/service/service_scenario.h"

namespace proffer::service::versions_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;

AppSpec command(const std::string& command, UpdatePolicy update = {}) {
  AppSpec spec = ServiceScenario::app(3);
  spec.command = command;
  spec.update = update;
  return spec;
}

// Three instances of version 1 on agents with room for more.
struct Web : ServiceScenario {
  explicit Web(UpdatePolicy update = {}) {
    for (const char* name : {"a1", "a2", "a3"}) agent(name, 4);
    EXPECT_EQ(apply(command("serve", update)), "created");
    advance(seconds(60));
    EXPECT_EQ(row().ready, 3);
  }
  // Each instance of the version crashes as soon as it runs. At least `least` instances are ready
  // all the time.
  void crash_all_of(uint64_t version, int64_t least, Duration duration) {
    for (const Time end = now() + duration; now() < end;) {
      advance(milliseconds(200));
      for (const std::string& id : tasks_of("web", version)) crash(id);
      ASSERT_GE(row().ready, least);
    }
  }
};

// --- equal content -----------------------------------------------------------------------------

TEST(Versions, GoingBackToContentThatRunsRestartsNothing) {
  Web s;
  const std::vector<std::string> before = s.tasks_of("web", 1);
  EXPECT_EQ(s.apply(command("exit 1")), "updated to version 2");
  s.settle();
  EXPECT_EQ(s.apply(command("serve")), "rolled back to version 1");
  s.advance(seconds(60));
  std::vector<std::string> kept;
  for (const std::string& id : s.tasks_of("web", 1)) {
    if (std::count(before.begin(), before.end(), id) > 0) kept.push_back(id);
  }
  EXPECT_THAT(kept, SizeIs(2));
  EXPECT_EQ(s.row().ready, 3);
  EXPECT_EQ(s.row().version, 1U);
  // Version numbers are never used twice.
  EXPECT_EQ(s.apply(command("serve more")), "updated to version 3");
  EXPECT_EQ(s.apply(command("exit 1")), "rolled back to version 2");
}

TEST(Versions, OutliveTheScheduler) {
  Web s;
  s.apply(command("serve better"));
  s.advance(seconds(60));
  s.start();
  EXPECT_EQ(s.apply(command("serve")), "rolled back to version 1");
  s.advance(seconds(60));
  s.start();
  EXPECT_EQ(s.apply(command("serve best")), "updated to version 3");
  s.stop("web");
  s.advance(seconds(60));
  EXPECT_TRUE(s.store().empty());
}

TEST(Versions, WithoutANumberARollbackGoesToTheLastThatWasReady) {
  Web s;
  EXPECT_THAT(s.request(Rollback{"web"}), HasSubstr("has no other version"));
  s.apply(command("serve better"));
  s.advance(seconds(60));
  s.apply(command("exit 1", {.rolls_back = false}));
  s.crash_all_of(3, 2, seconds(30));
  EXPECT_EQ(s.request(Rollback{"web"}), "rolled back to version 2");
  s.advance(seconds(60));
  EXPECT_EQ(s.row().ready, 3);
  EXPECT_EQ(s.row().outdated, 0);
  EXPECT_THAT(s.request(Rollback{"web", 9}), HasSubstr("app 'web' has no version 9"));
  EXPECT_EQ(s.request(Rollback{"web", 2}), "unchanged: it already has version 2");
  EXPECT_EQ(s.request(Rollback{"web", 3}), "rolled back to version 3");
  EXPECT_THAT(s.request(Rollback{"nobody"}), HasSubstr("there is no app 'nobody'"));
}

TEST(Versions, ARollbackKeepsHowManyThereAre) {
  Web s;
  s.apply(command("serve better"));
  s.advance(seconds(60));
  s.scale("web", 5);
  s.request(Rollback{"web", 1});
  s.advance(seconds(60));
  EXPECT_THAT(s.tasks_of("web", 1), SizeIs(5));
}

// Scaling by a number that instances report needs the port where they report it.
TEST(Versions, WithoutThePortOfItsLoadAnAppIsNoLongerScaledByIt) {
  for (const bool by_itself : {false, true}) {
    Web s;
    AppSpec spec = command(by_itself ? "exit 1" : "serve better");
    spec.ports = {"http"};
    spec.scale = ScalePolicy{
        .max = 9, .source = LoadSource::kHttp, .target = 1'000, .port = "http", .path = "/load"};
    s.apply(spec);
    if (by_itself) {
      s.crash_all_of(2, 2, seconds(30));
      EXPECT_THAT(s.row().rolled_back, HasSubstr("; no longer scaled by load: version 1 has no "
                                                 "port 'http'"));
    } else {
      s.advance(seconds(60));
      EXPECT_EQ(s.request(Rollback{"web", 1}),
                "rolled back to version 1, no longer scaled by load: version 1 has no port 'http'");
    }
    s.advance(seconds(60));
    // The next scheduler can read the record.
    s.start();
    s.advance(seconds(60));
    EXPECT_EQ(s.row().ready, 3);
    EXPECT_FALSE(s.row().scale);
    if (by_itself) continue;
    // The version with the port restores scaling by load.
    EXPECT_EQ(s.request(Rollback{"web", 2}), "rolled back to version 2, scaled by load again");
    s.advance(seconds(60));
    ASSERT_TRUE(s.row().scale);
    EXPECT_EQ(s.row().scale->port, "http");
    EXPECT_EQ(s.request(Scale{"web", 9}), "scaled from 3 to 9 instances");
    EXPECT_THAT(s.request(Scale{"web", 10}), HasSubstr("from 1 to 9 instances"));
  }
}

// A file without `scale`, of a version with the port, was applied on purpose.
TEST(Versions, ARollbackDoesNotBringBackAScaleThatAFileLeftOut) {
  Web s;
  AppSpec spec = command("serve better");
  spec.ports = {"http"};
  spec.scale = ScalePolicy{
      .max = 9, .source = LoadSource::kHttp, .target = 1'000, .port = "http", .path = "/load"};
  s.apply(spec);
  s.advance(seconds(60));
  spec.command = "serve best";
  spec.scale.reset();
  s.apply(spec);
  s.advance(seconds(60));
  EXPECT_EQ(s.request(Rollback{"web", 2}), "rolled back to version 2");
  EXPECT_FALSE(s.row().scale);
}

TEST(Versions, OfBeforeAreForgottenButForTheReadyOne) {
  Web s;
  const UpdatePolicy stays{.rolls_back = false};
  for (size_t i = 0; i < 2 * kVersionsKept; ++i) {
    s.apply(command(text("exit ", i), stays));
    s.advance(seconds(1));
  }
  EXPECT_THAT(s.request(Rollback{"web", 2}), HasSubstr("has no version 2"));
  EXPECT_EQ(s.request(Rollback{"web"}), "rolled back to version 1");
}

TEST(Versions, ThatAreLargeAreForgottenButForTheReadyOne) {
  Web s;
  const auto large = [](char letter) {
    AppSpec spec = command(text("serve ", letter), {.rolls_back = false});
    spec.env["LARGE"] = std::string(kVersionBytesMax, letter);
    return spec;
  };
  s.apply(large('a'));
  s.advance(seconds(60));
  s.apply(large('b'));
  s.settle();
  s.apply(large('c'));
  s.settle();
  EXPECT_THAT(s.request(Rollback{"web", 3}), HasSubstr("has no version 3"));
  EXPECT_EQ(s.request(Rollback{"web"}), "rolled back to version 2");
}

TEST(Versions, TellByKeyHowTheyDiffer) {
  AppSpec before = command("serve");
  before.env = {{"A", "1"}, {"B", "2"}};
  AppSpec after = command("serve\n" + std::string(300, 'x') + "!");
  after.env = {{"A", "1"}, {"B", "3"}, {"C", ""}};
  after.update.canary = 1;
  EXPECT_THAT(differences(before, before), SizeIs(0));
  const std::vector<Difference> found = differences(before, after);
  ASSERT_THAT(found, SizeIs(3));
  EXPECT_EQ(found[0].key, "command");
  EXPECT_EQ(found[0].before, "serve");
  EXPECT_THAT(found[0].after, HasSubstr("serve\\n"));
  EXPECT_EQ(found[1], (Difference{"env.B", "2", "3"}));
  EXPECT_EQ(found[2], (Difference{"update.canary", "0", "1"}));
  AppSpec longer = after;
  longer.command.back() = '?';
  EXPECT_THAT(differences(after, longer).at(0).after, HasSubstr("x?"));
}

// --- failed updates ----------------------------------------------------------------------------

TEST(Rollback, OfAVersionThatCrashesComesByItselfAndSaysWhy) {
  Web s;
  s.apply(command("exit 1"));
  s.crash_all_of(2, 2, seconds(30));
  EXPECT_EQ(s.row().version, 1U);
  EXPECT_EQ(s.row().ready, 3);
  EXPECT_EQ(s.row().state, "running");
  EXPECT_EQ(s.row().rolled_back, "version 2 failed: instance 0: exit code 1, 3 times in a row");
  s.start();
  s.advance(seconds(60));
  EXPECT_THAT(s.row().rolled_back, HasSubstr("version 2 failed"));
  // The rollback is shown until the next apply.
  EXPECT_EQ(s.apply(command("serve best")), "updated to version 3");
  EXPECT_EQ(s.row().rolled_back, "");
}

TEST(Rollback, OfAVersionThatIsNeverReadyComesAtTheDeadline) {
  Web s({.progress_deadline = minutes(2)});
  s.start_tasks(false);
  s.apply(command("serve nothing", {.progress_deadline = minutes(2)}));
  s.advance(seconds(115));
  EXPECT_EQ(s.row().version, 2U);
  s.start_tasks(true);
  EXPECT_EQ(s.row().ready, 2);
  s.start_tasks(false);
  s.advance(seconds(20));
  EXPECT_EQ(s.row().version, 1U);
  EXPECT_THAT(s.row().rolled_back, HasSubstr("no further instance became ready within 2m"));
  s.start_tasks(true);
  s.advance(seconds(60));
  EXPECT_EQ(s.row().ready, 3);
}

// Each instance is ready for a while, which is not progress.
TEST(Rollback, OfAVersionThatCrashesAfterItWasReadyComesAtTheDeadline) {
  const UpdatePolicy update{.healthy_for = seconds(15), .progress_deadline = minutes(5)};
  Web s(update);
  s.apply(command("serve for a while", update));
  for (int i = 0; i < 40 && s.row().version == 2; ++i) {
    s.advance(seconds(20));
    for (const std::string& id : s.tasks_of("web", 2)) s.crash(id);
  }
  EXPECT_EQ(s.row().version, 1U);
  EXPECT_THAT(s.row().rolled_back, HasSubstr("no further instance became ready within 5m"));
}

TEST(Rollback, NamesWhatTheHealthCheckSaw) {
  ServiceScenario s;
  s.agent("a1", 8);
  s.apply(ServiceScenario::with_health(command("serve")));
  s.advance(seconds(60));
  s.auto_healthy(false);
  s.apply(ServiceScenario::with_health(command("serve nothing")));
  const std::string says = "3 health checks in a row failed: HTTP status 404";
  for (int i = 0; i < 60 && s.row().version == 2; ++i) {
    s.advance(seconds(1));
    for (const std::string& id : s.tasks_of("web", 2)) {
      s.healthy(id, false, says);
      const auto page = s.core().status_of("web", "");
      for (const auto& row : page->instances) {
        EXPECT_EQ(row.why, row.task.str() == id ? says : "");
      }
    }
    s.settle();
  }
  EXPECT_EQ(s.row().version, 1U);
  EXPECT_EQ(s.row().rolled_back,
            text("version 2 failed: instance 0: ", says, ", 3 times in a row"));
}

TEST(Rollback, OfTheFirstVersionThereIsNone) {
  ServiceScenario s;
  s.agent("a1", 4);
  s.apply(command("exit 1"));
  for (int i = 0; i < 100; ++i) {
    s.advance(seconds(1));
    for (const std::string& id : s.tasks_of("web")) s.crash(id);
  }
  s.settle();
  EXPECT_EQ(s.row().version, 1U);
  EXPECT_THAT(s.row().failed, HasSubstr("exit code 1"));
  s.advance(minutes(5));  // from now on it works
  EXPECT_EQ(s.row().ready, 3);
  EXPECT_EQ(s.row().failed, "");
}

// All instances of the first version were ready, but not as long as its update requires.
TEST(Rollback, ReturnsToAFirstVersionThatWasReadyWhenReplaced) {
  const UpdatePolicy update = {.healthy_for = minutes(10), .progress_deadline = minutes(20)};
  Web s(update);
  EXPECT_EQ(s.apply(command("exit 1", update)), "updated to version 2");
  s.crash_all_of(2, 2, seconds(30));
  s.advance(seconds(30));
  EXPECT_EQ(s.row().version, 1u);
  EXPECT_EQ(s.row().ready, 3);
  EXPECT_THAT(s.row().rolled_back, HasSubstr("version 2 failed: instance"));
}

// It is not known whether the first version works.
TEST(Rollback, DoesNotReturnToAFirstVersionThatWasNotReadyWhenReplaced) {
  ServiceScenario s;
  s.agent("a1", 4);
  s.says_ready(true);
  s.apply(command("serve"));
  s.advance(seconds(60));
  s.apply(command("exit 1"));
  for (int i = 0; i < 100; ++i) {
    s.advance(seconds(1));
    for (const std::string& id : s.tasks_of("web", 2)) s.crash(id);
  }
  EXPECT_EQ(s.row().version, 2u);
  EXPECT_THAT(s.row().failed, HasSubstr("times in a row"));
}

TEST(Rollback, IsNotDoneWhereNobodyWantsIt) {
  Web s;
  s.apply(command("exit 1", {.rolls_back = false}));
  s.crash_all_of(2, 2, minutes(30));
  EXPECT_EQ(s.row().version, 2U);
  EXPECT_THAT(s.row().failed, HasSubstr("exit code 1, 3 times in a row"));
}

TEST(Rollback, WaitsForAStoreThatTakesNothing) {
  Web s;
  s.apply(command("exit 1"));
  s.refuse_writes(ErrorCode::kResourceExhausted);
  s.crash_all_of(2, 2, seconds(30));
  EXPECT_EQ(s.row().version, 2U);
  s.refuse_writes(std::nullopt);
  s.crash_all_of(2, 2, minutes(2));
  EXPECT_EQ(s.row().version, 1U);
  EXPECT_EQ(s.row().ready, 3);
}

// The failure is detected while another version is being written.
TEST(Rollback, OfAVersionThatWasReplacedMeanwhileIsNotDone) {
  Web s;
  s.apply(command("exit 1"));
  s.settle();
  for (int failures = 0; failures < 2; ++failures) {
    for (const std::string& id : s.tasks_of("web", 2)) s.crash(id);
    s.advance(seconds(5));
  }
  ASSERT_THAT(s.tasks_of("web", 2), SizeIs(1));
  s.hold_store(true);
  s.apply(command("serve better"));
  s.crash(s.tasks_of("web", 2).front());
  s.advance(seconds(1));
  s.hold_store(false);
  s.advance(seconds(60));
  EXPECT_EQ(s.row().version, 3U);
  EXPECT_EQ(s.row().ready, 3);
  EXPECT_EQ(s.row().rolled_back, "");
}

// For any fault of a version and any rollout policy: until the rollback, no more instances are
// unavailable than the policy allows, and the cause is reported.
TEST(Rollback, OfRandomBadVersionsComesWithoutOneInstanceTooFew) {
  struct Bad {
    const char* name;
    const char* cause;
  };
  constexpr Bad kBad[] = {{"exits at once", "exit code 1, 3 times in a row"},
                          {"is never healthy", "it was unhealthy, 3 times in a row"},
                          {"never starts", "no further instance became ready within"},
                          {"is never looked at", "no further instance became ready within"},
                          {"crashes after a while", "exit code 1"}};
  Prng prng(7);
  for (int round = 0; round < 200; ++round) {
    const Bad& bad = kBad[prng.below(std::size(kBad))];
    SCOPED_TRACE(text("round ", round, ": a version that ", bad.name));
    ServiceScenario s;
    for (const char* name : {"a1", "a2", "a3"}) s.agent(name, 6);
    AppSpec spec = ServiceScenario::with_health(ServiceScenario::app(prng.between(1, 6)));
    spec.update.max_unavailable = prng.between(0, 2);
    spec.update.max_surge = prng.between(spec.update.max_unavailable == 0 ? 1 : 0, 2);
    spec.update.canary = prng.between(0, 1);
    spec.update.healthy_for = seconds(15);
    spec.update.progress_deadline = minutes(3);
    s.apply(spec);
    s.advance(minutes(2));
    ASSERT_EQ(s.row().ready, spec.instances);
    const int64_t least = std::max<int64_t>(spec.instances - spec.update.max_unavailable, 0);

    spec.command = bad.name;
    s.apply(spec);
    const std::string how = bad.name;
    s.auto_healthy(how == "exits at once" || how == "crashes after a while");
    s.start_tasks(how != "never starts");
    for (int second = 0; second < 1'200 && s.row().version == 2; ++second) {
      s.advance(seconds(1));
      for (const std::string& id : s.tasks_of("web", 2)) {
        if (s.tasks().count(id) == 0) continue;
        const bool runs = s.tasks().at(id).state == proto::TaskState::kRunning;
        if (runs && how == "exits at once") s.crash(id);
        if (runs && how == "crashes after a while" && second % 10 == 9) s.crash(id);
        if (runs && how == "is never healthy") s.healthy(id, false);
      }
      ASSERT_GE(s.row().ready, least);
    }
    EXPECT_EQ(s.row().version, 1U);
    EXPECT_THAT(s.row().rolled_back, HasSubstr(bad.cause));
    s.auto_healthy(true);
    s.start_tasks(true);
    s.settle();
    for (const std::string& id : s.tasks_of("web", 1)) s.healthy(id, true);
    s.advance(minutes(5));
    EXPECT_EQ(s.row().ready, spec.instances);
    EXPECT_EQ(s.row().outdated, 0);
    if (testing::Test::HasFailure()) return;
  }
}

// --- surges ------------------------------------------------------------------------------------

TEST(Surge, TakesNothingAwayBeforeItsReplacementIsReady) {
  const UpdatePolicy update{.max_unavailable = 0, .max_surge = 1};
  Web s(update);
  s.apply(command("serve better", update));
  for (int i = 0; i < 300; ++i) {
    s.advance(milliseconds(100));
    ASSERT_EQ(s.row().ready, 3);
    ASSERT_LE(s.tasks_of("web").size(), 4U);
  }
  EXPECT_THAT(s.tasks_of("web", 2), SizeIs(3));
  EXPECT_EQ(s.row().outdated, 0);
  EXPECT_EQ(s.row().state, "running");
}

TEST(Surge, OfABadVersionCostsNoInstanceAtAll) {
  const UpdatePolicy update{.max_unavailable = 0, .max_surge = 2};
  Web s(update);
  const std::vector<std::string> before = s.tasks_of("web");
  s.apply(command("exit 1", update));
  s.crash_all_of(2, 3, seconds(60));
  EXPECT_EQ(s.row().version, 1U);
  EXPECT_EQ(s.tasks_of("web"), before);
}

TEST(Surge, ReplacesAnUnhealthyInstanceAlthoughNoneMayBeUnavailable) {
  ServiceScenario s;
  s.agent("a1", 6);
  AppSpec spec = ServiceScenario::with_health(ServiceScenario::app(2));
  spec.update = {.max_unavailable = 0, .max_surge = 1};
  s.apply(spec);
  s.advance(seconds(60));
  s.healthy(s.tasks_of("web").front(), false);
  s.advance(seconds(60));
  EXPECT_EQ(s.row().ready, 2);
}

TEST(Update, CountsOnInstancesThatWereReadyForAWhile) {
  const UpdatePolicy update{.healthy_for = seconds(30)};
  Web s(update);
  s.apply(command("serve better", update));
  s.advance(seconds(25));
  EXPECT_THAT(s.tasks_of("web", 2), SizeIs(1));
  s.advance(seconds(10));
  EXPECT_THAT(s.tasks_of("web", 2), SizeIs(2));
  s.advance(seconds(80));
  EXPECT_THAT(s.tasks_of("web", 2), SizeIs(3));
}

// --- canaries ----------------------------------------------------------------------------------

constexpr UpdatePolicy kCanary{.canary = 1};

TEST(Canary, RunsBesideTheOthersUntilItIsPromoted) {
  Web s;
  const std::vector<std::string> before = s.tasks_of("web");
  EXPECT_EQ(s.apply(command("serve better", kCanary)), "updated to version 2");
  s.advance(minutes(60));  // it waits without a timeout
  EXPECT_EQ(s.tasks_of("web", 1), before);
  EXPECT_THAT(s.tasks_of("web", 2), SizeIs(1));
  EXPECT_EQ(s.row().state, "canary");
  EXPECT_EQ(s.row().why, "");
  s.start();
  s.advance(seconds(60));
  EXPECT_EQ(s.row().state, "canary");
  EXPECT_EQ(s.request(Resume{"web"}), "promoted version 2");
  s.advance(seconds(60));
  EXPECT_THAT(s.tasks_of("web", 2), SizeIs(3));
  EXPECT_THAT(s.tasks_of("web"), SizeIs(3));
  EXPECT_THAT(s.request(Resume{"web"}), HasSubstr("has no canary"));
}

TEST(Canary, IsPromotedByAFileThatWantsNoneToo) {
  Web s;
  s.apply(command("serve better", kCanary));
  s.advance(seconds(60));
  EXPECT_EQ(s.apply(command("serve better")), "promoted version 2");
  s.advance(seconds(60));
  EXPECT_THAT(s.tasks_of("web", 2), SizeIs(3));
}

TEST(Canary, ThatIsRolledBackLeavesTheOthersAsTheyWere) {
  Web s;
  const std::vector<std::string> before = s.tasks_of("web");
  s.apply(command("serve better", kCanary));
  s.advance(seconds(60));
  EXPECT_EQ(s.request(Rollback{"web"}), "rolled back to version 1");
  s.advance(seconds(60));
  EXPECT_EQ(s.tasks_of("web"), before);
  EXPECT_EQ(s.row().state, "running");
}

TEST(Canary, ThatCrashesIsRolledBackByItself) {
  Web s;
  const std::vector<std::string> before = s.tasks_of("web");
  s.apply(command("exit 1", kCanary));
  s.crash_all_of(2, 3, seconds(30));
  EXPECT_EQ(s.row().version, 1U);
  EXPECT_EQ(s.tasks_of("web"), before);
}

// Instances of the old version also end, and are replaced by instances of the old version.
TEST(Canary, WhatEndsMeanwhileIsReplacedByWhatItWas) {
  Web s;
  s.apply(command("serve better", kCanary));
  s.advance(seconds(60));
  s.gone("a2");
  s.advance(seconds(60));
  EXPECT_THAT(s.tasks_of("web", 1), SizeIs(3));
  EXPECT_THAT(s.tasks_of("web", 2), SizeIs(1));
  s.scale("web", 5);
  s.advance(seconds(60));
  EXPECT_THAT(s.tasks_of("web", 1), SizeIs(5));
  EXPECT_THAT(s.tasks_of("web", 2), SizeIs(1));
}

TEST(Canary, OfTheFirstVersionIsTheWholeApp) {
  ServiceScenario s;
  s.agent("a1", 4);
  s.apply(command("serve", kCanary));
  s.advance(seconds(60));
  EXPECT_EQ(s.row().state, "running");
  EXPECT_EQ(s.row().ready, 3);
}

// --- pauses ------------------------------------------------------------------------------------

TEST(Pause, StopsAnUpdateWhereItIs) {
  const UpdatePolicy update{.healthy_for = seconds(30)};
  Web s(update);
  EXPECT_THAT(s.request(Pause{"web"}), HasSubstr("is not being updated"));
  s.apply(command("serve better", update));
  s.advance(seconds(40));
  EXPECT_EQ(s.request(Pause{"web"}), "paused with 2 of 3 instances of version 2");
  s.advance(minutes(60));
  EXPECT_THAT(s.tasks_of("web", 2), SizeIs(2));
  EXPECT_EQ(s.row().state, "paused");
  // An instance that ends is replaced by one of the same version.
  s.crash(s.tasks_of("web", 1).front());
  s.crash(s.tasks_of("web", 2).front());
  s.advance(seconds(60));
  EXPECT_THAT(s.tasks_of("web", 1), SizeIs(1));
  EXPECT_THAT(s.tasks_of("web", 2), SizeIs(2));
  EXPECT_EQ(s.request(Resume{"web"}), "resumed the update to version 2");
  s.advance(minutes(3));
  EXPECT_THAT(s.tasks_of("web", 2), SizeIs(3));
  EXPECT_EQ(s.row().state, "running");
}

// Each app wants an instance of both versions.
TEST(Pause, OfMoreAppsThanThereAreAsksAsksForAsManyAsThereMayBe) {
  Entries kept;
  for (size_t i = 0; i < kAsksMax / 2 + 2; ++i) {
    const std::string name = text("app", i);
    const AppSpec before = ServiceScenario::app(2, name);
    AppSpec spec = before;
    spec.command = "serve better";
    kept[app_key(name)] = encode(AppRecord{.spec = spec,
                                           .version = 2,
                                           .last_version = 2,
                                           .ready_version = 1,
                                           .hold = Hold{.slots = 1}});
    kept[versions_key(name)] = encode(Versions{{1, {.spec = before, .was_ready = true}}});
  }
  Service core({}, kept);
  ServiceOutbox out;
  core.handle(sdk::Notification(proto::Subscribed{.framework = FrameworkId("f")}), Time(), out);
  core.handle(Tick{}, Time(), out);
  size_t asked = 0;
  for (const sdk::Command& command : out.commands) {
    const auto* declare = std::get_if<proto::DeclareAsks>(&command);
    if (declare != nullptr) asked = declare->asks.size();
  }
  EXPECT_EQ(asked, kAsksMax);
}

}  // namespace
}  // namespace proffer::service::versions_test
