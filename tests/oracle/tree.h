#pragma once

// The oracle for trees of roles: hierarchical dominant resource fairness (H-DRF: Bhattacharya et
// al., SoCC 2013) as DESIGN §8 states it, with guarantees and limits, for whole tasks in one pool.
// Plain and slow on purpose: everything is computed anew, in exact fractions, for each task that is
// given. Shares no code with what it judges.

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
  std::string name = {};        // among its siblings
  int64_t weight = kWeightOne;  // milli-weights, beside its siblings
  Quota guarantee = {};
  Quota limit = {};
  ResourceVector task = {};           // of a leaf; zero in all kinds: wants nothing
  std::optional<int64_t> count = {};  // of a leaf: tasks wanted in all; nothing: endless
  std::vector<Node> children = {};

  bool operator==(const Node&) const = default;
};

// What the share of a parent is made of. All but the first are here to be beaten in tests.
enum class Sharing : uint8_t {
  // Demanding children scaled to the least of them that has anything, saturated ones at most so.
  kHierarchical,
  kPlain,              // the sum of what the children use (section 4.2: starves)
  kFlat,               // no hierarchy: leaves only, by the product of their weights (section 4.1)
  kSaturatedUnscaled,  // as the first, but saturated children count in full (starves)
  kSaturatedIgnored,   // as the first, but saturated children count nothing (overpays)
};

// Whether a node could be given a task now.
enum class Standing : uint8_t {
  kContent,    // it wants nothing more
  kSaturated,  // it wants more, but nothing that it wants fits what is free and its limits
  kDemanding,
};

// A tree in a pool, and who runs how many tasks. Nodes are numbered in pre-order: the root is 0, a
// parent comes before its children and these in their order. CHECKs amounts in [0, kAmountMax],
// weights in [kWeightMin, kWeightMax], and that only leaves have tasks.
class Tree {
 public:
  Tree(const ResourceVector& pool, const Node& root, Sharing sharing = Sharing::kHierarchical);

  // --- who is who -------------------------------------------------------------------------------
  size_t size() const { return nodes_.size(); }
  const std::vector<size_t>& leaves() const { return leaves_; }
  // By its names joined by '/', without the root's; "" is the root. CHECKs that there is one.
  size_t find(std::string_view path) const;
  std::string path(size_t node) const;
  std::optional<size_t> parent(size_t node) const { return nodes_[node].parent; }
  const std::vector<size_t>& children(size_t node) const { return nodes_[node].children; }
  const Node& description(size_t node) const { return nodes_[node].node; }  // without its children

  // --- what happens -----------------------------------------------------------------------------
  // The leaf whose turn it is, or nothing if nobody can be given a task. From the root down, at
  // each level: a child with a guarantee, or one below it, that is not reached and that has a task
  // within it, the least filled first; else the child with the least weighted share; of equals the
  // one that was served longest ago, then the first. A task is within a guarantee if it takes
  // something that the guarantee names and use + task is not above it. Nothing also if a share
  // outgrew the fractions: see is_exact().
  std::optional<size_t> next() const;
  // Gives next() a task; false if there is none.
  bool give_next();
  // give_next() until there is nothing more to give. The number of tasks given.
  int64_t fill();
  void give(size_t leaf, int64_t tasks = 1);  // out of turn; CHECKs that they fit the pool
  void end(size_t leaf, int64_t tasks = 1);   // CHECKs that it runs so many
  void set_count(size_t leaf, std::optional<int64_t> count);
  // False once a share needed more than the 128 bits of its fraction: the case has no answer.
  bool is_exact() const { return exact_; }

  // --- what is ----------------------------------------------------------------------------------
  int64_t tasks(size_t leaf) const { return nodes_[leaf].tasks; }
  const ResourceVector& use(size_t node) const { return nodes_[node].use; }
  const ResourceVector& free() const { return free_; }
  const ResourceVector& pool() const { return pool_; }
  Standing standing(size_t node) const;
  // Weighted, and rescaled as the rule says: what the order of siblings goes by.
  Fraction share(size_t node) const;
  // The largest part that its use is of any kind of the pool.
  Fraction dominant_share(size_t node) const;
  // What each node may count on, as a part of the pool, in order of the nodes: water-filling of the
  // parent's over the siblings by weight, from min(guarantee, demand) to min(limit, demand), these
  // being taken kind by kind and then the largest part. If the floors are too much together, they
  // are all that is filled. The use of a leaf counts in its demand.
  std::vector<Fraction> entitlements() const;

 private:
  using Parts = std::array<Fraction, kResourceKindCount>;  // of the pool, by kind
  struct Entry {
    Node node;
    std::optional<size_t> parent;
    std::vector<size_t> children;
    ResourceVector use;
    int64_t tasks = 0;
    int64_t served = 0;  // the last gift to it or below
  };
  struct Measure {
    Standing standing = Standing::kContent;
    Fraction share;  // weighted
    Parts parts;
  };

  void add(const Node& node, std::optional<size_t> parent);
  bool was_served_before(size_t a, size_t b) const;
  bool wants(size_t leaf) const;
  bool may_run(size_t leaf) const;  // what it wants fits the pool and the limits above it
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

// Splits `whole` by weight between floor and ceiling of each, exactly. With floors that are too
// much together these are what is split, by weight, nobody above its own.
struct Claim {
  int64_t weight = kWeightOne;
  Fraction floor = {};
  Fraction ceiling = {};  // taken as the floor if it is below
};
std::vector<Fraction> split(const Fraction& whole, const std::vector<Claim>& claims);

}  // namespace proffer::ideal
