// Frameworks without asks have unbounded demand and take what they are offered. When one is first
// by share it gets the rest of an agent, within its fair deficit as long as asks of others are
// still in play (give_fair_piece); what no ask can use goes to them beyond that (fill_open). At
// most one open offer of an agent to a framework is outstanding.

#include <algorithm>

#include "allocator/round/round.h"
#include "allocator/rules/denial.h"
#include "allocator/rules/placement.h"

namespace proffer::fair {

bool Round::is_open(const Leaf& l, const Agent& a) const {
  // Of an agent that it was given a piece of in this decision, it may have more in the same offer.
  const bool has_one = l.open_on.count(&a) > 0 && draft_of_.count({&l, &a}) == 0;
  return is_open_to(l, a, now_, has_one);
}

// The agent with most free that is open to the leaf, or nullptr. Those that may be are listed once
// in a decision and then used up from the end.
Agent* Round::place_open(Leaf& l) {
  auto at = open_queues_.find(&l);
  if (at == open_queues_.end()) {
    std::vector<Agent*> open;
    cluster_.free_agents.visit_grown(l.tried_at, [&](Agent* a) {
      if (is_open(l, *a)) open.push_back(a);
      return false;
    });
    for (Agent* a : l.retry) {
      const bool is_new = a->grown_at <= l.tried_at;
      if (is_new && a->listed && is_open(l, *a)) open.push_back(a);
    }
    if (open.empty()) return nullptr;  // Most often, and then nothing is kept.
    std::sort(open.begin(), open.end(), [](const Agent* a, const Agent* b) {
      if (a->weighted_free != b->weighted_free) return a->weighted_free < b->weighted_free;
      return b->id < a->id;
    });
    at = open_queues_.emplace(&l, std::move(open)).first;
  }
  std::vector<Agent*>& queue = at->second;
  while (!queue.empty()) {
    Agent* a = queue.back();
    if (a->listed && is_open(l, *a)) return a;
    queue.pop_back();
  }
  return nullptr;
}

bool Round::give_fair_piece(const Turn& turn, const LeafOrder& order) {
  Leaf& l = *turn.leaf;
  Agent* a = place_open(l);
  if (a == nullptr) return false;
  know_entitlements(cluster_);
  ResourceVector most = (l.entitlement - l.use()).min(permitted(cluster_, l));
  for (const Role* role : turn.within) {
    most = most.min(role->settings.guarantee.amounts(most + role->use()) - role->use());
  }
  const std::vector<Slice> piece = piece_for(l, *a, most);
  if (piece.empty()) {
    if (!turn.within.empty()) turns_.set_beyond(l, *turn.within.front());
    note_permitted(l, *a);
    return false;
  }
  record_.given.push_back({&l, a, piece, rank_of(l, order), !turn.within.empty()});
  grant(l, *a, piece, nullptr, 0);
  return true;
}

bool Round::give_whole_agent(const Turn& turn, std::vector<Leaf*>& refused) {
  Leaf& l = *turn.leaf;
  while (Agent* a = place_open(l)) {
    const std::vector<Slice> all = piece_for(l, *a, permitted(cluster_, l));
    if (all.empty()) {
      note_permitted(l, *a);
      if (std::find(refused.begin(), refused.end(), &l) == refused.end()) refused.push_back(&l);
      open_queues_.at(&l).pop_back();
      continue;
    }
    record_.given.push_back({&l, a, all, rank_of(l, cluster_.untried), !turn.within.empty()});
    grant(l, *a, all, nullptr, 0);
    return true;
  }
  return false;
}

// An agent's rest may be more than it is allowed to have: it is to be looked at again when it may
// have more.
void Round::note_permitted(Leaf& l, const Agent& a) {
  const Denial denied =
      denial(cluster_, {.leaf = l, .amounts = sum_of(a.usable(l.role->name)).amounts});
  if (!denied.is_none()) note_denied(l, denied);
}

// After the asks: what is left goes to open leaves by least share, an agent at a time. Returns
// early with true if asks may use something after all, since less is held for guarantees.
bool Round::fill_open() {
  thaw(false);
  open_queues_.clear();
  for (const auto& [id, l] : cluster_.open_leaves) {
    if (!cluster_.demanding.contains(*l)) continue;
    const bool some_grew =
        cluster_.free_agents.visit_grown(l->tried_at, [](Agent*) { return true; });
    if (some_grew || !l->retry.empty()) {
      cluster_.untried.insert(*l);
    } else {
      cluster_.untried.erase(*l);
    }
  }
  bool again = true;
  while (again) {
    again = false;
    std::vector<Leaf*> refused;
    while (true) {
      const Turn turn = turns_.next(cluster_.untried);
      if (turn.leaf == nullptr) break;
      Leaf& l = *turn.leaf;
      const uint64_t before = grants_made_;
      if (give_whole_agent(turn, refused)) {
        if (less_is_held(before)) {
          for (Leaf* other : refused) other->tried_at = 0;
          return true;
        }
        again = true;
        continue;
      }
      l.tried_at = cluster_.free_agents.latest();
      l.retry.clear();
      open_queues_.erase(&l);
      cluster_.untried.erase(l);
    }
    // What was of no use without what it may not have, may be when others have taken that.
    again = again && !refused.empty();
    for (Leaf* l : refused) {
      l->tried_at = 0;
      if (again) cluster_.untried.insert(*l);
    }
  }
  return false;
}

}  // namespace proffer::fair
