// Fairness while tasks come and go: over many random trees of roles, the mean use of each framework
// compared with its entitlement. The bounds are what the allocator reaches; an improvement raises
// them. bench/fair_churn prints the figures of any trees.

#include "tests/support/fair_churn/fair_churn.h"

#include <iostream>
#include <vector>

#include <gtest/gtest.h>

#include "common/text.h"
#include "sim/scenario_reader.h"
#include "sim/scenario_writer.h"
#include "tests/support/seeds.h"

namespace proffer::fair_churn {
namespace {

constexpr uint64_t kTrees = 100;  // PROFFER_CASES=200 takes about a minute

// Minimum values; `revokes` is a maximum.
struct Bounds {
  double p1 = 0;
  double p5 = 0;
  double p10 = 0;
  double p25 = 0;
  double p50 = 0;
  double utilisation = 0;
  int64_t revokes = 0;
  double long_lacks = 0;  // a maximum too; whole tasks cannot always fit where divisible ones could
};
// The goal is 0.80 and 0.90 on both.
constexpr Bounds kOnOneAgent = {.p1 = 0.85,
                                .p5 = 0.93,
                                .p10 = 0.95,
                                .p25 = 0.97,
                                .p50 = 0.98,
                                .utilisation = 0.985,
                                .long_lacks = 0.02};
constexpr Bounds kOnTenAgents = {.p1 = 0.85,
                                 .p5 = 0.92,
                                 .p10 = 0.94,
                                 .p25 = 0.96,
                                 .p50 = 0.98,
                                 .utilisation = 0.985,
                                 .long_lacks = 0.03};

void expect_within(const TreeOptions& options, const Bounds& bounds) {
  std::vector<Measured> all;
  const Seeds seeds(kTrees);
  for (const uint64_t seed : seeds) {
    const Tree tree = draw_tree(seed, options);
    all.push_back(measure(tree, {}));
    ASSERT_EQ(all.back().wrong, std::vector<std::string>()) << to_text(tree);
  }
  const Summary summary = summarise(all);
  std::cout << to_text(summary);
  if (!seeds.enough()) return;  // Percentiles of a few trees have no meaning.
  EXPECT_GE(summary.of_entitlement.p1, bounds.p1);
  EXPECT_GE(summary.of_entitlement.p5, bounds.p5);
  EXPECT_GE(summary.of_entitlement.p10, bounds.p10);
  EXPECT_GE(summary.of_entitlement.p25, bounds.p25);
  EXPECT_GE(summary.of_entitlement.p50, bounds.p50);
  EXPECT_GE(summary.utilisation, bounds.utilisation);
  EXPECT_LE(summary.revokes, bounds.revokes);
  EXPECT_LE(summary.long_lacks, bounds.long_lacks);
}

TEST(FairChurn, UseFollowsEntitlementOnOneAgent) { expect_within({.agents = 1}, kOnOneAgent); }

TEST(FairChurn, UseFollowsEntitlementOnTenAgents) { expect_within({.agents = 10}, kOnTenAgents); }

// --- the measure itself -------------------------------------------------------------------------

// Equal siblings with tasks of one kind share it by weight.
TEST(FairChurnEntitlement, IsByWeight) {
  const LeafAsk cpus{.need = {1, 0}, .mean_s = 5};
  const Node root{.name = "root",
                  .children = {{.name = "a", .weight = 1, .children = {{.asks = {cpus}}}},
                               {.name = "b", .weight = 3, .children = {{.asks = {cpus}}}}}};
  const std::vector<Amounts> entitled = entitlements(root, {80, 80});
  EXPECT_NEAR(entitled[0][0], 20, 0.1);
  EXPECT_NEAR(entitled[1][0], 60, 0.1);
}

// The example of section 4.1 of the DRF paper (Ghodsi et al., NSDI 2011).
TEST(FairChurnEntitlement, OfTheExampleOfThePaper) {
  const Node root{.name = "root",
                  .children = {{.asks = {{.need = {1, 4}}}}, {.asks = {{.need = {3, 1}}}}}};
  const std::vector<Amounts> entitled = entitlements(root, {9, 18});
  EXPECT_NEAR(entitled[0][1], 12, 0.3);
  EXPECT_NEAR(entitled[1][0], 6, 0.3);
}

// Complementary siblings (H-DRF, section 4): a sibling is not charged for resources that the other
// cannot use.
TEST(FairChurnEntitlement, ComplementarySiblingsEachHaveTheirKind) {
  const Node root{
      .name = "root",
      .children = {{.name = "n1", .children = {{.asks = {{.need = {1, 0}}}}}},
                   {.name = "n2",
                    .children = {{.asks = {{.need = {1, 0}}}}, {.asks = {{.need = {0, 1}}}}}}}};
  const std::vector<Amounts> entitled = entitlements(root, {10, 10});
  EXPECT_NEAR(entitled[0][0], 5, 0.2);
  EXPECT_NEAR(entitled[1][0], 5, 0.2);
  EXPECT_NEAR(entitled[2][1], 10, 0.2);
}

TEST(FairChurn, ATreeIsAScenarioFile) {
  for (const uint64_t seed : {uint64_t{1}, uint64_t{2}, uint64_t{3}}) {
    const Tree tree = draw_tree(seed, {.agents = 10, .reclaim = "fair_share", .guarantees = true});
    const Result<sim::Scenario> read = sim::parse_scenario(sim::to_yaml(tree.scenario));
    ASSERT_TRUE(read.has_value()) << read.error().message();
    EXPECT_EQ(*read, tree.scenario);
  }
}

}  // namespace
}  // namespace proffer::fair_churn
