// Entitlements of asks: worked examples, and the laws of progressive filling over random trees.

#include "allocator/rules/fluid_filling.h"

#include <random>

#include <gtest/gtest.h>

#include "common/text.h"

namespace proffer::fair {
namespace {

constexpr int64_t kEndless = 1'000'000;

// Builds a tree from the top; amounts in whole units.
class Tree {
 public:
  Tree(int64_t cpus, int64_t mem, int64_t gpus = 0) : total_(of(cpus, mem, gpus)) {
    nodes_.push_back({});
  }

  int32_t role(int32_t parent, int64_t weight = 1, Quota guarantee = {}, Quota limit = {}) {
    nodes_.push_back(
        {.parent = parent, .weight = weight * kWeightOne, .guarantee = guarantee, .limit = limit});
    return static_cast<int32_t>(nodes_.size()) - 1;
  }
  int32_t leaf(int32_t parent, std::vector<FluidAsk> asks) {
    nodes_.push_back({.parent = parent, .asks = std::move(asks)});
    return static_cast<int32_t>(nodes_.size()) - 1;
  }

  static ResourceVector of(int64_t cpus, int64_t mem, int64_t gpus = 0) {
    return ResourceVector::of(cpus * 1000, mem * 1000, 0, gpus * 1000);
  }
  static FluidAsk ask(int64_t cpus, int64_t mem, int64_t gpus = 0, int64_t count = kEndless,
                      int32_t priority = 0) {
    return {.shape = of(cpus, mem, gpus), .tasks_max = count, .priority = priority};
  }
  static Quota cpus(int64_t amount) {
    Quota quota;
    quota.set(ResourceKind::kCpus, amount * 1000);
    return quota;
  }

  FluidShares fill() const { return fill_fluid(total_, nodes_); }
  const std::vector<FluidNode>& nodes() const { return nodes_; }
  const ResourceVector& total() const { return total_; }

