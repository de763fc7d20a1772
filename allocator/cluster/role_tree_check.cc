// Recomputes the tree from scratch, only for violations().

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
    if (wanting != role.wanting) wrong("its count of nodes that want offers is wrong");
    for (int order = 0; order < kOrders; ++order) {
      for (const std::string& what : broken_order(role, order)) wrong(what);
    }
    if (&role != &root_ && role.roles.empty() && role.leaves.empty() &&
        role.settings == RoleSettings()) {
      wrong("it is not needed");
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
        found.push_back("a role is in an order where it should not be, or is missing");
    }
    if (!(child.share == dominant_share(child.use(), total_, child.weight))) {
      found.push_back(text("the share of ", *child.label, " is wrong"));
    }
    if (!child.in_order[order]) return;
    ++in_order;
    if (*child.element[order] != &child) found.push_back("a child is not at its recorded place");
  });
  if (promise_turn_of(role, order) != role.promise_turn[order]) {
    found.push_back("has the wrong place among guarantees");
  }
  const bool is_below = role.has_guarantee() && role.promise_turn[0].has_value();
  if (is_below != (below_guarantee_.count(const_cast<Role*>(&role)) > 0)) {
    found.push_back("its state \"below its guarantee\" is wrong");
  }
  if (role.promise_turns[order].size() > role.promised.size()) {
    found.push_back("has a place among guarantees, but no guarantee");
  }
  if (in_order != nodes.size()) found.push_back("its count of nodes in an order is wrong");
  return found;
}

}  // namespace proffer::fair
