// Offers that stay unanswered while a framework below its share waits for them
// (waiting/unanswered.h). The siblings are in docs/checklists/neighbours/offers.md.

#include <gtest/gtest.h>

#include "tests/allocator/running.h"
#include "tests/allocator/scenario.h"

namespace proffer::unanswered_test {
namespace {

constexpr Duration kPatience = seconds(1);

// Four agents, all offered to "holder", which takes open offers and is silent.
class Unanswered : public ::testing::Test {
 protected:
  void hold_all() {
    for (int i = 1; i <= 4; ++i) s.agent(text("a", i), "cpus:4;mem:4GiB");
    s.framework("holder").subscribes();
    s.decide();
    ASSERT_EQ(s.framework("holder").offers().size(), 4u);
  }
  std::vector<RescindReason> reasons() const {
    std::vector<RescindReason> all;
    for (const Rescind& rescind : s.rescinds()) all.push_back(rescind.reason);
    return all;
  }
  // The CPUs offered to the framework and used by it.
  int64_t cpus(const std::string& framework) {
    const LeafStatus status = s.framework(framework).status();
    return (status.allocated + status.offered)[ResourceKind::kCpus] / 1000;
  }

  AllocatorScenario s;
};

TEST_F(Unanswered, OffersAboveTheShareAreRescindedAfterASecond) {
  hold_all();
  s.framework("worker").asks("cpus:1;mem:1GiB", 100);
  s.advance(kPatience - milliseconds(1));
  EXPECT_EQ(cpus("worker"), 0);
  s.advance(milliseconds(1));
  EXPECT_EQ(reasons(), std::vector<RescindReason>(2, RescindReason::kUnanswered));
  EXPECT_EQ(cpus("worker"), 8);
  EXPECT_EQ(cpus("holder"), 8);
  s.framework("worker").accepts_all();

  // What is left is within its share, and stays until the lease ends.
  s.advance(kOfferTimeout - kPatience - milliseconds(1));
  EXPECT_EQ(cpus("holder"), 8);
}

TEST_F(Unanswered, OldOffersAreRescindedAtOnce) {
  hold_all();
  s.advance(seconds(10));
  EXPECT_TRUE(s.rescinds().empty());
  s.framework("worker").asks("cpus:1;mem:1GiB", 100);
  s.decide();
  EXPECT_EQ(cpus("worker"), 8);
}

TEST_F(Unanswered, NoMoreIsRescindedThanTheDemandNeeds) {
  hold_all();
  s.framework("worker").asks("cpus:1;mem:1GiB", 3);
  s.advance(kPatience);
  EXPECT_EQ(s.rescinds().size(), 1u);
  EXPECT_EQ(cpus("worker"), 3);
  EXPECT_EQ(cpus("holder"), 13);
}

TEST_F(Unanswered, TheRestOfALargeOfferIsOfferedAgain) {
  s.agent("a1", "cpus:16;mem:16GiB");
  s.framework("holder").subscribes();
  s.decide();
  s.framework("worker").asks("cpus:1;mem:1GiB", 100);
  s.advance(kPatience);
  EXPECT_EQ(s.framework("worker").offers(), Offers{"a1 cpus:8;mem:8192"});
  EXPECT_EQ(s.framework("holder").offers(), Offers{"a1 cpus:8;mem:8192"});
}

TEST_F(Unanswered, ADemandAtItsShareWaits) {
  hold_all();
  s.framework("worker").asks("cpus:1;mem:1GiB", 100);
  s.advance(kPatience);
  s.framework("worker").accepts_all();
  s.advance(seconds(10));
  EXPECT_EQ(s.rescinds().size(), 2u);
  EXPECT_EQ(cpus("worker"), 8);
}

TEST_F(Unanswered, NothingIsRescindedForATaskThatFitsNowhere) {
  hold_all();
  s.framework("worker").asks("cpus:5;mem:1GiB", 100);
  s.framework("ports").asks("cpus:1;mem:1GiB", 1, "task", "", 1);
  s.advance(seconds(10));
  EXPECT_TRUE(s.rescinds().empty());
}

TEST_F(Unanswered, OnlyAgentsThatTheDemandMayUseCount) {
  s.agent("a1", "cpus:4;mem:4GiB");
  s.agent("a2", "cpus:4;mem:4GiB", "disk:ssd");
  s.framework("holder").subscribes();
  s.decide();
  s.framework("worker").asks("cpus:1;mem:1GiB", 2, "task", "disk == ssd");
  s.advance(kPatience);
  EXPECT_EQ(s.framework("worker").offers(), Offers{"a2 cpus:2;mem:2048"});
  EXPECT_EQ(s.rescinds().size(), 1u);
}

TEST_F(Unanswered, SmallOffersMakeRoomTogether) {
  s.agent("a1", "cpus:4;mem:4GiB");
  for (int i = 1; i <= 4; ++i) {
    s.framework("holder").asks("cpus:1;mem:1GiB", 1, text("t", i));
    s.decide();
  }
  ASSERT_EQ(s.framework("holder").offers().size(), 4u);
  s.framework("worker").asks("cpus:2;mem:2GiB", 1);
  s.advance(kPatience);
  EXPECT_EQ(s.framework("worker").offers(), Offers{"a1 cpus:2;mem:2048"});
  EXPECT_EQ(cpus("holder"), 2);
  EXPECT_EQ(s.rescinds().size(), 2u);
}

// Half a task more for one is half a task less for the other: neither loses its offer for that, or
// two slow schedulers would take offers from each other for ever.
TEST_F(Unanswered, EqualsDoNotTakeOffersFromEachOther) {
  s.agent("a1", "cpus:1;mem:1GiB");
  s.framework("x").asks("cpus:1;mem:1GiB");
  s.framework("y").asks("cpus:1;mem:1GiB");
  s.advance(kOfferTimeout - milliseconds(1));
  EXPECT_TRUE(s.rescinds().empty());

  AllocatorScenario t;
  t.agent("a1", "cpus:5;mem:5GiB");
  t.framework("x").asks("cpus:1;mem:1GiB");
  t.framework("y").asks("cpus:1;mem:1GiB");
  t.advance(kOfferTimeout - milliseconds(1));
  EXPECT_TRUE(t.rescinds().empty());
}

// --- holders ------------------------------------------------------------------------------------

TEST_F(Unanswered, OffersForAsksAreRescindedToo) {
  s.agent("a1", "cpus:16;mem:16GiB");
  s.framework("holder").asks("cpus:1;mem:1GiB", 100);
  s.decide();
  ASSERT_EQ(cpus("holder"), 16);
  s.framework("worker").asks("cpus:1;mem:1GiB", 100);
  s.advance(kPatience);
  EXPECT_EQ(cpus("worker"), 8);
  EXPECT_EQ(cpus("holder"), 8);
}

// A holder that took nothing of its last offer has no share: only tasks give it one.
TEST_F(Unanswered, AHolderThatTakesNothingHasNoShare) {
  hold_all();
  s.advance(kOfferTimeout + kDeclineFilter);
  ASSERT_EQ(cpus("holder"), 16);
  s.framework("worker").asks("cpus:1;mem:1GiB", 100);
  s.advance(seconds(1));
  EXPECT_EQ(cpus("worker"), 16);
}

TEST_F(Unanswered, ASuppressedHolderKeepsNothingThatOthersWant) {
  hold_all();
  s.framework("holder").suppresses();
  s.framework("worker").asks("cpus:1;mem:1GiB", 100);
  s.advance(kPatience);
  EXPECT_EQ(cpus("worker"), 16);
  EXPECT_TRUE(s.framework("holder").offers().empty());
}

// A framework that takes nothing has the least share, and would come first.
TEST_F(Unanswered, WhatIsRescindedIsNotHeldByAnotherThatTakesNothing) {
  for (int i = 1; i <= 4; ++i) s.agent(text("a", i), "cpus:4;mem:4GiB");
  for (const char* idle : {"h1", "h2", "h3"}) s.framework(idle).subscribes();
  s.advance(kOfferTimeout + kDeclineFilter);
  ASSERT_EQ(cpus("h1") + cpus("h2") + cpus("h3"), 16);
  s.framework("worker").asks("cpus:1;mem:1GiB", 100);
  s.advance(kPatience / 2);
  EXPECT_EQ(cpus("worker"), 16);
}

// One framework after the other takes what the worker leaves; the worker waits for the first only.
TEST_F(Unanswered, HoldersInTurnCostOnePatience) {
  hold_all();
  s.framework("second").subscribes();
  s.framework("third").subscribes();
  s.advance(milliseconds(100));
  s.framework("worker").asks("cpus:1;mem:1GiB", 100);
  s.advance(kPatience);
  EXPECT_GE(cpus("worker"), 4);
}

TEST_F(Unanswered, WithinAGuaranteeAHolderIsNotDisturbed) {
  s.guarantee("holder", "cpus:16;mem:16GiB");
  hold_all();
  s.framework("worker").asks("cpus:1;mem:1GiB", 100);
  s.advance(seconds(10));
  EXPECT_TRUE(s.rescinds().empty());
}

// The holder's role is above its share, and the holder is below its own part of it.
TEST_F(Unanswered, AHolderBelowItsPartOfItsRoleIsNotDisturbed) {
  s.agent("a1", "cpus:16;mem:16GiB");
  s.framework("busy").in_role("eng").asks("cpus:1;mem:1GiB", 14);
  s.run_until_nothing_fits();
  ASSERT_EQ(cpus("busy"), 14);
  s.framework("holder").in_role("eng", OfferMode::kOpen);
  s.decide();
  ASSERT_EQ(cpus("holder"), 2);
  s.framework("worker").asks("cpus:1;mem:1GiB", 100);
  s.advance(seconds(10));
  EXPECT_TRUE(s.rescinds().empty());
}

TEST_F(Unanswered, SiblingsOfOneRoleShareIt) {
  s.agent("a1", "cpus:16;mem:16GiB");
  s.framework("holder").in_role("eng", OfferMode::kOpen);
  s.decide();
  s.framework("worker").in_role("eng").asks("cpus:1;mem:1GiB", 100);
  s.framework("other").in_role("ads/x").asks("cpus:1;mem:1GiB", 100);
  s.advance(kPatience);
  EXPECT_EQ(cpus("other"), 8);
  EXPECT_EQ(cpus("worker"), 4);
  EXPECT_EQ(cpus("holder"), 4);
}

// --- demands ------------------------------------------------------------------------------------

TEST_F(Unanswered, AFrameworkWithOpenOffersIsADemandBeforeItsFirstAnswer) {
  hold_all();
  s.framework("second").subscribes();
  s.advance(kPatience);
  EXPECT_EQ(cpus("second"), 4);
  EXPECT_EQ(cpus("holder"), 12);
}

// Three frameworks cannot share four agents evenly: none takes an agent from another for that.
TEST_F(Unanswered, FrameworksWithOpenOffersDoNotTakeAgentsByTurns) {
  for (int i = 1; i <= 4; ++i) s.agent(text("a", i), "cpus:4;mem:4GiB");
  for (const char* open : {"h1", "h2", "h3"}) s.framework(open).subscribes();
  s.advance(kOfferTimeout - milliseconds(1));
  EXPECT_TRUE(s.rescinds().empty());
}

TEST_F(Unanswered, AFrameworkThatTakesNothingIsNoDemand) {
  s.agent("a1", "cpus:4;mem:4GiB");
  s.framework("idle").subscribes();
  s.decide();
  s.framework("idle").declines("a1", seconds(3));
  for (int i = 2; i <= 4; ++i) s.agent(text("a", i), "cpus:4;mem:4GiB");
  s.framework("holder").subscribes();
  s.advance(seconds(10));
  for (const Rescind& rescind : s.rescinds()) {
    EXPECT_EQ(rescind.framework, FrameworkId("idle"));
  }
}

TEST_F(Unanswered, AGangIsServedAsAWhole) {
  hold_all();
  s.framework("worker").asks(
      {.name = AskName("task"), .shape = parse_shape("cpus:4").value(), .count = 2, .gang = 2});
  s.advance(kPatience);
  EXPECT_EQ(cpus("worker"), 8);
  EXPECT_EQ(s.rescinds().size(), 2u);

  AllocatorScenario t;
  t.agent("a1", "cpus:4;mem:4GiB");
  t.framework("holder").subscribes();
  t.decide();
  t.framework("worker").asks(
      {.name = AskName("task"), .shape = parse_shape("cpus:2").value(), .count = 3, .gang = 3});
  t.advance(seconds(10));
  EXPECT_TRUE(t.rescinds().empty());
}

TEST_F(Unanswered, OffersThatUseUpALimitAreRescinded) {
  s.limit("eng", "cpus:4;mem:4GiB");
  s.agent("a1", "cpus:16;mem:16GiB");
  s.framework("holder").in_role("eng", OfferMode::kOpen);
  s.decide();
  ASSERT_EQ(cpus("holder"), 4);
  s.framework("worker").in_role("eng").asks("cpus:1;mem:1GiB", 100);
  s.advance(kPatience);
  EXPECT_EQ(cpus("worker"), 2);
  EXPECT_EQ(cpus("holder"), 2);
}

TEST_F(Unanswered, ADemandWithLessThanATaskOfEntitlementIsServedOnce) {
  s.agent("a1", "cpus:4;mem:4GiB");
  s.framework("holder").subscribes();
  s.advance(kOfferTimeout + kDeclineFilter);
  ASSERT_EQ(cpus("holder"), 4);  // and it has no share
  for (int i = 0; i < 10; ++i) s.framework(text("w", i)).asks("cpus:1;mem:1GiB", 2);
  s.advance(kPatience);
  int64_t sum = 0;
  for (int i = 0; i < 10; ++i) {
    EXPECT_LE(cpus(text("w", i)), 1);
    sum += cpus(text("w", i));
  }
  EXPECT_EQ(sum, 4);
}

// Two slow schedulers would take such offers from each other for ever.
TEST_F(Unanswered, ADemandLargerThanWhatHoldersHaveAboveTheirSharesWaits) {
  s.agent("a1", "cpus:4;mem:4GiB");
  s.framework("holder").subscribes();
  s.decide();
  s.framework("worker").asks("cpus:3;mem:1GiB", 10);
  s.advance(kOfferTimeout - milliseconds(1));
  EXPECT_TRUE(s.rescinds().empty());
}

// A task of three CPUs is more than the share of its framework, and its offer stays.
TEST_F(Unanswered, ATaskWithWhichAHolderReachesItsShareStays) {
  s.agent("a1", "cpus:4;mem:4GiB");
  s.framework("holder").asks("cpus:3;mem:3GiB", 10);
  s.decide();
  s.framework("worker").asks("cpus:1;mem:1GiB", 10);
  s.advance(kOfferTimeout - milliseconds(1));
  EXPECT_TRUE(s.rescinds().empty());
  EXPECT_EQ(cpus("worker"), 1);
}

TEST_F(Unanswered, ADemandThatMayNotBorrowIsServed) {
  hold_all();
  s.framework("worker").asks({.name = AskName("task"),
                              .shape = parse_shape("cpus:1;mem:1GiB").value(),
                              .count = 100,
                              .borrow = false});
  s.advance(kPatience);
  EXPECT_EQ(cpus("worker"), 8);
}

TEST_F(Unanswered, WhatIsReservedForOthersIsNoUse) {
  s.agent("a1", "cpus:2;mem:2GiB", "", {{"holder", "cpus:6;mem:6GiB"}});
  s.framework("holder").subscribes();
  s.decide();
  ASSERT_EQ(cpus("holder"), 8);
  s.framework("worker").asks("cpus:4;mem:1GiB", 1);
  s.advance(seconds(10));
  EXPECT_TRUE(s.rescinds().empty());
}

// --- patience -----------------------------------------------------------------------------------

class Patience : public Unanswered {
 protected:
  // Holds offers of two agents.
  void hold_two() {
    for (const char* agent : {"a1", "a2"}) s.agent(agent, "cpus:4;mem:4GiB");
    s.framework("holder").subscribes();
    s.decide();
    ASSERT_EQ(s.framework("holder").offers().size(), 2u);
  }
  // Holds them for `age` and then launches tasks on all of them; the tasks end at once.
  void use_after(Duration age) {
    hold_two();
    s.advance(age);
    s.framework("holder").accepts_all();
    s.framework("holder").ends(2);
    s.decide();
    ASSERT_EQ(s.framework("holder").offers().size(), 2u);
  }
  void return_both() {
    for (const char* agent : {"a1", "a2"}) s.framework("holder").declines(agent, Duration());
  }
  // How long a demand waits that comes now.
  Duration wait() {
    const Time begin = s.now();
    s.framework("worker").asks("cpus:1;mem:1GiB", 1);
    while (s.framework("worker").offers().empty()) {
      s.advance(milliseconds(10));
      if (s.now() - begin > seconds(60)) break;
    }
    return s.now() - begin;
  }
};

TEST_F(Patience, IsASecondAtFirst) {
  use_after(Duration());
  EXPECT_EQ(wait(), seconds(1));
}

TEST_F(Patience, IsTwiceAsLongWithAFrameworkThatUsesItsOffers) {
  use_after(milliseconds(800));
  EXPECT_EQ(wait(), seconds(2));
}

TEST_F(Patience, IsAtMostEightSeconds) {
  for (const int64_t age : {900, 1'900, 3'900, 7'900, 9'000}) {
    use_after(milliseconds(age));
  }
  EXPECT_EQ(wait(), seconds(8));
}

TEST_F(Patience, IsHalfAsLongAfterAnOfferThatWasHeldAndNotUsed) {
  hold_two();
  s.advance(milliseconds(600));
  return_both();
  s.decide();
  EXPECT_EQ(wait(), milliseconds(500));
}

// One use does not pay for a later hold: the patience falls below the first one.
TEST_F(Patience, FallsToHalfASecondAfterOneHold) {
  use_after(milliseconds(900));
  s.advance(milliseconds(900));
  return_both();
  s.decide();
  EXPECT_EQ(wait(), milliseconds(500));
}

TEST_F(Patience, IsNotLessAfterAnAnswerInTime) {
  hold_two();
  s.advance(milliseconds(200));
  return_both();
  s.decide();
  EXPECT_EQ(wait(), seconds(1));
}

// The framework and its patience outlive its connection.
TEST_F(Patience, OutlivesAConnection) {
  hold_two();
  s.advance(milliseconds(900));
  return_both();
  s.allocator().set_framework_active(FrameworkId("holder"), false);
  s.decide();
  s.allocator().set_framework_active(FrameworkId("holder"), true);
  s.decide();
  EXPECT_EQ(wait(), milliseconds(500));
}

// A scheduler that needs longer than the patience launches on an offer that is gone, and gets more
// time for the next.
TEST_F(Patience, GrowsWithALaunchOnARescindedOffer) {
  use_after(Duration());
  const OfferId offer = s.framework("holder").outstanding().at(0).offer.id;
  EXPECT_EQ(wait(), seconds(1));
  s.framework("worker").accepts_all();
  s.advance(milliseconds(500));
  s.allocator().note_late_use(FrameworkId("holder"), offer, s.now());
  s.allocator().note_late_use(FrameworkId("holder"), offer, s.now());  // counts once
  s.allocator().note_late_use(FrameworkId("holder"), OfferId(999), s.now());
  s.decide();
  // Its other offer was made 1.5 s ago, and may now stay for two.
  const Time begin = s.now();
  s.framework("other").asks("cpus:1;mem:1GiB", 1);
  while (s.framework("other").offers().empty()) s.advance(milliseconds(10));
  EXPECT_EQ(s.now() - begin, milliseconds(500));
}

TEST_F(Patience, IsLongerWhileAnswersMayNotHaveBeenRead) {
  use_after(Duration());
  s.allocator().spare_unanswered(s.now() + seconds(3));
  EXPECT_EQ(wait(), seconds(3));
}

}  // namespace
}  // namespace proffer::unanswered_test
