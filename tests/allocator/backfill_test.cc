// Backfill: asks with a time limit use resources kept for a claim until the claim is complete.

#include <algorithm>

#include <gtest/gtest.h>

#include "tests/allocator/scenario.h"

namespace proffer::backfill_test {
namespace {

constexpr Duration kLimit = minutes(10);

Ask limited(const std::string& shape, int64_t count, Duration max_run_time,
            Duration duration = Duration()) {
  return {.name = AskName("task"),
          .shape = parse_shape(shape).value(),
          .count = count,
          .duration = duration,
          .max_run_time = max_run_time};
}

// Three tasks of "long" run on an agent of four CPUs, and end within ten minutes. "large" needs the
// whole agent and has a claim; one CPU is kept for it.
struct Queue : AllocatorScenario {
  explicit Queue(AllocatorOptions options = {}, Duration expected = {})
      : AllocatorScenario(std::move(options)) {
    agent("a1", "cpus:4;mem:4GiB");
    framework("long").asks(limited("cpus:1;mem:1GiB", 3, kLimit, expected));
    run_until_nothing_fits();
    began = now();
    framework("large").asks(limited("cpus:4;mem:4GiB", 1, kLimit));
    decide();
    advance(kClaimAfter);
    EXPECT_EQ(framework("large").ask().claimed, AgentId("a1"));
  }
  void short_asks(Duration max_run_time, const std::string& framework_name = "short") {
    framework(framework_name).asks(limited("cpus:1;mem:1GiB", 1, max_run_time));
    decide();
  }
  // The time until the claim is complete.
  Duration left() const { return began + kLimit - now(); }
  // The longest time limit that fits into left().
  Duration fitting() const { return left() - kOfferTimeout - seconds(10); }

