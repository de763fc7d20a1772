// Guarantees, limits and entitlements of roles.

#include <gtest/gtest.h>

#include "allocator/rules/entitlement.h"
#include "tests/allocator/running.h"
#include "tests/allocator/scenario.h"

namespace proffer::quota_test {
namespace {

AllocatorOptions nothing_is_lent() { return {.reclaim = ReclaimMode::kOff}; }

TEST(Guarantee, ComesBeforeShares) {
  AllocatorScenario s;
  s.agent("a1", "cpus:10;mem:10GiB");
  s.guarantee("x", "cpus:7");
  s.framework("x").asks("cpus:1;mem:1GiB");
  s.framework("y").asks("cpus:1;mem:1GiB");

  s.run_until_nothing_fits();

  EXPECT_EQ(s.framework("x").tasks(), 7);
  EXPECT_EQ(s.framework("y").tasks(), 3);
  EXPECT_TRUE(s.role("x").guarantee_met);
}

TEST(Guarantee, OfSeveralTheLeastFilledIsServedFirst) {
  AllocatorScenario s;
  s.agent("a1", "cpus:8;mem:16GiB");
  s.guarantee("x", "cpus:9");
  s.guarantee("y", "cpus:3");
  s.framework("x").asks("cpus:1;mem:1GiB");
  s.framework("y").asks("cpus:1;mem:1GiB");

  s.run_until_nothing_fits();

  EXPECT_EQ(s.framework("x").tasks(), 6);
  EXPECT_EQ(s.framework("y").tasks(), 2);
  EXPECT_FALSE(s.role("x").guarantee_met);
}

// For a kind that the guarantee does not name, x comes first with the same fraction of the cluster,
// four CPUs of ten, and no more.
TEST(Guarantee, CoversAsLargeAPartOfTheKindsThatItDoesNotName) {
  AllocatorScenario s;
  s.agent("a1", "cpus:10;mem:10GiB");
  s.guarantee("x", "mem:4GiB");
  s.framework("x").asks("cpus:2;mem:1GiB");
  s.framework("y").asks("cpus:1;mem:1GiB");

  s.run_until_nothing_fits();

  EXPECT_EQ(s.framework("x").tasks(), 2);
  EXPECT_EQ(s.framework("y").tasks(), 6);
}

// An ask that would exceed the guarantee is not covered, but a smaller one is.
TEST(Guarantee, CoversAnAskThatStaysWithinIt) {
  AllocatorScenario s;
  s.agent("a1", "cpus:5;mem:8GiB");
  s.guarantee("x", "cpus:4");
  s.framework("big").in_role("x").asks("cpus:3;mem:1GiB");
  s.framework("small").in_role("x").asks("cpus:1;mem:512", 1);
  s.framework("y").asks("cpus:1;mem:512");

  s.run_until_nothing_fits();

  EXPECT_EQ(s.framework("big").tasks(), 1);
  EXPECT_EQ(s.framework("small").tasks(), 1);
  EXPECT_EQ(s.framework("y").tasks(), 1);
}

TEST(Guarantee, WhileNobodyWantsItIsLent) {
  AllocatorScenario s;
  s.agent("a1", "cpus:10;mem:10GiB");
  s.guarantee("absent", "cpus:8");
  s.framework("y").asks("cpus:1;mem:1GiB");

  s.run_until_nothing_fits();

  EXPECT_EQ(s.framework("y").tasks(), 10);
  EXPECT_TRUE(s.role("absent").guarantee_met);
}

TEST(Guarantee, IsHeldIfNothingIsLent) {
  AllocatorScenario s(nothing_is_lent());
  s.agent("a1", "cpus:10;mem:10GiB");
  s.guarantee("x", "cpus:7");
  s.framework("y").asks("cpus:1;mem:512");

  s.run_until_nothing_fits();
  EXPECT_EQ(s.framework("y").tasks(), 3);

  s.framework("x").subscribes(OfferMode::kAsks).asks("cpus:1;mem:512", 5);
  s.run_until_nothing_fits();
  EXPECT_EQ(s.framework("x").tasks(), 5);
  EXPECT_EQ(s.framework("y").tasks(), 3) << "two more are held";

  s.guarantee("x", "cpus:6");
  s.run_until_nothing_fits();
  EXPECT_EQ(s.framework("y").tasks(), 4);
}

// p may have the free resources of a1 as soon as a reservation meets the guarantee of q.
TEST(Guarantee, HoldsNothingAnyMoreOnceAnOpenOfferHasMetIt) {
  AllocatorScenario s(nothing_is_lent());
  s.guarantee("q", "cpus:2");
  s.agent("a1", "cpus:1;mem:1GiB");
  s.agent("a2", "mem:10GiB", "", {{"q", "cpus:2;mem:1GiB"}});
  s.framework("p").asks("cpus:1;mem:1GiB");
  s.framework("open").in_role("q", OfferMode::kOpen);
  s.decide();
  EXPECT_EQ(s.framework("open").offers(), Offers{"a2 cpus:2;mem:8192"});
  EXPECT_EQ(s.framework("p").offers(), Offers{"a1 cpus:1;mem:1024"});
}

TEST(Guarantee, ComesBeforeWhatIsSetAsideForWhoOnlyWaits) {
  AllocatorScenario s({.minimum_runtime = hours(1)});
  s.agent("a1", "cpus:4;mem:4GiB");
  s.guarantee("eng", "cpus:2");
  s.framework("small").asks("cpus:1;mem:1GiB");
  s.run_until_nothing_fits();
  s.framework("large").asks("cpus:2;mem:2GiB");
  s.decide();
  s.advance(kClaimAfter);
  ASSERT_EQ(s.framework("large").ask().claimed, AgentId("a1"));
  s.framework("eng").asks("cpus:1;mem:1GiB");
  s.decide();

  s.framework("small").ends(2);
  s.run_until_nothing_fits();

  EXPECT_EQ(s.framework("eng").tasks(), 2);
  EXPECT_EQ(s.framework("large").tasks(), 0);
  s.framework("small").ends(2);
  s.run_until_nothing_fits();
  EXPECT_EQ(s.framework("large").tasks(), 1) << "its claim stays";
}

TEST(Guarantee, IsHeldFromOpenOffersToo) {
  AllocatorScenario s(nothing_is_lent());
  s.agent("a1", "cpus:10;mem:10GiB");
  s.guarantee("x", "cpus:7;mem:1GiB");
  s.framework("open").subscribes();
  s.decide();
  EXPECT_EQ(s.framework("open").offers(), Offers{"a1 cpus:3;mem:9216"});
}

TEST(Guarantee, ThatExceedsTheClusterIsServedFirstWithAllThereIs) {
  AllocatorScenario s;
  s.agent("a1", "cpus:10;mem:10GiB");
  s.guarantee("x", "cpus:1000");
  s.framework("x").asks("cpus:1;mem:1GiB", 8);
  s.framework("y").asks("cpus:1;mem:1GiB");

  s.run_until_nothing_fits();

  EXPECT_EQ(s.framework("x").tasks(), 8);
  EXPECT_EQ(s.framework("y").tasks(), 2);
}

TEST(Guarantee, OfARoleInsideAnotherCountsAtTheTop) {
  AllocatorScenario s;
  s.agent("a1", "cpus:10;mem:10GiB");
  s.guarantee("eng/ads", "cpus:6");
  s.framework("ads").in_role("eng/ads").asks("cpus:1;mem:1GiB");
  s.framework("web").in_role("eng/web").asks("cpus:1;mem:1GiB");
  s.framework("sales").asks("cpus:1;mem:1GiB");

  s.run_until_nothing_fits();

  EXPECT_EQ(s.framework("ads").tasks(), 6);
  // Then eng has 6 of 10, in any of its frameworks: the rest is for the framework with less.
  EXPECT_EQ(s.framework("web").tasks(), 0);
  EXPECT_EQ(s.framework("sales").tasks(), 4);
}

// The parent's guarantee is met; resources by its share go to the child with an unmet guarantee.
TEST(Guarantee, InsideARoleComesBeforeTheSharesOfItsChildren) {
  AllocatorScenario s;
  s.agent("a1", "cpus:12;mem:12GiB");
  s.framework("web").in_role("eng/web").asks("cpus:1;mem:1GiB", 3);
  s.run_until_nothing_fits();
  s.guarantee("eng", "cpus:3");
  s.guarantee("eng/ads", "cpus:3");
  s.framework("ads").in_role("eng/ads").asks("cpus:1;mem:1GiB");
  s.framework("web").asks("cpus:1;mem:1GiB");
  s.framework("sales").asks("cpus:1;mem:1GiB");

  s.run_until_nothing_fits();

  EXPECT_EQ(s.framework("ads").tasks(), 3);
  EXPECT_EQ(s.framework("web").tasks(), 3);
  EXPECT_EQ(s.framework("sales").tasks(), 6);
}

TEST(Guarantee, OfAnOpenFrameworkIsServedFirst) {
  AllocatorScenario s;
  s.agent("a1", "cpus:10;mem:10GiB");
  s.guarantee("open", "cpus:8;mem:8GiB");
  s.framework("open").subscribes();
  s.framework("asker").asks("cpus:1;mem:1GiB");

  s.decide();

  EXPECT_EQ(s.framework("open").offers(), Offers{"a1 cpus:8;mem:8192"});
  EXPECT_EQ(s.framework("asker").offers(), Offers{"a1 cpus:2;mem:2048"});
}

TEST(Limit, IsNeverExceededNotEvenByOffers) {
  AllocatorScenario s;
  s.agent("a1", "cpus:10;mem:10GiB");
  s.limit("x", "cpus:3");
  s.framework("x").asks("cpus:1;mem:1GiB");
  s.decide();
  EXPECT_EQ(s.framework("x").offers(), Offers{"a1 cpus:3;mem:3072"});
  s.decide();
  EXPECT_EQ(s.framework("x").offers().size(), 1u);
  s.run_until_nothing_fits();
  EXPECT_EQ(s.framework("x").tasks(), 3);

  s.framework("x").ends(1);
  s.run_until_nothing_fits();
  EXPECT_EQ(s.framework("x").tasks(), 3) << "what ends makes room";

  s.limit("x", "cpus:5");
  s.run_until_nothing_fits();
  EXPECT_EQ(s.framework("x").tasks(), 5);
}

TEST(Limit, OfAParentIsForItsChildrenTogether) {
  AllocatorScenario s;
  s.agent("a1", "cpus:20;mem:20GiB");
  s.limit("eng", "cpus:9");
  s.limit("eng/ads", "cpus:3");
  s.framework("ads").in_role("eng/ads").asks("cpus:1;mem:1GiB");
  s.framework("web").in_role("eng/web").asks("cpus:1;mem:1GiB");
  s.framework("sales").asks("cpus:1;mem:1GiB", 8);

  s.run_until_nothing_fits();

  EXPECT_EQ(s.framework("ads").tasks(), 3);
  EXPECT_EQ(s.framework("web").tasks(), 6);
  EXPECT_EQ(s.framework("sales").tasks(), 8);

  s.framework("web").ends(2);
  s.run_until_nothing_fits();
  EXPECT_EQ(s.framework("web").tasks(), 6);
}

// Room that one framework leaves goes to the other, though no agent has grown.
TEST(Limit, WakesWhoWaitedForIt) {
  AllocatorScenario s;
  s.agent("a1", "cpus:20;mem:20GiB");
  s.limit("x", "cpus:4");
  s.framework("x1").in_role("x").asks("cpus:1;mem:1GiB", 4);
  s.run_until_nothing_fits();
  s.framework("x2").in_role("x").asks("cpus:4;mem:1GiB", 1);
  s.run_until_nothing_fits();
  EXPECT_EQ(s.framework("x2").tasks(), 0);
  s.framework("x1").ends(3);
  s.run_until_nothing_fits();
  EXPECT_EQ(s.framework("x2").tasks(), 0);
  s.framework("x1").ends(1);
  s.run_until_nothing_fits();
  EXPECT_EQ(s.framework("x2").tasks(), 1);
}

TEST(Limit, LoweredBelowUseTakesNothingBackAndGivesNothing) {
  AllocatorScenario s;
  s.agent("a1", "cpus:10;mem:10GiB");
  s.framework("x").asks("cpus:1;mem:1GiB", 6);
  s.run_until_nothing_fits();
  s.limit("x", "cpus:4");
  s.framework("x").asks("cpus:1;mem:1GiB", 6);
  s.run_until_nothing_fits();
  EXPECT_EQ(s.framework("x").tasks(), 6);
  EXPECT_TRUE(s.decide().revokes.empty());

  s.framework("x").ends(2);
  s.run_until_nothing_fits();
  EXPECT_EQ(s.framework("x").tasks(), 4);
  s.framework("x").ends(1);
  s.run_until_nothing_fits();
  EXPECT_EQ(s.framework("x").tasks(), 4);
}

TEST(Limit, OfWhatComesBackMayBeExceeded) {
  AllocatorScenario s;
  s.agent("a1", "cpus:10;mem:10GiB");
  s.limit("x", "cpus:2");
  s.framework("x").asks("cpus:1;mem:1GiB");
  s.allocator().adopt(
      AgentId("a1"), FrameworkId("x"),
      running_task("t", RoleName("x"), {.amounts = parse_shape("cpus:5;mem:1GiB").value()}));
  s.decide();
  EXPECT_EQ(s.framework("x").offers(), Offers{});
}

TEST(Limit, OfOpenOffers) {
  AllocatorScenario s;
  s.agent("a1", "cpus:10;mem:10GiB");
  s.limit("open", "cpus:3");
  s.framework("open").subscribes();
  s.decide();
  EXPECT_EQ(s.framework("open").offers(), Offers{"a1 cpus:3;mem:10240"});
}

// After a failover agents may still report tasks of the role.
TEST(Limit, OfferedIsNothingUntilAllTasksAreKnown) {
  AllocatorScenario s;
  s.agent("a1", "cpus:10;mem:10GiB");
  s.limit("eng", "cpus:6");
  s.framework("ads").in_role("eng/ads").asks("cpus:1;mem:1GiB");
  s.framework("open").in_role("eng/open", OfferMode::kOpen);
  s.framework("y").asks("cpus:1;mem:1GiB", 2);
  s.allocator().set_knows_all_tasks(false);
  s.run_until_nothing_fits();
  EXPECT_EQ(s.framework("ads").tasks(), 0);
  EXPECT_EQ(s.framework("y").tasks(), 2);

  s.allocator().set_knows_all_tasks(true);
  s.decide();
  EXPECT_EQ(s.role("eng").offered[ResourceKind::kCpus], 6'000);
}

TEST(Limit, AnAskAboveItCouldNeverFit) {
  AllocatorScenario s;
  s.agent("a1", "cpus:10;mem:10GiB");
  s.limit("eng", "cpus:4");
  s.framework("x").in_role("eng/x").asks("cpus:5;mem:1GiB", 1);
  s.decide();
  EXPECT_FALSE(s.framework("x").ask().could_ever_fit);
  s.advance(hours(1));
  EXPECT_EQ(s.framework("x").ask().claimed, std::nullopt) << "it claims nothing";

  const FrameworkExplanation found = s.allocator().explain(FrameworkId("x"), s.now());
  ASSERT_EQ(found.asks.size(), 1u);
  EXPECT_FALSE(found.asks[0].could_ever_fit);
  ASSERT_EQ(found.asks[0].changes.size(), 1u);
  EXPECT_EQ(found.asks[0].changes[0].why, Hindrance::kLimit);
  EXPECT_EQ(changes_text(found.asks[0]), "it takes 5 cpus, but the limit of role 'eng' is 4");
}

TEST(Limit, IsToldWithItsRoleAndNumbers) {
  AllocatorScenario s;
  s.agent("a1", "cpus:10;mem:10GiB");
  s.limit("x", "cpus:5");
  s.framework("x").asks("cpus:3;mem:1GiB", 2);
  s.run_until_nothing_fits();
  const FrameworkExplanation found = s.allocator().explain(FrameworkId("x"), s.now());
  ASSERT_EQ(found.asks.size(), 1u);
  EXPECT_TRUE(found.asks[0].could_ever_fit);
  ASSERT_EQ(found.asks[0].hindered.size(), 1u);
  EXPECT_EQ(to_text(found.asks[0].hindered[0]),
            "above the limit of role 'x': it takes 3 cpus, 2 are left");
}

TEST(Entitlement, SplitsByWeightAndGivesOnWhatOneDoesNotWant) {
  using fair::Claimant;
  const ResourceVector total = ResourceVector::of(90, 90);
  const auto wants = [](int64_t amount, int64_t weight = kWeightOne) {
    return Claimant{.weight = weight, .demand = ResourceVector::of(amount, amount)};
  };
  const auto cpus = [&](const std::vector<Claimant>& claimants) {
    std::vector<int64_t> all;
    for (const ResourceVector& part : fair::split(total, total, claimants)) {
      all.push_back(part[ResourceKind::kCpus]);
    }
    return all;
  };
  using Parts = std::vector<int64_t>;
  EXPECT_EQ(cpus({wants(90), wants(90), wants(90)}), (Parts{30, 30, 30}));
  EXPECT_EQ(cpus({wants(10), wants(90), wants(90)}), (Parts{10, 40, 40}));
  EXPECT_EQ(cpus({wants(90, 2000), wants(90)}), (Parts{60, 30}));
  EXPECT_EQ(cpus({wants(5), wants(6)}), (Parts{5, 6}));
  EXPECT_EQ(cpus({}), Parts{});
  // A floor counts as present use.
  std::vector<Claimant> three = {wants(90), wants(90), wants(90)};
  three[0].floor = ResourceVector::of(50, 50);
  EXPECT_EQ(cpus(three), (Parts{50, 20, 20}));
  three[1] = wants(5);
  EXPECT_EQ(cpus(three), (Parts{50, 5, 35}));
  // The floors exceed the whole.
  three[1] = wants(90);
  three[1].floor = ResourceVector::of(130, 130);
  EXPECT_EQ(cpus(three), (Parts{25, 65, 0}));
}

// The example of the DRF paper: entitlements equal the ideal shares.
TEST(Entitlement, FollowsWhatEachWants) {
  AllocatorScenario s;
  s.agent("a1", "cpus:9;mem:18GiB");
  s.framework("A").asks("cpus:1;mem:4GiB");
  s.framework("B").asks("cpus:3;mem:1GiB");
  s.decide();
  const ResourceVector a = s.role("A").entitlement;
  const ResourceVector b = s.role("B").entitlement;
  EXPECT_NEAR(static_cast<double>(a[ResourceKind::kCpus]), 3'000, 2);
  EXPECT_NEAR(static_cast<double>(a[ResourceKind::kMem]), 12 * 1024'000, 2);
  EXPECT_NEAR(static_cast<double>(b[ResourceKind::kCpus]), 6'000, 2);
  EXPECT_NEAR(static_cast<double>(b[ResourceKind::kMem]), 2 * 1024'000, 2);
}

TEST(Entitlement, IsTheGuaranteeAndAFairPartOfTheRest) {
  AllocatorScenario s;
  s.agent("a1", "cpus:12;mem:12GiB");
  s.guarantee("x", "cpus:8;mem:8GiB");
  s.framework("y").asks("cpus:1;mem:1GiB");
  s.framework("z").asks("cpus:1;mem:1GiB");
  s.run_until_nothing_fits();
  EXPECT_EQ(to_text(s.role("y").entitlement), "cpus:6;mem:6144");
  EXPECT_EQ(to_text(s.role("y").borrowed), "");

  s.framework("x").asks("cpus:1;mem:1GiB");
  EXPECT_EQ(to_text(s.role("x").entitlement), "cpus:8;mem:8192");
  EXPECT_EQ(to_text(s.role("y").entitlement), "cpus:2;mem:2048");
  EXPECT_EQ(to_text(s.role("y").borrowed), "cpus:4;mem:4096");
  EXPECT_FALSE(s.role("x").guarantee_met);
}

TEST(Entitlement, GoesDownTheTree) {
  AllocatorScenario s;
  s.agent("a1", "cpus:12;mem:12GiB");
  s.weight("eng", 2 * kWeightOne);
  s.limit("eng/ads", "cpus:2");
  s.framework("ads").in_role("eng/ads").asks("cpus:1;mem:1GiB");
  s.framework("web").in_role("eng/web").asks("cpus:1;mem:1GiB");
  s.framework("sales").asks("cpus:1;mem:1GiB");
  s.decide();
  EXPECT_EQ(s.role("eng").entitlement[ResourceKind::kCpus], 8'000);
  EXPECT_EQ(s.role("sales").entitlement[ResourceKind::kCpus], 4'000);
  EXPECT_EQ(s.role("eng/ads").entitlement[ResourceKind::kCpus], 2'000);
  EXPECT_NEAR(static_cast<double>(s.role("eng/web").entitlement[ResourceKind::kCpus]), 6'000, 2);
}

// Four tenants need the one agent with a fast disk, two may use all agents.
TEST(Entitlement, OfBoundAsksIsAtMostTheirAgents) {
  AllocatorScenario s;
  for (int i = 0; i < 9; ++i) s.agent(text("plain-", i), "cpus:8;mem:8GiB");
  s.agent("fast", "cpus:8;mem:8GiB", "disk:ssd");
  const auto entitled = [&](const std::string& role) {
    return static_cast<double>(s.role(role).entitlement[ResourceKind::kCpus]);
  };
  for (const char* name : {"x", "y", "c", "d"}) {
    const std::string role = *name > 'd' ? text("b/", name) : name;
    s.framework(name).in_role(role).asks("cpus:1;mem:1", 100, "task", "disk == ssd");
  }
  s.framework("one").asks("cpus:1;mem:1");
  s.framework("four").asks("cpus:4;mem:1");
  s.run_until_nothing_fits();
  for (const char* role : {"b", "c", "d"}) EXPECT_NEAR(entitled(role), 2'667, 2) << role;
  EXPECT_NEAR(entitled("b/x"), 1'333, 2);
  EXPECT_NEAR(entitled("one"), 36'000, 2);
  EXPECT_NEAR(entitled("four"), 36'000, 2);
  // One of them does not need it any more.
  s.framework("c").asks("cpus:1;mem:1");
  EXPECT_NEAR(entitled("d"), 4'000, 2);
  EXPECT_NEAR(entitled("one"), 24'000, 2);
}

TEST(Entitlement, BoundsAnAskThatMayNotBorrow) {
  AllocatorScenario s;
  s.agent("a1", "cpus:12;mem:12GiB");
  s.framework("y").asks("cpus:1;mem:1GiB", 100);
  s.decide();
  ASSERT_EQ(to_text(s.role("y").offered), "cpus:12;mem:12288");
  s.framework("y").accepts_all();
  s.framework("y").ends(8);
  s.framework("x").asks({.name = AskName("task"),
                         .shape = parse_shape("cpus:1;mem:1GiB").value(),
                         .count = 100,
                         .borrow = false});
  s.framework("y").asks("cpus:1;mem:1GiB", 0);

  s.run_until_nothing_fits();
  EXPECT_EQ(s.framework("x").tasks(), 8);

  // Half of it always belonged to y; now that y wants it, x gets no more of it.
  s.framework("y").asks("cpus:1;mem:1GiB", 100);
  s.framework("x").ends(4);
  s.framework("y").ends(4);
  s.run_until_nothing_fits();
  EXPECT_EQ(s.framework("x").tasks(), 6);
  EXPECT_EQ(s.framework("y").tasks(), 6);
}

}  // namespace
}  // namespace proffer::quota_test
