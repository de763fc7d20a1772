#pragma once

// The tree of sharers: roles, at any depth, and in them the frameworks as leaves. A
// framework directly in `eng` is a sibling of the role `eng/ads`.
//
// Siblings are compared by their weighted dominant shares; the share of a role is that of the sum
// of the use below it (hierarchical DRF: Bhattacharya et al., SoCC 2013, without the rescaling of
// its section 4: owed tasks come first, waiting/gate.h, so the order need not protect a sibling
// with a rare shape). Shares are exact fractions (common/share.h).

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "common/resources.h"
#include "common/roles.h"
#include "common/share.h"
#include "common/time.h"

namespace proffer::fair {

struct AskEntry;
struct Leaf;
struct Node;
struct Role;

// There are four orders over the same tree: all leaves that want offers, those that should examine
// more than the agents that grew, those that may get an open offer, and those that may be owed a
// task (see Cluster::demanding, untried, open and owed_leaves).
inline constexpr int kOrders = 4;
using InOrders = std::array<bool, kOrders>;

struct NodeByShare {
  bool operator()(const Node* a, const Node* b) const;
};
using NodeSet = std::set<Node*, NodeByShare>;

struct Node {
  Role* parent = nullptr;  // nullptr: the root
  const std::string* label = nullptr;
  // The number of the last grant to the node or below it; before the first one, the number when it
  // joined. Among equal siblings the smaller number comes first, then the label.
  uint64_t served = 0;
  bool is_leaf = false;
  int64_t weight = kWeightOne;
  ResourceVector allocated = {};  // of the node and everything below
  ResourceVector offered = {};
  ResourceVector noticed = {};  // the part of `allocated` whose tasks have notice
  int64_t wanting = 0;          // the number of leaves, it or below it, that want offers
  Share share = {};             // weighted, of its use; kept by RoleTree

  // The last results of compute_entitlements() (entitlement.h), in a decision or for a picture.
  mutable ResourceVector demand = {};  // its use and its unmet asks
  mutable ResourceVector entitlement = {};

  ResourceVector use() const { return allocated + offered; }
  // Its use after all tasks with notice have ended.
  ResourceVector kept() const { return use() - noticed; }

  // Kept by RoleTree: whether the node, or a leaf below it, is in each order; its element there;
  // and the element that it had before, so that a return allocates no memory.
  InOrders in_order = {};
  NodeSet::iterator element[kOrders] = {};
  NodeSet::node_type spare[kOrders] = {};
};

// The turn of a sibling with an unmet guarantee: the least filled one comes first, then the one
// that was served longest ago, then the order of names.
struct PromiseTurn {
  Share filled = {};  // if it has no guarantee: of the least filled one below it
  uint64_t served = 0;
  Role* role = nullptr;
  bool operator<(const PromiseTurn& o) const;
  bool operator==(const PromiseTurn&) const = default;
};

struct RoleByName {
  bool operator()(const Role* a, const Role* b) const;
};
using RoleSet = std::set<Role*, RoleByName>;

struct Role : Node {
  RoleName name = {};  // empty: the root
  RoleSettings settings = {};
  std::map<RoleName, Role*> roles = {};
  std::map<FrameworkId, Leaf*> leaves = {};
  NodeSet in_orders[kOrders] = {};  // its children that are in each order

  // The guarantee, extended to the kinds that it does not name by the same fraction of the cluster
  // as the kinds that it names. Empty without a guarantee.
  Quota whole_guarantee = {};
  // Those of `roles` with a guarantee, or with one below them, by name.
  std::vector<Role*> promised = {};
  // The turns, in each order, of those with demand whose guarantee, or one below them, is unmet:
  // the least filled first. And its own turn in its parent.
  std::set<PromiseTurn> promise_turns[kOrders] = {};
  std::optional<PromiseTurn> promise_turn[kOrders] = {};
  // Leaves with an ask that the limit of this role did not allow at this use.
  std::set<Leaf*> denied = {};  // only counted and emptied, so the order does not matter
  ResourceVector use_when_denied = {};
  bool is_relieved = false;  // its use has fallen below `use_when_denied`; kept by RoleTree
  // Asks for which room is kept below the limit, earliest first; see waiting/headroom.h.
  std::vector<AskEntry*> headroom = {};
  Duration lag_of_ended = {};  // the greatest of leaves, in it or below it, that are no more

  bool has_limit() const { return !settings.limit.empty(); }
  bool has_guarantee() const { return !settings.guarantee.empty(); }
};

// Whether it uses more of some kind than its entitlement: it borrows.
bool is_above_entitlement(const Node& node);
// Its use beyond its entitlement.
ResourceVector borrowed(const Node& node);
// Use divided by guarantee, in the kind with the largest result. Kinds that the role's own
// guarantee does not name do not count. CHECKs that the role has a guarantee.
Share guarantee_filled(const Role& role);
// Whether its use is within its own guarantee, and below it in some kind.
bool has_unmet_guarantee(const Role& role);
// Whether `more` takes a kind that the role's own guarantee names, and `use` with `more` is within
// the whole guarantee.
bool is_within_guarantee(const Role& role, const ResourceVector& use, const ResourceVector& more);
// The same, but of the kinds that the role's own guarantee does not name `use` may be anything.
bool names_within_guarantee(const Role& role, const ResourceVector& use,
                            const ResourceVector& more);
// The amounts by which `use` with `more` exceeds the whole guarantee, in the kinds that `more`
// takes.
ResourceVector beyond_guarantee(const Role& role, const ResourceVector& use,
                                const ResourceVector& more);
// The same for its own limit.
bool is_within_limit(const Role& role, const ResourceVector& more);

// See Role::whole_guarantee.
Quota whole_guarantee(const Quota& guarantee, const ResourceVector& total);

// Calls visit(Node&) for each child: the roles, then the leaves, each by name. (Defined in
// leaves.h, like all code that depends on the content of a leaf.)
template <class Visit>
void for_each_child(const Role& role, Visit visit);
// Calls visit(Leaf&) for each leaf below.
template <class Visit>
void for_each_leaf(const Role& role, Visit visit);

// A leaf's rank among all leaves: the shares on the path to it, from the top.
class Rank {
 public:
  Rank() = default;
  explicit Rank(size_t depth) : depth_(depth), deep_(depth > kShallow ? depth : 0) {}