 private:
  ResourceVector total_;
  std::vector<FluidNode> nodes_;
};

double tasks(const FluidShares& shares, int32_t node, size_t ask = 0) {
  return static_cast<double>(shares.tasks[static_cast<size_t>(node)][ask]) / kTaskOne;
}

double cpus(const FluidShares& shares, int32_t node) {
  return static_cast<double>(shares.nodes[static_cast<size_t>(node)][ResourceKind::kCpus]) / 1000;
}

constexpr double kNear = 0.02;

// The example of section 4.1 of the DRF paper.
TEST(FluidFilling, ExampleOfThePaper) {
  Tree tree(9, 18);
  const int32_t a = tree.leaf(0, {Tree::ask(1, 4)});
  const int32_t b = tree.leaf(0, {Tree::ask(3, 1)});
  const FluidShares shares = tree.fill();
  EXPECT_NEAR(tasks(shares, a), 3, kNear);
  EXPECT_NEAR(tasks(shares, b), 2, kNear);
}

TEST(FluidFilling, WeightsCountAmongSiblings) {
  Tree tree(30, 30);
  const int32_t heavy = tree.leaf(tree.role(0, 2), {Tree::ask(1, 0)});
  const int32_t light = tree.leaf(tree.role(0, 1), {Tree::ask(1, 0)});
  const FluidShares shares = tree.fill();
  EXPECT_NEAR(tasks(shares, heavy), 20, kNear);
  EXPECT_NEAR(tasks(shares, light), 10, kNear);
}

// The CPUs are split in three; n2's GPU tasks use GPUs that no other ask can use.
TEST(FluidFilling, AskThatTakesNothingExhaustedGoesOn) {
  Tree tree(100, 0, 100);
  const int32_t n1 = tree.leaf(tree.role(0), {Tree::ask(1, 0, 1)});
  const int32_t n2 = tree.role(0);
  const int32_t c = tree.leaf(n2, {Tree::ask(1, 0)});
  const int32_t g = tree.leaf(n2, {Tree::ask(0, 0, 1)});
  const int32_t n3 = tree.leaf(tree.role(0), {Tree::ask(1, 0)});
  const FluidShares shares = tree.fill();
  EXPECT_NEAR(tasks(shares, n1), 33.3, 0.1);
  EXPECT_NEAR(tasks(shares, c), 33.3, 0.1);
  EXPECT_NEAR(tasks(shares, g), 66.7, 0.1);
  EXPECT_NEAR(tasks(shares, n3), 33.3, 0.1);
}

TEST(FluidFilling, NumberOfFrameworksInARoleDoesNotCount) {
  Tree tree(32, 0);
  const int32_t many = tree.role(0);
  for (int i = 0; i < 40; ++i) tree.leaf(many, {Tree::ask(1, 0)});
  const int32_t one = tree.role(0);
  tree.leaf(one, {Tree::ask(1, 0)});
  const FluidShares shares = tree.fill();
  EXPECT_NEAR(cpus(shares, many), 16, 0.1);
  EXPECT_NEAR(cpus(shares, one), 16, 0.1);
}

TEST(FluidFilling, AsksOfOnePriorityRiseTogetherAndLowerOnesAfterwards) {
  Tree tree(12, 0);
  const int32_t leaf =
      tree.leaf(0, {Tree::ask(1, 0, 0, 2), Tree::ask(1, 0, 0, 5), Tree::ask(1, 0, 0, 99, -1)});
  const FluidShares shares = tree.fill();
  EXPECT_NEAR(tasks(shares, leaf, 0), 2, kNear);
  EXPECT_NEAR(tasks(shares, leaf, 1), 5, kNear);
  EXPECT_NEAR(tasks(shares, leaf, 2), 5, kNear);
}

TEST(FluidFilling, UnmetRestOfOneLeafGoesToTheOthers) {
  Tree tree(30, 0);
  const int32_t content = tree.leaf(0, {Tree::ask(1, 0, 0, 4)});
  const int32_t a = tree.leaf(0, {Tree::ask(1, 0)});
  const int32_t b = tree.leaf(0, {Tree::ask(2, 0)});
  const FluidShares shares = tree.fill();
  EXPECT_NEAR(tasks(shares, content), 4, kNear);
  EXPECT_NEAR(tasks(shares, a), 13, kNear);
  EXPECT_NEAR(tasks(shares, b), 6.5, kNear);
}

TEST(FluidFilling, GuaranteeComesFirst) {
  Tree tree(12, 0);
  const int32_t sure = tree.leaf(tree.role(0, 1, Tree::cpus(8)), {Tree::ask(1, 0)});
  const int32_t a = tree.leaf(tree.role(0), {Tree::ask(1, 0)});
  const int32_t b = tree.leaf(tree.role(0), {Tree::ask(1, 0)});
  const FluidShares shares = tree.fill();
  EXPECT_NEAR(tasks(shares, sure), 8, kNear);
  EXPECT_NEAR(tasks(shares, a), 2, kNear);
  EXPECT_NEAR(tasks(shares, b), 2, kNear);
}

// A guarantee of a fifth of the memory does not bound the CPUs.
TEST(FluidFilling, KindThatAGuaranteeDoesNotNameIsSharedFairly) {
  Tree tree(20, 100);
  Quota mem;
  mem.set(ResourceKind::kMem, 20'000);
  const int32_t sure = tree.leaf(tree.role(0, 1, mem), {Tree::ask(1, 1)});
  const int32_t other = tree.leaf(tree.role(0), {Tree::ask(1, 1)});
  const FluidShares shares = tree.fill();
  EXPECT_NEAR(tasks(shares, sure), 10, kNear);
  EXPECT_NEAR(tasks(shares, other), 10, kNear);
}

TEST(FluidFilling, GuaranteesBeyondTheTotalAreCutInProportion) {
  Tree tree(12, 0);
  const int32_t a = tree.leaf(tree.role(0, 1, Tree::cpus(16)), {Tree::ask(1, 0)});
  const int32_t b = tree.leaf(tree.role(0, 1, Tree::cpus(8)), {Tree::ask(1, 0)});
  const FluidShares shares = tree.fill();
  EXPECT_NEAR(tasks(shares, a), 8, kNear);
  EXPECT_NEAR(tasks(shares, b), 4, kNear);
}

TEST(FluidFilling, LimitStopsTheAsksThatTakeOfItsKind) {
  Tree tree(30, 30);
  const int32_t limited = tree.role(0, 1, {}, Tree::cpus(6));
  const int32_t a = tree.leaf(limited, {Tree::ask(1, 0)});
  const int32_t b = tree.leaf(limited, {Tree::ask(0, 1)});
  const int32_t other = tree.leaf(tree.role(0), {Tree::ask(1, 0)});
  const FluidShares shares = tree.fill();
  EXPECT_NEAR(tasks(shares, a), 6, kNear);
  EXPECT_NEAR(tasks(shares, b), 30, kNear);
  EXPECT_NEAR(tasks(shares, other), 24, kNear);
}

TEST(FluidFilling, AskLargerThanTheClusterGetsNothing) {
  Tree tree(8, 8);
  const int32_t huge = tree.leaf(0, {Tree::ask(9, 0)});
  const int32_t other = tree.leaf(0, {Tree::ask(1, 0)});
  const FluidShares shares = tree.fill();
  EXPECT_EQ(tasks(shares, huge), 0);
  EXPECT_NEAR(tasks(shares, other), 8, kNear);
}

// Siblings together have at most their parent's amounts, and an ask with less than its demand meets
// an exhausted kind: of the cluster, or of a limit above it.
TEST(FluidFilling, FillsWhatThereIsAndNoMore) {
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const auto pick = [&](int64_t most) { return static_cast<int64_t>(random() % (most + 1)); };
    Tree tree(8 + pick(80), 8 + pick(80), pick(1) * 8);
    std::vector<int32_t> roles = {0};
    for (int64_t i = 1 + pick(5); i > 0; --i) {
      const auto parent = roles[static_cast<size_t>(pick(static_cast<int64_t>(roles.size()) - 1))];
      roles.push_back(tree.role(parent, 1 + pick(2), pick(3) == 0 ? Tree::cpus(pick(6)) : Quota(),
                                pick(3) == 0 ? Tree::cpus(6 + pick(20)) : Quota()));
    }
    for (int64_t i = 1 + pick(8); i > 0; --i) {
      std::vector<FluidAsk> asks;
      for (int64_t j = 1 + pick(2); j > 0; --j) {
        asks.push_back(Tree::ask(pick(4), pick(4), pick(1), pick(2) == 0 ? pick(9) : kEndless,
                                 static_cast<int32_t>(pick(1))));
      }
      tree.leaf(roles[static_cast<size_t>(pick(static_cast<int64_t>(roles.size()) - 1))],
                std::move(asks));
    }
    const FluidShares shares = tree.fill();
    const std::vector<FluidNode>& nodes = tree.nodes();
    ASSERT_TRUE(shares.nodes[0].fits_in(tree.total())) << to_text(shares.nodes[0]);
    const auto is_used_up = [&](size_t node, ResourceKind kind) {
      const int64_t use = shares.nodes[node][kind];
      const int64_t slack = 200;
      if (node == 0) return use + slack >= tree.total()[kind];
      const auto limit = nodes[node].limit[kind];
      return limit && use + slack >= *limit;
    };
    for (size_t i = 1; i < nodes.size(); ++i) {
      if (!nodes[i].limit.empty()) {
        EXPECT_TRUE(nodes[i].limit.contains(shares.nodes[i]));
      }
      for (size_t j = 0; j < nodes[i].asks.size(); ++j) {
        const FluidAsk& ask = nodes[i].asks[j];
        ASSERT_LE(shares.tasks[i][j], ask.tasks_max * kTaskOne);
        if (shares.tasks[i][j] == ask.tasks_max * kTaskOne || ask.shape.is_zero()) continue;
        if (!ask.shape.fits_in(tree.total())) continue;
        bool is_stopped = false;
        for (size_t at = i;; at = static_cast<size_t>(nodes[at].parent)) {
          for (const ResourceKind kind : kResourceKinds) {
            is_stopped = is_stopped || (ask.shape[kind] > 0 && is_used_up(at, kind));
          }
          if (at == 0) break;
        }
        EXPECT_TRUE(is_stopped) << "ask " << j << " of node " << i << " has "
                                << static_cast<double>(shares.tasks[i][j]) / kTaskOne << " of "
                                << ask.tasks_max << " tasks of " << to_text(ask.shape);
      }
    }
  }
}

}  // namespace
}  // namespace proffer::fair
