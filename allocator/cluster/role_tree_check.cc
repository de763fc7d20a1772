// The tree from the ground up, for violations() alone.

#include "allocator/cluster/leaves.h"
#include "common/text.h"

namespace proffer::fair {

std::vector<std::string> RoleTree::broken() const {
  std::vector<std::string> found;
  const auto check = [&](const Role& role) {
    const auto wrong = [&](const std::string& what) {
      found.push_back(text("role ", quoted(role.name.str()), ": ", what));
    };
    ResourceVector allocated;
    ResourceVector offered;
    int64_t wanting = 0;
    for_each_child(role, [&](const Node& child) {
      allocated += child.allocated;
      offered += child.offered;
      wanting += child.wanting;
      if (child.parent != &role) wrong("a child has another parent");
    });
    if (!(allocated == role.allocated)) wrong("allocated is not the sum of its children's");
    if (!(offered == role.offered)) wrong("offered is not the sum of its children's");
    if (wanting != role.wanting) wrong("miscounts who wants offers");
    for (int order = 0; order < orders(); ++order) {
      for (const std::string& what : broken_order(role, order)) wrong(what);
    }
    if (&role != &root_ && role.roles.empty() && role.leaves.empty() &&
        role.settings == RoleSettings()) {
      wrong("nobody needs it");
    }
  };
  check(root_);
  for (const auto& [name, role] : roles_) check(*role);
  return found;
}

std::vector<std::string> RoleTree::broken_order(const Role& role, int order) const {
  std::vector<std::string> found;
  const Children& children = role.children[order];
  const bool is_root = role.parent == nullptr;
  int64_t inexact = 0;
  ResourceVector use;
  Parts per = {};
  for_each_child(role, [&](const Node& child) {
    const Standing& standing = child.standing[order];
    const bool is_demanding =
        child.is_leaf ? static_cast<const Leaf&>(child).in_order[order]
                      : !static_cast<const Role&>(child).children[order].demanding.empty();
    const bool is_demanded = children.demanding.contains(child);
    const bool is_saturated = children.saturated.count(child) > 0;
    if (is_demanding != is_demanded) found.push_back("a child is wrongly demanding, or not");
    const bool has_siblings = role.roles.size() + role.leaves.size() > 1;
    if (!is_root && has_siblings && (child.wanting > 0 && !is_demanding) != is_saturated) {
      found.push_back("a child is wrongly saturated, or not");
    }
    const Standing right = standing_of(child, order);
    if (!(right.share == standing.share) || right.exact != standing.exact) {
      found.push_back(text("the share of ", *child.label, " is wrong"));
    }
    if (is_root || !is_demanded) return;
    if (!standing.exact) ++inexact;
    use += child.use();
    const Parts its = per_share(child, order);
    for (size_t k = 0; k < kResourceKindCount; ++k) per[k] += its[k];
  });
  const std::optional<PromiseTurn> turn = promise_turn_of(role, order);
  if (turn != role.promise_turn[order]) found.push_back("has the wrong turn among guarantees");
  if (!is_root && role.parent->promise_turns[order].size() > role.parent->promised.size()) {
    found.push_back("has a turn among guarantees that nobody has");
  }
  if (is_root) return found;
  if (inexact != children.inexact || !(use == children.use)) {
    found.push_back("miscounts who is scaled");
  }
  if (children.summed && per != children.per_share) found.push_back("its sum is wrong");
  return found;
}

}  // namespace proffer::fair
