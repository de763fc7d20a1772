#pragma once

// The tree of sharers: roles, at any depth, and in them the frameworks as leaves. A
// framework directly in `eng` is a sibling of the role `eng/ads`.
//
// Siblings are compared by their weighted dominant shares: of a role, that of the sum of the use
// below it (hierarchical DRF: Bhattacharya et al., SoCC 2013, without the rescaling of its section
// 4: what is owed comes first, waiting/gate.h, so the order need not protect a sibling whose shape
// is rare). Shares are exact fractions (common/share.h).

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

namespace proffer::fair {

struct AskEntry;
struct Leaf;
struct Node;
struct Role;

// There are four orders over the same tree: of all leaves that want offers, of those that should
// look at more than the agents that grew, of those that take open offers and may be made one, and
// of those that may be owed a task (see Cluster::demanding, untried, open and owed_leaves).
inline constexpr int kOrders = 4;
using InOrders = std::array<bool, kOrders>;

struct NodeByShare {
  bool operator()(const Node* a, const Node* b) const;
};
using NodeSet = std::set<Node*, NodeByShare>;

struct Node {
  Role* parent = nullptr;  // nullptr: the root
  const std::string* label = nullptr;
  // When it, or somebody below, was last given something, in the tree's count of that; until then,
  // when it came. Of equal siblings the one with less comes first, then by label.
  uint64_t served = 0;
  bool is_leaf = false;
  int64_t weight = kWeightOne;
  ResourceVector allocated = {};  // of it and all below
  ResourceVector offered = {};
  ResourceVector noticed = {};  // of what is allocated: what has been told to end
  int64_t wanting = 0;          // leaves, of it and below, that want offers
  Share share = {};             // of its use, weighted; kept by RoleTree

  // As compute_entitlements() last said (entitlement.h), in a decision or for a picture.
  mutable ResourceVector demand = {};  // its use and what is asked for beyond it
  mutable ResourceVector entitlement = {};

  ResourceVector use() const { return allocated + offered; }
  // What is left of its use once all that has been told to has ended.
  ResourceVector kept() const { return use() - noticed; }

  // Kept by RoleTree: whether it is in each order, or a leaf below it; its element there, and then
  // the element that it had, so that coming back takes no memory anew.
  InOrders in_order = {};
  NodeSet::iterator element[kOrders] = {};
  NodeSet::node_type spare[kOrders] = {};
};

// Whose turn it is of siblings with guarantees that they have not reached: the least filled comes
// first, of equals the one that was served longest ago, then by name.
struct PromiseTurn {
  Share filled = {};  // of the least filled guarantee below it, if it has none itself
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
  NodeSet in_orders[kOrders] = {};  // of its children, those that are in each order

  // The guarantee, and of each kind that it does not name the same part of the cluster as of those
  // that it does. Empty without a guarantee.
  Quota whole_guarantee = {};
  // Of `roles`, those with a guarantee, or one below them. By name.
  std::vector<Role*> promised = {};
  // Of these, in each order, those with demand whose guarantee, or one below them, is not reached:
  // the least filled first. And where it is itself among those of its parent.
  std::set<PromiseTurn> promise_turns[kOrders] = {};
  std::optional<PromiseTurn> promise_turn[kOrders] = {};
  // Leaves that had an ask that this role's limit did not allow, when it had this use.
  std::set<Leaf*> denied = {};  // only counted and emptied, the order does not matter
  ResourceVector use_when_denied = {};
  bool is_relieved = false;  // its use has fallen below that: kept by RoleTree
  // Asks for which room is kept below its limit, the earliest first; see waiting/headroom.h.
  std::vector<AskEntry*> headroom = {};

  bool has_limit() const { return !settings.limit.empty(); }
  bool has_guarantee() const { return !settings.guarantee.empty(); }
};

// Whether its use is more of some kind than it is entitled to, which makes it a borrower.
bool is_above_entitlement(const Node& node);
// Its use above its entitlement.
ResourceVector borrowed(const Node& node);
// Use divided by guarantee, in the kind where that is largest. Kinds that the role's own guarantee
// does not name do not count. CHECKs that the role has a guarantee.
Share guarantee_filled(const Role& role);
// Whether its use is within its own guarantee, and less than that in some kind.
bool has_unmet_guarantee(const Role& role);
// Whether `more` takes something that the role's own guarantee names, and the role, if this is its
// use, would be within the whole guarantee with it.
bool is_within_guarantee(const Role& role, const ResourceVector& use, const ResourceVector& more);
// The same of its own limit.
bool is_within_limit(const Role& role, const ResourceVector& more);

// See Role::whole_guarantee.
Quota whole_guarantee(const Quota& guarantee, const ResourceVector& total);

// Calls visit(Node&) for each child: the roles, then the leaves, each by name. (Defined in
// leaves.h, as all that must know what a leaf is.)
template <class Visit>
void for_each_child(const Role& role, Visit visit);
// Calls visit(Leaf&) for each leaf below.
template <class Visit>
void for_each_leaf(const Role& role, Visit visit);

// A leaf's place between all: the shares on the way to it, the one at the top first.
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
  static constexpr size_t kShallow = 4;  // Most trees are; then it takes no memory of its own.

