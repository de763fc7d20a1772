// Uses, shares and orders of the tree. Read change_use() first: the nodes from the leaf up get new
// shares and move to their new places among their siblings.

#include "allocator/cluster/role_tree.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "allocator/cluster/leaves.h"
#include "common/check.h"

namespace proffer::fair {
namespace {

__extension__ typedef __int128 Int128;

// A hint for the insertion: siblings that take turns go from one end of the set to the other.
NodeSet::const_iterator hint(const NodeSet& siblings, const Node* node) {
  const NodeByShare comes_before;
  return !siblings.empty() && comes_before(node, *siblings.begin()) ? siblings.begin()
                                                                    : siblings.end();
}

}  // namespace

bool NodeByShare::operator()(const Node* a, const Node* b) const {
  const auto by_share = a->share <=> b->share;
  if (by_share != 0) return by_share < 0;
  if (a->served != b->served) return a->served < b->served;
  if (const int by_label = a->label->compare(*b->label); by_label != 0) return by_label < 0;
  return !a->is_leaf && b->is_leaf;
}

// --- promises and limits ------------------------------------------------------------------------

bool is_above_entitlement(const Node& node) { return !node.use().fits_in(node.entitlement); }

ResourceVector borrowed(const Node& node) {
  return (node.use() - node.entitlement).max(ResourceVector());
}

Share guarantee_filled(const Role& role) {
  CHECK(role.has_guarantee()) << role.name.str();
  const ResourceVector use = role.use();
  Share filled;
  for (const ResourceKind kind : kResourceKinds) {
    const std::optional<int64_t> promise = role.settings.guarantee[kind];
    if (!promise) continue;
    const int64_t amount = std::min(use[kind], kAmountMax);
    if (*promise > 0) filled = std::max(filled, Share::of(amount, *promise));
  }
  return filled;
}

bool has_unmet_guarantee(const Role& role) {
  const ResourceVector use = role.use();
  const Quota& guarantee = role.settings.guarantee;
  return guarantee.contains(use) &&
         std::any_of(kResourceKinds.begin(), kResourceKinds.end(), [&](ResourceKind kind) {
           return guarantee[kind] && use[kind] < *guarantee[kind];
         });
}

bool names_within_guarantee(const Role& role, const ResourceVector& use,
                            const ResourceVector& more) {
  const Quota& guarantee = role.settings.guarantee;
  return guarantee.contains(use + more) &&
         std::any_of(kResourceKinds.begin(), kResourceKinds.end(),
                     [&](ResourceKind kind) { return guarantee[kind] && more[kind] > 0; });
}

bool is_within_guarantee(const Role& role, const ResourceVector& use, const ResourceVector& more) {
  return role.whole_guarantee.contains(use + more) && names_within_guarantee(role, use, more);
}

ResourceVector beyond_guarantee(const Role& role, const ResourceVector& use,
                                const ResourceVector& more) {
  const ResourceVector then = use + more;
  const ResourceVector beyond = then - role.whole_guarantee.amounts(then);
  ResourceVector taken;
  for (const ResourceKind kind : kResourceKinds) {
    if (more[kind] > 0) taken[kind] = std::max<int64_t>(beyond[kind], 0);
  }
  return taken;
}

Quota whole_guarantee(const Quota& guarantee, const ResourceVector& total) {
  Share part;
  ResourceKind largest = ResourceKind::kCpus;
  for (const ResourceKind kind : kResourceKinds) {
    if (!guarantee[kind] || total[kind] <= 0) continue;
    const Share its = Share::of(*guarantee[kind], total[kind]);
    if (its < part) continue;
    part = its;
    largest = kind;
  }
  Quota whole = guarantee;
  if (part == Share()) return whole;
  for (const ResourceKind kind : kResourceKinds) {
    if (guarantee[kind]) continue;
    const Int128 amount = Int128(total[kind]) * *guarantee[largest] / total[largest];
    whole.set(kind, static_cast<int64_t>(std::min<Int128>(amount, kAmountMax)));
  }
  return whole;
}

bool RoleByName::operator()(const Role* a, const Role* b) const { return a->name < b->name; }

bool PromiseTurn::operator<(const PromiseTurn& o) const {
  if (filled != o.filled) return filled < o.filled;
  if (served != o.served) return served < o.served;
  return role->name < o.role->name;
}

bool is_within_limit(const Role& role, const ResourceVector& more) {
  return !role.has_limit() || role.settings.limit.contains(role.use() + more);
}

// --- roles --------------------------------------------------------------------------------------

RoleTree::RoleTree() { root_.label = &root_.name.str(); }

Role* RoleTree::find(const RoleName& name) const {
  const auto at = roles_.find(name);
  return at == roles_.end() ? nullptr : at->second.get();
}

Role& RoleTree::at(const RoleName& name) {
  if (name.empty()) return root_;
  std::unique_ptr<Role>& role = roles_[name];
  if (role == nullptr) {
    role = std::make_unique<Role>();
    role->name = name;
    role->label = &role->name.str();
    role->served = served_ + 1;
    Role& made = *role;  // The map may grow below.
    made.parent = &at(parent_of(name));
    made.parent->roles.emplace(name, &made);
    return made;
  }
  return *role;
}

void RoleTree::set_settings(const RoleName& name, const RoleSettings& settings) {
  Role& role = at(name);
  role.settings = settings;
  role.whole_guarantee = whole_guarantee(settings.guarantee, total_);
  note_promise(role);
  for (int order = 0; order < kOrders; ++order) place_promise(&role, order);
  end_if_nothing(&role);
}

void RoleTree::end_if_nothing(Role* role) {
  while (role->parent != nullptr && role->roles.empty() && role->leaves.empty() &&
         role->settings == RoleSettings()) {
    Role* parent = role->parent;
    CHECK(role->use().is_zero() && role->wanting == 0) << role->name.str();
    parent->roles.erase(role->name);
    roles_.erase(RoleName(role->name));
    role = parent;
  }
}

void RoleTree::note_promise(Role& role) {
  if (role.parent == nullptr) return;
  std::vector<Role*>& promised = role.parent->promised;
  const auto at = std::lower_bound(promised.begin(), promised.end(), &role,
                                   [](const Role* a, const Role* b) { return a->name < b->name; });
  const bool was = at != promised.end() && *at == &role;
  const bool is = role.has_guarantee() || !role.promised.empty();
  if (is != was) {
    is ? void(promised.insert(at, &role)) : void(promised.erase(at));
    note_promise(*role.parent);
  }
}

std::optional<PromiseTurn> RoleTree::promise_turn_of(const Role& role, int order) {
  if (role.parent == nullptr || role.in_orders[order].empty()) return std::nullopt;
  PromiseTurn turn{{}, role.served, const_cast<Role*>(&role)};
  if (role.has_guarantee()) {
    if (!has_unmet_guarantee(role)) return std::nullopt;
    turn.filled = guarantee_filled(role);
    return turn;
  }
  const std::set<PromiseTurn>& below = role.promise_turns[order];
  if (below.empty()) return std::nullopt;
  turn.filled = below.begin()->filled;
  return turn;
}

void RoleTree::place_promise(Role* role, int order) {
  for (; role->parent != nullptr; role = role->parent) {
    const std::optional<PromiseTurn> turn = promise_turn_of(*role, order);
    std::optional<PromiseTurn>& before = role->promise_turn[order];
    if (order == 0) {  // An equal turn may have come from a role below.
      const bool is_below = role->has_guarantee() && turn.has_value();
      is_below ? void(below_guarantee_.insert(role)) : void(below_guarantee_.erase(role));
    }
    if (turn == before) continue;
    std::set<PromiseTurn>& turns = role->parent->promise_turns[order];
    if (before) turns.erase(*before);
    if (turn) turns.insert(*turn);
    before = turn;
  }
}

void RoleTree::join(Leaf& leaf, const RoleName& name) {
  Role& role = at(name);
  leaf.is_leaf = true;
  leaf.label = &leaf.framework.str();
  leaf.served = served_ + 1;
  leaf.parent = leaf.role = &role;
  role.leaves.emplace(leaf.framework, &leaf);
  leaf.share = dominant_share(leaf.use(), total_, leaf.weight);
}

void RoleTree::part(Leaf& leaf) {
  CHECK(leaf.use().is_zero()) << leaf.framework.str();
  set_wishes(leaf, false, {});
  for (Role* role = leaf.parent; role != nullptr; role = role->parent) role->denied.erase(&leaf);
  leaf.parent->leaves.erase(leaf.framework);
  end_if_nothing(leaf.parent);
}

// --- changes ------------------------------------------------------------------------------------

void RoleTree::change_use(Leaf& leaf, const ResourceVector& allocated,
                          const ResourceVector& offered) {
  // Shares depend on use only: a launch of offered resources changes no share.
  if ((allocated + offered).is_zero()) {
    for (Node* node = &leaf; node != nullptr; node = node->parent) {
      node->allocated += allocated;
      node->offered += offered;
    }
    CHECK(!leaf.allocated.has_negative() && !leaf.offered.has_negative()) << leaf.framework.str();
    return;
  }
  const bool is_grant = !offered.max(ResourceVector()).is_zero();
  if (is_grant) served_ += 2;
  for (Node* node = &leaf; node != nullptr; node = node->parent) {
    node->allocated += allocated;
    node->offered += offered;
    if (is_grant) node->served = served_;
    if (!node->is_leaf) note_relief(static_cast<Role&>(*node));
    if (node->parent == nullptr) break;
    node->share = dominant_share(node->use(), total_, node->weight);
    for (int order = 0; order < kOrders; ++order) move(*node, order);
  }
  CHECK(!leaf.allocated.has_negative() && !leaf.offered.has_negative()) << leaf.framework.str();
  if (root_.promised.empty()) return;
  for (int order = 0; order < kOrders; ++order) place_promise(leaf.role, order);
}

// Asks that the limit denied at a higher use may be allowed now.
void RoleTree::note_relief(Role& role) {
  if (role.denied.empty() || role.is_relieved) return;
  if (role.use_when_denied.fits_in(role.use())) return;
  role.is_relieved = true;
  relieved_.push_back(&role);
}

void RoleTree::note_denied(Role& role, Leaf& leaf) {
  // A leaf that was denied at a higher use may be allowed at a lower one.
  const bool is_first = role.denied.empty();
  role.denied.insert(&leaf);
  role.use_when_denied = is_first ? role.use() : role.use_when_denied.max(role.use());
}

std::set<Leaf*> RoleTree::forget_denied(Role& role) {
  if (role.is_relieved) std::erase(relieved_, &role);
  role.is_relieved = false;
  return std::exchange(role.denied, {});
}

std::vector<Role*> RoleTree::take_relieved() {
  std::vector<Role*> all = std::exchange(relieved_, {});
  for (Role* role : all) role->is_relieved = false;
  // Other leaves may have taken the freed part of the limit again.
  std::erase_if(all, [](const Role* role) { return role->use_when_denied.fits_in(role->use()); });
  return all;
}

void RoleTree::set_wishes(Leaf& leaf, bool wants, const InOrders& in_order) {
  if (wants != leaf.wants) {
    for (Node* node = &leaf; node != nullptr; node = node->parent) node->wanting += wants ? 1 : -1;
    leaf.wants = wants;
  }
  for (int order = 0; order < kOrders; ++order) {
    const bool is_in = wants && in_order[order];
    if (is_in == leaf.in_order[order]) continue;
    if (leaf.mode == OfferMode::kAsks) asking_[order] += is_in ? 1 : -1;
    is_in ? enter(leaf, order) : leave(leaf, order);
    if (!root_.promised.empty()) place_promise(leaf.role, order);
  }
}

void RoleTree::rebuild(const ResourceVector& total) {
  total_ = total;
  const auto set_share = [&](Node& node) {
    node.share = dominant_share(node.use(), total_, node.weight);
  };
  for (const auto& [name, role] : roles_) {
    role->weight = role->settings.weight;
    role->whole_guarantee = whole_guarantee(role->settings.guarantee, total_);
    set_share(*role);
    for (const auto& [id, leaf] : role->leaves) set_share(*leaf);
  }
  const auto sort = [](Role& role) {
    for (int order = 0; order < kOrders; ++order) {
      NodeSet sorted;
      while (!role.in_orders[order].empty()) {
        Node* const node = *role.in_orders[order].begin();
        node->element[order] =
            sorted.insert(role.in_orders[order].extract(node->element[order])).position;
      }
      role.in_orders[order] = std::move(sorted);
    }
  };
  sort(root_);
  for (const auto& [name, role] : roles_) sort(*role);
}

// --- one node among its siblings ----------------------------------------------------------------

void RoleTree::enter(Node& node, int order) {
  for (Node* at = &node; at->parent != nullptr && !at->in_order[order]; at = at->parent) {
    NodeSet& siblings = at->parent->in_orders[order];
    if (at->spare[order].empty()) {
      at->element[order] = siblings.insert(hint(siblings, at), at);
    } else {
      at->element[order] = siblings.insert(hint(siblings, at), std::move(at->spare[order]));
    }
    at->in_order[order] = true;
  }
}

void RoleTree::leave(Node& node, int order) {
  for (Node* at = &node; at->parent != nullptr; at = at->parent) {
    NodeSet& siblings = at->parent->in_orders[order];
    at->spare[order] = siblings.extract(at->element[order]);
    at->in_order[order] = false;
    if (!siblings.empty()) return;
  }
}

void RoleTree::move(Node& node, int order) {
  if (!node.in_order[order]) return;
  NodeSet& siblings = node.parent->in_orders[order];
  const NodeByShare comes_before;
  const auto at = node.element[order];
  const auto next = std::next(at);
  const bool is_right = (at == siblings.begin() || comes_before(*std::prev(at), &node)) &&
                        (next == siblings.end() || comes_before(&node, *next));
  if (is_right) return;
  NodeSet::node_type element = siblings.extract(at);
  node.element[order] = siblings.insert(hint(siblings, &node), std::move(element));
}

// --- orders -------------------------------------------------------------------------------------

void LeafOrder::insert(Leaf& leaf) {
  InOrders in_order = leaf.in_order;
  in_order[number_] = true;
  tree_.set_wishes(leaf, true, in_order);
}

void LeafOrder::erase(Leaf& leaf) {
  InOrders in_order = leaf.in_order;
  in_order[number_] = false;
  tree_.set_wishes(leaf, leaf.wants, in_order);
}

bool LeafOrder::contains(const Leaf& leaf) const { return leaf.in_order[number_]; }

std::strong_ordering Rank::operator<=>(const Rank& o) const {
  for (size_t i = 0; i < std::min(depth_, o.depth_); ++i) {
    if (const auto by_share = (*this)[i] <=> o[i]; by_share != 0) return by_share;
  }
  return depth_ <=> o.depth_;
}

Rank rank_of(const Leaf& leaf) {
  size_t depth = 0;
  for (const Node* node = &leaf; node->parent != nullptr; node = node->parent) ++depth;
  Rank rank(depth);
  for (const Node* node = &leaf; node->parent != nullptr; node = node->parent) {
    rank[--depth] = node->share;
  }
  return rank;
}

}  // namespace proffer::fair
