// Roles inside roles: hierarchical DRF by worked examples.

#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "common/prng.h"
#include "tests/allocator/running.h"
#include "tests/allocator/scenario.h"
#include "tests/support/seeds.h"

namespace proffer::tree_test {
namespace {

// The starvation of the H-DRF paper (Bhattacharya et al., SoCC 2013, section 4.2): in role n2 one
// child uses only CPUs and the other only memory, which no other framework wants, so that it gets
// all. Tasks of the first end, one after the other.
void end_tasks_of_n21(AllocatorScenario& s) {
  s.agent("a1", "cpus:10;mem:10GiB");
  s.framework("n1").asks("cpus:1");
  s.framework("n2-1").in_role("n2/1").asks("cpus:1");
  s.framework("n2-2").in_role("n2/2").asks("mem:1GiB");
  s.run_until_nothing_fits();
  for (int i = 0; i < 10 && s.framework("n2-1").tasks() > 0; ++i) {
    s.framework("n2-1").ends(1);
    s.run_until_nothing_fits();
  }
}

TEST(HierarchicalDrf, StarvesNoChildWithAnotherDominantKind) {
  AllocatorScenario s;
  end_tasks_of_n21(s);
  EXPECT_EQ(s.framework("n1").tasks(), 5);
  EXPECT_EQ(s.framework("n2-1").tasks(), 5);
  EXPECT_EQ(s.framework("n2-2").tasks(), 10);
}

TEST(HierarchicalDrf, SharesAloneStarveAChildWithAnotherDominantKind) {
  AllocatorScenario s(AllocatorOptions{.naive = {.no_gate = true}});
  end_tasks_of_n21(s);
  EXPECT_EQ(s.framework("n2-1").tasks(), 0) << "its sibling's memory makes n2 look rich";
  EXPECT_EQ(s.framework("n1").tasks(), 10);
}

// The paper's running example (section 4.1): n1 wants CPUs and GPUs together, the children of n2
// one kind each, here CPUs and memory. All have half of their demand.
TEST(HierarchicalDrf, SharesBetweenComplementaryChildren) {
  AllocatorScenario s;
  s.agent("a1", "cpus:10;mem:10GiB");
  s.framework("n1").asks("cpus:1;mem:1GiB");
  s.framework("n2-1").in_role("n2/1").asks("cpus:1");
  s.framework("n2-2").in_role("n2/2").asks("mem:1GiB");

  s.run_until_nothing_fits();

  EXPECT_EQ(s.framework("n1").tasks(), 5);
  EXPECT_EQ(s.framework("n2-1").tasks(), 5);
  EXPECT_EQ(s.framework("n2-2").tasks(), 5);
}

TEST(HierarchicalDrf, IsBetweenSiblingsAtEachLevel) {
  AllocatorScenario s;
  s.agent("a1", "cpus:24;mem:24GiB");
  s.framework("train").in_role("eng/ads/train").asks("cpus:1;mem:1GiB");
  s.framework("serve").in_role("eng/ads/serve").asks("cpus:1;mem:1GiB");
  s.framework("web").in_role("eng/web").asks("cpus:1;mem:1GiB");
  s.framework("sales").asks("cpus:1;mem:1GiB");

  s.run_until_nothing_fits();

  EXPECT_EQ(s.framework("sales").tasks(), 12);
  EXPECT_EQ(s.framework("web").tasks(), 6);
  EXPECT_EQ(s.framework("train").tasks(), 3);
  EXPECT_EQ(s.framework("serve").tasks(), 3);
  EXPECT_EQ(s.role("eng").dominant_share, Share::of(1, 2));
  EXPECT_EQ(s.role("eng/ads").dominant_share, Share::of(1, 4));
}

TEST(HierarchicalDrf, HasWeightsAtEachLevel) {
  AllocatorScenario s;
  s.agent("a1", "cpus:24;mem:24GiB");
  s.weight("eng", 3 * kWeightOne);
  s.weight("eng/ads", 2 * kWeightOne);
  s.framework("ads").in_role("eng/ads").asks("cpus:1;mem:1GiB");
  s.framework("web").in_role("eng/web").asks("cpus:1;mem:1GiB");
  s.framework("sales").asks("cpus:1;mem:1GiB");

  s.run_until_nothing_fits();

  EXPECT_EQ(s.framework("sales").tasks(), 6);
  EXPECT_EQ(s.framework("ads").tasks(), 12);
  EXPECT_EQ(s.framework("web").tasks(), 6);
}

TEST(HierarchicalDrf, AFrameworkInARoleIsASiblingOfTheRolesInIt) {
  AllocatorScenario s;
  s.agent("a1", "cpus:8;mem:8GiB");
  s.framework("eng").asks("cpus:1;mem:1GiB");
  s.framework("ads1").in_role("eng/ads").asks("cpus:1;mem:1GiB");
  s.framework("ads2").in_role("eng/ads").asks("cpus:1;mem:1GiB");

  s.run_until_nothing_fits();

  EXPECT_EQ(s.framework("eng").tasks(), 4);
  EXPECT_EQ(s.framework("ads1").tasks(), 2);
  EXPECT_EQ(s.framework("ads2").tasks(), 2);
}

// The use of an idle child counts in its parent's share.
TEST(HierarchicalDrf, CountsWhatAContentChildUses) {
  AllocatorScenario s;
  s.agent("a1", "cpus:12;mem:12GiB");
  s.framework("idle").in_role("eng/idle").asks("cpus:1;mem:1GiB", 4);
  s.run_until_nothing_fits();
  s.framework("busy").in_role("eng/busy").asks("cpus:1;mem:1GiB");
  s.framework("sales").asks("cpus:1;mem:1GiB");

  s.run_until_nothing_fits();

  EXPECT_EQ(s.framework("busy").tasks(), 2);
  EXPECT_EQ(s.framework("sales").tasks(), 6);
}

TEST(HierarchicalDrf, AChildThatWantsNothingChangesNothing) {
  AllocatorScenario s;
  s.agent("a1", "cpus:12;mem:12GiB");
  for (int i = 0; i < 50; ++i) {
    s.framework(text("idle", i)).in_role(text("eng/idle", i)).asks("cpus:1;mem:1GiB", 0);
  }
  s.framework("busy").in_role("eng/busy").asks("cpus:1;mem:1GiB");
  s.framework("sales").asks("cpus:1;mem:1GiB");

  s.run_until_nothing_fits();

  EXPECT_EQ(s.framework("busy").tasks(), 6);
  EXPECT_EQ(s.framework("sales").tasks(), 6);
}

// A child that no free resources fit is saturated: it limits its parent only while it competes.
TEST(HierarchicalDrf, ASaturatedChildIsPassedOver) {
  AllocatorScenario s;
  s.agent("small", "cpus:8;mem:8GiB");
  s.framework("huge").in_role("eng/huge").asks("cpus:16;mem:1GiB");
  s.framework("busy").in_role("eng/busy").asks("cpus:1;mem:1GiB");
  s.framework("sales").asks("cpus:1;mem:1GiB");

  s.run_until_nothing_fits();

  EXPECT_EQ(s.framework("huge").tasks(), 0);
  EXPECT_EQ(s.framework("busy").tasks(), 4);
  EXPECT_EQ(s.framework("sales").tasks(), 4);
}

TEST(Leaves, OfAnAskAreInTheRoleThatItNames) {
  AllocatorScenario s;
  s.agent("a1", "cpus:12;mem:12GiB");
  s.framework("f").in_role("eng");
  s.framework("f").asks_in("eng/ads", "cpus:1;mem:1GiB", 100, "ads");
  s.framework("f").asks_in("eng/web", "cpus:1;mem:1GiB", 100, "web");
  s.framework("g").in_role("eng/web").asks("cpus:1;mem:1GiB");

  const Decision decision = s.decide();
  for (const Grant& grant : decision.grants) {
    EXPECT_EQ(grant.offer.role, grant.role);
    for (const AskFill& fill : grant.offer.fills) {
      if (grant.framework != FrameworkId("f")) continue;
      EXPECT_EQ(grant.role, RoleName("eng/" + fill.ask.str()));
    }
  }
  s.run_until_nothing_fits();

  EXPECT_EQ(s.framework("f").tasks("ads"), 6);
  EXPECT_EQ(s.framework("f").tasks("web"), 3);
  EXPECT_EQ(s.framework("g").tasks(), 3);
  EXPECT_EQ(to_text(s.role("eng/web").allocated), "cpus:6;mem:6144");
  EXPECT_EQ(to_text(s.role("eng").allocated), "cpus:12;mem:12288");
}

TEST(Leaves, ComeAndGoWithWhatNeedsThem) {
  AllocatorScenario s;
  s.agent("a1", "cpus:4;mem:4GiB");
  s.framework("f").in_role("eng").asks_in("eng/ads", "cpus:1;mem:1GiB", 1);
  const auto names = [&] {
    std::string all;
    for (const LeafStatus& leaf : s.allocator().leaves()) all += leaf.role.str() + " ";
    for (const RoleStatus& role : s.allocator().roles()) all += "+" + role.role.str();
    return all;
  };
  EXPECT_EQ(names(), "eng eng/ads +eng+eng/ads");
  s.run_until_nothing_fits();
  ASSERT_EQ(s.framework("f").tasks(), 1);

  s.allocator().declare_asks(FrameworkId("f"), {}, s.now());
  s.decide();
  EXPECT_EQ(names(), "eng eng/ads +eng+eng/ads") << "a task is there still";

  s.framework("f").ends(1);
  s.decide();
  EXPECT_EQ(names(), "eng +eng");

  // Roles with settings stay.
  s.weight("eng/tools/night", 2 * kWeightOne);
  EXPECT_EQ(names(), "eng +eng+eng/tools+eng/tools/night");
  s.weight("eng/tools/night", kWeightOne);
  EXPECT_EQ(names(), "eng +eng");
}

TEST(Leaves, OfATaskThatComesBackAreInTheRoleItClaims) {
  AllocatorScenario s;
  s.agent("a1", "cpus:4;mem:4GiB");
  s.framework("f").in_role("eng");
  s.allocator().adopt(
      AgentId("a1"), FrameworkId("f"),
      running_task("t", RoleName("eng/ads"), {.amounts = parse_shape("cpus:3;mem:1GiB").value()}));
  s.check();
  EXPECT_EQ(s.role("eng/ads").dominant_share, Share::of(3, 4));
  s.loses("a1");
  s.decide();
  EXPECT_EQ(s.allocator().roles().size(), 1u);
}

TEST(Leaves, ADeclineCountsForAllOfAFramework) {
  AllocatorScenario s;
  s.agent("a1", "cpus:4;mem:4GiB");
  s.framework("f").in_role("eng");
  s.framework("f").asks_in("eng/ads", "cpus:1;mem:1GiB", 1, "ads");
  s.decide();
  s.framework("f").declines("a1", seconds(5));
  s.framework("f").asks_in("eng/web", "cpus:1;mem:1GiB", 1, "web");
  s.decide();
  EXPECT_EQ(s.framework("f").offers(), Offers{});
  s.advance(seconds(5));
  EXPECT_EQ(s.framework("f").offers().size(), 2u);
}

TEST(Leaves, AChangedWeightIsFeltBelow) {
  AllocatorScenario s;
  s.agent("a1", "cpus:12;mem:12GiB");
  s.framework("a").in_role("eng/a").asks("cpus:1;mem:1GiB");
  s.framework("b").in_role("eng/b").asks("cpus:1;mem:1GiB");
  s.run_until_nothing_fits();
  ASSERT_EQ(s.framework("a").tasks(), 6);
  s.weight("eng/a", 2 * kWeightOne);
  for (int i = 0; i < 6; ++i) {
    s.framework("a").ends(1);
    s.framework("b").ends(1);
    s.run_until_nothing_fits();
  }
  EXPECT_EQ(s.framework("a").tasks(), 8);
  EXPECT_EQ(s.framework("b").tasks(), 4);
}

// Hundreds of idle frameworks without use do not keep free resources from one with a large share.
TEST(HierarchicalDrf, ManyIdleOnesWithLowSharesDoNotStopOneWithAHighShare) {
  AllocatorScenario s;
  s.agent("a1", "cpus:32;mem:32GiB");
  for (int i = 0; i < 300; ++i) {
    s.framework(text("idle", i)).in_role(text("org", i % 3, "/team", i % 7)).asks("cpus:1", 0);
  }
  s.framework("hungry").in_role("org1/team1").asks("cpus:1;mem:1GiB");
  s.run_until_nothing_fits();
  EXPECT_EQ(s.framework("hungry").tasks(), 32);
}

// Random trees and events: violations() recomputes every sum and share from scratch after each
// step.
class RandomTree {
 public:
  explicit RandomTree(uint64_t seed, AllocatorOptions options)
      : random_(seed), s_(std::move(options)) {}