  size_t depth() const { return depth_; }
  Share& operator[](size_t i) { return deep_.empty() ? shallow_[i] : deep_[i]; }
  const Share& operator[](size_t i) const { return deep_.empty() ? shallow_[i] : deep_[i]; }
  std::strong_ordering operator<=>(const Rank& o) const;
  bool operator==(const Rank& o) const { return (*this <=> o) == 0; }

 private:
  static constexpr size_t kShallow = 4;  // Most trees are shallow; then no memory is allocated.

  size_t depth_ = 0;
  std::array<Share, kShallow> shallow_ = {};
  std::vector<Share> deep_ = {};
};

// Owns the roles and maintains uses, shares and orders. A role exists while it has settings, a
// leaf, or a role below it. A change at a leaf costs O(log siblings) at each level above it.
class RoleTree {
 public:
  RoleTree();
  RoleTree(const RoleTree&) = delete;

  Role& root() { return root_; }
  const Role& root() const { return root_; }
  const std::map<RoleName, std::unique_ptr<Role>>& roles() const { return roles_; }
  Role* find(const RoleName& name) const;  // nullptr: it does not exist
  // Creates the role and the roles above it, if they do not exist.
  Role& at(const RoleName& name);
  // Takes effect on the shares with the next rebuild().
  void set_settings(const RoleName& name, const RoleSettings& settings);
  // Computes all shares anew from this total and the weights in the settings. O(all).
  void rebuild(const ResourceVector& total);

  // A leaf without use joins its parent without demand, or leaves it; roles that are then empty
  // end.
  void join(Leaf& leaf, const RoleName& role);
  void part(Leaf& leaf);
  void change_use(Leaf& leaf, const ResourceVector& allocated, const ResourceVector& offered);
  // Sets whether the leaf wants offers, and in which orders it is.
  void set_wishes(Leaf& leaf, bool wants, const InOrders& in_order);
  // The number of leaves in the order that take asks.
  int64_t asking_count(int order) const { return asking_[order]; }
  // The leaf must wait for the limit of the role.
  void note_denied(Role& role, Leaf& leaf);
  // No leaf waits for the role's limit any more. Returns the leaves that did.
  std::set<Leaf*> forget_denied(Role& role);
  // Takes the roles with waiting leaves whose use has fallen: some denied asks may be allowed now.
  std::vector<Role*> take_relieved();

  // The roles with an unmet guarantee and with demand below them.
  const RoleSet& below_guarantee() const { return below_guarantee_; }

  // Violated invariants; O(all).
  std::vector<std::string> broken() const;

 private:
  void enter(Node& node, int order);  // also the roles above it that are not yet in the order
  std::vector<std::string> broken_order(const Role& role, int order) const;
  void leave(Node& node, int order);  // also the roles above it without another child in the order
  void move(Node& node, int order);   // to its place for its new share
  void end_if_nothing(Role* role);
  void note_relief(Role& role);
  // The role, or one below it, has gained or lost a guarantee.
  void note_promise(Role& role);
  static std::optional<PromiseTurn> promise_turn_of(const Role& role, int order);
  // Updates its turn in its parent, and those of the roles above.
  void place_promise(Role* role, int order);

  ResourceVector total_;
  // Even numbers are grants. A leaf that joins between two grants has the odd number between, so
  // leaves that join at the same time are equal.
  uint64_t served_ = 0;
  int64_t asking_[kOrders] = {};
  std::vector<Role*> relieved_;
  RoleSet below_guarantee_;
  Role root_;
  std::map<RoleName, std::unique_ptr<Role>> roles_;
};

// Leaves by least share: at each level of the tree the child with the least share first; among
// equals the one that was served, or joined, longest ago; then by name. One of the orders of a
// tree.
class LeafOrder {
 public:
  LeafOrder(RoleTree& tree, int number) : tree_(tree), number_(number) {}

  // O(log siblings) per level.
  void insert(Leaf& leaf);
  void erase(Leaf& leaf);
  bool contains(const Leaf& leaf) const;
  bool empty() const { return nodes(tree_.root()).empty(); }
  int number() const { return number_; }
  // The number of its leaves that take asks.
  int64_t asking_count() const { return tree_.asking_count(number_); }
  const NodeSet& nodes(const Role& role) const { return role.in_orders[number_]; }
  // Calls visit(Leaf&), first to last, until it returns false.
  template <class Visit>
  bool for_each(Visit visit) const {
    return for_each_below(tree_.root(), visit);
  }

 private:
  template <class Visit>
  bool for_each_below(const Role& role, Visit visit) const;

  RoleTree& tree_;
  const int number_;
};

Rank rank_of(const Leaf& leaf);

}  // namespace proffer::fair
