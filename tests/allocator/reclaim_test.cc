// Lent resources are reclaimed, and then no more tasks are preempted.

#include <gtest/gtest.h>

#include "common/prng.h"
#include "tests/allocator/lending_story.h"
#include "tests/allocator/scenario.h"

namespace proffer::reclaim_test {
namespace {

using Story = LendingStory;
using Why = ReclaimOutlook::Why;

constexpr auto kOne = "cpus:1;mem:1";

// Two departments of equal weight: "eng" has a guarantee of six CPUs of ten, and has not wanted
// them.
void lend_all(Story& s) {
  s.agent("a1", "cpus:10;mem:10GiB");
  s.guarantee("eng", "cpus:6");
  s.wants("ops", kOne, 100);
  s.lives(minutes(1));
  ASSERT_EQ(s.runs("ops"), 10);
}

TEST(Reclaim, GivesAGuaranteeBackAndThenItIsQuiet) {
  Story s;
  lend_all(s);
  s.wants("eng", kOne, 100);

  s.lives(seconds(9));
  EXPECT_EQ(s.revokes("ops"), 6);
  EXPECT_EQ(s.runs("ops"), 10) << "within their grace they run on";
  s.lives(seconds(2));
  EXPECT_EQ(s.runs("eng"), 6);
  EXPECT_EQ(s.runs("ops"), 4);

  s.lives(hours(10));
  EXPECT_EQ(s.revokes(), 6) << "nothing has changed since";
  EXPECT_EQ(s.runs("eng"), 6);
}

// A service has run for long, and short tasks beside it end within the grace: the claimant waits
// for these. If they do not end, it waits no second time.
TEST(Reclaim, WaitsOnceForTasksThatEndWithinTheGrace) {
  for (const bool they_end : {true, false}) {
    AllocatorScenario s;
    s.agent("a1", "cpus:4;mem:4GiB");
    s.guarantee("eng", "cpus:1;mem:1GiB");
    s.framework("service").in_role("ops").asks("cpus:1;mem:1GiB", 1);
    s.run_until_nothing_fits();
    s.advance(seconds(40));
    s.framework("short").in_role("ops").asks({.name = AskName("task"),
                                              .shape = parse_shape("cpus:1;mem:1GiB").value(),
                                              .count = 3,
                                              .duration = seconds(5)});
    s.run_until_nothing_fits();
    ASSERT_EQ(s.framework("short").tasks(), 3);
    s.framework("eng").in_role("eng").asks("cpus:1;mem:1GiB", 1);
    s.run_until_nothing_fits();
    EXPECT_TRUE(s.revokes().empty());
    const ReclaimOutlook outlook =
        s.allocator().reclaim_outlook(FrameworkId("eng"), AskName("task"), s.now());
    EXPECT_EQ(outlook.why, Why::kUnderWay);
    EXPECT_EQ(outlook.victims, 0);
    EXPECT_EQ(outlook.until, s.now() + kRevokeGrace);
    const std::optional<RoleExplanation> eng = s.allocator().explain_role(RoleName("eng"), s.now());
    ASSERT_TRUE(eng.has_value() && eng->held.size() == 1);
    EXPECT_EQ(eng->held[0].why, RoleHindrance::kSetAside);
    s.advance(seconds(4));
    if (they_end) s.framework("short").ends(1);
    s.run_until_nothing_fits();
    EXPECT_EQ(s.framework("eng").tasks(), they_end ? 1 : 0);
    s.advance(kRevokeGrace);
    s.run_until_nothing_fits();
    EXPECT_EQ(s.revokes().size(), they_end ? 0u : 1u);
  }
}

// Only the service is old enough to be a victim, and it is preempted. When the claimant comes
// again, it waits for the others: until a task ends, or until their tasks are old enough. Two
// minutes after its preemption the service may be a victim again, and is then spared for four
// minutes.
TEST(Reclaim, SparesAsksThatWerePreemptedLately) {
  constexpr auto kTask = "cpus:1;mem:1GiB";
  for (const bool they_end : {true, false}) {
    Story s;
    s.agent("a1", "cpus:4;mem:4GiB");
    s.guarantee("eng", kTask);
    s.wants("service", kTask, 1, {.role = "ops"});
    s.lives(seconds(40));
    const auto claim_beside_young_tasks = [&] {
      ASSERT_EQ(s.runs("service"), 1);
      if (s.runs("others") > 0) s.finishes("others", s.runs("others"));
      s.wants("others", kTask, 3, {.role = "ops"});
      s.lives({});
      s.wants("eng", kTask, 1);
      s.lives(seconds(5));
    };
    claim_beside_young_tasks();
    EXPECT_EQ(s.revokes("service"), 1);
    s.lives(kRevokeGrace);
    s.finishes("eng", 1);
    s.lives(seconds(40));

    claim_beside_young_tasks();
    if (they_end) s.finishes("others", 1);
    s.lives(kMinimumRuntime + kRevokeGrace);
    EXPECT_EQ(s.revokes("others"), they_end ? 0 : 1);
    EXPECT_EQ(s.revokes("service"), 1);
    s.finishes("eng", 1);
    s.lives(minutes(2));

    claim_beside_young_tasks();
    EXPECT_EQ(s.revokes("service"), 2);
    s.lives(kRevokeGrace);
    s.finishes("eng", 1);
    s.lives(minutes(3));
    claim_beside_young_tasks();
    EXPECT_EQ(s.revokes("service"), 2) << "now it is spared for longer";
  }
}

// The guarantee is a fifth of the memory; tasks that use that much memory would take eight of the
// ten CPUs. The guarantee covers a fifth of the CPUs too, and no more.
TEST(Reclaim, GuaranteeCoversAnEqualFractionOfUnnamedKinds) {
  Story s;
  s.agent("a1", "cpus:10;mem:10GiB");
  s.guarantee("eng", "mem:2GiB");
  s.wants("ops", kOne, 100);
  s.lives(minutes(1));
  s.wants("eng", "cpus:1;mem:256", 100);
  s.lives(hours(1));
  EXPECT_EQ(s.runs("eng"), 2);
  EXPECT_EQ(s.revokes(), 2);
}

// Found by the simulator (seed 2677): the guarantee of the role above covered the ask, its own
// role's entitlement did not, and tasks were preempted for it every half minute, forever.
TEST(Reclaim, PreemptsNothingForANonBorrowingAskAboveItsEntitlement) {
  Story s;
  s.agent("a1", "cpus:2;mem:3GiB");
  s.guarantee("web", "cpus:1;mem:1GiB");
  s.wants("other", "cpus:1;mem:960", 2);
  s.lives(minutes(1));
  ASSERT_EQ(s.runs("other"), 2);
  // Both want memory in different proportions, so that the shop is entitled to half of it.
  s.wants("shop", "cpus:0.75;mem:1GiB", 1, {.role = "web/shop", .borrow = false});
  s.wants("mill", "cpus:2;mem:768", 1, {.role = "web/shop", .borrow = false});
  s.lives(minutes(20));
  EXPECT_EQ(s.runs("shop") + s.runs("mill"), 0);
  EXPECT_EQ(s.revokes(), 0);
  EXPECT_EQ(s.runs("other"), 2);
  // Alone, it is entitled to the whole guarantee of its role.
  s.wants("mill", "cpus:2;mem:768", 0, {.role = "web/shop", .borrow = false});
  s.lives(minutes(2));
  EXPECT_EQ(s.runs("shop"), 1);
  EXPECT_EQ(s.revokes(), 1);
}

// A lower role has an equally filled guarantee, and an ask that it does not cover. The turn of the
// role above among guarantees stays equal when it gets its own guarantee; it may reclaim at once.
TEST(Reclaim, IsForARoleThatGetsAGuaranteeWhileOneBelowItIsAsLittleFilled) {
  Story s;
  s.agent("a1", "cpus:10;mem:10GiB");
  s.guarantee("eng/ads", "cpus:1");
  s.wants("ops", kOne, 100);
  s.lives(minutes(1));
  s.wants("train", "cpus:2;mem:1", 1, {.role = "eng/ads"});
  s.wants("eng", kOne, 100);
  s.lives(seconds(5));
  ASSERT_EQ(s.revokes(), 0);

  s.guarantee("eng", "cpus:6");
  s.lives(seconds(9));
  EXPECT_EQ(s.revokes("ops"), 6);
}

TEST(Reclaim, TellsWhoWaitsForIt) {
  Story s;
  lend_all(s);
  s.wants("train", kOne, 2, {.role = "eng/ads"});
  s.lives(seconds(1));
  ASSERT_EQ(s.notices().size(), 2u);
  EXPECT_EQ(s.notices()[0].reason, RevokeReason::kReclaimed);
  EXPECT_EQ(s.notices()[0].beneficiary, RoleName("eng/ads"));
  EXPECT_EQ(s.notices()[0].framework, FrameworkId("ops"));
  EXPECT_EQ(s.notices()[0].agent, AgentId("a1"));
}

TEST(Reclaim, BorrowedAgainWhenTheGuaranteeIsNotWantedAnyMore) {
  Story s;
  lend_all(s);
  for (int day = 0; day < 3; ++day) {
    s.wants("eng", kOne, 6);
    s.lives(hours(2));
    EXPECT_EQ(s.runs("eng"), 6);
    EXPECT_EQ(s.runs("ops"), 4);
    s.finishes("eng", 6);
    s.lives(hours(2));
    EXPECT_EQ(s.runs("ops"), 10);
  }
  EXPECT_EQ(s.revokes(), 18);
}

TEST(Reclaim, TakesNoMoreThanTheAskOrTheGuaranteeWant) {
  Story s;
  lend_all(s);
  s.wants("eng", kOne, 2);
  s.lives(minutes(5));
  EXPECT_EQ(s.revokes(), 2);
  s.wants("eng", "cpus:2;mem:1", 100, {.ask = "large"});
  s.lives(minutes(5));
  EXPECT_EQ(s.runs("eng", "large"), 2);
  EXPECT_EQ(s.revokes(), 6);
}

TEST(Reclaim, IsNotForWhatNoGuaranteeCovers) {
  Story s;
  s.agent("a1", "cpus:10;mem:10GiB");
  s.guarantee("eng", "cpus:6");
  s.wants("ops", kOne, 100);
  s.lives(minutes(1));
  s.wants("web", kOne, 100);  // without a guarantee
  s.lives(minutes(10));
  EXPECT_EQ(s.revokes(), 0);
  EXPECT_EQ(s.outlook("web").why, Why::kNoRight);
  s.wants("eng", "cpus:7;mem:1", 1);  // more than its guarantee
  s.lives(minutes(10));
  EXPECT_EQ(s.revokes(), 0);
  EXPECT_EQ(s.outlook("eng").why, Why::kNoRight);
}

// A task that ends in its first seconds has done no work.
TEST(Reclaim, WaitsUntilVictimsHaveRunForTheMinimum) {
  Story s;
  s.agent("a1", "cpus:4;mem:10GiB");
  s.guarantee("eng", "cpus:2");
  s.wants("ops", kOne, 4);
  s.lives(seconds(5));
  s.wants("eng", kOne, 2);
  s.lives(seconds(24));
  EXPECT_EQ(s.revokes(), 0);
  EXPECT_EQ(s.outlook("eng").why, Why::kTooYoung);
  EXPECT_EQ(s.outlook("eng").until, Time() + seconds(1'030));
  EXPECT_EQ(s.outlook("eng").holder, RoleName("ops"));
  s.lives(seconds(1));
  EXPECT_EQ(s.revokes(), 2);
  EXPECT_EQ(s.outlook("eng").why, Why::kUnderWay);
  EXPECT_EQ(s.outlook("eng").until, Time() + seconds(1'040));
}

TEST(Reclaim, TakesNoMoreThanTheCapWithinAnyMinute) {
  Story s;
  s.agent("a1", "cpus:40;mem:10GiB");
  s.guarantee("eng", "cpus:35");
  s.wants("ops", kOne, 100);
  s.lives(minutes(1));
  s.wants("eng", kOne, 100);
  s.lives(seconds(30));
  EXPECT_EQ(s.revokes(), 10);
  EXPECT_EQ(s.outlook("eng").why, Why::kCap);
  EXPECT_EQ(s.outlook("eng").until, Time() + seconds(1'120));
  EXPECT_EQ(s.runs("eng"), 10);
  s.lives(minutes(3));
  EXPECT_EQ(s.runs("eng"), 35);
  EXPECT_EQ(s.revokes_within_a_minute(), 10);
  s.lives(hours(1));
  EXPECT_EQ(s.revokes(), 35);
}

TEST(Reclaim, OfATenthOfTheTasksAMinuteInALargeCluster) {
  Story s;
  s.agent("a1", "cpus:300;mem:10GiB");
  s.guarantee("eng", "cpus:100");
  s.wants("ops", kOne, 300);
  s.lives(minutes(1));
  s.wants("eng", kOne, 100);
  s.lives(seconds(30));
  EXPECT_EQ(s.revokes(), 30);
}

// A task that needs more victims than the cap allows in a minute gets them in parts, and freed
// resources are kept for it.
TEST(Reclaim, OfMoreThanTheCapComesInParts) {
  Story s;
  s.agent("a1", "cpus:24;mem:10GiB");
  s.guarantee("eng", "cpus:20");
  s.wants("ops", kOne, 100);
  s.lives(minutes(1));
  s.wants("eng", "cpus:20;mem:1", 1);
  s.lives(seconds(30));
  EXPECT_EQ(s.runs("ops"), 14);
  s.lives(minutes(2));
  EXPECT_EQ(s.runs("eng"), 1);
  EXPECT_EQ(s.revokes(), 20);
  EXPECT_EQ(s.revokes_within_a_minute(), 10);
}

TEST(Reclaim, TakesFromALowerBandFirst) {
  Story s;
  s.agent("a1", "cpus:10;mem:10GiB");
  s.guarantee("eng", "cpus:4");
  s.wants("much", kOne, 6, {.band = Band::kProduction});
  s.wants("little", kOne, 2, {.band = Band::kBatch});
  s.wants("least", kOne, 2, {.band = Band::kFree});
  s.lives(minutes(1));
  s.wants("eng", kOne, 1);
  s.lives(seconds(20));
  EXPECT_EQ(s.revokes("much"), 1) << "only it has borrowed";
}

TEST(Reclaim, OfOneRoleTakesTheLowerBandThenTheYounger) {
  Story s;
  s.agent("a1", "cpus:6;mem:10GiB");
  s.guarantee("eng", "cpus:4");
  s.wants("shop", kOne, 2, {.role = "ops", .band = Band::kProduction, .ask = "old"});
  s.lives(seconds(10));
  s.wants("shop", kOne, 2, {.role = "ops", .band = Band::kProduction, .ask = "young"});
  s.lives(seconds(10));
  s.wants("nightly", kOne, 2, {.role = "ops", .band = Band::kFree});
  s.lives(minutes(1));
  s.wants("eng", kOne, 2);
  s.lives(seconds(20));
  EXPECT_EQ(s.revokes("nightly"), 2);
  s.wants("eng", kOne, 4);
  s.lives(seconds(20));
  EXPECT_EQ(s.runs("shop", "old"), 2);
  EXPECT_EQ(s.runs("shop", "young"), 0);
}

// The end of all possible victims would not make it fit: on the one agent that it may use, most
// tasks are within a guarantee.
TEST(Reclaim, OfNobodyIfTheClaimantWouldNotFitEvenThen) {
  Story s;
  s.agent("a1", "cpus:4;mem:10GiB", "disk:ssd");
  s.agent("a2", "cpus:4;mem:10GiB");
  s.guarantee("db", "cpus:3");
  s.guarantee("eng", "cpus:4");
  s.wants("db", kOne, 3, {.constraint = "disk == ssd"});
  s.lives(seconds(1));
  s.wants("ops", kOne, 5);
  s.lives(minutes(1));
  ASSERT_EQ(s.runs_on("ops", "a1"), 1);
  s.wants("eng", "cpus:2;mem:1", 1, {.constraint = "disk == ssd"});
  s.lives(minutes(10));
  EXPECT_EQ(s.revokes(), 0);
  EXPECT_EQ(s.outlook("eng").why, Why::kWouldNotFit);
  // On other agents it would fit.
  s.wants("eng", "cpus:2;mem:1", 1, {.ask = "anywhere"});
  s.lives(seconds(20));
  EXPECT_EQ(s.runs("eng", "anywhere"), 1);
  EXPECT_EQ(s.revokes(), 2);
}

// The ask needs four CPUs on one agent; each agent has lent one: by amounts alone four victims
// would suffice. The naive rule preempts them repeatedly, in vain.
void lend_splinters(Story& s) {
  for (const auto* name : {"a1", "a2", "a3", "a4"}) s.agent(name, "cpus:4;mem:10GiB");
  s.guarantee("db", "cpus:12");
  s.guarantee("eng", "cpus:4");
  s.wants("db", "cpus:3;mem:1", 4);
  s.lives(seconds(1));
  s.wants("ops", kOne, 4);
  s.lives(minutes(1));
  ASSERT_EQ(s.runs("ops"), 4);
  s.wants("eng", "cpus:4;mem:1", 1);
  s.lives(minutes(10));
}

TEST(Reclaim, DoesNotKillInVainWhereTheNaiveRuleFlaps) {
  Story s;
  lend_splinters(s);
  EXPECT_EQ(s.revokes(), 0);

  Story naive({.naive = {.eager_reclaim = true}});
  lend_splinters(naive);
  EXPECT_GT(naive.revokes(), 20);
  EXPECT_EQ(naive.runs("eng"), 0);
}

TEST(Reclaim, PrefersTheAgentWhereItCostsLeast) {
  Story s;
  s.agent("a1", "cpus:4;mem:10GiB", "kind:small");
  s.agent("a2", "cpus:4;mem:10GiB", "kind:large");
  s.guarantee("eng", "cpus:4");
  s.wants("small", kOne, 4, {.role = "ops", .constraint = "kind == small"});
  s.wants("large", "cpus:2;mem:1", 2, {.role = "ops", .constraint = "kind == large"});
  s.lives(minutes(1));
  s.wants("eng", "cpus:2;mem:1", 1);
  s.lives(seconds(20));
  EXPECT_EQ(s.revokes("large"), 1) << "one victim rather than two";
  EXPECT_EQ(s.revokes("small"), 0);
}

// No framework has subscribed for the role with the guarantee: it stays lent.
TEST(Reclaim, IsNotForAGuaranteeThatNobodyWants) {
  Story s;
  lend_all(s);
  s.lives(hours(1));
  EXPECT_EQ(s.revokes(), 0);
  s.wants("eng", kOne, 6);
  s.goes_away("eng");
  s.lives(hours(1));
  EXPECT_EQ(s.revokes(), 0);
  EXPECT_EQ(s.runs("ops"), 10);
  s.comes_back("eng");
  s.lives(minutes(2));
  EXPECT_EQ(s.runs("eng"), 6);
}

// The guarantees exceed the cluster: each role gets a part, and keeps its tasks.
TEST(Reclaim, IsQuietWhenTheGuaranteesExceedTheCluster) {
  Story s;
  s.agent("a1", "cpus:10;mem:10GiB");
  s.guarantee("eng", "cpus:30");
  s.guarantee("db", "cpus:10");
  s.wants("ops", kOne, 100);
  s.lives(minutes(1));
  s.wants("eng", kOne, 100);
  s.wants("db", kOne, 100);
  s.lives(minutes(10));
  EXPECT_EQ(s.runs("ops"), 0);
  EXPECT_EQ(s.runs("eng") + s.runs("db"), 10);
  const int64_t revokes = s.revokes();
  EXPECT_EQ(revokes, 10);
  s.lives(hours(2));
  EXPECT_EQ(s.revokes(), revokes);
}

// The framework asks for resources but declines them: no tasks are preempted for it repeatedly.
TEST(Reclaim, IsNotRepeatedForWhoDeclinesWhatComesBack) {
  Story s;
  lend_all(s);
  s.declines_all_from_now_on("eng");
  s.wants("eng", kOne, 3);
  s.lives(hours(1));
  EXPECT_EQ(s.revokes(), 3);
  EXPECT_EQ(s.outlook("eng").why, Why::kRefused);
  EXPECT_EQ(s.runs("ops"), 10);
}

// Its demand ends before its victims do: their resources are free for all.
TEST(Reclaim, IsForOthersIfTheClaimantGoesAway) {
  Story s;
  lend_all(s);
  s.wants("eng", kOne, 3);
  s.lives(seconds(5));
  ASSERT_EQ(s.revokes(), 3);
  s.wants("eng", kOne, 0);
  s.lives(seconds(20));
  EXPECT_EQ(s.runs("ops"), 10);
  EXPECT_EQ(s.revokes(), 3);
}

// Another claimant arrives meanwhile: tasks with a notice serve it first.
TEST(Reclaim, UsesWhatHasHadItsNoticeForSomebodyElse) {
  Story s;
  lend_all(s);
  s.wants("eng", kOne, 3);
  s.lives(seconds(5));
  s.wants("eng", kOne, 0);
  s.wants("eng2", kOne, 3, {.role = "eng"});
  s.lives(seconds(30));
  EXPECT_EQ(s.revokes(), 3);
  EXPECT_EQ(s.runs("eng2"), 3);
}

TEST(Reclaim, EndsIfItsAgentIsLostOrDrained) {
  Story s;
  s.agent("a1", "cpus:2;mem:10GiB");
  s.agent("a2", "cpus:2;mem:10GiB");
  s.guarantee("eng", "cpus:1");
  s.wants("ops", kOne, 4);
  s.lives(minutes(1));
  s.wants("eng", kOne, 1);
  s.lives(seconds(5));
  ASSERT_EQ(s.revokes(), 1);
  const AgentId on = s.notices()[0].agent;
  s.loses_agent(on.str());
  s.lives(seconds(30));
  EXPECT_EQ(s.runs("eng"), 1);
  EXPECT_EQ(s.revokes(), 2);

  s.agent(on.str(), "cpus:2;mem:10GiB");
  s.lives(minutes(1));
  s.wants("eng", kOne, 1, {.ask = "other"});
  s.guarantee("eng", "cpus:2");
  s.lives(seconds(5));
  ASSERT_EQ(s.revokes(), 3);
  s.drains_agent(s.notices()[2].agent.str());
  s.agent("a3", "cpus:1;mem:10GiB");
  s.lives(minutes(5));
  EXPECT_EQ(s.runs("eng") + s.runs("eng", "other"), 2);
}

// A guarantee inside a guarantee: if the parent has all that it may claim, a child's lack is
// reclaimed from its sibling, not from outside.
TEST(Reclaim, StaysWithinTheParentThatHasItsPart) {
  Story s;
  s.agent("a1", "cpus:12;mem:10GiB");
  s.guarantee("eng", "cpus:6");
  s.guarantee("eng/ads", "cpus:4");
  s.wants("ops", kOne, 100);
  s.wants("search", kOne, 100, {.role = "eng/search"});
  s.lives(minutes(1));
  ASSERT_EQ(s.runs("search"), 6);
  ASSERT_EQ(s.runs("ops"), 6);
  s.wants("ads", kOne, 100, {.role = "eng/ads"});
  s.lives(minutes(10));
  EXPECT_EQ(s.runs("ads"), 4);
  EXPECT_EQ(s.runs("search"), 2);
  EXPECT_EQ(s.revokes("ops"), 0);
  EXPECT_EQ(s.revokes("search"), 4);
}

// Tasks within a role's guarantee are no victims, even for a role with a less filled guarantee.
TEST(Reclaim, TakesNothingThatIsWithinAGuarantee) {
  Story s;
  s.agent("a1", "cpus:10;mem:10GiB");
  s.guarantee("eng", "cpus:5");
  s.guarantee("db", "cpus:5");
  s.wants("db", kOne, 8);
  s.lives(minutes(1));
  s.wants("ops", kOne, 2);
  s.lives(minutes(1));
  s.wants("eng", kOne, 10);
  s.lives(minutes(10));
  EXPECT_EQ(s.runs("eng"), 5);
  EXPECT_EQ(s.runs("db"), 5);
  EXPECT_EQ(s.runs("ops"), 0);
}

TEST(Reclaim, DoesNotTakeALimitedRoleAboveItsLimit) {
  Story s;
  lend_all(s);
  s.limit("eng", "mem:2");
  s.wants("eng", kOne, 6);
  s.lives(minutes(10));
  EXPECT_EQ(s.runs("eng"), 2);
  EXPECT_EQ(s.revokes(), 2);
}

TEST(Reclaim, OfNothingIfItIsOff) {
  Story s({.reclaim = ReclaimMode::kOff});
  s.agent("a1", "cpus:10;mem:10GiB");
  s.wants("ops", kOne, 100);
  s.lives(minutes(1));
  s.guarantee("eng", "cpus:6");
  s.wants("eng", kOne, 100);
  s.lives(minutes(10));
  EXPECT_EQ(s.revokes(), 0);
  EXPECT_EQ(s.outlook("eng").why, Why::kOff);
}

TEST(Reclaim, WaitsUntilAllTasksAreKnownAfterAFailover) {
  Story s;
  lend_all(s);
  s.allocator().set_knows_all_tasks(false);
  s.wants("eng", kOne, 6);
  s.lives(minutes(10));
  EXPECT_EQ(s.revokes(), 0);
  EXPECT_EQ(s.outlook("eng").why, Why::kTasksUnknown);
  s.allocator().set_knows_all_tasks(true);
  s.lives(seconds(30));
  EXPECT_EQ(s.revokes(), 6);
}

// --- gangs
// ----------------------------------------------------------------------------------------

// Half a gang is useless: it ends whole, on all its agents, and counts as one victim.
TEST(GangReclaim, EndsAGangWhole) {
  Story s;
  s.agent("a1", "cpus:4;mem:10GiB");
  s.agent("a2", "cpus:4;mem:10GiB");
  s.guarantee("eng", "cpus:2");
  s.wants("mpi", "cpus:2;mem:1", 4, {.role = "ops", .gang = 4});
  s.lives(minutes(1));
  ASSERT_EQ(s.runs_on("mpi", "a1"), 2);
  ASSERT_EQ(s.runs_on("mpi", "a2"), 2);
  s.wants("eng", kOne, 1);
  s.lives(seconds(5));
  EXPECT_EQ(s.revokes("mpi"), 4);
  s.lives(minutes(10));
  EXPECT_EQ(s.runs("eng"), 1);
  EXPECT_EQ(s.runs("mpi"), 0) << "it does not fit beside it";
  EXPECT_EQ(s.revokes(), 4);
}

TEST(GangReclaim, SparesAGangOfWhoIsLessOver) {
  Story s;
  s.agent("a1", "cpus:4;mem:10GiB");
  s.agent("a2", "cpus:4;mem:10GiB");
  s.guarantee("eng", "cpus:1");
  s.wants("mpi", kOne, 3, {.role = "ops", .gang = 3});
  s.lives(seconds(1));
  s.wants("web", kOne, 5, {.role = "ops"});
  s.lives(minutes(1));
  s.wants("eng", kOne, 1);
  s.lives(minutes(1));
  EXPECT_EQ(s.revokes("mpi"), 0);
  EXPECT_EQ(s.revokes("web"), 1);
}

TEST(GangReclaim, MayTakeAGangBeyondTheCapOnce) {
  Story s({.revokes_per_minute = 2});
  s.agent("a1", "cpus:8;mem:10GiB");
  s.guarantee("eng", "cpus:4");
  s.wants("mpi", kOne, 8, {.role = "ops", .gang = 4});
  s.lives(minutes(1));
  s.wants("eng", kOne, 4);
  s.lives(minutes(5));
  EXPECT_EQ(s.revokes(), 4);
  EXPECT_EQ(s.runs("eng"), 4);
}

// All victims at once, on several agents, or none.
TEST(GangReclaim, GivesAWholeGangBack) {
  Story s;
  s.agent("a1", "cpus:4;mem:10GiB");
  s.agent("a2", "cpus:4;mem:10GiB");
  s.agent("a3", "cpus:4;mem:10GiB");
  s.guarantee("eng", "cpus:6");
  s.wants("ops", kOne, 12);
  s.lives(minutes(1));
  s.wants("eng", "cpus:3;mem:1", 2, {.gang = 2});
  s.lives(minutes(1));
  EXPECT_EQ(s.runs("eng"), 2);
  EXPECT_EQ(s.revokes(), 6);
  s.lives(hours(1));
  EXPECT_EQ(s.revokes(), 6);

  s.guarantee("eng", "cpus:12");
  s.wants("eng", "cpus:3;mem:1", 2, {.gang = 2, .ask = "second"});
  s.lives(minutes(10));
  EXPECT_EQ(s.runs("eng", "second"), 0) << "there is room for one more, not for two";
  EXPECT_EQ(s.revokes(), 6);
}

// An ask with a claim, even a gang for several agents, yields to an ask within its guarantee.
TEST(GangReclaim, IsNotHinderedByAGangThatWaits) {
  Story s;
  s.agent("a1", "cpus:3;mem:10GiB");
  s.agent("a2", "cpus:2;mem:10GiB");
  s.guarantee("eng", "cpus:1");
  s.wants("web", kOne, 5, {.role = "ops", .band = Band::kMonitoring});
  s.lives(seconds(1));
  s.wants("mpi", kOne, 4, {.gang = 4});
  s.lives(minutes(2));
  s.wants("eng", kOne, 1);
  s.lives(minutes(1));
  EXPECT_EQ(s.runs("eng"), 1);
  EXPECT_EQ(s.revokes(), 1);
}

// Free resources are set aside for a waiting gang: the reclaim takes these, and no task ends.
TEST(GangReclaim, TakesWhatIsSetAsideForAGangBeforeItEndsAnybody) {
  Story s;
  s.agent("a1", "cpus:4;mem:10GiB");
  s.guarantee("eng", "cpus:1");
  s.wants("mpi", kOne, 6, {.gang = 3});
  s.lives(minutes(2));
  ASSERT_EQ(s.runs("mpi"), 3);
  s.wants("eng", kOne, 1);
  s.lives(seconds(1));
  EXPECT_EQ(s.runs("eng"), 1);
  EXPECT_EQ(s.revokes(), 0);
}

// --- fair_share: nothing was promised, but each has its part
// --------------------------------------

TEST(FairShareReclaim, BringsWhoComesLaterToItsPart) {
  Story s({.reclaim = ReclaimMode::kFairShare});
  s.agent("a1", "cpus:12;mem:10GiB");
  s.wants("first", kOne, 100);
  s.lives(minutes(1));
  ASSERT_EQ(s.runs("first"), 12);
  s.wants("second", kOne, 100);
  s.lives(minutes(2));
  EXPECT_EQ(s.runs("first"), 6);
  EXPECT_EQ(s.runs("second"), 6);
  s.wants("third", kOne, 100);
  s.lives(minutes(2));
  EXPECT_EQ(s.runs("first"), 4);
  EXPECT_EQ(s.runs("second"), 4);
  EXPECT_EQ(s.runs("third"), 4);
  const int64_t revokes = s.revokes();
  s.lives(hours(10));
  EXPECT_EQ(s.revokes(), revokes);
}

// Entitlements are no multiples of the tasks: no ask may claim a task beyond its entitlement.
TEST(FairShareReclaim, IsQuietWhereTasksDoNotDivideTheParts) {
  Story s({.reclaim = ReclaimMode::kFairShare});
  s.agent("a1", "cpus:10;mem:10GiB");
  s.agent("a2", "cpus:10;mem:10GiB");
  s.wants("threes", "cpus:3;mem:1", 100);
  s.lives(minutes(1));
  s.wants("twos", "cpus:2;mem:1", 100);
  s.lives(minutes(2));
  s.wants("sevens", "cpus:7;mem:1", 100);
  s.lives(minutes(5));
  const int64_t revokes = s.revokes();
  s.lives(hours(10));
  EXPECT_EQ(s.revokes(), revokes);
  EXPECT_GT(s.runs("threes") * 3, 0);
  EXPECT_GT(s.runs("twos") * 2, 0);
}

TEST(FairShareReclaim, IsAmongFrameworksOfARoleToo) {
  Story s({.reclaim = ReclaimMode::kFairShare});
  s.agent("a1", "cpus:12;mem:10GiB");
  s.wants("ops", kOne, 6);
  s.lives(seconds(1));
  s.wants("first", kOne, 100, {.role = "eng"});
  s.lives(minutes(1));
  s.wants("second", kOne, 100, {.role = "eng"});
  s.lives(minutes(2));
  EXPECT_EQ(s.runs("ops"), 6);
  EXPECT_EQ(s.runs("first"), 3);
  EXPECT_EQ(s.runs("second"), 3);
}

// Tasks of others may end by themselves.
TEST(FairShareReclaim, WaitsAWhileForWhatItsOwnEndsLost) {
  Story s({.reclaim = ReclaimMode::kFairShare});
  s.agent("a1", "cpus:12;mem:10GiB");
  s.wants("first", kOne, 100);
  s.wants("second", kOne, 100);
  s.lives(minutes(1));
  ASSERT_EQ(s.runs("first"), 6);
  const Time ended = s.now();
  s.finishes("first", 2);
  s.lives(seconds(1));
  ASSERT_EQ(s.runs("second"), 8);
  s.wants("first", kOne, 100);
  s.lives(kReclaimPatience - seconds(10));
  EXPECT_EQ(s.revokes(), 0);
  EXPECT_EQ(s.outlook("first").why, Why::kTooEarly);
  EXPECT_EQ(s.outlook("first").until, ended + kReclaimPatience);
  s.lives(minutes(1));
  EXPECT_EQ(s.revokes("second"), 2);
  EXPECT_EQ(s.runs("first"), 6);
}

TEST(FairShareReclaim, ServesGuaranteesFirst) {
  Story s({.reclaim = ReclaimMode::kFairShare, .revokes_per_minute = 2});
  s.agent("a1", "cpus:12;mem:10GiB");
  s.guarantee("eng", "cpus:6");
  s.wants("ops", kOne, 100);
  s.lives(minutes(1));
  s.wants("web", kOne, 100);
  s.wants("eng", kOne, 100);
  s.lives(seconds(20));
  EXPECT_EQ(s.runs("eng"), 2);
  EXPECT_EQ(s.runs("web"), 0);
}

// --- at random
// ------------------------------------------------------------------------------------

// Random trees, guarantees, shapes and bands: some minutes after the last change no more tasks are
// preempted. Each notice is checked: its victim must have borrowed.
class RandomStory {
 public:
  RandomStory(uint64_t seed, ReclaimMode mode)
      : random_(seed), s_({.reclaim = mode, .revokes_per_minute = 20}) {
    const int64_t agents = random_.between(1, 4);
    for (int64_t i = 0; i < agents; ++i) {
      s_.agent(text("a", i),
               text("cpus:", random_.between(3, 12), ";mem:", random_.between(3, 12), "GiB"));
    }
  }
  void run() {
    for (int64_t i = random_.between(3, 12); i > 0; --i) {
      for (int64_t j = random_.between(1, 3); j > 0; --j) change();
      s_.lives(seconds(random_.between(1, 100)));
      if (testing::Test::HasFailure()) return;
    }
    s_.lives(minutes(30));
    const int64_t revokes = s_.revokes();
    s_.lives(hours(1));
    EXPECT_EQ(s_.revokes(), revokes) << "the last at " << to_text(s_.last_revoke() - Time());
  }
  int64_t revokes() const { return s_.revokes(); }

 private:
  void change() {
    static const std::vector<std::string> kRoles = {"x", "x/a", "x/b", "y", "y/a", "z"};
    const std::string role = kRoles[random_.below(kRoles.size())];
    if (random_.chance(1, 3)) {
      RoleSettings settings{.weight = random_.between(1, 4) * 500};
      if (random_.chance(2, 3)) settings.guarantee.set(ResourceKind::kCpus, some());
      if (random_.chance(1, 2)) settings.guarantee.set(ResourceKind::kMem, some() * 1'024);
      if (random_.chance(1, 5)) settings.limit.set(ResourceKind::kCpus, some() + 3'000);
      if (!check_role(s_.allocator().role_table(), RoleName(role), settings)) return;
      return s_.allocator().set_role(RoleName(role), settings);
    }
    const std::string name = text("f", random_.below(6));
    const auto [at, is_new] = roles_.emplace(name, role);
    s_.wants(name, text("cpus:", random_.between(1, 4), ";mem:", random_.between(0, 3), "GiB"),
             random_.chance(1, 3) ? 0 : random_.between(1, 24),
             {.role = at->second,
              .band = static_cast<Band>(random_.below(3)),
              .ask = text("ask", ++asks_ % 2)});
  }
  int64_t some() { return random_.between(0, 6) * 1'000; }

  Prng random_;
  Story s_;
  std::map<std::string, std::string> roles_;
  uint64_t asks_ = 0;
};

TEST(Reclaim, IsQuietSomeTimeAfterTheLastChangeWhateverTheTree) {
  constexpr uint64_t kSeeds = 60;
  int64_t revokes = 0;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    RandomStory story(seed, seed % 3 == 0 ? ReclaimMode::kFairShare : ReclaimMode::kGuarantee);
    story.run();
    ASSERT_FALSE(HasFailure()) << "seed " << seed;
    revokes += story.revokes();
  }
  EXPECT_GT(revokes, static_cast<int64_t>(kSeeds)) << "else it says nothing";
}

}  // namespace
}  // namespace proffer::reclaim_test