  void run() {
    for (int i = 0; i < 3; ++i) s_.agent(text("a", i), "cpus:8;mem:8GiB");
    for (int i = 0; i < 60; ++i) {
      one_event();
      if (random_.chance(1, 2)) s_.decide();
      if (testing::Test::HasFailure()) return;
    }
  }

 private:
  std::string any_role() {
    static const std::vector<std::string> kRoles = {"x",     "y",     "x/a", "x/b",
                                                    "x/a/q", "x/a/r", "y/a"};
    return kRoles[random_.below(kRoles.size())];
  }
  std::string any_quota() {
    return text("cpus:", random_.between(0, 8),
                random_.chance(1, 2) ? text(";mem:", random_.between(0, 8), "GiB") : std::string());
  }
  void one_event() {
    const std::string name = text("f", random_.below(6));
    const bool known = roles_.count(name) > 0;
    if (!known) {
      roles_[name] = any_role();
      open_[name] = random_.chance(1, 5);
      s_.framework(name).in_role(roles_[name], open_[name] ? OfferMode::kOpen : OfferMode::kAsks);
    }
    switch (random_.below(10)) {
      case 0:
      case 1: {
        if (open_[name]) return;
        // A name has one shape: offers of it may be outstanding.
        const int64_t shape = static_cast<int64_t>(random_.below(6));
        Ask ask{.name = AskName(text("ask", shape)),
                .shape = ResourceVector::of(shape % 5 * 1'000, (shape % 3 + 1) * 512'000),
                .count = random_.between(0, 9)};
        std::string role = any_role();
        if (is_within(RoleName(role), RoleName(roles_[name]))) ask.role = RoleName(role);
        if (random_.chance(1, 4)) ask.borrow = false;
        s_.framework(name).asks(ask);
        return;
      }
      case 2:
      case 3:
      case 4:
        return s_.framework(name).accepts_all();
      case 5:
      case 6: {
        if (s_.framework(name).running().empty()) return;
        return s_.framework(name).ends(1, s_.framework(name).running().front().ask.str());
      }
      case 7: {
        const std::string role = any_role();
        RoleSettings settings{.weight = random_.between(1, 4) * 500};
        if (random_.chance(1, 2)) settings.guarantee = parse_quota(any_quota()).value();
        if (random_.chance(1, 2)) settings.limit = parse_quota(any_quota()).value();
        if (!check_role(s_.allocator().role_table(), RoleName(role), settings)) return;
        s_.allocator().set_role(RoleName(role), settings);
        return s_.check();
      }
      case 8:
        if (random_.chance(1, 3)) {
          s_.allocator().set_knows_all_tasks(random_.chance(1, 2));
          s_.check();
        }
        return random_.chance(1, 2) ? s_.framework(name).suppresses()
                                    : s_.framework(name).revives();
      default:
        return s_.advance(seconds(random_.between(1, 40)));
    }
  }

  Prng random_;
  AllocatorScenario s_;
  std::map<std::string, std::string> roles_;
  std::map<std::string, bool> open_;
};

TEST(Tree, IsRightAfterEveryStepOfRandomOnes) {
  for (const uint64_t seed : Seeds(1'000)) {
    const ReclaimMode mode = seed % 3 == 0 ? ReclaimMode::kOff : ReclaimMode::kGuarantee;
    RandomTree(seed, {.claim_after = seconds(20), .reclaim = mode}).run();
    ASSERT_FALSE(HasFailure()) << "seed " << seed;
  }
}

}  // namespace
}  // namespace proffer::tree_test
