#pragma once

// How fair is the allocator under churn? Random trees of roles with endless work are replayed, and
// the mean use of each framework is compared with its entitlement.
//
//   Tree tree = draw_tree(seed, {});
//   Measured measured = measure(tree, {});
//   Summary summary = summarise({measured});
//
// bench/fair_churn prints the figures of many trees, tests/property/fair_churn_test.cc holds them
// to bounds. Floating point is for figures only; the replay is exact.

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "sim/scenario.h"
#include "tests/support/replay/replay.h"

namespace proffer::fair_churn {

inline constexpr size_t kKinds = 2;          // CPUs and GiB of memory
using Amounts = std::array<double, kKinds>;  // in CPUs and GiB

// An endless ask of a framework: tasks that need `need` and run for `mean` × (1 ± 0.5).
struct LeafAsk {
  std::array<int64_t, kKinds> need = {};
  int64_t mean_s = 0;
};

// A role, or a framework if it has asks.
struct Node {
  std::string name = {};
  int64_t weight = 1;
  std::vector<LeafAsk> asks = {};
  std::vector<Node> children = {};

  bool is_leaf() const { return children.empty(); }
};

// The resources that each framework would have from an empty pool, in the order of the tree:
// hierarchical dominant resource fairness (H-DRF: Bhattacharya et al., SoCC 2013) with each task
// cut into `parts`. The asks of a framework take turns.
std::vector<Amounts> entitlements(const Node& root, const Amounts& pool, int64_t parts = 20);

struct Leaf {
  std::string framework = {};
  std::string role = {};
  std::vector<LeafAsk> asks = {};
  Amounts entitled = {};

  int64_t largest_need() const;
};

struct TreeOptions {
  // Together 80 CPUs and 80 GiB, but at least 8 of each on an agent. A divisor of 80.
  int64_t agents = 1;
  std::string reclaim = {};   // empty: the default
  bool guarantees = false;    // for a third of the roles, within their fair shares by weight
  uint32_t spread = 500'000;  // spread of durations, per million
};

struct Tree {
  uint64_t seed = 0;
  Amounts pool = {};
  Node root = {};
  std::vector<Leaf> leaves = {};
  sim::Scenario scenario = {};  // 600 s; the frameworks join within the first 60 s
};

// The same seed gives the same roles, frameworks, tasks and durations for all options.
Tree draw_tree(uint64_t seed, const TreeOptions& options);
// The roles, frameworks and entitlements as text.
std::string to_text(const Tree& tree);

// One framework of one tree.
struct Share {
  uint64_t seed = 0;
  std::string framework = {};
  size_t kind = 0;  // the kind of its largest entitlement
  double entitled = 0;
  double mean = 0;  // mean use of that kind over time
  // Whether its entitlement is at least two of its largest tasks. Other frameworks do not count,
  // since one task makes too much difference.
  bool counts = false;
  // The same for the allocation if all frameworks join at once and no task ends.
  size_t empty_kind = 0;
  double from_empty = 0;
  double empty_mean = 0;
  bool empty_counts = false;

  double ratio() const { return mean / entitled; }
  double empty_ratio() const { return empty_mean / from_empty; }
};

inline constexpr Duration kLongLack = seconds(60);

// A framework or a role that was below its entitlement for some time: it lacked at least its
// largest task, in the kind of its largest entitlement.
struct Lack {
  uint64_t seed = 0;
  std::string name = {};
  Duration longest = {};  // without an end, as sampled
};

struct Measured {
  std::vector<Share> shares = {};
  std::vector<Lack> lacks = {};  // for all frameworks and roles
  double utilisation = 0;        // mean over time, for the most used kind
  double empty_utilisation = 0;  // the same for the allocation from empty
  int64_t revokes = 0;
  int64_t decisions = 0;
  Duration decision_cpu = {};
  std::vector<std::string> wrong = {};
};

struct MeasureOptions {
  AllocatorOptions allocator = {};
  bool audit = false;                        // slow
  std::function<Duration()> cpu_clock = {};  // for decision_cpu
};

// Use is sampled each 5 s from 200 s to 600 s.
Measured measure(const Tree& tree, const MeasureOptions& options);

struct Summary {
  Lack longest_lack = {};
  // the fraction of frameworks and roles that lacked for longer than kLongLack
  double long_lacks = 0;
  // The minimum and percentiles over all frameworks of all trees.
  struct Percentiles {
    size_t count = 0;
    double least = 0;
    double p1 = 0;
    double p5 = 0;
    double p10 = 0;
    double p25 = 0;
    double p50 = 0;
  };
  Percentiles of_entitlement = {};
  Percentiles of_empty = {};
  double utilisation = 0;  // mean over trees
  double empty_utilisation = 0;
  int64_t revokes = 0;
  int64_t decisions = 0;
  Duration decision_cpu = {};
};

Summary summarise(const std::vector<Measured>& all);
// A few lines.
std::string to_text(const Summary& summary);

}  // namespace proffer::fair_churn
