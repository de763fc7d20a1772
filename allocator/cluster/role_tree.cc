// Uses, shares and orders of the tree. change_use() is the story: the nodes from the leaf up leave
// the sets of their parents, change, and come back from the leaf up, each with its new share.

#include "allocator/cluster/role_tree.h"

#include <algorithm>

#include "allocator/cluster/leaves.h"

namespace proffer::fair {
namespace {

__extension__ typedef unsigned __int128 Uint128;
using Place = Standing::Place;

// What per_share counts in, over a weight of one.
constexpr int64_t kPerShareWhole = int64_t{1} << 20;

int64_t divided_up(Uint128 numerator, Uint128 denominator, int64_t most) {
  const Uint128 whole = (numerator + denominator - 1) / denominator;
  return whole > Uint128(most) ? most : static_cast<int64_t>(whole);
}

size_t children_count(const Role& role) { return role.roles.size() + role.leaves.size(); }

// M: the least share above zero of the demanding children, of which there is one. Zero if none has
// any. O(log children).
const Share& least_above_zero(const Children& children, int order) {
  const Share& least = (*children.demanding.begin())->standing[order].share;
  if (least > Share()) return least;
  const Node* const first = children.demanding.first_above_zero();
  return first == nullptr ? least : first->standing[order].share;
}

}  // namespace

bool NodeByShare::operator()(const Node* a, const Node* b) const {
  const auto by_share = a->standing[order].share <=> b->standing[order].share;
  if (by_share != 0) return by_share < 0;
  if (a->served != b->served) return a->served < b->served;
  if (const int by_label = a->label->compare(*b->label); by_label != 0) return by_label < 0;
  return !a->is_leaf && b->is_leaf;
}

// --- demanding ones -----------------------------------------------------------------------------

bool NodeSet::comes_before(const Entry& a, const Entry& b) {
  if (a.key != b.key) return a.key < b.key;
  if (const auto by_share = a.share <=> b.share; by_share != 0) return by_share < 0;
  if (a.served != b.served) return a.served < b.served;
  if (const int by_label = a.node->label->compare(*b.node->label); by_label != 0) {
    return by_label < 0;
  }
  return !a.node->is_leaf && b.node->is_leaf;
}

NodeSet::Entry NodeSet::entry_of(Node& node) const {
  const Share& share = node.standing[order_].share;
  return {share.parts(kPartsWhole), share, node.served, &node};
}

// Where it is, or would be: at the end it is behind the last one of the last block.
std::pair<size_t, size_t> NodeSet::place_of(const Entry& entry) const {
  if (blocks_.empty()) return {0, 0};
  const auto block =
      std::partition_point(blocks_.begin(), blocks_.end() - 1,
                           [&](const Block& one) { return comes_before(one.back(), entry); });
  const auto at = std::lower_bound(block->begin(), block->end(), entry, comes_before);
  return {block - blocks_.begin(), at - block->begin()};
}

bool NodeSet::contains(const Node& node) const {
  const Entry& entry = node.entry[order_];
  if (entry.node != &node || blocks_.empty()) return false;
  const auto [block, at] = place_of(entry);
  return at < blocks_[block].size() && blocks_[block][at].node == &node;
}

const Node* NodeSet::first_above_zero() const {
  const auto is_zero = [](const Entry& entry) { return !(entry.share > Share()); };
  const auto block = std::partition_point(blocks_.begin(), blocks_.end(),
                                          [&](const Block& one) { return is_zero(one.back()); });
  if (block == blocks_.end()) return nullptr;
  return std::partition_point(block->begin(), block->end(), is_zero)->node;
}

void NodeSet::insert(Node& node) {
  const Entry entry = node.entry[order_] = entry_of(node);
  const auto [number, at] = place_of(entry);
  if (blocks_.empty()) blocks_.emplace_back();
  Block& block = blocks_[number];
  block.insert(block.begin() + static_cast<std::ptrdiff_t>(at), entry);
  ++size_;
  if (block.size() <= kBlockMax) return;
  const auto middle = block.begin() + static_cast<std::ptrdiff_t>(block.size() / 2);
  Block rest(middle, block.end());
  block.erase(middle, block.end());
  blocks_.insert(blocks_.begin() + static_cast<std::ptrdiff_t>(number) + 1, std::move(rest));
}

void NodeSet::erase(Node& node) {
  const auto [number, at] = place_of(node.entry[order_]);
  CHECK(number < blocks_.size() && at < blocks_[number].size() && blocks_[number][at].node == &node)
      << *node.label;
  Block& block = blocks_[number];
  block.erase(block.begin() + static_cast<std::ptrdiff_t>(at));
  node.entry[order_] = {};
  --size_;
  const auto here = blocks_.begin() + static_cast<std::ptrdiff_t>(number);
  if (block.empty()) {
    blocks_.erase(here);
    return;
  }
  // Blocks stay at least so full that there are not many of them.
  const auto next = std::next(here);
  if (next == blocks_.end() || block.size() + next->size() > kBlockMax / 2) return;
  block.insert(block.end(), next->begin(), next->end());
  blocks_.erase(next);
}

void NodeSet::update(Node& node) {
  if (size_ == 1) {
    blocks_.front().front() = node.entry[order_] = entry_of(node);
    return;
  }
  erase(node);
  insert(node);
}

// --- saturated ones ---------------------------------------------------------------------------

size_t SaturatedNodes::block_of(const Node& node) const {
  const NodeByShare comes_before{order_};
  const auto at = std::partition_point(blocks_.begin(), blocks_.end(), [&](const Block& block) {
    return comes_before(block.nodes.back(), &node);
  });
  return static_cast<size_t>(at - blocks_.begin());
}

size_t SaturatedNodes::count(const Node& node) const {
  const size_t number = block_of(node);
  if (number == blocks_.size()) return 0;
  const std::vector<Node*>& nodes = blocks_[number].nodes;
  return static_cast<size_t>(std::count(nodes.begin(), nodes.end(), &node));
}

void SaturatedNodes::insert(Node& node) {
  node.standing[order_].per_share_known = false;
  // At the end it joins the last block.
  const size_t number = blocks_.empty() ? 0 : std::min(block_of(node), blocks_.size() - 1);
  if (blocks_.empty()) blocks_.emplace_back();
  Block& block = blocks_[number];
  block.known = false;
  std::vector<Node*>& nodes = block.nodes;
  nodes.insert(std::lower_bound(nodes.begin(), nodes.end(), &node, NodeByShare{order_}), &node);
  if (nodes.size() <= kBlockMax) return;
  const auto middle = nodes.begin() + static_cast<std::ptrdiff_t>(nodes.size() / 2);
  Block rest{.nodes = {middle, nodes.end()}};
  nodes.erase(middle, nodes.end());
  blocks_.insert(blocks_.begin() + static_cast<std::ptrdiff_t>(number) + 1, std::move(rest));
}

void SaturatedNodes::erase(Node& node) {
  const size_t number = block_of(node);
  CHECK_LT(number, blocks_.size()) << *node.label;
  Block& block = blocks_[number];
  block.known = false;
  std::vector<Node*>& nodes = block.nodes;
  const auto at = std::lower_bound(nodes.begin(), nodes.end(), &node, NodeByShare{order_});
  CHECK(at != nodes.end() && *at == &node) << *node.label;
  nodes.erase(at);
  const auto here = blocks_.begin() + static_cast<std::ptrdiff_t>(number);
  if (nodes.empty()) {
    blocks_.erase(here);
    return;
  }
  // Blocks stay at least so full that there are not many of them.
  const auto next = std::next(here);
  if (next == blocks_.end() || nodes.size() + next->nodes.size() > kBlockMax / 2) return;
  nodes.insert(nodes.end(), next->nodes.begin(), next->nodes.end());
  blocks_.erase(next);
}

bool SaturatedNodes::any_above(const Share& share) const {
  return !blocks_.empty() && blocks_.back().nodes.back()->standing[order_].share > share;
}

template <class PerShare>
ScaledSums SaturatedNodes::above(const Share& share, PerShare per_share) const {
  ScaledSums sums;
  const auto add = [](ScaledSums& to, int64_t count, const ResourceVector& use,
                      const Parts& parts) {
    to.count += count;
    to.use += use;
    for (size_t k = 0; k < kResourceKindCount; ++k) to.per_share[k] += parts[k];
  };
  const auto add_node = [&](ScaledSums& to, Node& node) {
    Standing& standing = node.standing[order_];
    if (!standing.per_share_known) standing.per_share = per_share(node);
    standing.per_share_known = true;
    add(to, 1, node.use(), standing.per_share);
  };
  const auto is_above = [&](const Node* node) { return node->standing[order_].share > share; };
  for (auto block = blocks_.rbegin(); block != blocks_.rend(); ++block) {
    if (!is_above(block->nodes.front())) {
      for (auto at = block->nodes.rbegin(); at != block->nodes.rend() && is_above(*at); ++at) {
        add_node(sums, **at);
      }
      break;
    }
    if (!block->known) {
      block->sums = {};
      for (Node* node : block->nodes) add_node(block->sums, *node);
      block->known = true;
    }
    add(sums, block->sums.count, block->sums.use, block->sums.per_share);
  }
  return sums;
}

// --- promises and limits ------------------------------------------------------------------------

bool is_above_entitlement(const Node& node) { return !node.use().fits_in(node.entitlement); }

ResourceVector borrowed(const Node& node) {
  return (node.use() - node.entitlement).max(ResourceVector());
}

ResourceVector unmet_guarantee(const Role& role) {
  ResourceVector below;
  for (const Role* child : role.promised) below += unmet_guarantee(*child);
  const ResourceVector use = role.use();
  return (role.settings.guarantee.amounts(use) - use).max(below);
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

bool is_within_guarantee(const Role& role, const ResourceVector& more) {
  const Quota& guarantee = role.settings.guarantee;
  return guarantee.contains(role.use() + more) &&
         std::any_of(kResourceKinds.begin(), kResourceKinds.end(),
                     [&](ResourceKind kind) { return guarantee[kind] && more[kind] > 0; });
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

RoleTree::RoleTree(bool plain_shares) : plain_shares_(plain_shares) {
  root_.label = &root_.name.str();
}

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
    note_siblings(*made.parent);
    return made;
  }
  return *role;
}

void RoleTree::set_settings(const RoleName& name, const RoleSettings& settings) {
  Role& role = at(name);
  role.settings = settings;
  note_promise(role);
  for (int order = 0; order < orders(); ++order) place_promise(&role, order);
  end_if_nothing(&role);
}

void RoleTree::end_if_nothing(Role* role) {
  while (role->parent != nullptr && role->roles.empty() && role->leaves.empty() &&
         role->settings == RoleSettings()) {
    Role* parent = role->parent;
    CHECK(role->use().is_zero() && role->wanting == 0) << role->name.str();
    for (int order = 0; order < orders(); ++order) take_out(*role, order);
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
  if (role.parent == nullptr || role.children[order].demanding.empty()) return std::nullopt;
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
    if (turn == before) continue;
    if (order == 0) {
      const bool is_below = role->has_guarantee() && turn.has_value();
      is_below ? void(below_guarantee_.insert(role)) : void(below_guarantee_.erase(role));
    }
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
  leaf.plain = dominant_share(leaf.use(), total_, leaf.weight);
  note_siblings(role);
  if (leaf.mode == OfferMode::kOpen && open_leaves_++ == 0) begin_order(kOpenOrder);
  for (int order = 0; order < orders(); ++order) {
    lift(leaf, order);
    place(leaf, order);
  }
}

void RoleTree::begin_order(int order) {
  place_below(root_, order);
  for (const auto& [name, role] : roles_) {
    if (role->has_guarantee()) place_promise(role.get(), order);
  }
}

void RoleTree::end_order(int order) {
  root_.children[order] = Children(order);
  root_.promise_turns[order].clear();
  const auto forget = [&](Node& node) { node.standing[order] = {}; };
  for (const auto& [name, role] : roles_) {
    role->children[order] = Children(order);
    role->promise_turns[order].clear();
    role->promise_turn[order].reset();
    forget(*role);
    for (const auto& [id, leaf] : role->leaves) forget(*leaf);
  }
}

void RoleTree::part(Leaf& leaf) {
  CHECK(leaf.use().is_zero()) << leaf.framework.str();
  set_wishes(leaf, false, {});
  if (leaf.mode == OfferMode::kOpen && --open_leaves_ == 0) end_order(kOpenOrder);
  for (int order = 0; order < kOrders; ++order) CHECK(leaf.standing[order].place == Place::kNone);
  for (Role* role = leaf.parent; role != nullptr; role = role->parent) role->denied.erase(&leaf);
  leaf.parent->leaves.erase(leaf.framework);
  end_if_nothing(leaf.parent);
}

// --- changes ------------------------------------------------------------------------------------

void RoleTree::change_use(Leaf& leaf, const ResourceVector& allocated,
                          const ResourceVector& offered) {
  // Shares are of use: what is launched as it was offered changes none.
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
    if (node->parent != nullptr) {
      for (int order = 0; order < orders(); ++order) {
        Children& among = node->parent->children[order];
        const Place place = node->standing[order].place;
        if (place == Place::kDemanding) unscale(*node, among, order);
        if (place == Place::kSaturated) among.saturated.erase(*node);
      }
    }
    node->allocated += allocated;
    node->offered += offered;
    if (is_grant) node->served = served_;
    if (node->parent != nullptr) node->plain = dominant_share(node->use(), total_, node->weight);
    if (!node->is_leaf) note_relief(static_cast<Role&>(*node));
  }
  CHECK(!leaf.allocated.has_negative() && !leaf.offered.has_negative()) << leaf.framework.str();
  for (int order = 0; order < orders(); ++order) {
    for (Node* node = &leaf; node->parent != nullptr; node = node->parent) {
      compute(*node, order);
      stay(*node, order);
    }
    if (!root_.promised.empty()) place_promise(leaf.role, order);
  }
}

// What its limit denied when it had more use may be allowed now.
void RoleTree::note_relief(Role& role) {
  if (role.denied.empty() || role.is_relieved) return;
  if (role.use_when_denied.fits_in(role.use())) return;
  role.is_relieved = true;
  relieved_.push_back(&role);
}

void RoleTree::note_denied(Role& role, Leaf& leaf) {
  // Whoever was denied at a higher use may be allowed something below that.
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
  // Others may use again what some gave up.
  std::erase_if(all, [](const Role* role) { return role->use_when_denied.fits_in(role->use()); });
  return all;
}

// Its share has changed, not what it is among its siblings.
void RoleTree::stay(Node& node, int order) {
  const Place place = node.standing[order].place;
  if (place == Place::kNone) return;
  Children& among = node.parent->children[order];
  if (place == Place::kSaturated) return among.saturated.insert(node);
  among.demanding.update(node);
  scale(node, among, order);
}

void RoleTree::set_wishes(Leaf& leaf, bool wants, const InOrders& in_order) {
  const bool turns = wants != leaf.wants;
  if (!turns && in_order == leaf.in_order) return;
  for (int order = 0; order < orders(); ++order) {
    if (turns || in_order[order] != leaf.in_order[order]) lift(leaf, order);
  }
  if (turns) {
    for (Node* node = &leaf; node != nullptr; node = node->parent) node->wanting += wants ? 1 : -1;
    leaf.wants = wants;
  }
  for (int order = 0; order < orders(); ++order) {
    if (!turns && in_order[order] == leaf.in_order[order]) continue;
    if (leaf.mode == OfferMode::kAsks) asking_[order] += in_order[order] - leaf.in_order[order];
    leaf.in_order[order] = in_order[order];
    place(leaf, order);
  }
}

void RoleTree::lift(Leaf& leaf, int order) {
  for (Node* node = &leaf; node->parent != nullptr; node = node->parent) take_out(*node, order);
}

void RoleTree::place(Leaf& leaf, int order) {
  for (Node* node = &leaf; node->parent != nullptr; node = node->parent) {
    compute(*node, order);
    put_in(*node, order);
  }
  if (!root_.promised.empty()) place_promise(leaf.role, order);
}

void RoleTree::rebuild(const ResourceVector& total) {
  total_ = total;
  for (int order = 0; order < kOrders; ++order) {
    root_.children[order] = Children(order);
    for (const auto& [name, role] : roles_) role->children[order] = Children(order);
  }
  for (const auto& [name, role] : roles_) {
    role->weight = role->settings.weight;
    role->plain = dominant_share(role->use(), total_, role->weight);
    for (const auto& [id, leaf] : role->leaves) {
      leaf->plain = dominant_share(leaf->use(), total_, leaf->weight);
    }
  }
  for (int order = 0; order < orders(); ++order) place_below(root_, order);
}

void RoleTree::place_below(Role& role, int order) {
  for_each_child(role, [&](Node& child) {
    if (!child.is_leaf) place_below(static_cast<Role&>(child), order);
    child.standing[order].place = Place::kNone;
    compute(child, order);
    put_in(child, order);
  });
}

// --- one node among its siblings ----------------------------------------------------------------

void RoleTree::take_out(Node& node, int order) {
  Standing& standing = node.standing[order];
  if (standing.place == Place::kNone) return;
  Children& among = node.parent->children[order];
  if (standing.place == Place::kSaturated) {
    among.saturated.erase(node);
  } else {
    unscale(node, among, order);
    among.demanding.erase(node);
  }
  standing.place = Place::kNone;
}

void RoleTree::put_in(Node& node, int order) {
  Standing& standing = node.standing[order];
  Children& among = node.parent->children[order];
  const bool is_demanding = node.is_leaf
                                ? static_cast<Leaf&>(node).in_order[order]
                                : !static_cast<Role&>(node).children[order].demanding.empty();
  if (is_demanding) {
    standing.place = Place::kDemanding;
    among.demanding.insert(node);
    scale(node, among, order);
  } else if (node.wanting > 0 && node.parent->parent != nullptr &&
             children_count(*node.parent) > 1) {
    standing.place = Place::kSaturated;
    among.saturated.insert(node);
  }
}

// A role that had one child has two: now it matters whether that is saturated.
void RoleTree::note_siblings(Role& role) {
  if (children_count(role) != 2) return;
  for (int order = 0; order < orders(); ++order) {
    for_each_child(role, [&](Node& child) {
      if (child.standing[order].place == Place::kNone) put_in(child, order);
    });
  }
}

void RoleTree::scale(Node& node, Children& among, int order) {
  if (node.parent->parent == nullptr) return;
  Standing& standing = node.standing[order];
  among.use += node.use();
  if (!standing.exact) ++among.inexact;
  if (!among.summed) return;
  standing.per_share = per_share(node, order);
  for (size_t k = 0; k < kResourceKindCount; ++k) among.per_share[k] += standing.per_share[k];
}

void RoleTree::unscale(Node& node, Children& among, int order) {
  if (node.parent->parent == nullptr) return;
  const Standing& standing = node.standing[order];
  among.use -= node.use();
  if (!standing.exact) --among.inexact;
  if (!among.summed) return;
  for (size_t k = 0; k < kResourceKindCount; ++k) among.per_share[k] -= standing.per_share[k];
  if (among.demanding.size() <= 2) {  // With the node, which is about to leave.
    among.summed = false;
    among.per_share = {};
  }
}

Parts RoleTree::parts_of(const ResourceVector& amounts) const {
  Parts parts = {};
  for (const ResourceKind kind : kResourceKinds) {
    if (total_[kind] <= 0 || amounts[kind] <= 0) continue;
    parts[static_cast<size_t>(kind)] =
        divided_up(Uint128(amounts[kind]) * Uint128(kPartsWhole), Uint128(total_[kind]), kPartsMax);
  }
  return parts;
}

Parts RoleTree::per_share(const Node& node, int order) const {
  const Standing& standing = node.standing[order];
  const Parts parts = standing.exact ? parts_of(node.use()) : standing.parts;
  const int64_t most = *std::max_element(parts.begin(), parts.end());
  Parts found = {};
  for (size_t k = 0; k < kResourceKindCount; ++k) {
    if (parts[k] == 0) continue;
    found[k] = divided_up(Uint128(parts[k]) * Uint128(node.weight) * Uint128(kPerShareWhole),
                          Uint128(most), kPartsMax);
  }
  return found;
}

void RoleTree::compute(Node& node, int order) {
  if (!node.is_leaf && !plain_shares_) {
    Role& role = static_cast<Role&>(node);
    Children& children = role.children[order];
    const bool is_scaled = children.demanding.size() > 1 ||
                           (!children.demanding.empty() && scales_saturated(role, order));
    if (is_scaled && !children.summed) {
      children.summed = true;
      children.per_share = {};
      for (Node* child : children.demanding) {
        Standing& standing = child->standing[order];
        standing.per_share = per_share(*child, order);
        for (size_t k = 0; k < kResourceKindCount; ++k) {
          children.per_share[k] += standing.per_share[k];
        }
      }
    }
  }
  Standing& standing = node.standing[order];
  standing.share = node.plain;
  standing.exact = true;
  if (is_plain(node, order)) return;
  const Standing computed = standing_of(node, order);
  standing.exact = computed.exact;
  standing.parts = computed.parts;
  standing.share = computed.share;
}

// Whether nothing below it is scaled.
bool RoleTree::is_plain(const Node& node, int order) const {
  if (node.is_leaf || plain_shares_) return true;
  const Children& children = static_cast<const Role&>(node).children[order];
  if (children.demanding.empty()) return true;
  if (children.inexact > 0) return false;
  if (scales_saturated(static_cast<const Role&>(node), order)) return false;
  if (children.demanding.size() == 1) return true;
  return least_above_zero(children, order) ==
         (*std::prev(children.demanding.end()))->standing[order].share;
}

Standing RoleTree::standing_of(const Node& node, int order) const {
  Standing found;
  found.share = dominant_share(node.use(), total_, node.weight);
  if (is_plain(node, order)) return found;

  const Children& children = static_cast<const Role&>(node).children[order];
  const Share& least = least_above_zero(children, order);
  found.exact = false;
  // Saturated children with a share above M are scaled, the others are not.
  const ScaledSums above =
      children.saturated.above(least, [&](const Node& child) { return per_share(child, order); });
  found.parts = parts_of(node.use() - children.use - above.use);  // What is not scaled.
  const int64_t m = least.parts(kPartsWhole);
  const bool is_one = children.demanding.size() == 1 && above.count == 0;
  for (size_t k = 0; k < kResourceKindCount; ++k) {
    const int64_t scaled =
        is_one ? (*children.demanding.begin())->standing[order].parts[k]
               : divided_up(Uint128(m) * Uint128(children.per_share[k] + above.per_share[k]),
                            Uint128(kPerShareWhole) * Uint128(kWeightOne), kPartsMax);
    found.parts[k] = std::min(found.parts[k] + scaled, kPartsMax);
  }
  const int64_t most = *std::max_element(found.parts.begin(), found.parts.end());
  found.share = Share::of(most, kPartsWhole, node.weight);
  return found;
}

bool scales_saturated(const Role& role, int order) {
  const Children& children = role.children[order];
  if (children.demanding.empty() || children.saturated.empty()) return false;
  return children.saturated.any_above(least_above_zero(children, order));
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

Rank rank_of(const Leaf& leaf, const LeafOrder& order) {
  size_t depth = 0;
  for (const Node* node = &leaf; node->parent != nullptr; node = node->parent) ++depth;
  Rank rank(depth);
  for (const Node* node = &leaf; node->parent != nullptr; node = node->parent) {
    rank[--depth] = node->standing[order.number()].share;
  }
  return rank;
}

}  // namespace proffer::fair
