#pragma once

// The tree of those who share: roles, at any depth, and in them the frameworks as leaves. A
// framework directly in `eng` is a sibling of the role `eng/ads`.
//
// Siblings are compared by their weighted dominant shares, and a role's share is not that of the
// plain sum below it: hierarchical DRF (Bhattacharya et al., SoCC 2013, section 4) rescales. A
// child is *demanding* if it may still be given something, *saturated* if it wants more and nothing
// that it may use fits, *content* if it wants nothing. With M the least share above zero of the
// demanding children (zero if none has any), a demanding child counts with its use times M / its
// share, a saturated one times min(1, M / its share), a content one as it is; if none is demanding,
// all count as they are. (Children with nothing must not make M zero while others have something: a
// role with more of them than it can serve would count nothing, and take all.)
//
// Numbers: where nothing is scaled a share is an exact fraction (common/share.h). Where something
// is, the sum is in parts of the cluster, kPartsWhole being all of it; each step rounds up, so a
// rescaled share is at most a 2^-19th too large for each child in it, and never too small.

#include <array>
#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/resources.h"
#include "common/roles.h"
#include "common/share.h"

namespace proffer::fair {

struct AskEntry;
struct Leaf;
struct Node;
struct Role;

using Parts = std::array<int64_t, kResourceKindCount>;
inline constexpr int64_t kPartsWhole = int64_t{1} << 40;
inline constexpr int64_t kPartsMax = kAmountMax;  // more of it counts as that

// There are three orders over the same tree: of all leaves that want offers, of those that should
// look at more than the agents that grew, and of those that take open offers and may be made one
// (see Cluster::demanding, untried and open). In each a node has its own share.
inline constexpr int kOrders = 3;
inline constexpr int kOpenOrder = 2;

struct NodeByShare {
  int order = 0;
  bool operator()(const Node* a, const Node* b) const;
};

// Nodes by share, in blocks. An entry has all that it is sorted by, so that finding a place looks
// at few nodes, and a node may change before its place does.
class NodeSet {
 public:
  struct Entry {
    int64_t key = 0;  // of the share, rounded: compared first
    Share share = {};
    uint64_t served = 0;
    Node* node = nullptr;
  };
  class Iterator {
   public:
    using iterator_category = std::bidirectional_iterator_tag;
    using value_type = Node*;
    using difference_type = std::ptrdiff_t;
    using pointer = Node* const*;
    using reference = Node* const&;

    Iterator() = default;
    Iterator(const NodeSet* set, size_t block, size_t at) : set_(set), block_(block), at_(at) {}
    reference operator*() const { return set_->blocks_[block_][at_].node; }
    Iterator& operator++() {
      if (++at_ == set_->blocks_[block_].size()) *this = {set_, block_ + 1, 0};
      return *this;
    }
    Iterator operator++(int) { return std::exchange(*this, std::next(*this)); }
    Iterator& operator--() {
      if (at_ == 0) *this = {set_, block_ - 1, set_->blocks_[block_ - 1].size()};
      --at_;
      return *this;
    }
    Iterator operator--(int) { return std::exchange(*this, std::prev(*this)); }
    bool operator==(const Iterator& o) const { return block_ == o.block_ && at_ == o.at_; }

   private:
    const NodeSet* set_ = nullptr;
    size_t block_ = 0;
    size_t at_ = 0;
  };

  explicit NodeSet(int order) : order_(order) {}
  bool empty() const { return blocks_.empty(); }
  size_t size() const { return size_; }
  Iterator begin() const { return {this, 0, 0}; }
  Iterator end() const { return {this, blocks_.size(), 0}; }
  bool contains(const Node& node) const;
  // The first with a share above zero, or nullptr. O(log n).
  const Node* first_above_zero() const;
  // O(log n + a block).
  void insert(Node& node);
  void erase(Node& node);
  // Its share or turn has changed since it was put in.
  void update(Node& node);

 private:
  static constexpr size_t kBlockMax = 64;
  using Block = std::vector<Entry>;
  static bool comes_before(const Entry& a, const Entry& b);
  Entry entry_of(Node& node) const;
  std::pair<size_t, size_t> place_of(const Entry& entry) const;

  int order_;
  size_t size_ = 0;
  std::vector<Block> blocks_;  // none is empty
};
using InOrders = std::array<bool, kOrders>;

// A node in one order.
struct Standing {
  enum class Place : uint8_t {
    kNone,  // content, or not counted yet
    kDemanding,
    kSaturated,
  };
  Place place = Place::kNone;    // among the children of its parent
  bool exact = true;             // nothing below is scaled: its share is that of its use
  Parts parts = {};              // its rescaled use, if not exact
  Share share = {};              // weighted
  Parts per_share = {};          // what its parent's sum has of it
  bool per_share_known = false;  // of a saturated one: computed when it is needed
};

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
  Standing standing[kOrders] = {};

  // As compute_entitlements() last said (entitlement.h), in a decision or for a picture.
  mutable ResourceVector demand = {};  // its use and what is asked for beyond it
  mutable ResourceVector entitlement = {};

  ResourceVector use() const { return allocated + offered; }
  // What is left of its use once all that has been told to has ended.
  ResourceVector kept() const { return use() - noticed; }
  const Share& share() const { return standing[0].share; }

  // Kept by RoleTree: the share of its use, and where it is among its demanding siblings.
  Share plain = {};
  NodeSet::Entry entry[kOrders] = {};
};

// Of some nodes together, which are scaled.
struct ScaledSums {
  int64_t count = 0;
  ResourceVector use = {};
  Parts per_share = {};  // of use times weight / dominant share
};

