// H-DRF, one task at a time. Read next() first: it measures the whole tree from the leaves up, and
// walks down to the next leaf.

#include "tests/oracle/tree.h"

#include <algorithm>

#include "common/check.h"

namespace proffer::ideal {
namespace {

Fraction weight_of(const Node& node) { return Fraction::of(node.weight, kWeightOne); }

Fraction largest(const std::array<Fraction, kResourceKindCount>& parts) {
  Fraction most;
  for (const Fraction& part : parts) {
    if (!part.is_exact()) return Fraction::inexact();
    most = std::max(most, part);
  }
  return most;
}

bool takes_of(const Quota& quota, const ResourceVector& task) {
  return std::any_of(kResourceKinds.begin(), kResourceKinds.end(),
                     [&](ResourceKind kind) { return quota[kind] && task[kind] > 0; });
}

// The used fraction of the guarantee, in the kind in which it is largest.
Fraction filled(const Quota& guarantee, const ResourceVector& use) {
  Fraction most;
  for (const ResourceKind kind : kResourceKinds) {
    const std::optional<int64_t> named = guarantee[kind];
    if (named && *named > 0) most = std::max(most, Fraction::of(use[kind], *named));
  }
  return most;
}

}  // namespace

// --- the tree -----------------------------------------------------------------------------------

Tree::Tree(const ResourceVector& pool, const Node& root, Sharing sharing)
    : pool_(pool), sharing_(sharing), free_(pool) {
  for (const ResourceKind kind : kResourceKinds) {
    CHECK(pool[kind] >= 0 && pool[kind] <= kAmountMax) << pool[kind];
  }
  add(root, std::nullopt);
}

void Tree::add(const Node& node, std::optional<size_t> parent) {
  CHECK(node.weight >= kWeightMin && node.weight <= kWeightMax) << node.weight;
  CHECK(node.children.empty() || node.task.is_zero()) << node.name << " has tasks and children";
  for (const ResourceKind kind : kResourceKinds) {
    CHECK(node.task[kind] >= 0 && node.task[kind] <= kAmountMax) << node.task[kind];
  }
  const size_t id = nodes_.size();
  Entry entry;
  entry.node = node;
  entry.node.children.clear();
  entry.parent = parent;
  nodes_.push_back(std::move(entry));
  if (parent) nodes_[*parent].children.push_back(id);
  if (node.children.empty()) leaves_.push_back(id);
  for (const Node& child : node.children) add(child, id);
}

size_t Tree::find(std::string_view path_wanted) const {
  for (size_t i = 0; i < nodes_.size(); ++i) {
    if (path(i) == path_wanted) return i;
  }
  CHECK(false) << "no node " << path_wanted;
  return 0;
}

std::string Tree::path(size_t node) const {
  if (!nodes_[node].parent) return "";
  const std::string above = path(*nodes_[node].parent);
  return above.empty() ? nodes_[node].node.name : above + "/" + nodes_[node].node.name;
}

bool Tree::is_within(size_t node, size_t ancestor) const {
  for (std::optional<size_t> at = node; at; at = nodes_[*at].parent) {
    if (*at == ancestor) return true;
  }
  return false;
}

void Tree::give(size_t leaf, int64_t tasks) {
  CHECK(nodes_[leaf].children.empty());
  const ResourceVector all = nodes_[leaf].node.task * tasks;
  CHECK(all.fits_in(free_)) << path(leaf);
  free_ -= all;
  nodes_[leaf].tasks += tasks;
  ++gifts_;
  for (std::optional<size_t> at = leaf; at; at = nodes_[*at].parent) {
    nodes_[*at].use += all;
    nodes_[*at].served = gifts_;
  }
}

// Whether `a` was served longer ago than `b`, if their shares are equal.
bool Tree::was_served_before(size_t a, size_t b) const {
  return nodes_[a].served < nodes_[b].served;
}

void Tree::end(size_t leaf, int64_t tasks) {
  CHECK_GE(nodes_[leaf].tasks, tasks) << path(leaf);
  const ResourceVector all = nodes_[leaf].node.task * tasks;
  free_ += all;
  nodes_[leaf].tasks -= tasks;
  for (std::optional<size_t> at = leaf; at; at = nodes_[*at].parent) nodes_[*at].use -= all;
}

void Tree::set_count(size_t leaf, std::optional<int64_t> count) { nodes_[leaf].node.count = count; }

bool Tree::wants(size_t leaf) const {
  const Entry& entry = nodes_[leaf];
  return entry.children.empty() && !entry.node.task.is_zero() &&
         (!entry.node.count || entry.tasks < *entry.node.count);
}

bool Tree::may_run(size_t leaf) const {
  const ResourceVector& task = nodes_[leaf].node.task;
  if (!task.fits_in(free_)) return false;
  for (std::optional<size_t> at = leaf; at; at = nodes_[*at].parent) {
    if (!nodes_[*at].node.limit.contains(nodes_[*at].use + task)) return false;
  }
  return true;
}

// --- shares -------------------------------------------------------------------------------------

Tree::Parts Tree::parts_of(const ResourceVector& amounts) const {
  Parts parts;
  for (const ResourceKind kind : kResourceKinds) {
    if (pool_[kind] == 0) continue;  // a kind that the pool lacks does not count
    parts[static_cast<size_t>(kind)] = Fraction::of(amounts[kind], pool_[kind]);
  }
  return parts;
}

// Measures all nodes, children before their parents: children have larger numbers.
std::vector<Tree::Measure> Tree::measure() const {
  std::vector<Measure> measures(nodes_.size());
  for (size_t i = nodes_.size(); i-- > 0;) {
    const Entry& entry = nodes_[i];
    Measure& mine = measures[i];
    if (entry.children.empty()) {
      mine.parts = parts_of(entry.use);
      if (wants(i)) mine.standing = may_run(i) ? Standing::kDemanding : Standing::kSaturated;
    } else {
      std::optional<Fraction> least;  // M: the least above zero among children with demand
      for (const size_t child : entry.children) {
        const Measure& theirs = measures[child];
        mine.standing = std::max(mine.standing, theirs.standing);
        if (theirs.standing != Standing::kDemanding || !theirs.share.is_exact()) continue;
        if (!least) least = Fraction(0);
        if (theirs.share.is_zero()) continue;
        least = least->is_zero() ? theirs.share : std::min(*least, theirs.share);
      }
      for (const size_t child : entry.children) {
        const Measure& theirs = measures[child];
        if (!theirs.share.is_exact()) {
          mine.parts.fill(Fraction::inexact());
          break;
        }
        Fraction scale = 1;
        if (least && !theirs.share.is_zero()) {
          const Fraction to_least = *least / theirs.share;
          const bool scales = sharing_ != Sharing::kPlain && sharing_ != Sharing::kFlat;
          if (theirs.standing == Standing::kDemanding && scales) scale = to_least;
          if (theirs.standing == Standing::kSaturated) {
            if (sharing_ == Sharing::kHierarchical && to_least < scale) scale = to_least;
            if (sharing_ == Sharing::kSaturatedIgnored) scale = 0;
          }
        }
        for (size_t k = 0; k < kResourceKindCount; ++k) mine.parts[k] += theirs.parts[k] * scale;
      }
    }
    mine.share = largest(mine.parts) / weight_of(entry.node);
    if (!mine.share.is_exact()) exact_ = false;
  }
  return measures;
}

Standing Tree::standing(size_t node) const { return measure()[node].standing; }
Fraction Tree::share(size_t node) const { return measure()[node].share; }
Fraction Tree::dominant_share(size_t node) const { return largest(parts_of(nodes_[node].use)); }

// --- the next leaf ------------------------------------------------------------------------------

std::optional<size_t> Tree::next() const {
  const std::vector<Measure> measures = measure();
  if (!exact_ || measures[0].standing != Standing::kDemanding) return std::nullopt;
  if (sharing_ == Sharing::kFlat) return least_flat(measures);
  return next_below(0, false, {}, measures);
}

// Whether a leaf below the node could get a task that is within all these guarantees.
bool Tree::has_use(size_t node, const std::vector<size_t>& within,
                   const std::vector<Measure>& measures) const {
  return std::any_of(leaves_.begin(), leaves_.end(), [&](size_t leaf) {
    const ResourceVector& task = nodes_[leaf].node.task;
    return is_within(leaf, node) && measures[leaf].standing == Standing::kDemanding &&
           std::all_of(within.begin(), within.end(), [&](size_t promised) {
             const Entry& entry = nodes_[promised];
             return takes_of(entry.node.guarantee, task) &&
                    entry.node.guarantee.contains(entry.use + task);
           });
  });
}

// The used fraction of the node's guarantee, or of the least filled guarantee below it if it has
// none; empty if no guarantee can be used.
std::optional<Fraction> Tree::promise(size_t node, std::vector<size_t> within,
                                      const std::vector<Measure>& measures) const {
  if (!nodes_[node].node.guarantee.empty()) {
    within.push_back(node);
    if (!has_use(node, within, measures)) return std::nullopt;
    return filled(nodes_[node].node.guarantee, nodes_[node].use);
  }
  std::optional<Fraction> least;
  for (const size_t child : nodes_[node].children) {
    const std::optional<Fraction> below = promise(child, within, measures);
    if (below && (!least || *below < *least)) least = below;
  }
  return least;
}

// `within`: the guarantees on the path from the root that give the turn. `promised`: a guarantee is
// below, and only leaves below it have the turn.
size_t Tree::next_below(size_t from, bool promised, std::vector<size_t> within,
                        const std::vector<Measure>& measures) const {
  if (nodes_[from].children.empty()) return from;
  std::optional<size_t> next;
  std::optional<Fraction> least_filled;
  for (const size_t child : nodes_[from].children) {
    const std::optional<Fraction> mine = promise(child, within, measures);
    if (!mine) continue;
    if (next &&
        (*mine > *least_filled || (*mine == *least_filled && !was_served_before(child, *next)))) {
      continue;
    }
    least_filled = mine;
    next = child;
  }
  if (next) {
    const bool has_own = !nodes_[*next].node.guarantee.empty();
    if (has_own) within.push_back(*next);
    return next_below(*next, !has_own, std::move(within), measures);
  }
  CHECK(!promised);
  for (const size_t child : nodes_[from].children) {
    if (!has_use(child, within, measures)) continue;
    const bool is_less =
        !next || measures[child].share < measures[*next].share ||
        (measures[child].share == measures[*next].share && was_served_before(child, *next));
    if (is_less) next = child;
  }
  CHECK(next.has_value());
  return next_below(*next, false, std::move(within), measures);
}

// A leaf's weight is its part of its parent's weight, and so on up to the root.
size_t Tree::least_flat(const std::vector<Measure>& measures) const {
  std::optional<size_t> least;
  Fraction least_share;
  for (const size_t leaf : leaves_) {
    if (measures[leaf].standing != Standing::kDemanding) continue;
    Fraction weight = 1;
    for (size_t at = leaf; nodes_[at].parent; at = *nodes_[at].parent) {
      int64_t together = 0;
      for (const size_t child : nodes_[*nodes_[at].parent].children) {
        together += nodes_[child].node.weight;
      }
      weight = weight * Fraction::of(nodes_[at].node.weight, together);
    }
    const Fraction share = dominant_share(leaf) / weight;
    if (least && share >= least_share) continue;
    least = leaf;
    least_share = share;
  }
  CHECK(least.has_value());
  return *least;
}

bool Tree::give_next() {
  const std::optional<size_t> leaf = next();
  if (leaf) give(*leaf);
  return leaf.has_value();
}

int64_t Tree::fill() {
  int64_t given = 0;
  while (give_next()) ++given;
  return given;
}

// --- entitlements -------------------------------------------------------------------------------

std::vector<Fraction> split(const Fraction& whole, const std::vector<Claim>& claims) {
  std::vector<Fraction> parts(claims.size());
  Fraction floors;
  for (const Claim& claim : claims) floors += claim.floor;
  const bool too_much = floors > whole;
  // The water level at which the parts add up to the whole, or at which all have enough. The sum is
  // linear between two levels at which a claim enters or leaves the water.
  const auto part_at = [&](const Claim& claim, const Fraction& level) {
    const Fraction floor = too_much ? Fraction(0) : claim.floor;
    const Fraction ceiling = too_much ? claim.floor : std::max(claim.floor, claim.ceiling);
    return std::max(floor, std::min(ceiling, level * claim.weight));
  };
  const auto sum_at = [&](const Fraction& level) {
    Fraction sum;
    for (const Claim& claim : claims) sum += part_at(claim, level);
    return sum;
  };
  std::vector<Fraction> corners = {0};
  for (const Claim& claim : claims) {
    corners.push_back(claim.floor / claim.weight);
    corners.push_back(std::max(claim.floor, claim.ceiling) / claim.weight);
  }
  std::sort(corners.begin(), corners.end());
  Fraction level = corners.back();
  for (size_t i = 1; i < corners.size(); ++i) {
    const Fraction low = sum_at(corners[i - 1]);
    const Fraction high = sum_at(corners[i]);
    if (high < whole) continue;
    level = corners[i];
    if (high > low) {
      level = corners[i - 1] + (whole - low) * (corners[i] - corners[i - 1]) / (high - low);
    }
    break;
  }
  for (size_t i = 0; i < claims.size(); ++i) parts[i] = part_at(claims[i], level);
  return parts;
}

std::vector<Fraction> Tree::entitlements() const {
  const auto clipped = [](ResourceVector amounts, const Quota& by) {
    for (const ResourceKind kind : kResourceKinds) {
      const std::optional<int64_t> most = by[kind];
      if (most) amounts[kind] = std::min(amounts[kind], *most);
    }
    return amounts;
  };
  const auto only_named = [](ResourceVector amounts, const Quota& by) {
    for (const ResourceKind kind : kResourceKinds) {
      if (!by[kind]) amounts[kind] = 0;
    }
    return amounts;
  };
  // The usable demand of each node: at most the pool, and at most its limit.
  std::vector<ResourceVector> demands(nodes_.size());
  for (size_t i = nodes_.size(); i-- > 0;) {
    const Entry& entry = nodes_[i];
    if (entry.children.empty()) {
      demands[i] = entry.use;
      for (const ResourceKind kind : kResourceKinds) {
        if (!wants(i) || entry.node.task[kind] == 0) continue;
        const int64_t fit = pool_[kind] / entry.node.task[kind] + 1;
        const int64_t tasks = std::min(entry.node.count.value_or(fit), fit);
        demands[i][kind] = std::max(entry.use[kind], tasks * entry.node.task[kind]);
      }
    } else {
      for (const size_t child : entry.children) demands[i] += demands[child];
    }
    demands[i] = clipped(demands[i].min(pool_), entry.node.limit);
  }
  std::vector<Fraction> levels(nodes_.size());
  levels[0] = 1;
  for (size_t i = 0; i < nodes_.size(); ++i) {
    std::vector<Claim> claims;
    for (const size_t child : nodes_[i].children) {
      const Node& node = nodes_[child].node;
      const ResourceVector floor =
          clipped(only_named(demands[child], node.guarantee), node.guarantee);
      claims.push_back({.weight = node.weight,
                        .floor = largest(parts_of(floor)),
                        .ceiling = largest(parts_of(demands[child]))});
    }
    const std::vector<Fraction> parts = split(levels[i], claims);
    for (size_t c = 0; c < parts.size(); ++c) levels[nodes_[i].children[c]] = parts[c];
  }
  return levels;
}

}  // namespace proffer::ideal
