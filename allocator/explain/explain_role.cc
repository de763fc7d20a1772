// Explains why a role gets no more. Begin with explain_role(); held_by() is the rule for one unmet
// ask. Like status.cc it uses only the books and changes nothing.

#include <algorithm>
#include <tuple>

#include "allocator/explain/explainer.h"
#include "allocator/explain/status.h"
#include "allocator/rules/denial.h"
#include "allocator/rules/fit.h"
#include "allocator/rules/placement.h"
#include "common/standing.h"

namespace proffer::fair {
namespace {

// The maximum number of asks of a role for which a reclaim is planned.
constexpr int kOutlooksMax = 16;

NodeStanding standing_of(const Node& node, Time now) {
  return {.name = *node.label,
          .is_framework = node.is_leaf,
          .wants = node.wanting > 0,
          .use = node.use(),
          .entitlement = node.entitlement,
          .borrowed = borrowed(node),
          .place_share_millionths = node.share.millionths(),
          .lag = node.is_leaf ? static_cast<const Leaf&>(node).lag.at(now)
                              : lag_of(static_cast<const Role&>(node), now).now};
}

std::string words_of(const ReclaimOutlook& outlook) {
  using Why = ReclaimOutlook::Why;
  switch (outlook.why) {
    case Why::kNothingWanted:
    case Why::kUnderWay:
      return "";
    case Why::kOff:
      return "nothing is reclaimed (--reclaim=off)";
    case Why::kRefused:
      return "it did not use resources that were reclaimed for it before";
    case Why::kTasksUnknown:
      return "the new master does not know all running tasks yet";
    case Why::kNoRight:
      return "no guarantee covers the ask";
    case Why::kNobodyBorrows:
      return "no others have borrowed what it needs";
    case Why::kWouldNotFit:
      return "it would fit on no agent even if all possible victims ended";
    case Why::kTooEarly:
      return "it had its fair share a short while ago, and tasks of others may end by themselves";
    case Why::kTooYoung:
      return "the possible victims are younger than the minimum runtime";
    case Why::kCap:
      return "the maximum number of tasks was preempted within the last minute";
  }
  return "";
}

// Whether the node uses less than its entitlement of some kind that the ask needs.
bool is_below_entitlement(const Node& node, ResourceKind kind, const ResourceVector& shape) {
  return shape[kind] > 0 && node.use()[kind] + shape[kind] <= node.entitlement[kind];
}
bool is_below_entitlement(const Node& node, const ResourceVector& shape) {
  return std::any_of(kResourceKinds.begin(), kResourceKinds.end(),
                     [&](ResourceKind kind) { return is_below_entitlement(node, kind, shape); });
}
// Whether others have also borrowed that kind; `lent` is the sum of borrowed amounts.
bool is_lent(const Node& node, const ResourceVector& shape, const ResourceVector& lent) {
  return std::any_of(kResourceKinds.begin(), kResourceKinds.end(), [&](ResourceKind kind) {
    return lent[kind] > 0 && is_below_entitlement(node, kind, shape);
  });
}

}  // namespace

std::optional<RoleExplanation> Explainer::explain_role(const RoleName& name) const {
  const Role* const role = cluster_.tree.find(name);
  if (role == nullptr || role->parent == nullptr) return std::nullopt;
  cluster_.know_shares();
  know_entitlements(cluster_);
  const ResourceVector total = cluster_.total_now();
  const ResourceVector use = role->use();
  const LagStatus lag = lag_of(*role, now_);
  RoleExplanation found{.role = name,
                        .settings = role->settings,
                        .total = total,
                        .allocated = role->allocated,
                        .offered = role->offered,
                        .entitlement = role->entitlement,
                        .borrowed = borrowed(*role),
                        .dominant_kind = dominant_kind(use, total),
                        .share_millionths = dominant_share(use, total).millionths(),
                        .place_share_millionths = role->share.millionths(),
                        .lag = lag.now,
                        .lag_most = lag.most,
                        .guarantee_met = is_guarantee_met(cluster_, *role),
                        .headroom = unmet_guarantee(cluster_, *role),
                        .headroom_is_held = cluster_.options.reclaim == ReclaimMode::kOff};
  for (const Node* sibling : cluster_.demanding.nodes(*role->parent)) {
    ++found.with_demand;
    if (found.place > 0) continue;
    if (sibling == role) {
      found.place = found.with_demand;
    } else if (found.before.size() < kNamesExplainedMax) {
      found.before.push_back(standing_of(*sibling, now_));
    }
  }
  if (found.place == 0) found.before.clear();
  for (const Role* above = role; above->parent != nullptr; above = above->parent) {
    if (!above->has_limit()) continue;
    found.limits.push_back({above->name, above->settings.limit, above->use()});
  }
  explain_children(*role, found);
  explain_held(*role, found);
  return found;
}

// Children with demand in their order, then the others by name.
void Explainer::explain_children(const Role& role, RoleExplanation& found) const {
  const auto add = [&](const Node& child) {
    ++found.children_all;
    if (found.children.size() < kNodesExplainedMax)
      found.children.push_back(standing_of(child, now_));
  };
  const NodeSet& first = cluster_.demanding.nodes(role);
  for (const Node* child : first) add(*child);
  for_each_child(role, [&](Node& child) {
    if (first.count(&child) == 0) add(child);
  });
}

void Explainer::explain_held(const Role& role, RoleExplanation& found) const {
  std::map<std::tuple<RoleHindrance, RoleName, std::optional<ResourceKind>>, HeldAsks> sums;
  int outlooks = kOutlooksMax;
  bool some_lent = false;
  ResourceVector lent;  // the sum over all borrowers
  for_each_leaf(cluster_.tree.root(), [&](const Leaf& l) { lent += borrowed(l); });
  for_each_leaf(role, [&](const Leaf& l) {
    for (const AskEntry* ask : l.order) {
      if (ask->unmet() == 0) continue;
      ++found.asks_unmet;
      HeldAsks one = held_by(*ask, outlooks);
      // If the plan has no victims, the role's unused entitlement may have other causes: it is free
      // and fragmented, or reserved, or no agent could ever fit the ask.
      if (one.why == RoleHindrance::kLent && !one.until &&
          (!is_lent(l, ask->at_once(), lent) || !could_ever_be_met(cluster_, *ask, false))) {
        one.why = RoleHindrance::kTooLittle;
        one.back.clear();
      }
      if (one.why == RoleHindrance::kTooLittle && could_ever_be_met(cluster_, *ask, false)) {
        one.rivals = owed_before(*ask);
        if (!one.rivals.empty()) one.why = RoleHindrance::kOwed;
      }
      note_coming(*ask, found);
      some_lent = some_lent || one.why == RoleHindrance::kLent;
      const auto [at, is_new] = sums.try_emplace({one.why, one.role, one.kind}, one);
      if (is_new) continue;
      at->second.asks += one.asks;
      at->second.tasks += one.tasks;
      at->second.lag = std::max(at->second.lag, one.lag);
      if (at->second.rivals.empty()) at->second.rivals = one.rivals;
      if (one.until) at->second.until = std::max(at->second.until.value_or(*one.until), *one.until);
    }
  });
  for (auto& [key, sum] : sums) found.held.push_back(std::move(sum));
  std::stable_sort(found.held.begin(), found.held.end(),
                   [](const HeldAsks& a, const HeldAsks& b) { return a.tasks > b.tasks; });
  if (some_lent) explain_borrowers(role, found);
}

HeldAsks Explainer::held_by(const AskEntry& ask, int& outlooks) const {
  const Leaf& l = *ask.leaf;
  HeldAsks held{.asks = 1,
                .tasks = ask.unmet(),
                .lag = ask.lag.at(now_),
                .framework = l.framework,
                .ask = ask.ask.name};
  if (!l.wants_offers()) {
    held.why = RoleHindrance::kNoOffers;
    return held;
  }
  if (const Denial denied = denial(cluster_, ask); !denied.is_none()) {
    if (denied.role != nullptr) held.role = denied.role->name;
    switch (denied.why) {
      case Denial::Why::kTasksUnknown:
        held.why = RoleHindrance::kTasksUnknown;
        return held;
      case Denial::Why::kLimit:
        held.why = RoleHindrance::kLimit;
        held.rivals = kept_for(*denied.role, &ask, denied.kind);
        break;
      case Denial::Why::kGuarantees:
        held.why = RoleHindrance::kGuarantees;
        break;
      default:
        held.why = RoleHindrance::kEntitlement;
        held.rivals = others_entitled(cluster_, *denied.role, denied.kind);
    }
    held.kind = denied.kind;
    held.wanted = ask.at_once()[denied.kind];
    held.left = denied.left;
    return held;
  }
  if (!waiting_.reclaims.agents_of(ask).empty()) {
    const ReclaimOutlook outlook = reclaim_outlook(l.framework, ask.ask.name);
    held.why = outlook.victims > 0 ? RoleHindrance::kComing : RoleHindrance::kSetAside;
    held.until = outlook.until;
    return held;
  }
  if (waiting_.claims.has_claim(ask) || waiting_.gate.has_claim(ask)) {
    held.why = RoleHindrance::kSetAside;
    return held;
  }
  if (!is_below_entitlement(l, ask.at_once())) return held;
  const ReclaimOutlook outlook = --outlooks >= 0
                                     ? reclaim_outlook(l.framework, ask.ask.name)
                                     : ReclaimOutlook{.why = ReclaimOutlook::Why::kNothingWanted};
  if (outlook.why == ReclaimOutlook::Why::kNobodyBorrows) return held;
  held.why = RoleHindrance::kLent;
  held.back = words_of(outlook);
  held.until = outlook.until;
  return held;
}

// Adds the victims that have a notice for the ask.
void Explainer::note_coming(const AskEntry& ask, RoleExplanation& found) const {
  const auto note = [&](const Agent& a, bool only_lent) {
    for (const auto& [ref, task] : a.tasks) {
      if (!task.ends_by() || (only_lent && !task.is_lent())) continue;
      if (found.coming.size() == kNodesExplainedMax) return;
      found.coming.push_back(
          {ref.framework, ref.task, a.id, task.leaf->role->name, *task.ends_by()});
    }
  };
  for (const Agent* a : waiting_.reclaims.agents_of(ask)) note(*a, false);
  for (const Agent* a : waiting_.claims.agents_of(ask)) note(*a, true);
}

// Roles elsewhere in the tree that use more than their entitlement, the largest excess first; of a
// role and a role below it the lower one.
void Explainer::explain_borrowers(const Role& role, RoleExplanation& found) const {
  for (const auto& [name, other] : cluster_.tree.roles()) {
    if (is_within(name, role.name) || is_within(role.name, name)) continue;
    const bool has_lower =
        std::any_of(other->roles.begin(), other->roles.end(),
                    [](const auto& child) { return is_above_entitlement(*child.second); });
    if (has_lower || !is_above_entitlement(*other)) continue;
    found.borrowers.push_back(standing_of(*other, now_));
  }
  std::stable_sort(found.borrowers.begin(), found.borrowers.end(),
                   [&](const NodeStanding& a, const NodeStanding& b) {
                     return dominant_share(a.borrowed, found.total) >
                            dominant_share(b.borrowed, found.total);
                   });
  if (found.borrowers.size() > kNamesExplainedMax) found.borrowers.resize(kNamesExplainedMax);
}

}  // namespace proffer::fair
