// The tree from the ground up, for violations() alone.

#include <algorithm>

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
    for (int order = 0; order < kOrders; ++order) {
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
  const NodeSet& nodes = role.in_orders[order];
  if (!std::is_sorted(nodes.begin(), nodes.end(), NodeByShare())) {
    found.push_back("its children are not in the order of their shares");
  }
  size_t in_order = 0;
  for_each_child(role, [&](const Node& child) {
    if (!child.is_leaf) {
      const bool some_are = !static_cast<const Role&>(child).in_orders[order].empty();
      if (child.in_order[order] != some_are)
        found.push_back("a role is wrongly in an order, or not");
    }
    if (!(child.share == dominant_share(child.use(), total_, child.weight))) {
      found.push_back(text("the share of ", *child.label, " is wrong"));
    }
    if (!child.in_order[order]) return;
    ++in_order;
    if (*child.element[order] != &child) found.push_back("a child is not where it is noted to be");
  });
  if (promise_turn_of(role, order) != role.promise_turn[order]) {
    found.push_back("has the wrong turn among guarantees");
  }
  const bool is_below = role.has_guarantee() && role.promise_turn[0].has_value();
  if (is_below != (below_guarantee_.count(const_cast<Role*>(&role)) > 0)) {
    found.push_back("is wrongly below its guarantee, or not");
  }
  if (role.promise_turns[order].size() > role.promised.size()) {
    found.push_back("has a turn among guarantees that nobody has");
  }
  if (in_order != nodes.size()) found.push_back("miscounts who is in an order");
  return found;
}

}  // namespace proffer::fair