  size_t depth_ = 0;
  std::array<Share, kShallow> shallow_ = {};
  std::vector<Share> deep_ = {};
};

// Owns the roles and keeps uses, shares and orders. A role is here while it has settings, a leaf,
// or a role below it. A change at a leaf costs O(log siblings) at each level above it.
class RoleTree {
 public:
  RoleTree();
  RoleTree(const RoleTree&) = delete;

  Role& root() { return root_; }
  const Role& root() const { return root_; }
  const std::map<RoleName, std::unique_ptr<Role>>& roles() const { return roles_; }
  Role* find(const RoleName& name) const;  // nullptr: not here
  // Makes it, and those above it, if they are not here.
  Role& at(const RoleName& name);
  // Takes effect on the shares with the next rebuild().
  void set_settings(const RoleName& name, const RoleSettings& settings);
  // Shares are of this total from now on, and weights are those of the settings. O(all).
  void rebuild(const ResourceVector& total);

  // A leaf without use joins its parent, wanting nothing; or leaves it, which ends roles that are
  // nothing without it.
  void join(Leaf& leaf, const RoleName& role);
  void part(Leaf& leaf);
  void change_use(Leaf& leaf, const ResourceVector& allocated, const ResourceVector& offered);
  // Whether the leaf wants offers, and in which of the orders it is.
  void set_wishes(Leaf& leaf, bool wants, const InOrders& in_order);
  // Leaves that take asks and are in the order.
  int64_t asking_count(int order) const { return asking_[order]; }
  // The leaf has to wait for a limit: of the role.
  void note_denied(Role& role, Leaf& leaf);
  // No leaf has to wait for the role's limit any more. Returns those that had to.
  std::set<Leaf*> forget_denied(Role& role);
  // The roles for whose limits leaves wait and whose use has fallen since: some of what they denied
  // may be allowed now. Forgets which they are.
  std::vector<Role*> take_relieved();

  // The roles below which somebody wants offers and whose guarantee is not reached.
  const RoleSet& below_guarantee() const { return below_guarantee_; }

  // What is not as it should be; O(all).
  std::vector<std::string> broken() const;

 private:
  void enter(Node& node, int order);  // and the roles above it that are not in the order yet
  std::vector<std::string> broken_order(const Role& role, int order) const;
  void leave(Node& node, int order);  // and the roles above it that nothing keeps there
  void move(Node& node, int order);   // to where it belongs with its new share
  void end_if_nothing(Role* role);
  void note_relief(Role& role);
  // It has a guarantee now, or one below it, or none any more.
  void note_promise(Role& role);
  static std::optional<PromiseTurn> promise_turn_of(const Role& role, int order);
  // Its place among the promise turns of its parent, and those of the roles above.
  void place_promise(Role* role, int order);

  ResourceVector total_;
  // Even numbers are grants. A leaf that comes between two of them has the odd number between, so
  // leaves that come at one instant are equal.
  uint64_t served_ = 0;
  int64_t asking_[kOrders] = {};
  std::vector<Role*> relieved_;
  RoleSet below_guarantee_;
  Role root_;
  std::map<RoleName, std::unique_ptr<Role>> roles_;
};

// Some leaves by least share: at each level of the tree the least child first; of equals the one
// that was served, or came, longest ago; then by name. One of the orders of a tree.
class LeafOrder {
 public:
  LeafOrder(RoleTree& tree, int number) : tree_(tree), number_(number) {}

  // O(log siblings) for each level.
  void insert(Leaf& leaf);
  void erase(Leaf& leaf);
  bool contains(const Leaf& leaf) const;
  bool empty() const { return nodes(tree_.root()).empty(); }
  int number() const { return number_; }
  // Leaves in it that take asks.
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
