// Cases in which other schedulers are known to starve, deadlock or flap, each run against the
// allocator with the audit of tests/support/replay; and plausible but wrong rules, each in a
// scenario in which it fails and the real rule does not.

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "common/text.h"
#include "tests/support/replay/story.h"

namespace proffer::hard_cases_test {
namespace {

using replay::Replay;
using replay::ReplayOptions;
using replay::Story;

void expect_lawful(const Replay& run) {
  for (const std::string& wrong : run.wrong()) ADD_FAILURE() << wrong;
}

int64_t cpus(const ResourceVector& amounts) { return amounts[ResourceKind::kCpus] / 1000; }

// --- frameworks that misbehave ------------------------------------------------------------------

// Its share stays the least, so it is always offered first: each agent goes to it once in five
// seconds, and the others lose no more than that.
TEST(HardCases, AFrameworkThatDeclinesEverythingDelaysNobody) {
  for (const bool asks : {false, true}) {
    Story s;
    for (int i = 0; i < 10; ++i) s.agent(text("a", i), "cpus:4;mem:4GiB");
    s.framework("picky", "p", asks ? sim::Takes::kAsks : sim::Takes::kDecline)
        .tasks("t", "cpus:1;mem:1GiB", 1'000);
    s.framework("worker", "w").tasks("t", "cpus:1;mem:1GiB", 400, seconds(1));
    Replay run = s.play({.declining = {"picky"}});
    run.run_until(seconds(30));
    expect_lawful(run);
    EXPECT_EQ(run.group("worker", "t").finished, 400) << (asks ? "with asks" : "with open offers");
  }
}

// Held offers count in its share, so it loses its turn, and the resources return when the lease
// ends.
TEST(HardCases, AFrameworkThatHoldsOffersForEverKeepsNoMoreThanItsShare) {
  for (const bool asks : {false, true}) {
    Story s;
    for (int i = 0; i < 10; ++i) s.agent(text("a", i), "cpus:4;mem:4GiB");
    s.framework("hoarder", "h", asks ? sim::Takes::kAsks : sim::Takes::kHoard);
    if (asks) s.tasks("t", "cpus:1;mem:1GiB", 1'000);
    s.framework("worker", "w").tasks("t", "cpus:1;mem:1GiB", 100'000, seconds(1));
    Replay run = s.play({.holding = {"hoarder"}});
    for (int second = 2; second <= 100; ++second) {
      run.run_until(seconds(second));
      ASSERT_LE(cpus(run.use(RoleName("h"))), 20) << second;
      ASSERT_GE(cpus(run.use(RoleName("w"))), 20) << second;
    }
    expect_lawful(run);
    EXPECT_GE(run.group("worker", "t").finished, 95 * 20);
  }
}

// --- many ---------------------------------------------------------------------------------------

// Forty ports for 1,500 frameworks that each want one for a second: all have had theirs after
// slightly more than 38 seconds.
TEST(HardCases, FifteenHundredFrameworksTakeTurnsWithFewPorts) {
  Story s;
  for (int i = 0; i < 4; ++i) s.agent(text("a", i), "cpus:64;mem:64GiB;ports:[31000-31009]");
  for (int i = 0; i < 1'500; ++i) {
    s.framework(text("f", i), text("r", i % 30)).tasks("t", "cpus:0.1;mem:64", 1, seconds(1));
    s.ask().ports = 1;
  }
  // The audit checks the whole state after every step.
  Replay run = s.play({.audit = false});
  run.run_until(seconds(39));
  int64_t finished = 0;
  for (int i = 0; i < 1'500; ++i) finished += run.group(text("f", i), "t").finished;
  EXPECT_EQ(finished, 1'500);
}

// The frameworks before it in the order want nothing: it gets everything in one decision.
TEST(HardCases, OneHungryFrameworkIsNotDelayedByHundredsOfIdleOnes) {
  Story s;
  for (int i = 0; i < 20; ++i) s.agent(text("a", i), "cpus:4;mem:4GiB");
  for (int i = 0; i < 500; ++i) {
    s.framework(text("idle-", i), text("r", i % 20));
    if (i % 2 == 0) s.tasks("later", "cpus:1;mem:1GiB", 1, {}, hours(1));
  }
  s.framework("hungry", "z").tasks("t", "cpus:1;mem:1GiB", 79, {});
  s.tasks("more", "cpus:1;mem:1GiB", 1, {}, seconds(10));
  Replay run = s.play({.audit = false});
  run.run_until(seconds(1));
  EXPECT_EQ(run.group("hungry", "t").running, 79);
  EXPECT_EQ(run.trace().size(), 1u) << "one decision";
  run.run_until(seconds(11));
  EXPECT_EQ(run.group("hungry", "more").running, 1) << "with a share of almost all";
}

// Most of them have nothing at any time. If their role then counted as zero, it would get
// everything.
TEST(HardCases, ARoleOfManyFrameworksTakesNoMoreThanItsShare) {
  Story s;
  s.agent("a1", "cpus:10;mem:10GiB");
  for (int i = 0; i < 40; ++i) {
    s.framework(text("f", i), "many").tasks("t", "cpus:1;mem:1GiB", 1'000, milliseconds(900 + i));
  }
  s.framework("one", "z").tasks("t", "cpus:1;mem:1GiB", 1'000, seconds(1));
  Replay run = s.play();
  for (int second = 1; second <= 30; ++second) {
    run.run_until(seconds(second));
    ASSERT_GE(cpus(run.use(RoleName("z"))), 4) << second;
  }
  expect_lawful(run);
}

// --- guarantees ---------------------------------------------------------------------------------

Story absent_owner(const std::string& reclaim) {
  Story s;
  for (int i = 0; i < 4; ++i) s.agent(text("a", i), "cpus:4;mem:4GiB");
  s.role("owner", "cpus:8;mem:8GiB");
  s.framework("guest", "guest").tasks("t", "cpus:1;mem:1GiB", 100);
  s.framework("host", "owner", sim::Takes::kAsks, minutes(2)).tasks("t", "cpus:1;mem:1GiB", 8);
  s.scenario().options["reclaim"] = reclaim;
  return s;
}

TEST(HardCases, WhatAnAbsentRoleIsGuaranteedIsLentAndComesBack) {
  Replay run = absent_owner("guarantee").play();
  run.run_until(seconds(110));
  EXPECT_EQ(run.running("guest"), 16);
  // One round of notices, or two if the cap limits the first.
  run.run_until(minutes(2) + kRevokeGrace + seconds(1));
  EXPECT_EQ(run.running("host"), 8);
  EXPECT_EQ(run.running("guest"), 8);
  EXPECT_EQ(run.revokes(), 8);
  run.run_until(minutes(30));
  EXPECT_EQ(run.revokes(), 8) << "and that was all";
  expect_lawful(run);
}

TEST(HardCases, WithoutReclaimWhatAnAbsentRoleIsGuaranteedIsHeld) {
  Replay run = absent_owner("off").play();
  run.run_until(seconds(110));
  EXPECT_EQ(run.running("guest"), 8);
  run.run_until(minutes(2) + seconds(1));
  EXPECT_EQ(run.running("host"), 8);
  EXPECT_EQ(run.revokes(), 0);
  expect_lawful(run);
}

// The claimant needs six CPUs on one agent: victims on the small agents do not help, and the task
// on the large one is the owner's own.
TEST(HardCases, NobodyIsRevokedIfTheClaimantWouldNotFitThen) {
  Story s;
  for (int i = 0; i < 4; ++i) s.agent(text("small-", i), "cpus:4;mem:4GiB", "size:small");
  s.agent("large", "cpus:8;mem:8GiB", "size:large");
  s.role("owner", "cpus:20;mem:20GiB");
  s.framework("own", "owner").tasks("t", "cpus:8;mem:8GiB", 1);
  s.ask().constraints = {parse_constraint("size == large").value()};
  s.framework("guest", "guest").tasks("t", "cpus:1;mem:1GiB", 100);
  s.framework("host", "owner", sim::Takes::kAsks, minutes(1)).tasks("t", "cpus:6;mem:6GiB", 2);
  Replay run = s.play();
  run.run_until(minutes(20));
  EXPECT_EQ(run.running("guest"), 16);
  EXPECT_EQ(run.pending("host"), 2);
  EXPECT_EQ(run.revokes(), 0);
  expect_lawful(run);
}

// After a long wait of the gang all agents are set aside for it, and no task ever ends.
TEST(HardCases, AGangThatWaitsForEverDoesNotKeepAGuaranteeFromBeingMet) {
  Story s;
  for (int i = 0; i < 3; ++i) s.agent(text("a", i), "cpus:1;mem:1GiB");
  s.role("owner", "cpus:1;mem:1GiB");
  s.framework("guest", "guest").tasks("t", "cpus:1;mem:1GiB", 3);
  s.framework("gang", "guest", sim::Takes::kAsks, seconds(10)).tasks("t", "cpus:1;mem:1GiB", 3);
  s.ask().gang = 3;
  s.framework("host", "owner", sim::Takes::kAsks, minutes(2)).tasks("t", "cpus:1;mem:1GiB", 1);
  Replay run = s.play();
  run.run_until(minutes(2) + kRevokeGrace + seconds(1));
  EXPECT_EQ(run.running("host"), 1);
  EXPECT_EQ(run.revokes(), 1);
  expect_lawful(run);
}

TEST(HardCases, ARoleWhoseGuaranteeExceedsTheClusterGetsAllThereIs) {
  Story s;
  for (int i = 0; i < 4; ++i) s.agent(text("a", i), "cpus:4;mem:4GiB");
  s.role("large", "cpus:100;mem:100GiB");
  s.framework("guest", "guest").tasks("t", "cpus:1;mem:1GiB", 100);
  s.framework("host", "large", sim::Takes::kAsks, minutes(1)).tasks("t", "cpus:1;mem:1GiB", 100);
  Replay run = s.play();
  run.run_until(minutes(10));
  EXPECT_EQ(run.running("host"), 16);
  EXPECT_EQ(run.running("guest"), 0);
  EXPECT_EQ(run.revokes(), 16);
  run.run_until(minutes(30));
  EXPECT_EQ(run.revokes(), 16);
  expect_lawful(run);
}

// The role keeps its tasks, gets nothing until its use is below the limit, and then no more than
// the limit.
TEST(HardCases, ALimitBelowUseTakesNothingBackAndGivesNothingMore) {
  Story s;
  for (int i = 0; i < 4; ++i) s.agent(text("a", i), "cpus:4;mem:4GiB");
  s.framework("f", "eng").tasks("long", "cpus:1;mem:1GiB", 10, minutes(3));
  s.ask().priority = 1;
  s.tasks("short", "cpus:1;mem:1GiB", 1'000, seconds(30));
  Replay run = s.play();
  run.run_until(seconds(10));
  EXPECT_EQ(run.running("f"), 16);
  run.set_role(RoleName("eng"), {.limit = parse_quota("cpus:4").value()});
  run.run_until(seconds(29));
  EXPECT_EQ(run.running("f"), 16);
  run.run_until(minutes(2));
  EXPECT_EQ(run.running("f"), 10) << "the short ones have ended and none has started";
  run.run_until(minutes(5));
  EXPECT_EQ(run.running("f"), 4);
  EXPECT_EQ(run.revokes(), 0);
  expect_lawful(run);
}

// --- gangs and agents ---------------------------------------------------------------------------

// Six CPUs are free at first, and each gang wants four at once: if each held three, both would wait
// forever. They run one after the other, although single tasks would take each freed CPU.
TEST(HardCases, TwoGangsThatEachCouldHoldHalfRunOneAfterTheOther) {
  Story s;
  for (int i = 0; i < 3; ++i) s.agent(text("a", i), "cpus:2;mem:2GiB");
  s.framework("g1", "one").tasks("t", "cpus:1;mem:1GiB", 4, seconds(20));
  s.ask().gang = 4;
  s.framework("g2", "two").tasks("t", "cpus:1;mem:1GiB", 4, seconds(20));
  s.ask().gang = 4;
  s.framework("singles", "three").tasks("t", "cpus:1;mem:1GiB", 1'000, seconds(7));
  Replay run = s.play();
  run.run_until(minutes(5));
  EXPECT_EQ(run.group("g1", "t").finished, 4);
  EXPECT_EQ(run.group("g2", "t").finished, 4);
  EXPECT_GT(run.group("singles", "t").finished, 100);
  expect_lawful(run);
}

// While the agent is disconnected it is not offered, and its tasks are not counted twice
// afterwards.
TEST(HardCases, AgentsThatFlapRunWhatTheyRunAndNoMore) {
  Story s;
  for (int i = 0; i < 4; ++i) s.agent(text("a", i), "cpus:4;mem:4GiB");
  s.framework("f", "eng").tasks("long", "cpus:1;mem:1GiB", 8, minutes(10));
  s.tasks("short", "cpus:1;mem:1GiB", 10'000, milliseconds(700));
  Replay run = s.play();
  for (int i = 1; i <= 120; ++i) {
    run.run_until(milliseconds(500) * i);
    run.set_connected(text("a", i % 4), i / 4 % 2 == 1);
    run.set_connected(text("a", (i + 1) % 4), i % 3 != 0);
  }
  for (int i = 0; i < 4; ++i) run.set_connected(text("a", i), true);
  run.run_until(seconds(70));
  EXPECT_EQ(cpus(run.use(RoleName("eng"))), 16);
  EXPECT_EQ(run.group("f", "long").running, 8);
  run.run_until(minutes(11));
  EXPECT_EQ(run.group("f", "long").finished, 8);
  expect_lawful(run);
}

// --- rules that look right ----------------------------------------------------------------------

// The example of the H-DRF paper (Bhattacharya et al., SoCC 2013, section 4.2), with tasks that
// end: one child of n2 uses CPUs and one memory. By shares alone n2 has all the memory, hence
// everything, and each CPU that comes free goes to n1.
Story complementary() {
  Story s;
  s.agent("a1", "cpus:10;mem:10GiB");
  s.framework("n1", "n1").tasks("t", "cpus:1", 10'000, seconds(10)).every(milliseconds(500));
  s.framework("x", "n2/x").tasks("t", "cpus:1", 10'000, seconds(10)).every(milliseconds(500));
  s.framework("y", "n2/y").tasks("t", "mem:1GiB", 10'000, seconds(10)).every(milliseconds(500));
  return s;
}

TEST(NaiveRules, SharesAloneStarveAChildWithAComplementaryDominantResource) {
  Replay naive = complementary().play({.allocator = {.naive = {.no_gate = true}}, .audit = false});
  naive.run_until(minutes(5));
  EXPECT_LE(naive.running("x"), 2) << "what it gets when one of y's ends at the same moment";

  Replay run = complementary().play();
  run.run_until(minutes(5));
  EXPECT_EQ(run.running("n1"), 5);
  EXPECT_EQ(run.running("x"), 5);
  EXPECT_EQ(run.running("y"), 10);
  EXPECT_GT(run.group("x", "t").finished, 2 * naive.group("x", "t").finished);
  expect_lawful(run);
}

// A task that needs the whole agent, and small ones that take each freed CPU.
Story large_among_small() {
  Story s;
  s.agent("a1", "cpus:4;mem:4GiB");
  s.framework("small", "small").tasks("t", "cpus:1;mem:1GiB", 10'000, seconds(10));
  s.every(milliseconds(2'500));
  s.framework("large", "large", sim::Takes::kAsks, seconds(20))
      .tasks("t", "cpus:4;mem:4GiB", 1, seconds(10));
  return s;
}

TEST(NaiveRules, WithoutClaimsALargeTaskAmongSmallOnesStarves) {
  Replay naive = large_among_small().play(
      {.allocator = {.naive = {.no_gate = true, .no_claims = true}}, .audit = false});
  naive.run_until(minutes(20));
  EXPECT_EQ(naive.group("large", "t").finished, 0);

  Replay run = large_among_small().play();
  run.run_until(seconds(20) + kClaimAfter + seconds(10) + seconds(11));
  EXPECT_EQ(run.group("large", "t").finished, 1);
  expect_lawful(run);
}

// Two owners whose tasks each need a whole agent, and guests in the way. Eager reclaim ends any
// tasks, also tasks that have just started, and also if no claimant fits then.
Story owners_and_guests() {
  Story s;
  for (int i = 0; i < 4; ++i) s.agent(text("a", i), "cpus:4;mem:4GiB", text("rack:r", i % 2));
  s.agent("a4", "cpus:4;mem:4GiB", "rack:r7");
  s.role("owner", "cpus:16;mem:16GiB");
  s.framework("resident", "owner").tasks("r", "cpus:1;mem:1GiB", 1, hours(1));
  s.ask().prefer = {.hosts = {"a4"}, .wait = hours(1)};
  s.framework("guest", "guest").tasks("t", "cpus:1;mem:1GiB", 1'000, minutes(3));
  // The task does not run: the resident stays on the only agent of its rack.
  s.framework("host", "owner", sim::Takes::kAsks, seconds(10))
      .tasks("t", "cpus:4;mem:4GiB", 1, minutes(1));
  s.ask().constraints = {parse_constraint("rack == r7").value()};
  s.tasks("u", "cpus:4;mem:4GiB", 1, minutes(1), seconds(60));
  return s;
}

TEST(NaiveRules, EagerReclaimEndsTasksForNobodysGood) {
  Replay naive =
      owners_and_guests().play({.allocator = {.naive = {.eager_reclaim = true}}, .audit = false});
  naive.run_until(minutes(4));
  Replay run = owners_and_guests().play();
  run.run_until(minutes(4));
  expect_lawful(run);
  EXPECT_EQ(run.group("host", "u").finished, 1);
  EXPECT_EQ(run.revokes(), 4) << "the tasks of one agent";
  EXPECT_GT(naive.revokes(), 8);
}

}  // namespace
}  // namespace proffer::hard_cases_test
