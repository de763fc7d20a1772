// Resources that a guarantee takes back repeatedly are withheld from long tasks.

#include <gtest/gtest.h>

#include "tests/allocator/lending_story.h"

namespace proffer::withheld_test {
namespace {

using Story = LendingStory;

constexpr auto kOne = "cpus:1;mem:1";

// "eng" has a guarantee of six CPUs of ten, and "ops" has borrowed all of them.
void lend_all(Story& s) {
  s.agent("a1", "cpus:10;mem:10GiB");
  s.guarantee("eng", "cpus:6");
  s.wants("ops", kOne, 100);
  s.lives(minutes(1));
  ASSERT_EQ(s.runs("ops"), 10);
}

// "eng" wants its guarantee for a while, and then nothing for a while.
void use(Story& s, int64_t tasks = 6, Duration rest = seconds(40)) {
  s.wants("eng", kOne, tasks);
  s.lives(seconds(20));
  ASSERT_EQ(s.runs("eng"), tasks);
  s.finishes("eng", tasks);
  s.lives(rest);
}

TEST(Withheld, WhatIsTakenBackTwiceIsNotLentAgain) {
  Story s;
  lend_all(s);
  use(s);
  EXPECT_EQ(s.runs("ops"), 10) << "once is no reason";
  use(s);
  EXPECT_EQ(s.runs("ops"), 4);
  for (int i = 0; i < 20; ++i) {
    s.wants("eng", kOne, 6);
    s.lives({});
    EXPECT_EQ(s.runs("eng"), 6) << "it waits for nobody";
    use(s);
  }
  EXPECT_EQ(s.revokes(), 12);
}

TEST(Withheld, IsLentAgainAfterTheTimeWithoutUse) {
  Story s;
  lend_all(s);
  use(s);
  use(s, 6, seconds(55));
  EXPECT_EQ(s.runs("ops"), 4);
  s.lives(seconds(25));
  EXPECT_EQ(s.runs("ops"), 10);
}

TEST(Withheld, TimeDoublesUpToAnHour) {
  Story s;
  lend_all(s);
  use(s, 6, minutes(4));
  for (const int lasts : {1, 2, 4, 8, 16, 32}) {
    use(s, 6, minutes(lasts) - seconds(1));
    EXPECT_EQ(s.runs("ops"), 4) << lasts;
    s.lives(minutes(lasts) / 4 + seconds(2));
    EXPECT_EQ(s.runs("ops"), 10) << lasts;
    s.lives(kMinimumRuntime);
  }
  use(s, 6, minutes(59));
  EXPECT_EQ(s.runs("ops"), 4);
  s.lives(minutes(17));
  EXPECT_EQ(s.runs("ops"), 10);
}

TEST(Withheld, IsForgottenAfterAQuietHour) {
  Story s;
  lend_all(s);
  use(s);
  use(s, 6, minutes(70));
  use(s);
  EXPECT_EQ(s.runs("ops"), 10);
}

TEST(Withheld, ShortTasksMayUseIt) {
  Story s;
  lend_all(s);
  use(s);
  use(s);
  s.wants("hour", kOne, 10, {.role = "batch", .duration = hours(1)});
  s.lives({});
  EXPECT_EQ(s.runs("hour"), 0);
  s.wants("minute", kOne, 10, {.role = "batch", .duration = minutes(1)});
  s.lives({});
  EXPECT_EQ(s.runs("minute"), 6);
}

TEST(Withheld, AsksThatAGuaranteeCoversMayUseIt) {
  Story s;
  lend_all(s);
  use(s);
  use(s);
  s.guarantee("web", "cpus:2");
  s.wants("web", kOne, 10);
  s.lives({});
  EXPECT_EQ(s.runs("web"), 2);
}

TEST(Withheld, RoleThatGrowsGivesNothingBackTwice) {
  Story s;
  lend_all(s);
  for (const int64_t tasks : {2, 4, 6}) {
    s.wants("eng", kOne, tasks);
    s.lives(seconds(40));
  }
  EXPECT_EQ(s.revokes(), 6);
  s.finishes("eng", 6);
  s.lives({});
  EXPECT_EQ(s.runs("ops"), 10);
}

TEST(Withheld, IsAtMostTheUnusedGuarantee) {
  Story s;
  lend_all(s);
  use(s);
  use(s);
  s.guarantee("eng", "cpus:3");
  s.lives({});
  EXPECT_EQ(s.runs("ops"), 7);
  s.guarantee("eng", "");
  s.lives({});
  EXPECT_EQ(s.runs("ops"), 10);
}

// Use of other agents counts in the guarantee: then less is withheld.
TEST(Withheld, UseOfOtherAgentsCounts) {
  Story s;
  lend_all(s);
  use(s);
  use(s);
  s.agent("a2", "cpus:10;mem:10GiB", "disk:ssd");
  s.wants("eng", kOne, 4, {.constraint = "disk == ssd"});
  s.lives(seconds(20));
  EXPECT_EQ(s.runs_on("eng", "a2"), 4);
  EXPECT_EQ(s.runs("ops"), 14);
  EXPECT_EQ(s.revokes(), 12);
}

TEST(Withheld, ExplainSaysForWhom) {
  Story s;
  lend_all(s);
  use(s);
  use(s);
  const FrameworkExplanation found = s.allocator().explain(FrameworkId("ops"), s.now());
  ASSERT_EQ(found.asks.size(), 1u);
  ASSERT_EQ(found.asks[0].hindered.size(), 1u);
  EXPECT_EQ(found.asks[0].hindered[0].why, Hindrance::kGuarantees);
  EXPECT_EQ(found.asks[0].hindered[0].role, RoleName("eng"));
  EXPECT_EQ(s.allocator().wait_reason(FrameworkId("ops"), AskName("task"), s.now()),
            WaitReason::kGuarantees);
}

}  // namespace
}  // namespace proffer::withheld_test
