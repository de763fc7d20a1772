// The production allocator compared with the oracle for trees (tests/oracle/tree_filling.h). On one
// agent, where placement plays no part, no role is a task below the oracle; on many agents, the
// loss by fragmentation is printed. A failure prints the tree.

#include <algorithm>
#include <iostream>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "allocator/allocator.h"
#include "tests/allocator/running.h"
#include "tests/property/tree_fixture.h"
#include "tests/support/seeds.h"

namespace proffer::near_tree_test {
namespace {

using tree_fixture::Fraction;
using tree_fixture::Node;
using tree_fixture::random_tree;
using tree_fixture::to_text;
using tree_fixture::Tree;
using tree_fixture::TreeCase;
using tree_fixture::TreeRanges;

// Names in the order of the tree, so that equal roles come in the oracle's order, or reversed.
enum class Names : uint8_t { kInOrder, kReversed };

RoleName role_of(const Tree& tree, size_t node, Names names) {
  std::string path = tree.path(node);
  for (char& c : path) {
    if (names == Names::kReversed && c != '/') c = static_cast<char>('a' + 'z' - c);
  }
  return RoleName(path);
}

// The roles of the tree, all nodes but the root, as the operator's table.
RoleTable table_of(const Tree& tree, Names names = Names::kInOrder) {
  RoleTable table;
  for (size_t i = 1; i < tree.size(); ++i) {
    const Node& node = tree.description(i);
    const RoleSettings settings = {
        .weight = node.weight, .guarantee = node.guarantee, .limit = node.limit};
    if (settings != RoleSettings()) table[role_of(tree, i, names)] = settings;
  }
  return table;
}

// A random tree whose quotas an operator could set.
TreeCase random_cluster(Prng& random, TreeRanges ranges) {
  while (true) {
    TreeCase c = random_tree(random, ranges);
    if (check_roles(table_of(Tree(c.pool, c.root)))) return c;
  }
}

// The same tree in production: each leaf is a role with one framework.
class Production {
 public:
  Production(const TreeCase& c, const std::vector<ResourceVector>& agents,
             Names names = Names::kInOrder)
      : tree_(c.pool, c.root), allocator_({.roles = table_of(tree_, names)}) {
    for (size_t i = 0; i < agents.size(); ++i) {
      allocator_.set_agent(AgentId(text("agent-", i)),
                           {.slices = {Slice{.resources = {.amounts = agents[i]}}}});
    }
    for (const size_t leaf : tree_.leaves()) {
      if (tree_.description(leaf).task.is_zero()) continue;
      const FrameworkId framework(text("f", leaf));
      frameworks_[framework] = leaf;
      allocator_.add_framework(framework, role_of(tree_, leaf, names), OfferMode::kAsks);
      declare(leaf, tree_.description(leaf).count);
    }
  }

  // The number of tasks in each leaf's offers, from one decision.
  std::vector<int64_t> fill() {
    std::vector<int64_t> tasks(tree_.size(), 0);
    const Decision decision = allocator_.decide(now_);
    for (const Grant& grant : decision.grants) {
      for (const AskFill& fill : grant.offer.fills) {
        tasks[frameworks_.at(grant.framework)] += fill.count;
      }
    }
    for (const Violation& violation : allocator_.violations()) wrong_.push_back(violation.what);
    return tasks;
  }
  const std::vector<std::string>& wrong() const { return wrong_; }

