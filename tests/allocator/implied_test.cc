// Asks that answers to open offers imply.

#include <gtest/gtest.h>

#include "tests/allocator/scenario.h"

namespace proffer::implied_test {
namespace {

using Scenario = AllocatorScenario;
const Refusal kTooFewCpus{.too_little = {ResourceKind::kCpus}};

std::optional<AskStatus> implied(Scenario& s, const std::string& framework) {
  for (const LeafStatus& leaf : s.allocator().leaves()) {
    if (leaf.framework == FrameworkId(framework)) return leaf.implied;
  }
  return std::nullopt;
}

// Eight tasks of one CPU fill the agent. The open framework is entitled to half of it.
void fill(Scenario& s) {
  s.agent("a1", "cpus:8;mem:8GiB");
  s.framework("small").asks("cpus:1;mem:512");
  s.run_until_nothing_fits();
  ASSERT_EQ(s.framework("small").tasks(), 8);
  s.framework("open").subscribes();
  s.framework("small").ends(1);
  s.decide();
  ASSERT_EQ(s.framework("open").offers().size(), 1u);
}

TEST(ImpliedAsk, OfARefusalForTooLittleKeepsWhatEndsUntilItIsEnough) {
  Scenario s;
  fill(s);
  EXPECT_FALSE(implied(s, "open"));
  s.framework("open").declines("a1", kTooFewCpus);
  s.decide();
  ASSERT_TRUE(implied(s, "open"));

  // The freed CPU is kept; with one more it is twice the refused amount.
  EXPECT_EQ(s.framework("small").offers().size() + s.framework("open").offers().size(), 0u);
  EXPECT_EQ(implied(s, "open")->kept.size(), 1u);
  s.framework("small").ends(1);
  s.decide();
  ASSERT_EQ(s.framework("open").outstanding().size(), 1u);
  EXPECT_EQ(s.framework("open").outstanding()[0].offer.total().amounts[ResourceKind::kCpus], 2000);
}

TEST(ImpliedAsk, OfAFirstTaskDoublesWithEachRefusal) {
  Scenario s;
  fill(s);
  for (const int64_t cpus : {1, 2, 4}) {
    for (int i = 0; i < 8 && s.framework("open").offers().empty(); ++i) {
      if (s.framework("small").tasks() > 0) s.framework("small").ends(1);
      s.decide();
    }
    ASSERT_EQ(s.framework("open").outstanding().size(), 1u) << cpus;
    EXPECT_GE(s.framework("open").outstanding()[0].offer.total().amounts[ResourceKind::kCpus],
              cpus * 1000);
    s.framework("open").declines("a1", kTooFewCpus);
    s.decide();
    s.framework("small").accepts_all();
  }
}

// Endless tasks of one CPU fill the agents when a framework with open offers joins.
void fill_with_endless(Scenario& s, int64_t agents, const std::string& guarantee,
                       const std::string& gpus = "") {
  for (int64_t i = 1; i <= agents; ++i) s.agent(text("a", i), "cpus:16;mem:16GiB" + gpus);
  if (!guarantee.empty()) s.guarantee("open", guarantee);
  s.framework("small").asks("cpus:1;mem:512");
  s.run_until_nothing_fits();
  s.advance(kMinimumRuntime);
  s.framework("open").subscribes();
  s.decide();
}

void end_grace(Scenario& s) {
  s.advance(kRevokeGrace);
  s.end_revoked();
  s.decide();
}

int64_t cpus_offered(Scenario& s, const std::string& framework) {
  int64_t cpus = 0;
  for (const Grant& grant : s.framework(framework).outstanding()) {
    cpus += grant.offer.total().amounts[ResourceKind::kCpus];
  }
  return cpus;
}

TEST(ImpliedAsk, IsGuessedForAnUnmetGuaranteeInAFullCluster) {
  Scenario s;
  fill_with_endless(s, 2, "cpus:8");
  ASSERT_TRUE(implied(s, "open"));
  EXPECT_EQ(s.revokes().size(), 2u);
  // One piece until its answer.
  end_grace(s);
  EXPECT_EQ(cpus_offered(s, "open"), 2000);
  EXPECT_EQ(s.revokes().size(), 2u);
  // The guarantee covers three more tasks of the accepted size.
  s.framework("open").accepts_all();
  s.decide();
  EXPECT_EQ(s.revokes().size(), 8u);
}

TEST(ImpliedAsk, AGuessThatIsTooLittleGrowsOnItsAgent) {
  Scenario s;
  fill_with_endless(s, 2, "cpus:12");
  for (const size_t cpus : {2, 4, 8}) {
    EXPECT_EQ(s.revokes().size(), cpus);
    end_grace(s);
    ASSERT_EQ(s.framework("open").outstanding().size(), 1u) << cpus;
    EXPECT_EQ(cpus_offered(s, "open"), static_cast<int64_t>(cpus) * 1000);
    EXPECT_EQ(s.framework("small").outstanding().size(), 0u) << "the refused piece is kept";
    const AgentId agent = s.framework("open").outstanding()[0].offer.agent;
    EXPECT_EQ(agent, s.revokes()[0].agent);
    if (cpus < 8) s.framework("open").declines(agent.str(), kTooFewCpus);
    s.decide();
  }
  s.framework("open").accepts_all();
  EXPECT_EQ(s.framework("open").running().size(), 1u);
}

// The guarantee covers no larger piece.
TEST(ImpliedAsk, AGuessEndsAtTheGuarantee) {
  Scenario s;
  fill_with_endless(s, 1, "cpus:3");
  EXPECT_EQ(s.revokes().size(), 2u);
  end_grace(s);
  s.framework("open").declines("a1", kTooFewCpus);
  s.advance(minutes(30));
  EXPECT_EQ(s.revokes().size(), 2u);
}

TEST(ImpliedAsk, AFrameworkThatDeclinesItsGuessIsGuessedOnce) {
  for (const bool expires : {false, true}) {
    Scenario s;
    fill_with_endless(s, 2, "cpus:8");
    end_grace(s);
    ASSERT_EQ(s.framework("open").outstanding().size(), 1u);
    const std::string agent = s.framework("open").outstanding()[0].offer.agent.str();
    if (!expires) s.framework("open").declines(agent);
    for (int i = 0; i < 60; ++i) {
      s.advance(seconds(30));
      if (!expires) {
        for (const Grant& grant : s.framework("open").outstanding()) {
          s.framework("open").declines(grant.offer.agent.str());
        }
      }
      s.framework("small").accepts_all();
    }
    EXPECT_EQ(s.revokes().size(), 2u) << expires;
  }
}

// It refuses all agents, until no larger ones are left. Then it is too large for the cluster.
TEST(ImpliedAsk, AGuessCostsAtMostOneAgent) {
  Scenario s;
  fill_with_endless(s, 3, "cpus:40");
  for (int i = 0; i < 100; ++i) {
    s.advance(seconds(10));
    s.end_revoked();
    s.decide();
    for (const Grant& grant : s.framework("open").outstanding()) {
      s.framework("open").declines(grant.offer.agent.str(), kTooFewCpus);
    }
    s.framework("small").accepts_all();
  }
  EXPECT_EQ(s.revokes().size(), 16u);
}

TEST(ImpliedAsk, AFrameworkThatRefusesEachAgentIsGuessedEightTimes) {
  Scenario s;
  fill_with_endless(s, 12, "cpus:40");
  for (int i = 0; i < 200; ++i) {
    s.advance(seconds(10));
    s.end_revoked();
    s.decide();
    for (const Grant& grant : s.framework("open").outstanding()) {
      s.framework("open").declines(grant.offer.agent.str(), {.wrong_agent = true});
    }
    s.framework("small").accepts_all();
  }
  EXPECT_EQ(s.revokes().size(), 16u);
}

TEST(ImpliedAsk, IsGuessedBelowTheEntitlementWithFairShare) {
  Scenario s({.reclaim = ReclaimMode::kFairShare});
  fill_with_endless(s, 2, "");
  EXPECT_EQ(s.revokes().size(), 2u);
  end_grace(s);
  EXPECT_EQ(cpus_offered(s, "open"), 2000);
}

TEST(ImpliedAsk, AGuessHasAGpuIfAGuaranteeNamesGpus) {
  for (const auto& [guarantee, gpus] : {std::pair("cpus:8", 0), std::pair("cpus:8;gpus:2", 1000)}) {
    Scenario s;
    fill_with_endless(s, 2, guarantee, ";gpus:4");
    ASSERT_EQ(s.revokes().size(), 2u);
    end_grace(s);
    ASSERT_EQ(s.framework("open").outstanding().size(), 1u);
    const ResourceVector piece = s.framework("open").outstanding()[0].offer.total().amounts;
    EXPECT_EQ(piece[ResourceKind::kGpus], gpus) << guarantee;
  }
}

// The refused piece had no GPUs, although its agent has some.
TEST(ImpliedAsk, AGuessGrowsByAGpu) {
  Scenario s;
  fill_with_endless(s, 2, "cpus:8", ";gpus:4");
  end_grace(s);
  ASSERT_EQ(s.framework("open").outstanding().size(), 1u);
  const std::string agent = s.framework("open").outstanding()[0].offer.agent.str();
  s.framework("open").declines(agent, {.too_little = {ResourceKind::kGpus}});
  s.decide();
  end_grace(s);
  ASSERT_EQ(s.framework("open").outstanding().size(), 1u);
  const ResourceVector piece = s.framework("open").outstanding()[0].offer.total().amounts;
  EXPECT_EQ(piece[ResourceKind::kGpus], 1000);
  EXPECT_EQ(piece[ResourceKind::kCpus], 2000);
}

// The refused agent has no GPUs or disk, but another one has.
TEST(ImpliedAsk, ARefusalForAKindThatTheAgentLacksIsNoEnd) {
  for (const auto& [kind, much] :
       {std::pair(ResourceKind::kGpus, ";gpus:4"), std::pair(ResourceKind::kDisk, ";disk:80GiB")}) {
    Scenario s;
    s.agent("a1", "cpus:8;mem:8GiB");
    s.agent("a2", std::string("cpus:8;mem:8GiB") + much);
    s.framework("open").subscribes();
    s.decide();
    s.framework("open").declines("a1", {.too_little = {kind}});
    s.decide();
    ASSERT_TRUE(implied(s, "open"));
    EXPECT_GT(implied(s, "open")->wanted, 0);
  }
}

// A framework with open offers says only by its answers how many tasks it has.
TEST(ImpliedAsk, WhatIsReclaimedAtOnceGrowsWithLaunches) {
  Scenario s({.revokes_per_minute = 1'000});
  fill_with_endless(s, 8, "cpus:100");
  size_t before = 0;
  for (const size_t tasks : {1, 4}) {
    EXPECT_EQ(s.revokes().size() - before, tasks * 2);
    before = s.revokes().size();
    end_grace(s);
    s.framework("open").accepts_all();
    s.decide();
  }
}

// A new master knows the tasks of the framework, but none of its answers.
TEST(ImpliedAsk, AGuessIsTheAverageTaskAfterAFailover) {
  Scenario s;
  s.agent("a1", "cpus:16;mem:16GiB");
  s.guarantee("open", "cpus:12");
  s.framework("open").subscribes();
  for (const std::string task : {"t1", "t2"}) {
    s.allocator().adopt(
        AgentId("a1"), FrameworkId("open"),
        running_task(task, RoleName("open"), {.amounts = parse_shape("cpus:3;mem:1GiB").value()}));
  }
  s.framework("small").asks("cpus:1;mem:512");
  s.framework("open").suppresses();
  s.run_until_nothing_fits();
  ASSERT_EQ(s.framework("small").tasks(), 10);
  s.advance(kMinimumRuntime);
  s.framework("open").revives();
  s.decide();
  EXPECT_EQ(s.revokes().size(), 3u);
}

TEST(ImpliedAsk, IsNotGuessedWithoutARightToReclaim) {
  Scenario s;
  fill_with_endless(s, 1, "");
  EXPECT_FALSE(implied(s, "open"));
  EXPECT_TRUE(s.revokes().empty());
}

TEST(ImpliedAsk, AFrameworkThatTakesNothingCountsInNoEntitlement) {
  Scenario s;
  fill(s);
  EXPECT_EQ(s.role("small").entitlement[ResourceKind::kCpus], 4000);
  s.framework("open").declines("a1");
  s.decide();
  EXPECT_EQ(s.role("small").entitlement[ResourceKind::kCpus], 8000);

  // The framework counts again after its first launch.
  s.framework("small").asks("cpus:1;mem:512", 0);
  s.framework("small").ends(6);
  s.advance(kDeclineFilter);
  s.framework("open").accepts_all();
  s.framework("small").asks("cpus:1;mem:512");
  s.advance(seconds(1));
  EXPECT_FALSE(s.framework("open").running().empty());
  EXPECT_LT(s.role("small").entitlement[ResourceKind::kCpus], 5000);
}

TEST(ImpliedAsk, AnAskWhoseOffersAreRefusedCountsInNoEntitlementUntilALaunch) {
  Scenario s;
  s.agent("a1", "cpus:4;mem:8GiB");
  s.framework("a").asks("cpus:1;mem:512");
  s.framework("b").asks("cpus:1;mem:512");
  s.decide();
  EXPECT_EQ(s.role("a").entitlement[ResourceKind::kCpus], 2000);
  for (int i = 1; i <= 8; ++i) {
    EXPECT_EQ(s.role("a").entitlement[ResourceKind::kCpus], 2000) << i;
    s.framework("b").declines("a1", i < 8 ? Duration() : kDeclineFilter);
    s.decide();
  }
  EXPECT_EQ(s.role("a").entitlement[ResourceKind::kCpus], 4000);
  s.advance(kDeclineFilter);
  s.framework("b").accepts_all();
  s.framework("a").accepts_all();
  s.framework("a").ends(1);
  s.run_until_nothing_fits();
  EXPECT_EQ(s.framework("a").tasks() + s.framework("b").tasks(), 4);
}

TEST(ImpliedAsk, GoesWithItsFramework) {
  Scenario s;
  fill(s);
  s.framework("open").declines("a1", kTooFewCpus);
  s.framework("small").ends(1);
  s.decide();
  s.allocator().remove_framework(FrameworkId("open"));
  s.run_until_nothing_fits();
  EXPECT_EQ(s.framework("small").tasks(), 8);
}

}  // namespace
}  // namespace proffer::implied_test
