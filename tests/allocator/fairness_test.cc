// Worked examples of dominant resource fairness.

#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/allocator/scenario.h"

namespace proffer::fairness_test {
namespace {

// The example of section 4.1 of the DRF paper (Ghodsi et al., NSDI 2011). Equal dominant shares of
// 2/3 mean three tasks for A, whose memory counts, and two for B, whose CPUs do.
TEST(Drf, ExampleOfThePaper) {
  AllocatorScenario s;
  s.agent("a1", "cpus:9;mem:18GiB");
  s.framework("A").asks("cpus:1;mem:4GiB");
  s.framework("B").asks("cpus:3;mem:1GiB");

  s.run_until_nothing_fits();

  EXPECT_EQ(s.framework("A").tasks(), 3);
  EXPECT_EQ(s.framework("B").tasks(), 2);
  EXPECT_EQ(s.framework("A").dominant_share(), Share::of(2, 3));
  EXPECT_EQ(s.framework("B").dominant_share(), Share::of(2, 3));
}

TEST(Drf, ExampleOfThePaperWithTheOtherFirst) {
  AllocatorScenario s;
  s.agent("a1", "cpus:9;mem:18GiB");
  s.framework("B").asks("cpus:3;mem:1GiB");
  s.framework("A").asks("cpus:1;mem:4GiB");

  s.run_until_nothing_fits();

  EXPECT_EQ(s.framework("A").tasks(), 3);
  EXPECT_EQ(s.framework("B").tasks(), 2);
}

// The first framework holds everything; as its tasks end, the other gets its share.
TEST(Drf, ExampleOfThePaperIsReachedFromEitherMonopoly) {
  for (const std::string first : {"A", "B"}) {
    const std::string second = first == "A" ? "B" : "A";
    const std::map<std::string, std::string> shapes = {{"A", "cpus:1;mem:4GiB"},
                                                       {"B", "cpus:3;mem:1GiB"}};
    AllocatorScenario s;
    s.agent("a1", "cpus:9;mem:18GiB");
    s.framework(first).asks(shapes.at(first));
    s.run_until_nothing_fits();
    s.framework(second).asks(shapes.at(second));
    for (int round = 0; round < 6; ++round) {
      for (const std::string name : {"A", "B"}) {
        if (s.framework(name).tasks() == 0) continue;
        s.framework(name).ends(1);
        s.run_until_nothing_fits();
      }
    }
    EXPECT_EQ(s.framework("A").tasks(), 3) << first << " came first";
    EXPECT_EQ(s.framework("B").tasks(), 2) << first << " came first";
  }
}

// B, with three times A's weight, may hold three times A's share: section 4.3.
TEST(Drf, ExampleOfThePaperWeighted) {
  AllocatorScenario s;
  s.agent("a1", "cpus:9;mem:18GiB");
  s.weight("B", 3 * kWeightOne);
  s.framework("A").asks("cpus:1;mem:4GiB");
  s.framework("B").asks("cpus:3;mem:1GiB");

  s.run_until_nothing_fits();

  // Weighted, a task of A counts 2/9 and one of B 1/9: B is first until a third task of its own no
  // longer fits; the one CPU that is left is A's.
  EXPECT_EQ(s.framework("B").tasks(), 2);
  EXPECT_EQ(s.framework("A").tasks(), 3);

  // CPUs for one more task go to B, whose weighted share is the smaller one.
  s.framework("A").ends(1);
  s.agent("a1", "cpus:11;mem:18GiB");
  s.run_until_nothing_fits();
  EXPECT_EQ(s.framework("B").tasks(), 3);
  EXPECT_EQ(s.framework("A").tasks(), 2);
}

TEST(Drf, EqualShapesSettleEqual) {
  AllocatorScenario s;
  for (int i = 0; i < 4; ++i) s.agent(text("a", i), "cpus:4;mem:4GiB");
  s.framework("x").asks("cpus:1;mem:1GiB");
  s.framework("y").asks("cpus:1;mem:1GiB");

  s.run_until_nothing_fits();

  EXPECT_EQ(s.framework("x").tasks(), 8);
  EXPECT_EQ(s.framework("y").tasks(), 8);
}

TEST(Drf, WeightsTwoToOneSettleTwoToOne) {
  AllocatorScenario s(AllocatorOptions{.roles = {{RoleName("x"), {.weight = 2 * kWeightOne}}}});
  for (int i = 0; i < 3; ++i) s.agent(text("a", i), "cpus:4;mem:4GiB");
  s.framework("x").asks("cpus:1;mem:1GiB");
  s.framework("y").asks("cpus:1;mem:1GiB");

  s.run_until_nothing_fits();

  EXPECT_EQ(s.framework("x").tasks(), 8);
  EXPECT_EQ(s.framework("y").tasks(), 4);
}

TEST(Drf, AChangedWeightCountsForWhatIsFreedNext) {
  AllocatorScenario s;
  s.agent("a1", "cpus:12;mem:12GiB");
  s.framework("x").asks("cpus:1;mem:1GiB");
  s.framework("y").asks("cpus:1;mem:1GiB");
  s.run_until_nothing_fits();
  ASSERT_EQ(s.framework("x").tasks(), 6);

  s.weight("x", 2 * kWeightOne);
  for (int i = 0; i < 6; ++i) {
    s.framework("x").ends(1);
    s.framework("y").ends(1);
    s.run_until_nothing_fits();
  }

  EXPECT_EQ(s.framework("x").tasks(), 8);
  EXPECT_EQ(s.framework("y").tasks(), 4);
}

// Two frameworks of one role share as much as one framework of another role has alone.
TEST(Drf, IsBetweenRolesFirstAndThenWithinThem) {
  AllocatorScenario s;
  s.agent("a1", "cpus:12;mem:12GiB");
  s.framework("x1").in_role("x").asks("cpus:1;mem:1GiB");
  s.framework("x2").in_role("x").asks("cpus:1;mem:1GiB");
  s.framework("y").asks("cpus:1;mem:1GiB");

  s.run_until_nothing_fits();

  EXPECT_EQ(s.framework("x1").tasks(), 3);
  EXPECT_EQ(s.framework("x2").tasks(), 3);
  EXPECT_EQ(s.framework("y").tasks(), 6);
  EXPECT_EQ(s.allocator().roles().at(0).dominant_share, Share::of(1, 2));
}

TEST(Drf, WhoWantsLessLeavesTheRestToOthers) {
  AllocatorScenario s;
  s.agent("a1", "cpus:10;mem:10GiB");
  s.framework("x").asks("cpus:1;mem:1GiB", 2);
  s.framework("y").asks("cpus:1;mem:1GiB");

  s.run_until_nothing_fits();

  EXPECT_EQ(s.framework("x").tasks(), 2);
  EXPECT_EQ(s.framework("y").tasks(), 8);
}

TEST(Drf, WhatIsOfferedCountsInTheShare) {
  AllocatorScenario s;
  s.agent("a1", "cpus:2;mem:2GiB");
  s.framework("x").asks("cpus:1;mem:1GiB");
  s.framework("y").asks("cpus:1;mem:1GiB");

  s.decide();

  EXPECT_EQ(s.framework("x").offers(), Offers{"a1 cpus:1;mem:1024"});
  EXPECT_EQ(s.framework("y").offers(), Offers{"a1 cpus:1;mem:1024"});
  EXPECT_EQ(s.framework("x").dominant_share(), Share::of(1, 2));
}

TEST(Asks, AreFilledInOneOfferPerAgent) {
  AllocatorScenario s;
  s.agent("a1", "cpus:8;mem:8GiB");
  s.framework("x").asks("cpus:1;mem:1GiB", 2, "small").asks("cpus:2;mem:1GiB", 1, "large");

  const Decision decision = s.decide();

  ASSERT_EQ(decision.grants.size(), 1u);
  const Offer& offer = decision.grants[0]->offer;
  EXPECT_EQ(to_text(offer.total()), "cpus:4;mem:3072");
  std::map<AskName, int64_t> fills;
  for (const AskFill& fill : offer.fills) fills[fill.ask] = fill.count;
  EXPECT_EQ(fills, (std::map<AskName, int64_t>{{AskName("small"), 2}, {AskName("large"), 1}}));
  EXPECT_EQ(decision.grants[0]->expires, s.now() + kOfferTimeout);
}

TEST(Asks, AMetOneGetsNothingMore) {
  AllocatorScenario s;
  s.agent("a1", "cpus:8;mem:8GiB");
  s.framework("x").asks("cpus:1;mem:1GiB", 2);
  s.run_until_nothing_fits();
  EXPECT_EQ(s.framework("x").tasks(), 2);
  EXPECT_EQ(s.framework("x").ask().wanted, 0);

  s.advance(minutes(10));

  EXPECT_EQ(s.framework("x").offers(), Offers{});
  EXPECT_EQ(s.allocator().next_decision(s.now()), std::nullopt);
}

TEST(Asks, HigherPriorityComesFirst) {
  AllocatorScenario s;
  s.agent("a1", "cpus:3;mem:8GiB");
  s.framework("x").asks("cpus:1", 2, "later").asks("cpus:1", 2, "sooner", "", 0, 1);

  s.run_until_nothing_fits();

  EXPECT_EQ(s.framework("x").tasks("sooner"), 2);
  EXPECT_EQ(s.framework("x").tasks("later"), 1);
}

TEST(Asks, OfOnePriorityTakeTurns) {
  AllocatorScenario s;
  s.agent("a1", "cpus:4;mem:8GiB");
  s.framework("x").asks("cpus:1", 100, "one").asks("cpus:1", 100, "two");

  s.run_until_nothing_fits();

  EXPECT_EQ(s.framework("x").tasks("one"), 2);
  EXPECT_EQ(s.framework("x").tasks("two"), 2);
}

TEST(Asks, DeclaringReplacesTheCountButNotWhatIsOffered) {
  AllocatorScenario s;
  s.agent("a1", "cpus:8;mem:8GiB");
  s.framework("x").asks("cpus:1;mem:1GiB", 4);
  s.decide();
  ASSERT_EQ(s.framework("x").offers(), Offers{"a1 cpus:4;mem:4096"});

  s.framework("x").asks("cpus:1;mem:1GiB", 6);
  s.decide();

  // Four CPUs are still in the first offer.
  EXPECT_EQ(s.framework("x").offers(), (Offers{"a1 cpus:2;mem:2048", "a1 cpus:4;mem:4096"}));
  EXPECT_EQ(s.framework("x").ask().offered, 6);
}

TEST(Asks, OnesThatCannotBeDeclaredSayWhy) {
  const Ask good{.name = AskName("a"), .shape = ResourceVector::of(1000, 1000), .count = 1};
  EXPECT_TRUE(check_ask(good).has_value());
  const auto refused = [&](const std::function<void(Ask&)>& change) {
    Ask ask = good;
    change(ask);
    const Result<void> checked = check_ask(ask);
    return checked ? std::string("accepted") : checked.error().message();
  };
  EXPECT_THAT(refused([](Ask& a) { a.name = AskName("a b"); }), testing::HasSubstr("a b"));
  EXPECT_THAT(refused([](Ask& a) { a.shape = {}; }),
              testing::HasSubstr("ask 'a': a task must take"));
  EXPECT_THAT(refused([](Ask& a) { a.count = -1; }), testing::HasSubstr("not -1"));
  EXPECT_THAT(refused([](Ask& a) { a.count = kAskCountMax + 1; }), testing::HasSubstr("count"));
  EXPECT_THAT(refused([](Ask& a) { a.ports = 65; }), testing::HasSubstr("ports"));
  EXPECT_THAT(refused([](Ask& a) { a.role = RoleName("a//b"); }), testing::HasSubstr("a//b"));
  EXPECT_THAT(refused([](Ask& a) {
                a.constraints = {{"rack", Constraint::Operator::kMatches, {"("}}};
              }),
              testing::HasSubstr("rack"));
  EXPECT_THAT(
      refused([](Ask& a) {
        a.constraints.assign(kConstraintsMax + 1, {"rack", Constraint::Operator::kEquals, {"r1"}});
      }),
      testing::HasSubstr("constraints"));
}

}  // namespace
}  // namespace proffer::fairness_test
