// Frameworks that take open offers beside frameworks with asks.

#include <gtest/gtest.h>

#include "tests/allocator/running.h"
#include "tests/allocator/scenario.h"

namespace proffer::open_offers_test {
namespace {

TEST(OpenOffers, AreWholeAgentsWhenNobodyAsks) {
  AllocatorScenario s;
  s.agent("a1", "cpus:4;mem:4GiB");
  s.agent("a2", "cpus:4;mem:4GiB");
  s.agent("a3", "cpus:4;mem:4GiB");
  s.framework("x").subscribes();
  s.framework("y").subscribes();

  s.decide();

  EXPECT_EQ(s.framework("x").offers(), (Offers{"a1 cpus:4;mem:4096", "a3 cpus:4;mem:4096"}));
  EXPECT_EQ(s.framework("y").offers(), Offers{"a2 cpus:4;mem:4096"});
  EXPECT_TRUE(s.framework("x").outstanding()[0].offer.fills.empty());
}

TEST(OpenOffers, StayWithinTheFairShareWhileAsksCompete) {
  AllocatorScenario s;
  s.agent("a1", "cpus:8;mem:8GiB");
  s.framework("asker").asks("cpus:1;mem:1GiB");
  s.framework("open").subscribes();

  s.decide();

  EXPECT_EQ(s.framework("asker").offers(), Offers{"a1 cpus:4;mem:4096"});
  EXPECT_EQ(s.framework("open").offers(), Offers{"a1 cpus:4;mem:4096"});
}

TEST(OpenOffers, GetWhatNoAskCanUse) {
  AllocatorScenario s;
  s.agent("a1", "cpus:8;mem:8GiB");
  s.framework("asker").asks("cpus:1;mem:1GiB", 1);
  s.framework("open").subscribes();

  s.decide();

  EXPECT_EQ(s.framework("asker").offers(), Offers{"a1 cpus:1;mem:1024"});
  EXPECT_EQ(s.framework("open").offers(), Offers{"a1 cpus:7;mem:7168"});
}

TEST(OpenOffers, FollowTheWeights) {
  AllocatorScenario s;
  s.agent("a1", "cpus:8;mem:8GiB");
  s.weight("open", 3 * kWeightOne);
  s.framework("asker").asks("cpus:1;mem:1GiB");
  s.framework("open").subscribes();

  s.decide();

  EXPECT_EQ(s.framework("asker").offers(), Offers{"a1 cpus:2;mem:2048"});
  EXPECT_EQ(s.framework("open").offers(), Offers{"a1 cpus:6;mem:6144"});
}

// A framework whose limit leaves it no CPUs is skipped, and is offered CPUs as soon as it uses
// less. Memory of an agent without free CPUs is useless to all.
TEST(OpenOffers, AreMadeAgainWhenALimitAllowsMore) {
  AllocatorScenario s;
  s.limit("open", "cpus:2");
  s.agent("a1", "cpus:2;mem:1GiB");
  s.framework("open").subscribes();
  s.decide();
  ASSERT_EQ(s.framework("open").offers(), Offers{"a1 cpus:2;mem:1024"});

  s.agent("a2", "cpus:2;mem:2GiB");
  s.decide();
  EXPECT_EQ(s.framework("open").offers(), Offers{"a1 cpus:2;mem:1024"});

  s.framework("asker").asks("cpus:2;mem:1GiB", 1);
  s.decide();
  EXPECT_EQ(s.framework("open").offers(), Offers{"a1 cpus:2;mem:1024"});

  s.agent("a3", "cpus:2;mem:2GiB");
  s.framework("open").declines("a1");
  s.decide();
  EXPECT_EQ(s.framework("open").offers(), Offers{"a3 cpus:2;mem:2048"});
}

TEST(OpenOffers, OfOneAgentToOneFrameworkAreOneAtATime) {
  AllocatorScenario s;
  s.agent("a1", "cpus:4;mem:4GiB");
  s.framework("asker").asks("cpus:2;mem:2GiB", 1);
  s.run_until_nothing_fits();
  s.framework("open").subscribes();
  s.decide();
  ASSERT_EQ(s.framework("open").offers(), Offers{"a1 cpus:2;mem:2048"});

  s.framework("asker").ends(1);
  s.decide();
  EXPECT_EQ(s.framework("open").offers(), Offers{"a1 cpus:2;mem:2048"});

  // After the answer, resources freed meanwhile are offered.
  s.framework("open").accepts_all();
  s.decide();
  EXPECT_EQ(s.framework("open").offers(), Offers{"a1 cpus:2;mem:2048"});
}

TEST(OpenOffers, ReturnWhatIsNotUsedToWhoAsks) {
  AllocatorScenario s;
  s.agent("a1", "cpus:4;mem:4GiB");
  s.framework("open").subscribes();
  s.decide();
  s.framework("asker").asks("cpus:1;mem:1GiB", 2);
  s.decide();
  EXPECT_EQ(s.framework("asker").offers(), Offers{});

  s.framework("open").declines("a1");
  s.decide();

  EXPECT_EQ(s.framework("asker").offers(), Offers{"a1 cpus:2;mem:2048"});
}

TEST(OpenOffers, LeaveAloneWhatIsClaimed) {
  AllocatorScenario s;
  s.agent("a1", "cpus:4;mem:4GiB");
  s.framework("open").subscribes();
  s.decide();
  s.framework("asker").asks("cpus:4;mem:4GiB", 1);
  s.decide();
  const Grant all = s.framework("open").outstanding().at(0);
  s.allocator().settle(
      {all.offer.id},
      {running_task("t1", all.role, {.amounts = parse_shape("cpus:3;mem:3GiB").value()}),
       running_task("t2", all.role, {.amounts = parse_shape("cpus:1;mem:1GiB").value()})},
      {}, s.now());
  s.advance(kClaimAfter);
  ASSERT_EQ(s.framework("asker").ask().claimed, AgentId("a1"));

  s.allocator().release(AgentId("a1"), FrameworkId("open"), TaskId("t1"));
  s.decide();
  EXPECT_EQ(s.framework("open").offers(), Offers{});
  s.allocator().release(AgentId("a1"), FrameworkId("open"), TaskId("t2"));
  s.decide();
  EXPECT_EQ(s.framework("asker").offers(), Offers{"a1 cpus:4;mem:4096"});
}

// Offers that a framework never answers count in its share, so freed resources go to others; after
// each expired lease these resources go to others too.
TEST(OpenOffers, OfAHoarderCountInItsShareSoThatItLosesItsTurn) {
  AllocatorScenario s;
  for (int i = 1; i <= 4; ++i) s.agent(text("a", i), "cpus:2;mem:2GiB");
  s.framework("hoarder").subscribes();
  s.decide();
  ASSERT_EQ(s.framework("hoarder").offers().size(), 4u);
  EXPECT_EQ(s.framework("hoarder").dominant_share(), Share::of(1, 1));

  s.framework("polite").asks("cpus:1;mem:1GiB", 8);
  s.agent("a5", "cpus:2;mem:2GiB");
  s.decide();
  EXPECT_EQ(s.framework("polite").offers(), Offers{"a5 cpus:2;mem:2048"});
  s.framework("polite").accepts_all();
  // Its leases end; from then on it has the larger share, and gets only the resources that "polite"
  // leaves.
  s.advance(kOfferTimeout);
  EXPECT_EQ(s.framework("polite").ask().offered, 6);
  s.framework("polite").accepts_all();
  s.advance(minutes(1));
  EXPECT_EQ(s.framework("polite").tasks(), 8);
  EXPECT_LE(s.framework("hoarder").offers().size(), 2u);
}

}  // namespace
}  // namespace proffer::open_offers_test