 private:
  void declare(size_t leaf, std::optional<int64_t> count) {
    allocator_.declare_asks(FrameworkId(text("f", leaf)),
                            {{.name = AskName("task"),
                              .shape = tree_.description(leaf).task,
                              .count = count.value_or(100'000)}},
                            now_);
  }

  const Tree tree_;
  Allocator allocator_;
  const Time now_ = Time() + seconds(1);
  std::map<FrameworkId, size_t> frameworks_;
  std::vector<std::string> wrong_;
};

Fraction share_of(const ResourceVector& amounts, const ResourceVector& pool) {
  return ideal::share_of_task(pool, {.task = amounts});
}
Fraction apart(const Fraction& a, const Fraction& b) { return a < b ? b - a : a - b; }

Fraction largest_task(const Tree& tree) {
  Fraction largest;
  for (const size_t leaf : tree.leaves()) {
    const ResourceVector& task = tree.description(leaf).task;
    if (task.fits_in(tree.pool())) largest = std::max(largest, share_of(task, tree.pool()));
  }
  return largest;
}

std::string beside(const Tree& tree, const std::vector<int64_t>& produced) {
  std::string out = to_text(tree);
  for (const size_t leaf : tree.leaves()) {
    out += text("  ", tree.path(leaf), " has ", produced[leaf], " in production\n");
  }
  return out;
}

// Entitlements are rounded down.
int64_t whole_tasks(const Fraction& tasks) {
  const int64_t floor = tasks.floor();
  return floor == 0 || tasks > Fraction::of(512 * floor + 1, 512) ? floor : floor - 1;
}

TEST(NearTree, OnOneAgentEachHasTheWholeTasksOfItsEntitlement) {
  int64_t compared = 0;
  for (const uint64_t seed : Seeds(1'000)) {
    Prng random(seed);
    const TreeCase c = random_cluster(random, {});
    const Tree tree(c.pool, c.root);
    const std::optional<std::vector<Fraction>> exact = ideal::fill_tree(c.pool, c.root);
    if (!exact) continue;
    Production production(c, {c.pool});
    const std::vector<int64_t> produced = production.fill();
    ASSERT_EQ(production.wrong(), std::vector<std::string>()) << "seed " << seed << to_text(c);
    ++compared;
    for (size_t i = 0; i < tree.leaves().size(); ++i) {
      const size_t leaf = tree.leaves()[i];
      ASSERT_GE(produced[leaf], whole_tasks((*exact)[i]))
          << "seed " << seed << " " << tree.path(leaf) << "\n"
          << to_text(c) << beside(tree, produced);
    }
  }
  EXPECT_TRUE(!Seeds(1'000).enough() || compared >= 900) << compared;
}

// True if the leaf wants a task that uses a guarantee of a role on its path, and that exceeds no
// guarantee and no limit on its path.
bool is_promised_more(const Tree& tree, size_t leaf) {
  const Node& node = tree.description(leaf);
  if (node.task.is_zero() || (node.count && tree.tasks(leaf) >= *node.count)) return false;
  bool is_promised = false;
  for (std::optional<size_t> at = leaf; at; at = tree.parent(*at)) {
    const Node& role = tree.description(*at);
    const ResourceVector then = tree.use(*at) + node.task;
    if (!role.limit.contains(then)) return false;
    if (role.guarantee.empty()) continue;
    if (!role.guarantee.contains(then)) return false;
    is_promised = true;
  }
  return is_promised;
}

TEST(NearTree, OnOneAgentNoGuaranteeIsLeftUnmet) {
  int64_t promised = 0;
  for (const uint64_t seed : Seeds(1'000)) {
    Prng random(seed);
    const TreeCase c = random_cluster(random, {.quotas = true});
    Tree tree(c.pool, c.root);
    const std::vector<size_t> leaves = tree.leaves();
    promised += std::any_of(leaves.begin(), leaves.end(),
                            [&](size_t leaf) { return is_promised_more(tree, leaf); });
    Production production(c, {c.pool});
    const std::vector<int64_t> produced = production.fill();
    ASSERT_EQ(production.wrong(), std::vector<std::string>()) << "seed " << seed << to_text(c);
    for (const size_t leaf : leaves) tree.give(leaf, produced[leaf]);
    for (const size_t leaf : leaves) {
      ASSERT_FALSE(is_promised_more(tree, leaf))
          << "seed " << seed << " " << tree.path(leaf) << "\n"
          << to_text(c) << beside(tree, produced);
    }
  }
  EXPECT_TRUE(!Seeds(1'000).enough() || promised >= 300) << promised;
}

// The smallest case that the test above found. The guarantee of CPUs is used up; `a` must still get
// its guarantee of memory.
TEST(NearTree, OneKindOfAGuaranteeThatIsReachedDoesNotEndTheOthers) {
  TreeCase c{.pool = ResourceVector::of(10'000, 10'000)};
  Node a = tree_fixture::role("a", {tree_fixture::leaf("a", 1, 0), tree_fixture::leaf("b", 0, 1)});
  a.guarantee = Quota::of(ResourceVector::of(1'000, 8'000));
  c.root = tree_fixture::root({a, tree_fixture::leaf("b", 0, 1)});
  EXPECT_EQ(Production(c, {c.pool}).fill(), (std::vector<int64_t>{0, 0, 10, 8, 2}));
}

// A guarantee does not cover a task that uses none of its kinds: b has as much memory as a.
TEST(NearTree, AGuaranteeOfCpusIsNoneOfMemory) {
  TreeCase c{.pool = ResourceVector::of(10'000, 10'000)};
  Node a = tree_fixture::leaf("a", 0, 1);
  a.guarantee = Quota::of(ResourceVector::of(5'000, 0));
  c.root = tree_fixture::root({a, tree_fixture::leaf("b", 0, 1)});
  EXPECT_EQ(Production(c, {c.pool}).fill(), (std::vector<int64_t>{0, 5, 5}));
}

// Renaming permutes the result, with one exception: roles that arrived at the same instant and have
// no tasks yet are served in the order of their names. Each result is within the largest task of
// the oracle, so the two are within two of each other. (Guarantees are left out, since the first
// one served within a guarantee may use it up.)
TEST(NearTree, OtherNamesChangeSharesByAtMostTwoTasks) {
  for (const uint64_t seed : Seeds(1'000)) {
    Prng random(seed);
    const TreeCase c = random_cluster(random, {});
    const Tree tree(c.pool, c.root);
    const std::vector<int64_t> some = Production(c, {c.pool}).fill();
    const std::vector<int64_t> others = Production(c, {c.pool}, Names::kReversed).fill();
    for (const size_t leaf : tree.leaves()) {
      const ResourceVector& task = tree.description(leaf).task;
      ASSERT_LE(apart(share_of(task * some[leaf], c.pool), share_of(task * others[leaf], c.pool)),
                largest_task(tree) * 2)
          << "seed " << seed << " " << tree.path(leaf) << ": " << some[leaf] << " or "
          << others[leaf] << "\n"
          << to_text(c);
    }
  }
}

// Tasks that fit nowhere leave gaps. The loss is only printed, since it is not an error.
TEST(NearTree, OnManyAgentsTheLossIsReported) {
  double used = 0;
  double ideally = 0;
  double apart_sum = 0;
  int64_t leaves = 0;
  for (const uint64_t seed : Seeds(250)) {
    Prng random(seed);
    TreeCase c = random_cluster(random, {.pool_min = 24, .pool_max = 60});
    std::vector<ResourceVector> agents(4);
    c.pool = {};
    for (ResourceVector& agent : agents) {
      agent = ResourceVector::of(random.between(6, 15) * 500, random.between(6, 15) * 500);
      c.pool += agent;
    }
    Tree tree(c.pool, c.root);
    tree.fill();
    if (!tree.is_exact()) continue;
    Production production(c, agents);
    const std::vector<int64_t> produced = production.fill();
    ASSERT_TRUE(production.wrong().empty())
        << "seed " << seed << ": " << production.wrong()[0] << "\n"
        << to_text(c);
    const auto as_double = [&](const ResourceVector& amounts) {
      return dominant_share(amounts, c.pool).approximate();
    };
    ResourceVector all;
    for (const size_t leaf : tree.leaves()) {
      const ResourceVector& task = tree.description(leaf).task;
      all += task * produced[leaf];
      const double mine = as_double(task * produced[leaf]);
      const double its = as_double(task * tree.tasks(leaf));
      apart_sum += mine < its ? its - mine : mine - its;
      ++leaves;
    }
    used += as_double(all);
    ideally += as_double(tree.use(0));
  }
  ASSERT_GT(leaves, 0);
  std::cout << "four agents instead of one: " << 100 * used / ideally
            << " % of the dominant use, leaves' shares apart by "
            << 100 * apart_sum / static_cast<double>(leaves) << " points on average\n";
  EXPECT_LE(used, ideally * 1.1);
}

}  // namespace
}  // namespace proffer::near_tree_test
