#pragma once

// Trees of roles for the oracle: builders with defaults, random trees, and their text when a law
// fails.

#include <optional>
#include <string>
#include <vector>

#include "tests/oracle/tree.h"
#include "tests/oracle/tree_filling.h"
#include "tests/property/fair_case.h"

namespace proffer::tree_fixture {

using ideal::Fraction;
using ideal::Node;
using ideal::Sharing;
using ideal::Standing;
using ideal::Tree;

// `cpus` and `mem` are whole CPUs and MiB; without a count the demand is endless.
inline Node leaf(std::string name, int64_t cpus, int64_t mem, std::optional<int64_t> count = {}) {
  Node node;
  node.name = std::move(name);
  node.task = ResourceVector::of(cpus * 1000, mem * 1000);
  node.count = count;
  return node;
}
inline Node role(std::string name, std::vector<Node> children, int64_t weight = kWeightOne) {
  Node node;
  node.name = std::move(name);
  node.weight = weight;
  node.children = std::move(children);
  return node;
}
inline Node root(std::vector<Node> children) { return role("", std::move(children)); }
inline ResourceVector pool_of(int64_t cpus, int64_t mem) {
  return ResourceVector::of(cpus * 1000, mem * 1000);
}

inline std::string to_text(const Node& node, size_t depth = 0) {
  std::string out = text(std::string(2 * depth, ' '), node.name.empty() ? "root" : node.name);
  if (node.weight != kWeightOne) out += text(" weight ", print_milli(node.weight));
  if (!node.guarantee.empty()) out += text(" guarantee ", proffer::to_text(node.guarantee));
  if (!node.limit.empty()) out += text(" limit ", proffer::to_text(node.limit));
  if (node.children.empty()) {
    out += text(" wants ", node.count ? text(*node.count) : "any number", " of ",
                proffer::to_text(node.task));
  }
  out += "\n";
  for (const Node& child : node.children) out += to_text(child, depth + 1);
  return out;
}
// The tasks of each leaf.
inline std::string to_text(const Tree& tree) {
  std::string out = text("pool ", proffer::to_text(tree.pool()), "\n");
  for (const size_t leaf : tree.leaves()) {
    out += text("  ", tree.path(leaf), ": ", tree.tasks(leaf), " of ",
                proffer::to_text(tree.description(leaf).task), ", dominant share ",
                tree.dominant_share(leaf).text(), "\n");
  }
  return out;
}

struct TreeRanges {
  size_t depth_max = 3;
  size_t children_max = 3;
  size_t kinds = 2;
  int64_t task_max = 6;  // in units of 500
  int64_t pool_min = 8;
  int64_t pool_max = 60;
  bool zeros = true;   // some tasks need nothing of some kinds
  bool finite = true;  // some leaves have a count
  bool weights = true;
  bool quotas = false;  // of all kinds of the pool; a child's guarantees are within its parent's
};

struct TreeCase {
  ResourceVector pool = {};
  Node root = {};
};
inline std::string to_text(const TreeCase& c) {
  return text("pool ", proffer::to_text(c.pool), "\n", to_text(c.root));
}

// `may_promise`: the maximum sum of the guarantees below.
inline Node random_node(Prng& random, const TreeRanges& ranges, const ResourceVector& pool,
                        ResourceVector may_promise, size_t depth, size_t number) {
  constexpr int64_t kWeights[] = {500, 1000, 1000, 1500, 2000, 3000};
  Node node;
  node.name = depth == 0 ? "" : fair_case::name(number);
  if (ranges.weights && depth > 0) node.weight = kWeights[random.below(std::size(kWeights))];
  const bool quotas = ranges.quotas && depth > 0;
  if (quotas && random.chance(1, 3)) {
    for (size_t k = 0; k < ranges.kinds; ++k) {
      const ResourceKind kind = kResourceKinds[k];
      may_promise[kind] = random.between(0, may_promise[kind] / 500) * 500;
      node.guarantee.set(kind, may_promise[kind]);
    }
  }
  if (quotas && random.chance(1, 4)) {
    for (size_t k = 0; k < ranges.kinds; ++k) {
      const ResourceKind kind = kResourceKinds[k];
      if (random.chance(1, 3)) continue;
      const int64_t least = node.guarantee[kind].value_or(0);
      node.limit.set(kind, random.between(least / 500, pool[kind] / 500) * 500);
    }
  }
  const bool is_leaf = depth == ranges.depth_max || (depth > 0 && random.chance(1, 2));
  if (is_leaf) {
    const int64_t most = random.between(1, ranges.task_max);
    for (size_t k = 0; k < ranges.kinds; ++k) {
      const bool zero = ranges.zeros && ranges.kinds > 1 && random.chance(1, 3);
      node.task[kResourceKinds[k]] = zero ? 0 : random.between(1, most) * 500;
    }
    if (ranges.finite && random.chance(1, 3)) node.count = random.between(0, 12);
    return node;
  }
  const size_t children = 1 + random.below(ranges.children_max);
  for (size_t i = 0; i < children; ++i) {
    ResourceVector part = may_promise;
    for (const ResourceKind kind : kResourceKinds) {
      part[kind] = part[kind] / 500 / static_cast<int64_t>(children) * 500;
    }
    node.children.push_back(random_node(random, ranges, pool, part, depth + 1, i));
  }
  return node;
}

inline TreeCase random_tree(Prng& random, const TreeRanges& ranges) {
  TreeCase c;
  for (size_t k = 0; k < ranges.kinds; ++k) {
    c.pool[kResourceKinds[k]] = random.between(ranges.pool_min, ranges.pool_max) * 500;
  }
  c.root = random_node(random, ranges, c.pool, c.pool, 0, 0);
  return c;
}

}  // namespace proffer::tree_fixture
