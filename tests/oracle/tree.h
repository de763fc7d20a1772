#pragma once

// The oracle for trees of roles: hierarchical dominant resource fairness (H-DRF: Bhattacharya et
// al., SoCC 2013) as stated in DESIGN §8, with guarantees and limits, for whole tasks in one pool.
// It is plain and slow on purpose: it computes everything again, in exact fractions, for each task.
// It shares no code with production.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/resources.h"
#include "common/roles.h"
#include "tests/oracle/fraction.h"

namespace proffer::ideal {

// A role, or, without children, a leaf: one framework with tasks of one shape.
struct Node {
  std::string name = {};        // unique among its siblings
  int64_t weight = kWeightOne;  // milli-weights, relative to its siblings
  Quota guarantee = {};
  Quota limit = {};
  ResourceVector task = {};           // of a leaf; zero in all kinds: no demand
  std::optional<int64_t> count = {};  // of a leaf: total number of wanted tasks; empty: endless
  std::vector<Node> children = {};

  bool operator==(const Node&) const = default;
};

// How the share of a parent is computed. All but the first exist to fail in tests.
enum class Sharing : uint8_t {
  // Demanding children are scaled to the least nonzero share among them, saturated children at most
  // to that.
  kHierarchical,
  kPlain,              // the sum of what the children use (section 4.2: starves)
  kFlat,               // no hierarchy: only leaves, with the product of their weights (section 4.1)
  kSaturatedUnscaled,  // as the first, but saturated children count in full (starves)
  kSaturatedIgnored,   // as the first, but saturated children count nothing (overpays)
};

// Whether a node could get a task now.
enum class Standing : uint8_t {
  kContent,    // no more demand
  kSaturated,  // it has demand, but no task fits the free resources and its limits
  kDemanding,
};

// A tree in a pool, with the number of tasks of each leaf. Nodes are numbered in pre-order: the
// root is 0, and a parent comes before its children, which are in their order. CHECKs amounts in
// [0, kAmountMax], weights in [kWeightMin, kWeightMax], and that only leaves have tasks.
class Tree {
 public:
  Tree(const ResourceVector& pool, const Node& root, Sharing sharing = Sharing::kHierarchical);

  // --- structure --------------------------------------------------------------------------------
  size_t size() const { return nodes_.size(); }
  const std::vector<size_t>& leaves() const { return leaves_; }
  // Finds a node by the names on its path, joined by '/', without the root's; "" is the root.
  // CHECKs that it exists.
  size_t find(std::string_view path) const;
  std::string path(size_t node) const;
  std::optional<size_t> parent(size_t node) const { return nodes_[node].parent; }
  const std::vector<size_t>& children(size_t node) const { return nodes_[node].children; }
  const Node& description(size_t node) const { return nodes_[node].node; }  // without its children

  // --- changes ----------------------------------------------------------------------------------
  // The next leaf to serve, or empty if no leaf can get a task. At each level from the root down: a
  // child with an unused guarantee, or with one below it, and with a task within that guarantee,
  // comes first; the least filled guarantee wins. Else the child with the least weighted share is
  // next; among equals, the one that was served longest ago, then the first. A task is within a
  // guarantee if it uses a kind that the guarantee names, and use + task does not exceed it. Also
  // empty if a share became inexact: see is_exact().
  std::optional<size_t> next() const;
  // Gives a task to next(); false if it is empty.
  bool give_next();
  // Calls give_next() until it returns false. Returns the number of tasks.
  int64_t fill();
  // without regard to turns; CHECKs that they fit the pool
  void give(size_t leaf, int64_t tasks = 1);
  void end(size_t leaf, int64_t tasks = 1);  // CHECKs that it runs this many
  void set_count(size_t leaf, std::optional<int64_t> count);
  // False once a share needed more than 128 bits: the case has no answer.
  bool is_exact() const { return exact_; }

  // --- results ----------------------------------------------------------------------------------
  int64_t tasks(size_t leaf) const { return nodes_[leaf].tasks; }
  const ResourceVector& use(size_t node) const { return nodes_[node].use; }
  const ResourceVector& free() const { return free_; }
  const ResourceVector& pool() const { return pool_; }
  Standing standing(size_t node) const;
  // Weighted and rescaled: the value by which siblings are ordered.
  Fraction share(size_t node) const;
  // The largest fraction of the pool that it uses in any kind.
  Fraction dominant_share(size_t node) const;
  // The entitlement of each node, as a fraction of the pool, in the order of the nodes. The
  // parent's is split over the children by water-filling, by weight, from min(guarantee, demand) to
  // min(limit, demand). These are computed kind by kind, then the largest fraction counts. If the
  // floors together exceed the parent's, only floors are filled. The use of a leaf counts in its
  // demand.
  std::vector<Fraction> entitlements() const;

 private:
  using Parts = std::array<Fraction, kResourceKindCount>;  // fractions of the pool, by kind
  struct Entry {
    Node node;
    std::optional<size_t> parent;
    std::vector<size_t> children;
    ResourceVector use;
    int64_t tasks = 0;
    int64_t served = 0;  // the last task given to it or below it
  };
  struct Measure {
    Standing standing = Standing::kContent;
    Fraction share;  // weighted
    Parts parts;
  };

  void add(const Node& node, std::optional<size_t> parent);
  bool was_served_before(size_t a, size_t b) const;
  bool wants(size_t leaf) const;
  bool may_run(size_t leaf) const;  // its task fits the pool and the limits above it
  Parts parts_of(const ResourceVector& amounts) const;
  std::vector<Measure> measure() const;
  bool has_use(size_t node, const std::vector<size_t>& within,
               const std::vector<Measure>& measures) const;
  std::optional<Fraction> promise(size_t node, std::vector<size_t> within,
                                  const std::vector<Measure>& measures) const;
  size_t next_below(size_t from, bool promised, std::vector<size_t> within,
                    const std::vector<Measure>& measures) const;
  size_t least_flat(const std::vector<Measure>& measures) const;
  bool is_within(size_t node, size_t ancestor) const;

  const ResourceVector pool_;
  const Sharing sharing_;
  std::vector<Entry> nodes_;
  std::vector<size_t> leaves_;
  ResourceVector free_;
  int64_t gifts_ = 0;
  mutable bool exact_ = true;
};

// Splits `whole` by weight, exactly, between the floor and the ceiling of each claim. If the floors
// together are too much, they are split by weight, each at most its own.
struct Claim {
  int64_t weight = kWeightOne;
  Fraction floor = {};
  Fraction ceiling = {};  // treated as the floor if it is below it
};
std::vector<Fraction> split(const Fraction& whole, const std::vector<Claim>& claims);

}  // namespace proffer::ideal
