// Finds the asks that come first; begin with before(). The order of a decision is in waiting/gate.h
// and round/turns.h.

#include "allocator/explain/rivals.h"

#include <algorithm>

#include "allocator/explain/fitting.h"
#include "allocator/rules/denial.h"
#include "allocator/rules/fit.h"
#include "common/remedy.h"

namespace proffer::fair {
namespace {

bool is_guaranteed(const View& view, const AskEntry& ask) {
  for (const Role* role = ask.leaf->role; role != nullptr; role = role->parent) {
    if (!view.has_guarantee(*role)) continue;
    if (is_within_guarantee(*role, view.use(*role), ask.at_once())) return true;
  }
  return false;
}

// Whether the first leaf has the smaller share at the level where their paths part. The order of
// equals is unknown.
bool has_less(const View& view, const Leaf& a, const Leaf& b) {
  const auto path = [](const Leaf& leaf) {
    std::vector<const Node*> nodes;
    for (const Node* node = &leaf; node != nullptr; node = node->parent) nodes.push_back(node);
    return nodes;
  };
  std::vector<const Node*> of_a = path(a);
  std::vector<const Node*> of_b = path(b);
  while (of_a.back() == of_b.back()) {
    of_a.pop_back();
    of_b.pop_back();
  }
  const auto share = [&](const Node* node) {
    return dominant_share(view.use(*node), view.cluster.total, node->weight);
  };
  return share(of_a.back()) < share(of_b.back());
}

}  // namespace

Rivals::Rivals(const Cluster& cluster, const Gate& gate, const AskEntry& ask, Time now)
    : cluster_(cluster), gate_(gate), ask_(ask), now_(now) {
  for (const auto& [id, l] : cluster_.leaves) {
    if (!l->wants_offers() || l->mode == OfferMode::kOpen) continue;
    for (const AskEntry* rival : l->order) {
      if (rival->unmet() == 0) continue;
      if (const Denial denied = denial(cluster_, *rival); !denied.is_none()) {
        denied_[rival] = denied;
      }
    }
  }
}

View Rivals::view_after(const Change& change) const {
  return change.as_if == nullptr ? View(cluster_) : View(cluster_, *change.as_if);
}

std::vector<std::string> Rivals::before(const Change& change) const {
  const View view = view_after(change);
  std::vector<std::string> found;
  for (const auto& [id, l] : cluster_.leaves) {
    if (found.size() == kRemedyEndsMax) break;
    if (!view.wants_offers(*l)) continue;
    if (change.only != nullptr && l->owner != change.only) continue;
    const bool is_rival =
        l->mode == OfferMode::kOpen
            ? could_take_open(*l, change)
            : std::any_of(l->order.begin(), l->order.end(), [&](const AskEntry* rival) {
                return rival != &ask_ && view.unmet(*rival) > 0 && comes_before(*rival, change) &&
                       could_take(*rival, change);
              });
    const std::string& name = l->framework.str();
    if (is_rival && (found.empty() || found.back() != name)) found.push_back(name);
  }
  return found;
}

bool Rivals::is_owed(const AskEntry& ask, const Change& change) const {
  const auto ended = change.ended.find(&ask);
  return gate_.is_owed(ask, now_, ended == change.ended.end() ? 0 : ended->second);
}

bool Rivals::comes_before(const AskEntry& rival, const Change& change) const {
  const Leaf& l = *rival.leaf;
  const View view = view_after(change);
  if (change.entitles_anew || change.declares_anew || is_guaranteed(view, rival)) return true;
  if (!ask_.ask.borrow) return true;  // It may have resources that all others leave.
  if (!gate_.is_open()) {
    const bool is_first = is_owed(rival, change);
    // The place of an ended task goes first to its own ask.
    if (is_first && change.ended.count(&rival) > 0) return true;
    if (is_first != is_owed(ask_, change)) return is_first;
  }
  if (&l != ask_.leaf) return !has_less(view, *ask_.leaf, l);
  const auto place = [&](const AskEntry& of) {  // position by priority
    return std::find(l.order.begin(), l.order.end(), &of);
  };
  return place(rival) < place(ask_);
}

bool Rivals::could_take(const AskEntry& rival, const Change& change) const {
  const bool both_take_ports = rival.ask.ports > 0 && ask_.ask.ports > 0;
  if (rival.ask.shape.min(ask_.ask.shape).is_zero() && !both_take_ports) return false;
  if (const auto at = denied_.find(&rival); at != denied_.end()) {
    const Denial& was = at->second;
    // Headroom may be kept for it below the limit.
    const bool shares_limit =
        was.why == Denial::Why::kLimit && is_within(ask_.leaf->role->name, was.role->name);
    if (shares_limit || was.why == Denial::Why::kEntitlement) return true;
    if (was.why == Denial::Why::kGuarantees) return true;
    // If it is no longer denied, no agent has been tried for it since, so it may fit present free
    // amounts. (Held guarantees are compared with the present free amounts, without those that the
    // change frees.)
    const Denial::Why why = denial(view_after(change), rival).why;
    return why == Denial::Why::kNone || why == Denial::Why::kGuarantees;
  }
  // For an ask that may not borrow nothing is kept beyond its entitlement.
  const bool takes_own =
      !ask_.ask.borrow &&
      std::any_of(ask_.set_aside.begin(), ask_.set_aside.end(),
                  [&](const Agent* a) { return could_take(rival, without_keep(*a), change); });
  return takes_own ||
         std::any_of(change.more.begin(), change.more.end(),
                     [&](const AgentState* more) { return could_take(rival, *more, change); });
}

bool Rivals::could_take(const AskEntry& rival, const AgentState& a, const Change& change) const {
  if (!could_ever_fit(rival, a) || !is_for(rival, a, now_)) return false;
  const std::optional<Filter> filter = rival.leaf->owner->filter_on(a);
  const bool is_lifted = change.only == rival.leaf->owner;
  if (filter && !is_lifted) {
    // A filter's reason may not hold for a changed agent.
    const bool may_end = change.entitles_anew && !filter->until;
    if (!may_end && still_holds(*filter, a, now_)) return false;
  }
  if (change.ended.count(&rival) == 0 && rival.counts.full(rival.ask, a) != nullptr) return false;
  // An ask that is owed a task may have a claim on a part of the agent, and a gang on several
  // agents.
  if (rival.ask.gang > 1 || change.entitles_anew || is_owed(rival, change)) return true;
  return fits(rival.ask.shape, a, rival.leaf->role->name);
}

bool Rivals::could_take_open(const Leaf& rival, const Change& change) const {
  return std::any_of(change.more.begin(), change.more.end(), [&](const AgentState* more) {
    return rival.open_on.count(cluster_.agents.at(more->id).get()) == 0;
  });
}

}  // namespace proffer::fair
