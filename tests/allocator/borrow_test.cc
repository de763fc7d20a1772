// Asks that may not borrow: the resources that they may have, those that they leave to others, and
// that they do not wait for resources that no ask can use.

#include <gmock/gmock.h>

#include "tests/allocator/scenario.h"

namespace proffer::borrow_test {
namespace {

using testing::ElementsAre;

Ask may_not_borrow(const std::string& shape, int64_t count = 1, const std::string& name = "task") {
  return {
      .name = AskName(name), .shape = parse_shape(shape).value(), .count = count, .borrow = false};
}

// Each is entitled to five CPUs, and a task needs six: by entitlement alone neither would ever run,
// beside an idle cluster.
TEST(MayNotBorrow, TwoWhoAreEntitledToLessThanATaskTakeTurns) {
  AllocatorScenario s;
  s.agent("a1", "cpus:10;mem:10GiB");
  s.framework("a").asks(may_not_borrow("cpus:6;mem:1GiB", 2));
  s.framework("b").asks(may_not_borrow("cpus:6;mem:1GiB", 2));
  std::vector<std::string> ran;
  for (int i = 0; i < 4; ++i) {
    s.run_until_nothing_fits();
    ASSERT_EQ(s.framework("a").tasks() + s.framework("b").tasks(), 1);
    ran.emplace_back(s.framework("a").tasks() == 1 ? "a" : "b");
    s.framework(ran.back()).ends(1);
  }
  EXPECT_THAT(ran, ElementsAre("a", "b", "a", "b"));
}

// Its other ask lacks memory, which ends the ask's entitlement, in the proportion of its kinds. No
// other ask wants CPUs.
TEST(MayNotBorrow, IsNotHeldBackByWhatItsOtherAskLacks) {
  AllocatorScenario s;
  s.agent("a1", "cpus:10;mem:10GiB");
  s.framework("f").asks(may_not_borrow("cpus:6", 1, "cpu"));
  s.framework("f").asks(may_not_borrow("mem:1GiB", 100, "mem"));
  ASSERT_LT(s.role("f").entitlement[ResourceKind::kCpus], 6'000);
  s.run_until_nothing_fits();
  EXPECT_EQ(s.framework("f").tasks("cpu"), 1);
  EXPECT_EQ(s.framework("f").tasks("mem"), 10);
}

// Resources that others are entitled to and want stay theirs, for any length of its wait; explain
// names the others.
TEST(MayNotBorrow, LeavesToOthersWhatTheyAreEntitledToAndWant) {
  AllocatorScenario s;
  s.agent("a1", "cpus:10;mem:10GiB");
  s.framework("a").asks(may_not_borrow("cpus:6;mem:1GiB"));
  s.framework("b").asks("cpus:1;mem:512", 100);
  s.run_until_nothing_fits();
  EXPECT_EQ(s.framework("a").tasks(), 0);
  EXPECT_EQ(s.framework("b").tasks(), 10);
  s.advance(hours(1));
  const FrameworkExplanation why = s.allocator().explain(FrameworkId("a"), s.now());
  ASSERT_EQ(why.asks.size(), 1u);
  ASSERT_EQ(why.asks[0].hindered.size(), 1u);
  EXPECT_EQ(to_text(why.asks[0].hindered[0]),
            "above the entitlement of role 'a', and the ask may not borrow: it takes 6 cpus, 5 are "
            "left; the rest is used or wanted by b (cpus:5)");
  const auto role = s.allocator().explain_role(RoleName("a"), s.now());
  ASSERT_EQ(role->held.size(), 1u);
  EXPECT_EQ(to_text(role->held[0]),
            "role 'a' has reached its entitlement, and the asks may not borrow: it takes 6 cpus, 5 "
            "are left; the rest is used or wanted by b (cpus:5)");
}

// As soon as the others want the resources no more, the ask gets them.
TEST(MayNotBorrow, IsServedWhenOthersWantLess) {
  AllocatorScenario s;
  s.agent("a1", "cpus:10;mem:10GiB");
  s.framework("a").asks(may_not_borrow("cpus:6;mem:1GiB"));
  s.framework("b").asks("cpus:1;mem:512", 100);
  s.run_until_nothing_fits();
  s.framework("b").asks("cpus:1;mem:512", 0);
  s.run_until_nothing_fits();
  EXPECT_EQ(s.framework("a").tasks(), 0);
  s.framework("b").ends(6);
  s.run_until_nothing_fits();
  EXPECT_EQ(s.framework("a").tasks(), 1);
}

// Asks that no agent could ever fit do not keep resources idle.
TEST(MayNotBorrow, DoesNotWaitForWhoCouldNeverBeServed) {
  AllocatorScenario s;
  s.agent("a1", "cpus:10;mem:10GiB");
  s.framework("b").asks("cpus:1;mem:1GiB", 100, "task", "host == nowhere");
  s.framework("a").asks(may_not_borrow("cpus:6;mem:1GiB"));
  s.run_until_nothing_fits();
  EXPECT_EQ(s.framework("a").tasks(), 1);
}

// The ask takes nothing that others could get in the same decision.
TEST(MayNotBorrow, LooksAgainWhenOthersCanBeGivenNoMore) {
  AllocatorScenario s;
  s.agent("a1", "cpus:10;mem:10GiB");
  // Entitled to five, but only three can be given.
  s.framework("b").asks(may_not_borrow("cpus:3;mem:1GiB", 2));
  s.framework("a").asks(may_not_borrow("cpus:7;mem:1GiB"));
  s.decide();
  EXPECT_EQ(s.framework("b").offers(), Offers{"a1 cpus:3;mem:1024"});
  EXPECT_EQ(s.framework("a").offers(), Offers{"a1 cpus:7;mem:1024"});
}

// --- what goes away
// -------------------------------------------------------------------------------

// A guarantee covers usable resources only. A draining agent can promise none: a framework that has
// all of the rest borrows.
TEST(Draining, IsNoCapacityThatAnybodyIsEntitledTo) {
  AllocatorScenario s;
  s.agent("a1", "cpus:10;mem:10GiB");
  s.agent("a2", "cpus:10;mem:10GiB");
  s.guarantee("owner", "cpus:8");
  s.allocator().set_agent_draining(AgentId("a2"), true);
  s.framework("guest").asks("cpus:1;mem:1GiB", 10);
  s.run_until_nothing_fits();
  ASSERT_EQ(s.framework("guest").tasks_on("a1"), 10);
  s.framework("owner").asks("cpus:1;mem:1GiB", 8);
  s.decide();
  EXPECT_EQ(to_text(s.role("guest").entitlement), "cpus:2;mem:2048");
  EXPECT_EQ(s.role("owner").entitlement[ResourceKind::kCpus], 8'000);

  s.advance(kMinimumRuntime + kRevokeGrace);
  EXPECT_EQ(s.revokes().size(), 8u);
  s.end_revoked();
  s.run_until_nothing_fits();
  EXPECT_EQ(s.framework("owner").tasks(), 8);

  // When the agent is usable again there is enough for both.
  s.allocator().set_agent_draining(AgentId("a2"), false);
  s.framework("guest").asks("cpus:1;mem:1GiB", 8);
  s.run_until_nothing_fits();
  EXPECT_EQ(s.framework("guest").tasks(), 10);
  EXPECT_EQ(to_text(s.role("guest").borrowed), "");
}

// Tasks that still run there count until they end.
TEST(Draining, CountsWhatStillRunsThere) {
  AllocatorScenario s;
  s.agent("a1", "cpus:10;mem:10GiB");
  s.agent("a2", "cpus:10;mem:10GiB");
  s.framework("guest").asks("cpus:1;mem:1GiB", 12);
  s.run_until_nothing_fits();
  const std::string fuller = s.framework("guest").tasks_on("a1") == 10 ? "a1" : "a2";
  const std::string other = fuller == "a1" ? "a2" : "a1";
  s.allocator().set_agent_draining(AgentId(other), true);
  s.framework("guest").asks("cpus:1;mem:1GiB", 100);
  s.decide();
  EXPECT_EQ(s.role("guest").entitlement[ResourceKind::kCpus], 12'000);
  s.framework("guest").ends(s.framework("guest").running().back().id);
  s.decide();
  EXPECT_EQ(s.role("guest").entitlement[ResourceKind::kCpus], 11'000);
}

}  // namespace
}  // namespace proffer::borrow_test
