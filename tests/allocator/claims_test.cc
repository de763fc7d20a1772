// No ask starves: large asks among streams of small ones.

#include <gtest/gtest.h>

#include "tests/allocator/scenario.h"

namespace proffer::claims_test {
namespace {

// One of four small tasks ends each second and is replaced at once. Returns the seconds until the
// large task runs, at most `most`.
int64_t seconds_until_served(AllocatorScenario& s, int64_t most) {
  for (int64_t second = 0; second < most; ++second) {
    if (s.framework("large").tasks() > 0) return second;
    s.framework("small").ends(1);
    s.advance(seconds(1));
    s.decide();
    s.framework("large").accepts_all();
    s.framework("small").accepts_all();
  }
  return most;
}

void crowd(AllocatorScenario& s) {
  s.agent("a1", "cpus:4;mem:4GiB");
  s.framework("small").asks("cpus:1;mem:1GiB", 100'000);
  s.run_until_nothing_fits();
  s.framework("large").asks("cpus:3;mem:3GiB", 10);
  s.decide();
}

TEST(Claim, ServesALargeAskAmongAStreamOfSmallOnes) {
  AllocatorScenario s;
  crowd(s);
  // claim_after, and then one second for each CPU that must become free.
  EXPECT_LE(seconds_until_served(s, 1'000), 30 + 4);
  EXPECT_EQ(s.framework("large").tasks(), 1);
}

TEST(Claim, IsWhatServesIt) {
  AllocatorScenario s(AllocatorOptions{.naive = {.no_gate = true, .no_claims = true}});
  crowd(s);
  EXPECT_EQ(seconds_until_served(s, 1'000), 1'000) << "without claims it starves";
}

TEST(Claim, IsShownAndSetsAsideWhatBecomesFree) {
  AllocatorScenario s;
  crowd(s);
  EXPECT_EQ(s.framework("large").ask().claimed, std::nullopt);
  s.advance(kClaimAfter);
  EXPECT_EQ(s.framework("large").ask().claimed, AgentId("a1"));

  s.framework("small").ends(2);
  s.decide();

  EXPECT_EQ(s.framework("small").offers(), Offers{});
  // Resources that are set aside are neither offered nor held.
  EXPECT_EQ(to_text(s.allocator().agents().at(0).free), "cpus:2;mem:2048");
  EXPECT_EQ(s.framework("large").dominant_share(), Share::of(0, 1));
}

TEST(Claim, TheNextTaskOfTheSameAskDoesNotWaitAgain) {
  AllocatorScenario s;
  s.agent("a1", "cpus:4;mem:4GiB");
  s.framework("small").asks("cpus:1;mem:1GiB", 100'000);
  s.run_until_nothing_fits();
  s.framework("large").asks("cpus:2;mem:1GiB", 2);
  s.decide();
  const int64_t first = seconds_until_served(s, 100);
  ASSERT_LE(first, 34);
  // The role of the small tasks now has the smaller share; when it has the larger one, the next
  // wait is short.
  s.framework("large").ends(1);
  const int64_t second = seconds_until_served(s, 100);
  EXPECT_LE(second, 4);
}

TEST(Claim, EndsWhenTheAskIsWithdrawn) {
  AllocatorScenario s;
  crowd(s);
  s.advance(kClaimAfter);
  s.framework("small").ends(1);
  s.decide();
  ASSERT_EQ(s.framework("small").offers(), Offers{});

  s.framework("large").asks("cpus:3;mem:3GiB", 0);
  s.decide();

  EXPECT_EQ(s.framework("small").offers(), Offers{"a1 cpus:1;mem:1024"});
}

TEST(Claim, SurvivesDeclaringTheSameAskWithAnotherCount) {
  AllocatorScenario s;
  crowd(s);
  s.advance(kClaimAfter);
  ASSERT_EQ(s.framework("large").ask().claimed, AgentId("a1"));

  s.framework("large").asks("cpus:3;mem:3GiB", 4);
  s.decide();
  EXPECT_EQ(s.framework("large").ask().claimed, AgentId("a1"));

  s.framework("large").asks("cpus:4;mem:3GiB", 4);
  s.decide();
  EXPECT_EQ(s.framework("large").ask().claimed, std::nullopt);
}

TEST(Claim, IsChosenAgainWhenItsAgentLeaves) {
  AllocatorScenario s;
  s.agent("a1", "cpus:4;mem:4GiB");
  s.agent("a2", "cpus:4;mem:4GiB");
  s.framework("small").asks("cpus:1;mem:1GiB", 100'000);
  s.run_until_nothing_fits();
  s.framework("large").asks("cpus:3;mem:3GiB", 1);
  s.decide();
  s.advance(kClaimAfter);
  ASSERT_EQ(s.framework("large").ask().claimed, AgentId("a1"));

  s.loses("a1");
  s.decide();

  EXPECT_EQ(s.framework("large").ask().claimed, AgentId("a2"));
}

TEST(Claim, PrefersTheAgentThatNeedsLeastToBecomeFree) {
  AllocatorScenario s;
  s.agent("a1", "cpus:4;mem:4GiB");
  s.agent("a2", "cpus:5;mem:4GiB");
  s.framework("small").asks("cpus:2;mem:1GiB", 4);
  s.run_until_nothing_fits();
  s.framework("large").asks("cpus:4;mem:1GiB", 1);
  s.decide();
  s.advance(kClaimAfter);
  EXPECT_EQ(s.framework("large").ask().claimed, AgentId("a2"));
}

// Tasks that never end must not decide which ask is served.
TEST(Claim, MovesWhereThingsEndIfNothingEndsOnItsAgent) {
  AllocatorScenario s;
  s.agent("a1", "cpus:4;mem:4GiB");
  s.framework("forever").asks("cpus:1;mem:1GiB", 4);
  s.run_until_nothing_fits();
  s.agent("a2", "cpus:4;mem:4GiB");
  s.framework("small").asks("cpus:1;mem:1GiB", 100'000);
  s.run_until_nothing_fits();
  s.framework("large").asks("cpus:3;mem:3GiB", 1);
  s.decide();
  s.advance(kClaimAfter);
  ASSERT_EQ(s.framework("large").ask().claimed, AgentId("a1"));

  EXPECT_LE(seconds_until_served(s, 1'000), 30 + 4);
  EXPECT_EQ(s.framework("large").tasks_on("a2"), 1);
}

// Asks for four tasks of one CPU that are declared to run until they are ended.
Ask forever() {
  return {.name = AskName("task"),
          .shape = *parse_shape("cpus:1;mem:1GiB"),
          .count = 4,
          .duration = kDurationMax};
}

// A claim prefers agents without tasks that are declared to have no end.
TEST(Claim, IsNotWhereTasksAreDeclaredToHaveNoEnd) {
  AllocatorScenario s;
  s.agent("a1", "cpus:4;mem:4GiB");
  s.framework("forever").asks(forever());
  s.run_until_nothing_fits();
  s.agent("a2", "cpus:4;mem:4GiB");
  s.framework("small").asks("cpus:1;mem:1GiB", 100'000);
  s.run_until_nothing_fits();
  s.framework("large").asks("cpus:3;mem:3GiB", 1);
  s.decide();
  s.advance(kClaimAfter);
  EXPECT_NE(s.framework("large").ask().claimed, AgentId("a1"));

  EXPECT_LE(seconds_until_served(s, 1'000), 4);
  EXPECT_EQ(s.framework("large").tasks_on("a2"), 1);
}

// If all agents run tasks without end that leave too little room, nothing is kept from others until
// one of those tasks ends after all.
TEST(Claim, IsNoneWhereWhatHasNoEndLeavesTooLittle) {
  AllocatorScenario s;
  s.agent("a1", "cpus:6;mem:6GiB");
  s.framework("forever").asks(forever());
  s.run_until_nothing_fits();
  s.framework("small").asks("cpus:1;mem:1GiB", 100'000);
  s.run_until_nothing_fits();
  s.framework("large").asks("cpus:3;mem:3GiB", 1);
  s.decide();
  for (int second = 0; second < 200; ++second) {
    s.framework("small").ends(1);
    s.advance(seconds(1));
    EXPECT_EQ(s.framework("large").ask().claimed, std::nullopt) << second;
    s.framework("small").accepts_all();
    s.run_until_nothing_fits();
    ASSERT_EQ(s.framework("small").tasks(), 2) << second;
  }

  s.framework("forever").ends(1);
  EXPECT_LE(seconds_until_served(s, 1'000), kClaimAfter.micros() / 1'000'000 + 4);
  EXPECT_EQ(s.framework("large").tasks(), 1);
}

// An ask that may no longer borrow keeps nothing from others (seed 7603 of the simulator).
TEST(Claim, EndsWhenItsAskMayNotHaveSoMuchAnyMore) {
  AllocatorScenario s;
  s.weight("large", 9'000);
  s.agent("a1", "cpus:4;mem:4GiB");
  s.framework("small").asks("cpus:1;mem:1GiB", 100'000);
  s.run_until_nothing_fits();
  s.framework("large").asks(Ask{.name = AskName("task"),
                                .shape = *parse_shape("cpus:3;mem:3GiB"),
                                .count = 1,
                                .borrow = false});
  s.decide();
  s.advance(kClaimAfter);
  ASSERT_EQ(s.framework("large").ask().claimed, AgentId("a1"));

  s.weight("large", 1'000);
  s.framework("small").ends(1);
  s.advance(kClaimAfter);
  EXPECT_EQ(s.framework("large").ask().claimed, std::nullopt);
  EXPECT_EQ(s.framework("small").offers(), Offers{"a1 cpus:1;mem:1024"});
}

TEST(Claim, IsNotForAnAskThatCouldNeverFit) {
  AllocatorScenario s;
  s.agent("a1", "cpus:4;mem:4GiB");
  s.framework("small").asks("cpus:1;mem:1GiB", 100'000);
  s.run_until_nothing_fits();
  s.framework("huge").asks("cpus:5;mem:3GiB", 1);
  s.framework("large").asks("cpus:3;mem:3GiB", 1);
  s.decide();
  EXPECT_FALSE(s.framework("huge").ask().could_ever_fit);

  s.advance(kClaimAfter);

  EXPECT_EQ(s.framework("huge").ask().claimed, std::nullopt);
  EXPECT_EQ(s.framework("large").ask().claimed, AgentId("a1"));
}

TEST(Claim, OfTwoLargeAsksAreOnTwoAgentsAndBothAreServed) {
  AllocatorScenario s;
  s.agent("a1", "cpus:4;mem:4GiB");
  s.agent("a2", "cpus:4;mem:4GiB");
  s.framework("small").asks("cpus:1;mem:1GiB", 100'000);
  s.run_until_nothing_fits();
  s.framework("large").asks("cpus:4;mem:4GiB", 1);
  s.framework("large2").asks("cpus:4;mem:4GiB", 1);
  s.decide();
  s.advance(kClaimAfter);
  EXPECT_EQ(s.framework("large").ask().claimed, AgentId("a1"));
  EXPECT_EQ(s.framework("large2").ask().claimed, AgentId("a2"));

  s.framework("small").ends(8);
  s.run_until_nothing_fits();

  EXPECT_EQ(s.framework("large").tasks(), 1);
  EXPECT_EQ(s.framework("large2").tasks(), 1);
}

// The framework's own stream of small tasks of the same priority does not starve its large one.
TEST(Claim, ServesALargeAskAmongTheFrameworksOwnSmallOnes) {
  AllocatorScenario s;
  s.agent("a1", "cpus:4;mem:4GiB");
  s.framework("x").asks("cpus:1;mem:1GiB", 100'000, "small");
  s.run_until_nothing_fits();
  s.framework("x").asks("cpus:3;mem:3GiB", 1, "large");
  s.decide();
  int64_t second = 0;
  for (; second < 200 && s.framework("x").tasks("large") == 0; ++second) {
    s.framework("x").ends(1, "small");
    s.advance(seconds(1));
    s.framework("x").accepts_all();
  }
  EXPECT_LE(second, 34);
}

// A large ask beyond its role's fair share waits: claims are for the leaf that is first by share.
TEST(Claim, IsNotForWhoHasMoreThanOthersThatWait) {
  AllocatorScenario s;
  s.agent("a1", "cpus:8;mem:8GiB");
  s.framework("rich").asks("cpus:6;mem:6GiB", 2);
  s.run_until_nothing_fits();
  s.framework("poor").asks("cpus:1;mem:1GiB", 100'000);
  s.run_until_nothing_fits();
  for (int second = 0; second < 300; ++second) {
    s.framework("poor").ends(1);
    s.advance(seconds(1));
    EXPECT_EQ(s.framework("rich").ask().claimed, std::nullopt) << second;
    s.framework("poor").accepts_all();
  }
  EXPECT_EQ(s.framework("poor").tasks(), 2);
}

Ask gang_of(int64_t gang, const std::string& shape, int64_t count) {
  return {
      .name = AskName("task"), .shape = parse_shape(shape).value(), .count = count, .gang = gang};
}

// One of the small tasks ends each second, in turn over the agents, and is replaced. Returns the
// seconds until each of these frameworks has a task, at most `most`.
int64_t seconds_until_all_run(AllocatorScenario& s, const std::vector<std::string>& frameworks,
                              int64_t most) {
  const auto all_run = [&] {
    return std::all_of(frameworks.begin(), frameworks.end(),
                       [&](const auto& name) { return s.framework(name).tasks() > 0; });
  };
  for (int64_t second = 0; second < most; ++second) {
    if (all_run()) return second;
    if (s.framework("small").tasks() > 0) s.framework("small").ends(1);
    s.advance(seconds(1));
    s.end_revoked();
    s.decide();
    for (const std::string& name : frameworks) s.framework(name).accepts_all();
    s.framework("small").accepts_all();
  }
  return most;
}

void crowd_of_agents(AllocatorScenario& s, int agents) {
  for (int i = 1; i <= agents; ++i) s.agent(text("a", i), "cpus:2;mem:2GiB");
  s.framework("small").asks("cpus:1;mem:1GiB", 100'000);
  s.run_until_nothing_fits();
}

TEST(Claim, OfAGangIsOfAsManyAgentsAsItNeeds) {
  AllocatorScenario s;
  crowd_of_agents(s, 4);
  s.framework("gang").asks(gang_of(3, "cpus:2;mem:2GiB", 3));
  s.decide();
  EXPECT_LE(seconds_until_all_run(s, {"gang"}, 1'000), 30 + 8);
  EXPECT_EQ(s.framework("gang").tasks(), 3);
}

// The naive rule fails: an ask that waits until all agents are free at once waits forever.
TEST(Claim, IsWhatServesAGang) {
  AllocatorScenario s(AllocatorOptions{.naive = {.no_gate = true, .no_claims = true}});
  crowd_of_agents(s, 4);
  s.framework("gang").asks(gang_of(3, "cpus:2;mem:2GiB", 3));
  s.decide();
  EXPECT_EQ(seconds_until_all_run(s, {"gang"}, 1'000), 1'000);
}

// Each of two gangs could hold half of its need forever. Here one gets its whole need first.
TEST(Claim, TwoGangsThatEachCouldHoldHalfAreBothServed) {
  AllocatorScenario s;
  crowd_of_agents(s, 4);
  s.framework("gang1").asks(gang_of(4, "cpus:2;mem:2GiB", 4));
  s.framework("gang2").asks(gang_of(4, "cpus:2;mem:2GiB", 4));
  s.decide();
  int64_t second = 0;
  bool first_ran = false;
  bool second_ran = false;
  for (; second < 200 && !(first_ran && second_ran); ++second) {
    if (s.framework("small").tasks() > 0) s.framework("small").ends(1);
    s.advance(seconds(1));
    s.decide();
    for (const char* name : {"gang1", "gang2"}) {
      s.framework(name).accepts_all();
      if (s.framework(name).tasks() == 0) continue;
      EXPECT_EQ(s.framework(name).tasks(), 4) << "never in part";
      (name[4] == '1' ? first_ran : second_ran) = true;
      s.framework(name).ends(4);
    }
    s.framework("small").accepts_all();
  }
  EXPECT_LE(second, 2 * (30 + 8));
}

TEST(Claim, OfAGangExchangesTheAgentWhereNothingEnds) {
  AllocatorScenario s;
  s.agent("stuck", "cpus:2;mem:2GiB");
  s.framework("forever").asks("cpus:1;mem:1GiB", 2);
  s.run_until_nothing_fits();
  crowd_of_agents(s, 2);
  s.framework("gang").asks(gang_of(2, "cpus:2;mem:2GiB", 2));
  s.decide();
  // At worst one review for each badly chosen agent.
  EXPECT_LE(seconds_until_all_run(s, {"gang"}, 1'000), 3 * 30 + 8);
  EXPECT_EQ(s.framework("gang").tasks_on("stuck"), 0);
}

Ask spare_of(const std::string& shape, int64_t count) {
  return {.name = AskName("task"),
          .shape = parse_shape(shape).value(),
          .count = count,
          .revocable_ok = true};
}

TEST(Lent, WhatIsSetAsideServesThoseWhoMayBeRevokedUntilItIsEnough) {
  AllocatorScenario s;
  crowd(s);
  s.advance(kClaimAfter);
  ASSERT_EQ(s.framework("large").ask().claimed, AgentId("a1"));
  s.framework("spare").asks(spare_of("cpus:1;mem:1GiB", 10));
  s.framework("small").ends(1);
  s.decide();
  ASSERT_EQ(s.framework("spare").outstanding().size(), 1u);
  ASSERT_EQ(s.framework("spare").outstanding()[0].offer.slices.size(), 1u);
  EXPECT_TRUE(s.framework("spare").outstanding()[0].offer.slices[0].revocable);
  s.framework("spare").accepts_all();
  EXPECT_EQ(s.framework("spare").dominant_share(), Share::of(1, 4)) << "it counts as its own";
  s.framework("small").ends(1);
  s.decide();
  s.framework("spare").accepts_all();
  ASSERT_EQ(s.framework("spare").tasks(), 2);
  EXPECT_TRUE(s.revokes().empty()) << "ending them would not do yet";

  // Three CPUs would be free now with the lent part, and no more is lent.
  s.framework("small").ends(1);
  s.decide();
  ASSERT_EQ(s.revokes().size(), 2u);
  for (const Revoke& revoke : s.revokes()) {
    EXPECT_EQ(revoke.framework, FrameworkId("spare"));
    EXPECT_EQ(revoke.reason, RevokeReason::kLent);
    EXPECT_EQ(revoke.beneficiary, RoleName("large"));
    EXPECT_EQ(revoke.deadline, s.now() + kRevokeGrace);
  }
  EXPECT_EQ(s.framework("spare").offers(), Offers{});
  s.advance(seconds(1));
  EXPECT_EQ(s.revokes().size(), 2u) << "who has had a notice counts as ended";

  s.advance(kRevokeGrace);
  s.end_revoked();
  s.decide();
  EXPECT_EQ(s.framework("large").offers(), Offers{"a1 cpus:3;mem:3072"});
}

TEST(Lent, OffersAreTakenBackBeforeTasks) {
  AllocatorScenario s;
  crowd(s);
  s.advance(kClaimAfter);
  s.framework("spare").asks(spare_of("cpus:1;mem:1GiB", 10));
  s.framework("small").ends(2);
  s.decide();
  ASSERT_EQ(s.framework("spare").offers(), Offers{"a1 cpus:2;mem:2048"});
  s.framework("small").ends(1);
  s.decide();
  EXPECT_EQ(s.framework("spare").offers(), Offers{});
  EXPECT_TRUE(s.revokes().empty());
  EXPECT_EQ(s.framework("large").offers(), Offers{"a1 cpus:3;mem:3072"});
}

TEST(Lent, DoesNotDelayTheClaimByMoreThanTheGrace) {
  AllocatorScenario s;
  crowd(s);
  s.advance(kClaimAfter);
  s.framework("spare").asks(spare_of("cpus:1;mem:1GiB", 100'000));
  int64_t second = 0;
  for (; second < 1'000 && s.framework("large").tasks() == 0; ++second) {
    if (s.framework("small").tasks() > 0) s.framework("small").ends(1);
    s.advance(seconds(1));
    s.end_revoked();
    s.decide();
    for (const char* name : {"large", "small", "spare"}) s.framework(name).accepts_all();
  }
  EXPECT_LE(second, 4 + 11);
}

// Lent tasks that come and go do not count as a sign that resources become free there.
TEST(Lent, DoesNotKeepAClaimWhereNothingElseEnds) {
  AllocatorScenario s;
  s.agent("a1", "cpus:4;mem:4GiB");
  s.framework("forever").asks("cpus:1;mem:1GiB", 3);
  s.run_until_nothing_fits();
  s.agent("a2", "cpus:4;mem:4GiB");
  s.framework("small").asks("cpus:1;mem:1GiB", 100'000);
  s.run_until_nothing_fits();
  s.framework("large").asks("cpus:3;mem:3GiB", 1);
  s.decide();
  s.framework("small").asks("cpus:1;mem:1GiB", 0, "other");
  s.framework("spare").asks(spare_of("cpus:1;mem:1GiB", 100'000));
  int64_t second = 0;
  for (; second < 1'000 && s.framework("large").tasks() == 0; ++second) {
    if (s.framework("small").tasks() > 0) s.framework("small").ends(1);
    if (s.framework("spare").tasks() > 1) s.framework("spare").ends(1);
    s.advance(seconds(1));
    s.end_revoked();
    s.decide();
    for (const char* name : {"large", "small", "spare"}) s.framework(name).accepts_all();
  }
  EXPECT_LE(second, 3 * 30 + 4 + 11);
}

}  // namespace
}  // namespace proffer::claims_test