  Time began;
};

TEST(Backfill, UsesWhatIsKeptForAClaimThatIsNotCompleteBefore) {
  Queue s;
  s.short_asks(s.fitting());
  const std::vector<Grant> offers = s.framework("short").outstanding();
  ASSERT_EQ(offers.size(), 1u);
  EXPECT_EQ(offers[0].offer.max_run_time, s.fitting());
  EXPECT_FALSE(offers[0].offer.slices[0].revocable);
  s.framework("short").accepts_all();
  EXPECT_EQ(s.framework("short").tasks(), 1);
  EXPECT_EQ(s.framework("large").ask().claimed, AgentId("a1")) << "the claim stays";
}

TEST(Backfill, IsNotForATaskThatMayOutliveTheWaitForTheClaim) {
  Queue s;
  s.short_asks(s.fitting() + milliseconds(1));
  EXPECT_TRUE(s.framework("short").outstanding().empty());
}

TEST(Backfill, IsNotForATaskWithoutATimeLimit) {
  Queue s;
  s.short_asks(Duration());
  EXPECT_TRUE(s.framework("short").outstanding().empty());
}

TEST(Backfill, ExplainSaysWhenTheClaimWillBeComplete) {
  Queue s;
  const FrameworkExplanation why = s.allocator().explain(FrameworkId("large"), s.now());
  ASSERT_EQ(why.asks.size(), 1u);
  EXPECT_EQ(why.asks[0].claimed, AgentId("a1"));
  EXPECT_EQ(why.asks[0].claim_complete_at, s.began + kLimit);
}

TEST(Backfill, ExplainSaysWhichTimeLimitWouldLetATaskRunNow) {
  Queue s;
  for (const Duration too_long : {Duration(), s.fitting() + milliseconds(1), minutes(20)}) {
    s.short_asks(too_long);
    const FrameworkExplanation why = s.allocator().explain(FrameworkId("short"), s.now());
    ASSERT_EQ(why.asks.size(), 1u);
    const auto& remedies = why.asks[0].remedies;
    const auto found = std::find_if(remedies.begin(), remedies.end(), [](const Remedy& remedy) {
      return remedy.kind == RemedyKind::kShorterLimit;
    });
    ASSERT_NE(found, remedies.end()) << to_text(too_long);
    EXPECT_EQ(found->time_limit, s.fitting());
    EXPECT_EQ(found->agent, AgentId("a1"));
    EXPECT_EQ(found->framework, FrameworkId("large"));
    EXPECT_TRUE(found->first.empty());
  }
  s.short_asks(s.fitting());
  EXPECT_EQ(s.framework("short").outstanding().size(), 1u);
}

TEST(Backfill, ExplainSaysNothingOfATimeLimitWhereNoneWouldHelp) {
  Queue s;
  s.framework("short").asks(limited("cpus:2;mem:1GiB", 1, Duration()));  // One CPU is kept.
  s.decide();
  s.framework("other").asks(limited("cpus:1;mem:8GiB", 1, Duration()));
  s.decide();
  for (const char* name : {"short", "other", "large"}) {
    const FrameworkExplanation why = s.allocator().explain(FrameworkId(name), s.now());
    ASSERT_EQ(why.asks.size(), 1u) << name;
    for (const Remedy& remedy : why.asks[0].remedies) {
      EXPECT_NE(remedy.kind, RemedyKind::kShorterLimit) << name;
    }
  }
}

TEST(Backfill, ClaimIsServedAtTheTimeLimitOfTheTasksInItsWay) {
  Queue s;
  EXPECT_EQ(s.framework("large").ask().claim_complete_at, s.began + kLimit);
  s.short_asks(s.fitting());
  s.framework("short").accepts_all();
  EXPECT_EQ(s.framework("large").ask().claim_complete_at, s.began + kLimit);
  s.advance(s.left() - seconds(5));
  s.framework("short").ends(1);
  s.decide();
  EXPECT_TRUE(s.framework("large").outstanding().empty());
  s.framework("long").ends(3);
  s.decide();
  s.framework("large").accepts_all();
  EXPECT_EQ(s.framework("large").tasks(), 1);
  EXPECT_TRUE(s.revokes().empty());
}

// A task without a time limit may end now.
TEST(Backfill, IsNoneBesideTasksThatMayEndAtAnyTime) {
  AllocatorScenario s;
  s.agent("a1", "cpus:4;mem:4GiB");
  s.framework("some").asks("cpus:1;mem:1GiB", 3);
  s.run_until_nothing_fits();
  s.framework("large").asks("cpus:4;mem:4GiB", 1);
  s.decide();
  s.advance(kClaimAfter);
  ASSERT_EQ(s.framework("large").ask().claimed, AgentId("a1"));
  s.framework("short").asks(limited("cpus:1;mem:1GiB", 1, seconds(1)));
  s.decide();
  EXPECT_TRUE(s.framework("short").outstanding().empty());
}

TEST(Backfill, UsesTheExpectedDurationIfItIsBelowTheTimeLimit) {
  Queue s({}, minutes(5));
  EXPECT_EQ(s.framework("large").ask().claim_complete_at, s.began + minutes(5));
  s.short_asks(s.fitting());
  EXPECT_TRUE(s.framework("short").outstanding().empty());
  s.short_asks(s.fitting() - minutes(5), "shorter");
  EXPECT_EQ(s.framework("shorter").offers(), Offers{"a1 cpus:1;mem:1024"});
}

TEST(Backfill, DoesNotEndATaskForTheClaimBeforeItsTime) {
  Queue s;
  s.short_asks(s.fitting());
  s.framework("short").accepts_all();
  s.framework("long").ends(3);  // Nine minutes before their time limit.
  s.decide();
  EXPECT_TRUE(s.revokes().empty());
  s.framework("short").ends(1);
  s.decide();
  s.framework("large").accepts_all();
  EXPECT_EQ(s.framework("large").tasks(), 1);
}

TEST(Backfill, EndsATaskThatOutlivesItsTimeIfTheClaimWaitsForIt) {
  Queue s;
  s.short_asks(minutes(1));
  s.framework("short").accepts_all();
  s.framework("long").ends(3);
  s.decide();
  s.advance(minutes(1) + seconds(9));
  EXPECT_TRUE(s.revokes().empty());
  s.advance(seconds(1));
  ASSERT_EQ(s.revokes().size(), 1u);
  EXPECT_EQ(s.revokes()[0].framework, FrameworkId("short"));
  EXPECT_EQ(s.revokes()[0].reason, RevokeReason::kLent);
}

TEST(Backfill, OfferIsTakenBackWhenTheClaimIsComplete) {
  Queue s;
  s.short_asks(s.fitting());
  ASSERT_EQ(s.framework("short").outstanding().size(), 1u);
  s.framework("long").ends(3);
  s.decide();
  EXPECT_TRUE(s.framework("short").outstanding().empty());
  EXPECT_EQ(s.framework("large").offers(), Offers{"a1 cpus:4;mem:4096"});
}

TEST(Backfill, LeavesTheClaimantItsRoomBelowALimit) {
  Queue s;
  s.limit("eng", "cpus:4");
  s.framework("b").in_role("eng");
  s.framework("b").asks({.name = AskName("large"),
                         .shape = parse_shape("cpus:4;mem:4GiB").value(),
                         .count = 1,
                         .priority = 1});
  s.framework("large").asks("cpus:4;mem:4GiB", 0);
  s.decide();
  s.advance(kClaimAfter);
  ASSERT_EQ(s.framework("b").ask("large").claimed, AgentId("a1"));
  s.framework("b").asks(limited("cpus:1;mem:1GiB", 1, minutes(1)));
  s.decide();
  EXPECT_TRUE(s.framework("b").outstanding().empty());
  s.short_asks(minutes(1));
  EXPECT_EQ(s.framework("short").offers(), Offers{"a1 cpus:1;mem:1024"});
}

TEST(Backfill, IsAlsoForTheFrameworkThatHasTheClaim) {
  Queue s;
  Ask small = limited("cpus:1;mem:1GiB", 1, minutes(1));
  small.name = AskName("small");
  small.priority = -1;
  s.framework("large").asks(small);
  s.decide();
  s.framework("large").accepts_all();
  EXPECT_EQ(s.framework("large").tasks("small"), 1);
  EXPECT_EQ(s.framework("large").ask().claimed, AgentId("a1"));
}

// The gang begins when the second of two agents is free, so the first may be used until then.
TEST(Backfill, OfAGangLastsUntilItsLastAgentIsFree) {
  AllocatorScenario s;
  s.agent("a1", "cpus:2;mem:2GiB");
  s.framework("one").asks(limited("cpus:2;mem:2GiB", 1, minutes(2)));
  s.run_until_nothing_fits();
  s.agent("a2", "cpus:2;mem:2GiB");
  s.framework("two").asks(limited("cpus:2;mem:2GiB", 1, minutes(20)));
  s.run_until_nothing_fits();
  const Time began = s.now();
  Ask gang = limited("cpus:2;mem:2GiB", 2, kLimit);
  gang.gang = 2;
  s.framework("gang").asks(gang);
  s.decide();
  s.advance(kClaimAfter);
  EXPECT_EQ(s.framework("gang").ask().claim_complete_at, began + minutes(20));
  s.advance(minutes(1));
  s.framework("one").ends(1);
  s.decide();
  s.framework("short").asks(limited("cpus:2;mem:2GiB", 1, minutes(15)));
  s.decide();
  EXPECT_EQ(s.framework("short").offers(), Offers{"a1 cpus:2;mem:2048"});
}

}  // namespace
}  // namespace proffer::backfill_test