// The saturated children of a role by share, in blocks that know their sums: so the sums of those
// with a share above M cost O(blocks), however far M moves.
class SaturatedNodes {
 public:
  explicit SaturatedNodes(int order) : order_(order) {}

  bool empty() const { return blocks_.empty(); }
  size_t count(const Node& node) const;  // 0 or 1
  // O(log n + a block). What the node is sorted by must be the same from one to the other.
  void insert(Node& node);
  void erase(Node& node);
  bool any_above(const Share& share) const;
  // Of those with a share above this. per_share(node) says what a node adds to the sum of that.
  template <class PerShare>
  ScaledSums above(const Share& share, PerShare per_share) const;

 private:
  static constexpr size_t kBlockMax = 64;
  struct Block {
    std::vector<Node*> nodes = {};  // none is empty
    mutable bool known = false;
    mutable ScaledSums sums = {};
  };
  size_t block_of(const Node& node) const;

  int order_;
  std::vector<Block> blocks_;
};

// The children of a role in one order. Of the root, whose share nobody asks for, only the
// demanding; of a role with one child too, since it is what that child is.
struct Children {
  explicit Children(int order) : demanding(order), saturated(order) {}
  NodeSet demanding;
  SaturatedNodes saturated;
  // Of the demanding ones, which are all scaled.
  int64_t inexact = 0;
  ResourceVector use = {};
  bool summed = false;   // whether per_share is kept; not while there is one at most
  Parts per_share = {};  // sum of use times weight / dominant share
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
  Children children[kOrders] = {Children(0), Children(1), Children(2)};

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
  // Asks for which room is kept below its limit, who came earlier first; see waiting/headroom.h.
  std::vector<AskEntry*> headroom = {};

  bool has_limit() const { return !settings.limit.empty(); }
  bool has_guarantee() const { return !settings.guarantee.empty(); }
};

// Whether its use is more of some kind than it is entitled to, which makes it a borrower.
bool is_above_entitlement(const Node& node);
// Its use above its entitlement.
ResourceVector borrowed(const Node& node);
// What is promised to a role and those below it and that they do not use: in each kind the larger
// of its own promise and the sum of its children's. O(roles with guarantees below it).
ResourceVector unmet_guarantee(const Role& role);
// How much of its own guarantee it uses, in the kind of which that is most; kinds of which nothing
// is promised do not count. CHECKs that it has one.
Share guarantee_filled(const Role& role);
// Whether its use is within its own guarantee, and less than that in some kind.
bool has_unmet_guarantee(const Role& role);
// Whether `more` takes something that the role's own guarantee names, and the role with it would be
// within the guarantee in all kinds that it names.
bool is_within_guarantee(const Role& role, const ResourceVector& more);
// The same of its own limit.
bool is_within_limit(const Role& role, const ResourceVector& more);

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
  explicit RoleTree(bool plain_shares);
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
  bool is_plain(const Node& node, int order) const;
  // By the rule above, from the standings of its children.
  Standing standing_of(const Node& node, int order) const;
  std::vector<std::string> broken_order(const Role& role, int order) const;
  void lift(Leaf& leaf, int order);   // takes the nodes from it upwards out of their parents' sets
  void place(Leaf& leaf, int order);  // and puts them in again, each with its new share
  void stay(Node& node, int order);   // where it belongs with its new share
  void note_siblings(Role& role);
  void note_relief(Role& role);
  void take_out(Node& node, int order);
  void put_in(Node& node, int order);
  void place_below(Role& role, int order);
  void compute(Node& node, int order);
  void scale(Node& node, Children& among, int order);
  void unscale(Node& node, Children& among, int order);
  Parts parts_of(const ResourceVector& amounts) const;
  Parts per_share(const Node& node, int order) const;
  void end_if_nothing(Role* role);
  // It has a guarantee now, or one below it, or none any more.
  void note_promise(Role& role);
  static std::optional<PromiseTurn> promise_turn_of(const Role& role, int order);
  // Its place among the promise turns of its parent, and those of the roles above.
  void place_promise(Role* role, int order);

  // The last of them is kept while there are leaves that take open offers.
  int orders() const { return open_leaves_ > 0 ? kOrders : kOpenOrder; }
  void begin_order(int order);
  void end_order(int order);

  const bool plain_shares_;
  ResourceVector total_;
  // Even numbers are grants. Who comes between two of them has the odd number between: so the order
  // of those who come at one instant makes no difference.
  uint64_t served_ = 0;
  int64_t asking_[kOrders] = {};
  int64_t open_leaves_ = 0;
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
  bool empty() const { return children(tree_.root()).demanding.empty(); }
  int number() const { return number_; }
  // Leaves in it that take asks.
  int64_t asking_count() const { return tree_.asking_count(number_); }
  const NodeSet& nodes(const Role& role) const { return children(role).demanding; }
  // Calls visit(Leaf&), first to last, until it returns false.
  template <class Visit>
  bool for_each(Visit visit) const {
    return for_each_below(tree_.root(), visit);
  }

 private:
  const Children& children(const Role& role) const { return role.children[number_]; }
  template <class Visit>
  bool for_each_below(const Role& role, Visit visit) const;

  RoleTree& tree_;
  const int number_;
};

Rank rank_of(const Leaf& leaf, const LeafOrder& order);
// Whether some of the role's saturated children are scaled, since their shares are above M.
bool scales_saturated(const Role& role, int order);

}  // namespace proffer::fair
