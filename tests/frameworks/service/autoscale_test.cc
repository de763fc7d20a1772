// The number of instances that an app's load requires: tables for the windows, and stories of apps.

#include "frameworks/service/core/autoscale.h"

#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/prng.h"
#include "common/text.h"
#include "tests/frameworks/service/service_scenario.h"

namespace proffer::service::autoscale_test {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

ScalePolicy policy() {
  return {.min = 1,
          .max = 10,
          .source = LoadSource::kCpu,
          .target = 500,
          .up_after = seconds(30),
          .down_after = minutes(5)};
}

// Reports the same figure for all instances every five seconds.
struct Reports {
  explicit Reports(const ScalePolicy& scale, int64_t begin) : policy(scale), instances(begin) {}
  // Returns the last recommendation. The app follows it.
  std::string run(Duration duration, int64_t figure) {
    std::string why;
    for (const Time end = now + duration; now < end; now = now + seconds(5)) {
      const ScaleVerdict verdict =
          history.take(policy, instances,
                       {.ready = instances, .measured = instances, .sum = figure * instances}, now);
      if (verdict.instances != instances) ++changes;
      instances = verdict.instances;
      why = verdict.why;
    }
    return why;
  }
  const ScalePolicy policy;
  ScaleHistory history;
  int64_t instances = 0;
  int64_t changes = 0;
  Time now = Time() + seconds(100);
};

TEST(Autoscale, GrowsToWhatTheMeanNeedsOnceThatHasHeld) {
  Reports r(policy(), 2);
  EXPECT_EQ(r.run(seconds(30), 1'000),
            "stays at 2: cpu 100%, target 50%; 4 instances would suffice, if that holds for 30s");
  EXPECT_EQ(r.instances, 2);
  EXPECT_EQ(r.run(seconds(5), 1'000), "goes from 2 to 4: cpu 100%, target 50%");
  EXPECT_EQ(r.instances, 4);
}

TEST(Autoscale, APeakShorterThanTheWindowChangesNothing) {
  Reports r(policy(), 2);
  r.run(minutes(10), 500);
  for (int i = 0; i < 20; ++i) {
    r.run(seconds(25), 1'000);
    r.run(seconds(5), 500);
  }
  EXPECT_EQ(r.changes, 0);
}

TEST(Autoscale, ShrinksToTheMostThatTheWindowNeeded) {
  Reports r(policy(), 8);
  r.run(minutes(4), 250);
  r.run(seconds(5), 375);
  r.run(seconds(50), 100);
  EXPECT_EQ(r.instances, 8);
  EXPECT_EQ(r.run(seconds(10), 100), "goes from 8 to 6: cpu 10%, target 50%");
}

TEST(Autoscale, StaysWithinItsBoundsAndSaysSo) {
  Reports up(policy(), 9);
  up.run(minutes(1), 5'000);
  EXPECT_EQ(up.instances, 10);
  EXPECT_EQ(up.run(seconds(5), 5'000), "stays at 10: cpu 500%, target 50%, the maximum");
  Reports down(policy(), 2);
  down.run(minutes(6), 0);
  EXPECT_EQ(down.instances, 1);
  EXPECT_EQ(down.run(seconds(5), 0), "stays at 1: cpu 0%, target 50%, the minimum");
  Reports out(policy(), 20);
  EXPECT_EQ(out.run(seconds(5), 500), "goes from 20 to 10, to be within 1 to 10");
}

TEST(Autoscale, ATenthAroundTheTargetIsNear) {
  for (const int64_t figure : {450, 500, 550}) {
    Reports r(policy(), 7);
    r.run(minutes(10), figure);
    EXPECT_EQ(r.changes, 0) << figure;
  }
}

TEST(Autoscale, AGapInTheReportsBeginsTheWindowsAnew) {
  Reports r(policy(), 2);
  r.run(seconds(30), 1'000);
  r.now = r.now + seconds(31);
  r.run(seconds(30), 1'000);
  EXPECT_EQ(r.instances, 2);
  r.run(seconds(5), 1'000);
  EXPECT_EQ(r.instances, 4);
}

TEST(Autoscale, WithoutAFigureNothingChanges) {
  ScaleHistory history;
  const ScaleVerdict verdict = history.take(policy(), 3, {.ready = 2}, Time() + seconds(9));
  EXPECT_EQ(verdict.instances, 3);
  EXPECT_EQ(verdict.why, "stays at 3: no measured cpu from its 2 ready instances");
}

// The mean of the measured instances stands for all instances.
TEST(Autoscale, InstancesWithoutAFigureCountAsTheOthers) {
  ScalePolicy scale = policy();
  scale.up_after = Duration();
  ScaleHistory history;
  EXPECT_EQ(history.take(scale, 4, {.ready = 4, .measured = 2, .sum = 1'600}, Time() + seconds(9))
                .instances,
            7);
}

TEST(Autoscale, NumbersOfHttpAreShownAsTheyAre) {
  ScalePolicy scale = policy();
  scale.source = LoadSource::kHttp;
  scale.target = 12'500;
  Reports r(scale, 2);
  EXPECT_THAT(r.run(seconds(5), 13'000), HasSubstr("http 13, target 12.5"));
}

// Laws for all reports: the number stays within the bounds, never moves against the load, and
// memory is bounded.
TEST(Autoscale, KeepsItsLawsUnderRandomReports) {
  for (uint64_t seed = 1; seed <= 200; ++seed) {
    SCOPED_TRACE(text("seed ", seed));
    Prng prng(seed);
    ScalePolicy scale = policy();
    scale.min = prng.between(1, 5);
    scale.max = scale.min + prng.between(0, 50);
    scale.target = prng.between(1, 1'000);
    scale.up_after = seconds(prng.between(0, 100));
    scale.down_after = seconds(prng.between(0, 1'000));
    ScaleHistory history;
    int64_t instances = prng.between(0, 60);
    Time now = Time() + seconds(50);
    for (int i = 0; i < 500; ++i) {
      now = now + milliseconds(prng.between(1'000, 40'000));
      const int64_t ready = prng.between(0, std::max<int64_t>(instances, 0));
      const int64_t measured = prng.between(0, ready);
      const int64_t figure = prng.chance(1, 9) ? kFigureMax : prng.between(0, 2'000);
      const ScaleVerdict verdict = history.take(
          scale, instances, {.ready = ready, .measured = measured, .sum = measured * figure}, now);
      ASSERT_GE(verdict.instances, scale.min);
      ASSERT_LE(verdict.instances, scale.max);
      ASSERT_FALSE(verdict.why.empty());
      ASSERT_LE(history.size(), 1'002u);
      instances = verdict.instances;
    }
  }
}

// --- apps ----------------------------------------------------------------------------------------

struct Scaled : ServiceScenario {
  explicit Scaled(const ScalePolicy& scale = policy()) {
    agent("a1", 30);
    spec = app(2);
    spec.scale = scale;
    EXPECT_EQ(apply(spec), "created");
    advance(seconds(5));
    EXPECT_EQ(row().ready, 2);
  }
  // Returns the last answer to reports in which each instance has this figure.
  std::string load(Duration duration, int64_t figure) {
    for (const Time end = now() + duration; now() < end; advance(seconds(5))) {
      Figures figures{.relay = ++reports_, .app = "web"};
      for (const std::string& id : tasks_of("web")) figures.of[TaskId(id)] = figure;
      handle(figures);
      settle();
    }
    return answer(reports_);
  }
  AppSpec spec;
  uint64_t reports_ = 5'000'000;
};

TEST(Scaling, AnAppFollowsItsLoadAndSaysWhy) {
  Scaled s;
  s.load(seconds(40), 1'000);
  EXPECT_THAT(s.tasks_of("web"), SizeIs(4));
  EXPECT_EQ(s.row().instances, 4);
  EXPECT_EQ(s.row().version, 1u);
  EXPECT_THAT(s.load(seconds(5), 500), HasSubstr("stays at 4: cpu 50%, target 50%"));
  EXPECT_EQ(s.row().scale->said, "stays at 4: cpu 50%, target 50%");
  s.load(minutes(6), 100);
  EXPECT_EQ(s.row().ready, 1);
}

TEST(Scaling, IsKeptOverTheSchedulersEndAndOverTheFile) {
  Scaled s;
  s.load(seconds(40), 1'000);
  s.start();
  s.advance(seconds(5));
  EXPECT_EQ(s.row().ready, 4);
  EXPECT_EQ(s.row().scale->said, "");
  // The file gives the first number of instances.
  s.spec.command = "serve better";
  EXPECT_EQ(s.apply(s.spec), "updated to version 2");
  s.advance(minutes(2));
  EXPECT_EQ(s.row().ready, 4);
  s.spec.scale->max = 3;
  EXPECT_EQ(s.apply(s.spec), "scaled from 4 to 3 instances");
  s.advance(seconds(5));
  EXPECT_EQ(s.row().ready, 3);
  s.spec.scale->up_after = seconds(1);
  EXPECT_EQ(s.apply(s.spec), "changed in its scale settings");
}

TEST(Scaling, ADryRunOnlySaysIt) {
  ScalePolicy scale = policy();
  scale.is_dry_run = true;
  Scaled s(scale);
  EXPECT_THAT(s.load(minutes(1), 1'000), HasSubstr("would go from 2 to 4: cpu 100%, target 50%"));
  EXPECT_EQ(s.row().instances, 2);
}

TEST(Scaling, WaitsWhileAnUpdateIsUnderWay) {
  Scaled s;
  s.start_tasks(false);
  s.spec.command = "serve better";
  s.apply(s.spec);
  EXPECT_THAT(s.load(minutes(2), 1'000), HasSubstr("until its other changes are done"));
  EXPECT_EQ(s.row().instances, 2);
  EXPECT_EQ(s.row().scale->said, "stays at 2 until its other changes are done");
}

// The decision uses the state at the time of the figures, and waits until other changes are
// written.
TEST(Scaling, WhatPeopleAskedForMeanwhileCounts) {
  const std::pair<std::function<Change(AppSpec)>, int64_t> rows[] = {
      {[](AppSpec) {
         return Scale{"web", 3};
       },
       3},
      {[](AppSpec spec) {
         spec.command = "serve better";
         return Apply{{spec}};
       },
       2},
      {[](AppSpec spec) {
         spec.scale->is_dry_run = true;
         return Apply{{spec}};
       },
       2},
  };
  for (const auto& [change, instances] : rows) {
    Scaled s;
    s.load(seconds(30), 1'000);
    s.hold_store(true);
    s.request(change(s.spec));
    EXPECT_THAT(s.load(seconds(5), 1'000), HasSubstr("goes from 2 to 4"));
    s.hold_store(false);
    s.advance(minutes(1));
    EXPECT_EQ(s.row().instances, instances);
    EXPECT_EQ(s.row().ready, instances);
  }
}

TEST(Scaling, OldFiguresAreForgotten) {
  Scaled s;
  s.load(seconds(5), 500);
  EXPECT_NE(s.row().scale->said, "");
  s.advance(minutes(1));
  EXPECT_EQ(s.row().scale->said, "");
  EXPECT_EQ(s.row().ready, 2);
}

TEST(Scaling, PeopleScaleWithinTheBounds) {
  Scaled s;
  EXPECT_EQ(s.scale("web", 5), "scaled from 2 to 5 instances");
  EXPECT_THAT(s.scale("web", 11), HasSubstr("is scaled by its load, from 1 to 10 instances"));
}

TEST(Scaling, FiguresOfStrangersAndOfOtherAppsAreRefused) {
  Scaled s;
  s.apply(ServiceScenario::app(1, "api"));
  const std::pair<std::string, const char*> rows[] = {{"api", "is not scaled by load"},
                                                      {"none", "there is no app"}};
  for (const auto& [app, why] : rows) {
    s.handle(Figures{.relay = ++s.reports_, .app = app});
    EXPECT_THAT(s.answer(s.reports_), HasSubstr(why));
  }
  ServiceScenario users(true, true);
  AppSpec spec = ServiceScenario::app(1);
  spec.scale = policy();
  users.apply(spec, {.user = "ada"});
  users.handle(Figures{.relay = 7'000'000, .app = "web", .by = {.user = "bob"}});
  EXPECT_THAT(users.answer(7'000'000), HasSubstr("may not change app"));
}

}  // namespace
}  // namespace proffer::service::autoscale_test
