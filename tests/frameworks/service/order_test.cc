// Several apps in one file, which are applied all or none, and apps that wait for others.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/frameworks/service/service_scenario.h"

namespace proffer::service::order_test {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::testing::StartsWith;

AppSpec app_after(const std::string& name, std::vector<std::string> after) {
  AppSpec spec = ServiceScenario::app(2, name);
  spec.after = std::move(after);
  return spec;
}

TEST(Files, CreateAllTheirAppsByOneDecision) {
  ServiceScenario s;
  s.agent("a1", 9);
  s.hold_store(true);
  EXPECT_EQ(s.apply_all({ServiceScenario::app(2, "web"), ServiceScenario::app(1, "api")}),
            "none yet");
  EXPECT_EQ(s.row("web").app, "");
  s.hold_store(false);
  EXPECT_EQ(s.answer(1), "web: created; api: created");
  s.settle();
  EXPECT_EQ(s.row("web").ready, 2);
  EXPECT_EQ(s.row("api").ready, 1);
  AppSpec better = ServiceScenario::app(1, "api");
  better.command = "serve better";
  EXPECT_EQ(s.apply_all({ServiceScenario::app(2, "web"), better, ServiceScenario::app(1, "new")}),
            "web: unchanged; api: updated to version 2; new: created");
}

TEST(Files, WithOneAppThatIsRefusedChangeNothing) {
  ServiceScenario s(true, true);
  s.agent("a1", 9);
  const Caller ada{.user = "ada"};
  const Caller bob{.user = "bob"};
  s.apply(ServiceScenario::app(1, "api"), ada);
  const Entries before = s.core().snapshot();
  EXPECT_THAT(s.apply_all({ServiceScenario::app(1), ServiceScenario::app(2, "api")}, bob),
              StartsWith("error: app 'api' (line 11): user 'bob' may not change app 'api'"));
  EXPECT_THAT(s.apply_all({ServiceScenario::app(9'000), ServiceScenario::app(9'000, "more")}, ada),
              HasSubstr("all apps together would have 18001 instances; at most 10000"));
  EXPECT_THAT(s.apply_all({ServiceScenario::app(1), app_after("next", {"nobody"})}, ada),
              HasSubstr("app 'next' (line 11): after: there is no app 'nobody'"));
  EXPECT_EQ(s.core().snapshot(), before);
  EXPECT_EQ(s.store(), before);
}

TEST(Files, ThatCannotBeWrittenDownChangeNothing) {
  ServiceScenario s;
  s.agent("a1", 9);
  s.refuse_writes(ErrorCode::kResourceExhausted);
  EXPECT_THAT(s.apply_all({ServiceScenario::app(1), ServiceScenario::app(1, "api")}),
              HasSubstr("cannot store the app"));
  EXPECT_TRUE(s.core().status().empty());
  EXPECT_TRUE(s.store().empty());
}

TEST(Files, OfAHundredAppsAreOneWrite) {
  ServiceScenario s;
  std::vector<AppSpec> specs;
  for (size_t i = 0; i < kAppsPerFileMax; ++i) {
    specs.push_back(ServiceScenario::app(0, text("app", i)));
    specs.back().command = std::string(1'500, 'x');
  }
  EXPECT_THAT(s.apply_all(specs), StartsWith("app0: created; app1: created"));
  for (AppSpec& spec : specs) spec.command += 'y';
  EXPECT_THAT(s.apply_all(specs), StartsWith("app0: updated to version 2; app1: updated to"));
  EXPECT_THAT(s.core().snapshot(), SizeIs(2 * kAppsPerFileMax));
  EXPECT_EQ(s.store(), s.core().snapshot());
}

// The last ready version of each app is stored with the new one, so large versions count twice.
TEST(Files, OfMoreThanOneWriteMayHaveAreRefused) {
  ServiceScenario s;
  s.agent("a1", 9);
  std::vector<AppSpec> specs;
  for (size_t i = 0; i < 6; ++i) {
    specs.push_back(ServiceScenario::app(1, text("app", i)));
    specs.back().command = std::string(60'000, 'x');
  }
  EXPECT_THAT(s.apply_all(specs), StartsWith("app0: created"));
  s.advance(seconds(10));
  for (AppSpec& spec : specs) spec.command += 'y';
  EXPECT_THAT(s.apply_all(specs), HasSubstr("the 6 apps and their versions have 72"));
  EXPECT_EQ(s.row("app0").version, 1u);
  specs.resize(2);
  EXPECT_EQ(s.apply_all(specs), "app0: updated to version 2; app1: updated to version 2");
}

TEST(After, NothingIsLaunchedUntilTheAppsThatAreNamedAreReady) {
  ServiceScenario s;
  s.agent("a1", 9);
  s.says_ready(true);
  s.apply_all({app_after("web", {"db", "queue"}), ServiceScenario::app(2, "db"),
               ServiceScenario::app(1, "queue")});
  s.advance(minutes(30));
  EXPECT_THAT(s.tasks_of("web"), SizeIs(0));
  EXPECT_EQ(s.row("web").state, "waiting");
  EXPECT_EQ(s.row("web").why, "waits for db (0 of 2 ready), queue (0 of 1 ready)");
  EXPECT_EQ(s.row("web").failed, "");  // its progress deadline has not started

  const auto db = s.tasks_of("db");
  s.ready(db[0], true);
  s.ready(s.tasks_of("queue").at(0), true);
  s.advance(seconds(10));
  EXPECT_THAT(s.tasks_of("web"), SizeIs(0));
  EXPECT_EQ(s.row("web").why, "waits for db (1 of 2 ready)");
  s.ready(db[1], true);
  s.advance(seconds(10));
  EXPECT_THAT(s.tasks_of("web"), SizeIs(2));
  EXPECT_EQ(s.row("web").state, "starting");
}

TEST(After, NothingStopsAnAppThatHasBegun) {
  ServiceScenario s;
  s.agent("a1", 9);
  s.apply_all({app_after("web", {"db"}), ServiceScenario::app(1, "db")});
  s.advance(seconds(10));
  EXPECT_EQ(s.row("web").ready, 2);
  s.stop("db");
  s.advance(minutes(1));
  EXPECT_EQ(s.row("db").app, "");
  // Neither a replacement nor an app under a restarted scheduler waits again.
  s.crash(s.tasks_of("web").at(0));
  s.start();
  s.advance(minutes(1));
  EXPECT_EQ(s.row("web").ready, 2);
}

TEST(After, AppsBeginOneAfterTheOtherThoughTheSchedulerIsKilled) {
  ServiceScenario s;
  s.agent("a1", 9);
  s.says_ready(true);
  s.apply_all({app_after("c", {"b"}), app_after("b", {"a"}), ServiceScenario::app(1, "a")});
  s.advance(seconds(10));
  for (const char* name : {"a", "b", "c"}) {
    s.start();
    s.advance(seconds(10));
    EXPECT_EQ(s.row(name).state, "starting") << name;
    for (const std::string& task : s.tasks_of(name)) s.ready(task, true);
    s.advance(seconds(10));
  }
  EXPECT_EQ(s.row("c").ready, 2);
}

TEST(After, AnAppThatIsUpdatedOrHasNoInstancesIsNotReady) {
  ServiceScenario s;
  s.agent("a1", 9);
  s.says_ready(true);
  AppSpec db = ServiceScenario::app(1, "db");
  db.update = {.max_unavailable = 0, .max_surge = 1, .progress_deadline = {}};
  s.apply(db);
  s.settle();
  s.ready(s.tasks_of("db").at(0), true);
  s.advance(seconds(10));
  db.command = "serve better";
  s.apply_all({db, app_after("web", {"db"})});
  s.advance(minutes(1));
  EXPECT_EQ(s.row("db").ready, 1);
  EXPECT_EQ(s.row("web").why, "waits for db (updating)");
  s.scale("db", 0);
  s.advance(minutes(1));
  EXPECT_EQ(s.row("web").why, "waits for db (it has no instances)");
  s.stop("db");
  s.advance(minutes(1));
  EXPECT_EQ(s.row("web").why, "waits for db (there is no such app)");
  // An app starts when it has no more dependencies.
  EXPECT_EQ(s.apply(app_after("web", {})), "changed in its dependencies (after)");
  s.advance(seconds(10));
  EXPECT_THAT(s.tasks_of("web"), SizeIs(2));
}

TEST(After, AnAppThatIsStartedAgainWaitsAgain) {
  ServiceScenario s;
  s.agent("a1", 9);
  s.apply_all({app_after("web", {"db"}), ServiceScenario::app(1, "db")});
  s.advance(seconds(10));
  s.obey_kills(false);
  s.stop("web");
  s.settle();
  s.crash(s.tasks_of("db").at(0));
  EXPECT_EQ(s.apply(app_after("web", {"db"})), "started again");
  s.obey_kills(true);
  s.tick();
  EXPECT_EQ(s.row("web").state, "waiting");
  s.advance(minutes(1));
  EXPECT_EQ(s.row("web").ready, 2);
}

TEST(After, AppsThatWouldWaitForEachOtherAreRefused) {
  ServiceScenario s;
  EXPECT_EQ(
      s.apply_all({app_after("a", {"c"}), ServiceScenario::app(1, "b"), app_after("c", {"b"})}),
      "a: created; b: created; c: created");
  EXPECT_EQ(s.apply(app_after("b", {"a"})),
            "error: after: apps wait for each other: b after a after c after b");
  EXPECT_THAT(s.apply_all({app_after("x", {"y"}), app_after("y", {"z"}), app_after("z", {"y"})}),
              HasSubstr("(line 1): after: apps wait for each other: y after z after y"));
  EXPECT_EQ(s.core().status().size(), 3u);
}

TEST(After, ThePlanOfAFileSaysForWhichAppsOneWaits) {
  ServiceScenario s;
  const auto plans = s.core().preview(
      Apply{.specs = {ServiceScenario::app(1, "db"), app_after("web", {"db"})}}, s.now(), {});
  ASSERT_TRUE(plans) << plans.error().message();
  ASSERT_THAT(*plans, SizeIs(2));
  EXPECT_THAT((*plans)[0].steps, ::testing::ElementsAre("launch 1 instance"));
  EXPECT_THAT((*plans)[1].steps, ::testing::ElementsAre("wait until all instances of db are ready",
                                                        "launch 2 instances"));
  EXPECT_TRUE(s.core().status().empty());
}

}  // namespace
}  // namespace proffer::service::order_test
