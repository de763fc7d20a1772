// The laws of hierarchical dominant resource fairness (H-DRF: Bhattacharya et al., SoCC 2013) for
// the oracle in tests/oracle: exactly, with divisible tasks, and for whole tasks under churn. Older
// forms are tested too, to show that they fail. A failure prints the tree. near_tree_test.cc
// compares production with the oracle.

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/property/tree_fixture.h"
#include "tests/support/seeds.h"

namespace proffer::tree_laws_test {
namespace {

using fair_case::Tasks;
using ideal::fill_tree;
using tree_fixture::Fraction;
using tree_fixture::leaf;
using tree_fixture::Node;
using tree_fixture::pool_of;
using tree_fixture::random_tree;
using tree_fixture::role;
using tree_fixture::root;
using tree_fixture::Sharing;
using tree_fixture::Standing;
using tree_fixture::to_text;
using tree_fixture::Tree;
using tree_fixture::TreeCase;
using tree_fixture::TreeRanges;

// --- complementary dominant resources (sections 3 and 4 of the paper) ---------------------------

// Two departments; in the second, one framework wants CPUs and one memory.
Node complementary() {
  return root(
      {role("n1", {leaf("cpus", 1, 0)}), role("n2", {leaf("cpus", 1, 0), leaf("mem", 0, 1)})});
}

// Repeatedly, a task of each of the two leaves that want CPUs ends, and the free resources are
// granted.
void churn_cpus(Tree& tree, int rounds) {
  for (int i = 0; i < rounds; ++i) {
    for (const char* path : {"n1/cpus", "n2/cpus"}) {
      const size_t one = tree.find(path);
      if (tree.tasks(one) == 0) continue;
      tree.end(one);
      ASSERT_TRUE(tree.give_next());
    }
  }
}

// When n2/mem has used up the memory, plain recursive DRF counts n2 as if it had everything, and
// gives each CPU that n2 frees to n1 (section 4.2, "naive H-DRF").
TEST(Complementary, PlainRecursiveDrfStarvesAChild) {
  Tree tree(pool_of(10, 10), complementary(), Sharing::kPlain);
  tree.fill();
  EXPECT_EQ(tree.tasks(tree.find("n2/cpus")), 5);
  churn_cpus(tree, 20);
  EXPECT_EQ(tree.tasks(tree.find("n2/cpus")), 0);
  EXPECT_EQ(tree.tasks(tree.find("n1/cpus")), 10);
}

TEST(Complementary, SaturatedChildrenInFullStarveAChildToo) {
  Tree tree(pool_of(10, 10), complementary(), Sharing::kSaturatedUnscaled);
  tree.fill();
  churn_cpus(tree, 20);
  EXPECT_EQ(tree.tasks(tree.find("n2/cpus")), 0);
}

TEST(Complementary, NobodyStarvesByRescaling) {
  Tree tree(pool_of(10, 10), complementary());
  tree.fill();
  churn_cpus(tree, 20);
  EXPECT_EQ(tree.tasks(tree.find("n1/cpus")), 5);
  EXPECT_EQ(tree.tasks(tree.find("n2/cpus")), 5);
  EXPECT_EQ(tree.tasks(tree.find("n2/mem")), 10);
}

// n2 gets its part back, task by task, which n1 took during its absence.
TEST(Complementary, WhoComesLateGetsItsPartBack) {
  for (const Sharing sharing : {Sharing::kHierarchical, Sharing::kPlain}) {
    Tree tree(pool_of(10, 10), complementary(), sharing);
    const size_t late = tree.find("n2/cpus");
    tree.set_count(late, 0);
    tree.fill();
    EXPECT_EQ(tree.tasks(tree.find("n1/cpus")), 10);
    EXPECT_EQ(tree.tasks(tree.find("n2/mem")), 10);
    tree.set_count(late, std::nullopt);
    churn_cpus(tree, 20);
    EXPECT_EQ(tree.tasks(late), sharing == Sharing::kHierarchical ? 5 : 0);
  }
}

// Each leaf by its own weight (section 4.1, "collapsed hierarchies"): n2's two leaves are
// complementary, so n2 runs a third of everything, and n1, with the same right, two thirds.
TEST(Complementary, FlatDrfGivesAParentLessThanItsPart) {
  const Node two =
      root({role("n1", {leaf("both", 1, 1)}), role("n2", {leaf("cpus", 1, 0), leaf("mem", 0, 1)})});
  Tree flat(pool_of(60, 60), two, Sharing::kFlat);
  flat.fill();
  EXPECT_EQ(flat.tasks(flat.find("n1/both")), 40);
  EXPECT_EQ(flat.tasks(flat.find("n2/cpus")), 20);
  Tree tree(pool_of(60, 60), two);
  tree.fill();
  for (const char* path : {"n1/both", "n2/cpus", "n2/mem"}) {
    EXPECT_EQ(tree.tasks(tree.find(path)), 30) << path;
  }
  EXPECT_EQ(fill_tree(pool_of(60, 60), two), (Tasks{30, 30, 30}));
}

// Resources of a sibling that waits for more must count; otherwise its parent has them for free.
// n2/large waits for four CPUs at once; the other two take turns with the eight that it does not
// hold.
TEST(Saturated, CountsOrItsParentIsOverpaid) {
  const auto small_of_n1 = [](Sharing sharing) {
    Tree tree(pool_of(12, 0),
              root({role("n1", {leaf("small", 1, 0)}),
                    role("n2", {leaf("small", 1, 0), leaf("large", 4, 0)})}),
              sharing);
    tree.give(tree.find("n2/large"));
    tree.fill();
    for (int i = 0; i < 50; ++i) {
      for (const char* path : {"n1/small", "n2/small"}) {
        tree.end(tree.find(path));
        EXPECT_TRUE(tree.give_next());
      }
    }
    EXPECT_EQ(tree.tasks(tree.find("n2/large")), 1);
    return tree.tasks(tree.find("n1/small"));
  };
  EXPECT_EQ(small_of_n1(Sharing::kSaturatedIgnored), 4);
  EXPECT_GE(small_of_n1(Sharing::kHierarchical), 5);
}

// Children without resources must not make their parent count as zero while other children have
// some: otherwise a role with fifty frameworks would take all of a cluster that cannot serve them
// all.
TEST(Complementary, ManyChildrenTakeNoMoreThanTheirParentsPart) {
  std::vector<Node> many;
  for (int i = 0; i < 20; ++i) many.push_back(leaf(text("l", i), 1, 0));
  Tree tree(pool_of(10, 0), root({role("many", many), role("one", {leaf("l", 1, 0)})}));
  tree.fill();
  EXPECT_EQ(tree.use(tree.find("many")), pool_of(5, 0));
  EXPECT_EQ(tree.use(tree.find("one")), pool_of(5, 0));
}

// --- standing -----------------------------------------------------------------------------------

TEST(Standing, IsOfWhatIsWantedAndFits) {
  Tree tree(pool_of(4, 4),
            root({role("a", {leaf("x", 1, 0, 2), leaf("y", 1, 0, 0)}), leaf("b", 3, 0)}));
  EXPECT_EQ(tree.standing(tree.find("a/x")), Standing::kDemanding);
  EXPECT_EQ(tree.standing(tree.find("a/y")), Standing::kContent);
  EXPECT_EQ(tree.standing(tree.find("a")), Standing::kDemanding);
  tree.give(tree.find("a/x"), 2);
  EXPECT_EQ(tree.standing(tree.find("a")), Standing::kContent);
  EXPECT_EQ(tree.standing(tree.find("b")), Standing::kSaturated);
  EXPECT_EQ(tree.standing(0), Standing::kSaturated);
}

// Shares by hand: n2's M is 1/5, so its memory, 4/5 of all and wanting more, counts as 1/5.
TEST(Standing, SaturatedChildrenAreScaledToTheLeastThatDemands) {
  Tree tree(pool_of(10, 5), complementary());
  tree.give(tree.find("n2/cpus"), 2);
  tree.give(tree.find("n2/mem"), 5);
  EXPECT_EQ(tree.standing(tree.find("n2/mem")), Standing::kSaturated);
  EXPECT_EQ(tree.share(tree.find("n2")), Fraction::of(1, 5));
  tree.set_count(tree.find("n2/mem"), 5);  // content: it counts in full
  EXPECT_EQ(tree.share(tree.find("n2")), 1);
  tree.set_count(tree.find("n2/cpus"), 2);  // no demand: the plain sum
  EXPECT_EQ(tree.share(tree.find("n2")), 1);
}

// Random tasks for some leaves, as if the tree had a history.
void give_at_random(Prng& random, Tree& tree) {
  for (int i = 0; i < 30; ++i) {
    const size_t one = tree.leaves()[random.below(tree.leaves().size())];
    const Node& node = tree.description(one);
    if (node.task.is_zero() || !node.task.fits_in(tree.free())) continue;
    if (node.count && tree.tasks(one) >= *node.count) continue;
    tree.give(one);
  }
}

// Beside content siblings, the share of a child with demand is not scaled, and neither raises the
// other.
TEST(Content, ChildrenChangeTheirParentsStandingByWhatTheyUse) {
  int looked_at = 0;
  for (const uint64_t seed : Seeds(2'000)) {
    Prng random(seed);
    const TreeCase c = random_tree(random, {});
    Tree tree(c.pool, c.root);
    give_at_random(random, tree);
    for (size_t node = 0; node < tree.size(); ++node) {
      const auto& children = tree.children(node);
      const bool all_but_one = std::count_if(children.begin(), children.end(), [&](size_t child) {
                                 return tree.standing(child) != Standing::kContent;
                               }) <= 1;
      const bool flat = std::all_of(children.begin(), children.end(),
                                    [&](size_t child) { return tree.children(child).empty(); });
      if (children.empty() || !all_but_one || !flat) continue;
      ++looked_at;
      ASSERT_EQ(tree.share(node) * tree.description(node).weight,
                tree.dominant_share(node) * kWeightOne)
          << "seed " << seed << " " << tree.path(node) << "\n"
          << to_text(tree);
    }
  }
  if (Seeds(2'000).enough()) {
    EXPECT_GT(looked_at, 1'000);
  }
}

// A leaf that wants nothing, anywhere in the tree.
void add_idle(Prng& random, Node& node) {
  Node* at = &node;
  while (random.chance(1, 2)) {
    Node& child = at->children[random.below(at->children.size())];
    if (child.children.empty()) break;
    at = &child;
  }
  at->children.push_back(leaf("idle", 1, 1, 0));
}

TEST(Content, AnIdleChildChangesNothing) {
  for (const uint64_t seed : Seeds(1'000)) {
    Prng random(seed);
    TreeCase c = random_tree(random, {.quotas = true});
    Tree before(c.pool, c.root);
    before.fill();
    add_idle(random, c.root);
    Tree after(c.pool, c.root);
    after.fill();
    ASSERT_EQ(before.is_exact(), after.is_exact());
    for (const size_t one : before.leaves()) {
      ASSERT_EQ(after.tasks(after.find(before.path(one))), before.tasks(one))
          << "seed " << seed << " " << before.path(one) << "\n"
          << to_text(c);
    }
  }
}

// --- divisible tasks: the laws of section 5 -----------------------------------------------------

// One level of H-DRF is DRF.
TEST(DivisibleTree, OfOneLevelIsDrf) {
  for (const uint64_t seed : Seeds(1'000)) {
    Prng random(seed);
    const fair_case::Case c = fair_case::random_case(random, {});
    std::vector<Node> leaves;
    for (size_t i = 0; i < c.demands.size(); ++i) {
      Node one;
      one.name = fair_case::name(i);
      one.weight = c.demands[i].weight;
      one.task = c.demands[i].task;
      one.count = c.demands[i].count;
      leaves.push_back(one);
    }
    const auto tasks = fill_tree(c.pool, root(leaves));
    ASSERT_TRUE(tasks.has_value()) << "seed " << seed;
    ASSERT_EQ(*tasks, *ideal::fill(c.pool, c.demands)) << "seed " << seed << "\n"
                                                       << fair_case::to_text(c);
    Tree tree(c.pool, root(leaves));
    tree.fill();
    std::vector<int64_t> whole;
    for (const size_t one : tree.leaves()) whole.push_back(tree.tasks(one));
    ASSERT_EQ(whole, ideal::fill_whole(c.pool, c.demands).tasks) << "seed " << seed;
  }
}

// The guaranteed part of the pool of each leaf: its weight among its siblings', multiplied up to
// the root.
std::vector<Fraction> parts_by_weight(const Tree& tree) {
  std::vector<Fraction> parts;
  for (const size_t one : tree.leaves()) {
    Fraction part = 1;
    for (size_t at = one; tree.parent(at); at = *tree.parent(at)) {
      int64_t together = 0;
      for (const size_t sibling : tree.children(*tree.parent(at))) {
        together += tree.description(sibling).weight;
      }
      part = part * Fraction::of(tree.description(at).weight, together);
    }
    parts.push_back(part);
  }
  return parts;
}

// The hierarchical share guarantee (section 3): each leaf has at least the dominant share of its
// part of everything, or all that it wants.
std::string no_share_guarantee(const Tree& tree, const Tasks& tasks) {
  const std::vector<Fraction> parts = parts_by_weight(tree);
  for (size_t i = 0; i < tasks.size(); ++i) {
    const Node& node = tree.description(tree.leaves()[i]);
    const ideal::Demand demand{.task = node.task, .count = node.count};
    if (!ideal::can_run(tree.pool(), demand)) continue;
    if (node.count && tasks[i] == *node.count) continue;
    const Fraction share = tasks[i] * ideal::share_of_task(tree.pool(), demand);
    if (share < parts[i]) {
      return text(tree.path(tree.leaves()[i]), " has ", share.text(), ", its part is ",
                  parts[i].text());
    }
  }
  return "";
}

// A leaf that wants more lacks a kind that is used up, and no kind is used beyond the pool.
std::string tree_waste(const Tree& tree, const Tasks& tasks) {
  for (size_t i = 0; i < tasks.size(); ++i) {
    const Node& node = tree.description(tree.leaves()[i]);
    if (node.count && tasks[i] > *node.count) return "more than is wanted";
    const bool has_all = node.count && tasks[i] == *node.count;
    bool lacks = false;
    for (const ResourceKind kind : kResourceKinds) {
      Fraction used;
      for (size_t j = 0; j < tasks.size(); ++j) {
        used += tasks[j] * tree.description(tree.leaves()[j]).task[kind];
      }
      if (used > tree.pool()[kind]) return text("too much ", to_text(kind), " is used");
      lacks = lacks || (node.task[kind] > 0 && used == tree.pool()[kind]);
    }
    if (!has_all && !lacks && !node.task.is_zero()) {
      return tree.path(tree.leaves()[i]) + " could run more";
    }
  }
  return "";
}

TEST(DivisibleTree, GivesEachLeafItsPartAndWastesNothing) {
  int answered = 0;
  for (const uint64_t seed : Seeds(3'000)) {
    Prng random(seed);
    const TreeCase c = random_tree(random, {.depth_max = 1 + random.below(3), .kinds = 3});
    const auto tasks = fill_tree(c.pool, c.root);
    if (!tasks) continue;
    ++answered;
    const Tree tree(c.pool, c.root);
    ASSERT_EQ(no_share_guarantee(tree, *tasks), "") << "seed " << seed << "\n" << to_text(c);
    ASSERT_EQ(tree_waste(tree, *tasks), "") << "seed " << seed << "\n" << to_text(c);
  }
  if (Seeds(3'000).enough()) {
    EXPECT_GT(answered, 2'500);
  }
}

// If all leaves want endlessly much of one kind, the parts of siblings are proportional to their
// weights, at each level.
TEST(DivisibleTree, SharesOneKindByTheWeights) {
  for (const uint64_t seed : Seeds(500)) {
    Prng random(seed);
    const TreeCase c = random_tree(random, {.kinds = 1, .finite = false});
    const auto tasks = fill_tree(c.pool, c.root);
    ASSERT_TRUE(tasks.has_value());
    const Tree tree(c.pool, c.root);
    const std::vector<Fraction> parts = parts_by_weight(tree);
    for (size_t i = 0; i < parts.size(); ++i) {
      const ResourceVector& task = tree.description(tree.leaves()[i]).task;
      ASSERT_EQ((*tasks)[i] * ideal::share_of_task(c.pool, {.task = task}), parts[i])
          << "seed " << seed << "\n"
          << to_text(c);
    }
  }
}

void reverse(Node& node) {
  std::reverse(node.children.begin(), node.children.end());
  for (Node& child : node.children) reverse(child);
}

TEST(DivisibleTree, RenamingPermutes) {
  for (const uint64_t seed : Seeds(500)) {
    Prng random(seed);
    TreeCase c = random_tree(random, {.kinds = 3});
    const auto tasks = fill_tree(c.pool, c.root);
    reverse(c.root);
    auto others = fill_tree(c.pool, c.root);
    if (!tasks || !others) continue;
    std::reverse(others->begin(), others->end());
    ASSERT_EQ(*others, *tasks) << "seed " << seed << "\n" << to_text(c);
  }
}

// --- truth against lies -------------------------------------------------------------------------

// Trees of four leaves, whose tasks are set one by one.
struct Shape {
  std::string name;
  std::function<Node(const std::vector<Node>&)> of;
};
const std::vector<Shape> kShapes = {
    {"two and two",
     [](const std::vector<Node>& l) {
       return root({role("p", {l[0], l[1]}), role("q", {l[2], l[3]})});
     }},
    {"one and three",
     [](const std::vector<Node>& l) {
       return root({l[0], role("q", {l[1], l[2], l[3]})});
     }},
    {"one above another",
     [](const std::vector<Node>& l) {
       return root({l[0], role("q", {l[1], role("r", {l[2], l[3]}, 2 * kWeightOne)})});
     }},
};

// How many of its true tasks fit into `tasks` tasks as declared in `said`.
Fraction truly(const Node& truth, const Node& said, const Fraction& tasks) {
  std::optional<Fraction> least;
  for (const ResourceKind kind : kResourceKinds) {
    if (truth.task[kind] == 0) continue;
    const Fraction fit = tasks * Fraction::of(said.task[kind], truth.task[kind]);
    least = least ? std::min(*least, fit) : fit;
  }
  return truth.count ? std::min(*least, Fraction(*truth.count)) : *least;
}

// All truths of four leaves against all lies of all groups of leaves: "" or a lie that helps. A lie
// helps a group if one member truly runs more and none runs less, or, with `if_all_gain`, if all
// run more.
std::string lie_helps(const Shape& shape, const std::vector<Node>& kinds_of_task,
                      bool if_all_gain) {
  const size_t n = kinds_of_task.size();
  const auto said_by = [&](size_t code) {
    std::vector<size_t> said;
    for (int i = 0; i < 4; ++i, code /= n) said.push_back(code % n);
    return said;
  };
  const size_t codes = n * n * n * n;
  std::vector<Tasks> given;
  for (size_t code = 0; code < codes; ++code) {
    std::vector<Node> leaves;
    for (const size_t kind : said_by(code)) {
      leaves.push_back(kinds_of_task[kind]);
      leaves.back().name = fair_case::name(leaves.size() - 1);
    }
    const auto tasks = fill_tree(pool_of(9, 7), shape.of(leaves));
    if (!tasks) return "no answer";
    given.push_back(*tasks);
  }
  for (size_t truth = 0; truth < codes; ++truth) {
    const std::vector<size_t> honest = said_by(truth);
    for (size_t lie = 0; lie < codes; ++lie) {
      const std::vector<size_t> told = said_by(lie);
      bool one_gains = false;
      bool one_stays = false;
      bool one_loses = false;
      for (size_t i = 0; i < 4 && !one_loses; ++i) {
        if (honest[i] == told[i]) continue;
        const Fraction lied =
            truly(kinds_of_task[honest[i]], kinds_of_task[told[i]], given[lie][i]);
        one_gains = one_gains || lied > given[truth][i];
        one_stays = one_stays || lied == given[truth][i];
        one_loses = lied < given[truth][i];
      }
      if (!one_gains || one_loses || (if_all_gain && one_stays)) continue;
      return text(shape.name, ", truth ", truth, ", lie ", lie);
    }
  }
  return "";
}

// No group of leaves, with one or several parents, can lie so that one of them runs more and none
// runs less (section 5: group strategy-proofness), if all need all kinds and want more.
TEST(GroupLies, NeverHelpWhereAllNeedAllKinds) {
  for (const Shape& shape : kShapes) {
    const std::string helps =
        lie_helps(shape, {leaf("", 1, 1), leaf("", 1, 2), leaf("", 3, 1), leaf("", 2, 3)}, false);
    EXPECT_EQ(helps, "");
  }
}

// A leaf that has all it wants loses nothing by taking more, so it could help another one; but all
// members of a group never gain.
TEST(GroupLies, NeverHelpAllOfAGroupWhereSomeHaveAllTheyWant) {
  const std::vector<Node> kinds_of_task = {leaf("", 1, 1), leaf("", 1, 2), leaf("", 3, 1),
                                           leaf("", 1, 2, 1)};
  for (const Shape& shape : kShapes) EXPECT_EQ(lie_helps(shape, kinds_of_task, true), "");
  EXPECT_NE(lie_helps(kShapes[0], kinds_of_task, false), "");
}

// --- whole tasks under churn --------------------------------------------------------------------

// Random trees whose leaves want one unit of one kind each: leaves of different kinds never
// compete, and a freed unit fits the next task.
TreeCase complementary_tree(Prng& random) {
  TreeCase c = random_tree(random, {.kinds = 3, .pool_min = 16, .finite = false});
  const std::function<void(Node&)> set_tasks = [&](Node& node) {
    if (node.children.empty()) {
      node.task = {};
      node.task[kResourceKinds[random.below(3)]] = 500;
    }
    for (Node& child : node.children) set_tasks(child);
  };
  set_tasks(c.root);
  return c;
}

// For a long time tasks end at random and free resources are granted. Returns the leaves that have
// less than their part of everything, by more than one task for each level above them.
std::vector<std::string> starved_by_churn(const TreeCase& c, Sharing sharing, uint64_t seed) {
  Prng random(seed);
  Tree tree(c.pool, c.root, sharing);
  tree.fill();
  for (int i = 0; i < 400; ++i) {
    const size_t one = tree.leaves()[random.below(tree.leaves().size())];
    if (tree.tasks(one) == 0) continue;
    tree.end(one);
    while (tree.give_next()) {
    }
  }
  std::vector<std::string> starved;
  if (!tree.is_exact()) return starved;
  const std::vector<Fraction> parts = parts_by_weight(tree);
  for (size_t i = 0; i < parts.size(); ++i) {
    const size_t one = tree.leaves()[i];
    const Fraction task = ideal::share_of_task(c.pool, {.task = tree.description(one).task});
    if (tree.standing(one) == Standing::kContent) continue;
    int64_t levels = 0;
    for (size_t at = one; tree.parent(at); at = *tree.parent(at)) ++levels;
    if (tree.dominant_share(one) + task * levels < parts[i]) {
      starved.push_back(
          text(tree.path(one), ", whose part is ", parts[i].text(), "\n", to_text(tree)));
    }
  }
  return starved;
}

TEST(Churn, TakesNobodysPartUnderHdrf) {
  int plain = 0;
  int unscaled = 0;
  for (const uint64_t seed : Seeds(200)) {
    Prng random(seed);
    const TreeCase c = complementary_tree(random);
    const auto starved = starved_by_churn(c, Sharing::kHierarchical, seed);
    ASSERT_TRUE(starved.empty()) << "seed " << seed << ": " << starved[0] << to_text(c);
    plain += starved_by_churn(c, Sharing::kPlain, seed).empty() ? 0 : 1;
    unscaled += starved_by_churn(c, Sharing::kSaturatedUnscaled, seed).empty() ? 0 : 1;
  }
  if (!Seeds(200).enough()) return;
  EXPECT_GT(plain, 20);
  EXPECT_GT(unscaled, 20);
}

std::string above_a_limit(const Tree& tree) {
  for (size_t node = 0; node < tree.size(); ++node) {
    for (const ResourceKind kind : kResourceKinds) {
      const auto limit = tree.description(node).limit[kind];
      if (limit && tree.use(node)[kind] > *limit) return tree.path(node) + " is above its limit";
    }
  }
  return "";
}

// A leaf below a guarantee that still wants a task within it, and that no limit prevents.
std::string unmet_guarantee(const Tree& tree) {
  for (size_t node = 0; node < tree.size(); ++node) {
    const Quota& guarantee = tree.description(node).guarantee;
    for (const size_t one : tree.leaves()) {
      const Node& wanting = tree.description(one);
      if (wanting.task.is_zero() || (wanting.count && tree.tasks(one) >= *wanting.count)) continue;
      bool below = false;
      bool kept = false;
      bool within = true;
      bool takes = false;
      for (std::optional<size_t> at = one; at; at = tree.parent(*at)) {
        below = below || *at == node;
        for (const ResourceKind kind : kResourceKinds) {
          const auto limit = tree.description(*at).limit[kind];
          kept = kept || (limit && tree.use(*at)[kind] + wanting.task[kind] > *limit);
        }
      }
      for (const ResourceKind kind : kResourceKinds) {
        const auto named = guarantee[kind];
        within = within && (!named || tree.use(node)[kind] + wanting.task[kind] <= *named);
        takes = takes || (named && wanting.task[kind] > 0);
      }
      if (below && !kept && within && takes) {
        return text(tree.path(one), " wants a task within the guarantee of ", tree.path(node));
      }
    }
  }
  return "";
}

// A task within a guarantee always fits: all guarantees together fit into the pool, and come first.
TEST(WholeTree, KeepsGuaranteesAndLimits) {
  int with_quotas = 0;
  for (const uint64_t seed : Seeds(2'000)) {
    Prng random(seed);
    const TreeCase c = random_tree(random, {.quotas = true});
    Tree tree(c.pool, c.root);
    while (tree.give_next()) ASSERT_EQ(above_a_limit(tree), "") << "seed " << seed;
    if (!tree.is_exact()) continue;
    ASSERT_EQ(unmet_guarantee(tree), "") << "seed " << seed << "\n" << to_text(c) << to_text(tree);
    for (size_t i = 0; i < tree.size(); ++i) {
      with_quotas += tree.description(i).guarantee.empty() ? 0 : 1;
    }
  }
  if (Seeds(2'000).enough()) {
    EXPECT_GT(with_quotas, 2'000);
  }
}

// Guarantees come first, regardless of weights; the rest is given by share.
TEST(WholeTree, GivesTheLeastFilledGuaranteeFirst) {
  Node a = leaf("a", 1, 0);
  Node b = leaf("b", 1, 0);
  a.guarantee.set(ResourceKind::kCpus, 2'000);
  b.guarantee.set(ResourceKind::kCpus, 6'000);
  Tree tree(pool_of(4, 0), root({leaf("c", 1, 0), a, b}));
  tree.fill();
  EXPECT_EQ(tree.tasks(tree.find("a")), 1);
  EXPECT_EQ(tree.tasks(tree.find("b")), 3);
  EXPECT_EQ(tree.tasks(tree.find("c")), 0);
  Tree larger(pool_of(18, 0), root({leaf("c", 1, 0), a, b}));
  larger.fill();
  for (const char* path : {"a", "b", "c"}) EXPECT_EQ(larger.tasks(larger.find(path)), 6) << path;
}

// --- entitlements -------------------------------------------------------------------------------

TEST(Entitlements, SplitTheParentsByWeightBetweenGuaranteeAndLimit) {
  Node a = leaf("a", 1, 0);
  Node b = leaf("b", 1, 0);
  Node c = leaf("c", 1, 0, 1);
  Node d = leaf("d", 1, 0);
  a.guarantee.set(ResourceKind::kCpus, 6'000);
  b.limit.set(ResourceKind::kCpus, 1'000);
  const Tree tree(pool_of(12, 0), root({a, b, c, role("d", {d})}));
  // a is bounded by its guarantee, b by its limit, c by its demand; d gets the rest.
  EXPECT_EQ(tree.entitlements(),
            (Tasks{1, Fraction::of(1, 2), Fraction::of(1, 12), Fraction::of(1, 12),
                   Fraction::of(1, 3), Fraction::of(1, 3)}));
}

TEST(Entitlements, OfGuaranteesBeyondThePoolAreTheseOnly) {
  Node a = leaf("a", 1, 0);
  Node b = leaf("b", 1, 0);
  a.guarantee.set(ResourceKind::kCpus, 20'000);
  b.guarantee.set(ResourceKind::kCpus, 20'000);
  const Tree tree(pool_of(10, 0), root({a, b, leaf("c", 1, 0)}));
  EXPECT_EQ(tree.entitlements(), (Tasks{1, Fraction::of(1, 2), Fraction::of(1, 2), Fraction(0)}));
}

TEST(Entitlements, OfSiblingsAreAtMostTheirParents) {
  for (const uint64_t seed : Seeds(1'000)) {
    Prng random(seed);
    const TreeCase c = random_tree(random, {.quotas = true});
    const Tree tree(c.pool, c.root);
    const std::vector<Fraction> levels = tree.entitlements();
    for (size_t node = 0; node < tree.size(); ++node) {
      Fraction sum;
      for (const size_t child : tree.children(node)) sum += levels[child];
      if (!sum.is_exact()) continue;
      ASSERT_LE(sum, levels[node]) << "seed " << seed << " " << tree.path(node) << "\n"
                                   << to_text(c);
    }
  }
}

}  // namespace
}  // namespace proffer::tree_laws_test
