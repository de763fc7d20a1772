// The laws of a decision. check_fairness() is invariant 5 of DESIGN §10.

#include <algorithm>

#include "allocator/round/decision_record.h"
#include "allocator/rules/denial.h"
#include "allocator/rules/fit.h"
#include "allocator/rules/placement.h"
#include "common/text.h"

namespace proffer::fair {
namespace {

// Grants left the roles above within their limits. (Reported running tasks, or a lowered limit, may
// have taken a role above its limit; then it gets nothing.)
void check_limits(const Cluster& cluster, const DecisionRecord& record,
                  std::vector<Violation>& found) {
  for (const DecisionRecord::Given& given : record.given) {
    for (const Role* role = given.leaf->role; role->parent != nullptr; role = role->parent) {
      if (is_within_limit(*role, {}) && (cluster.knows_all_tasks || !role->has_limit())) continue;
      found.push_back({text("framework ", given.leaf->framework.str(), " was given ",
                            to_text(Offer{.slices = given.last}.total()), " while role ",
                            role->name.str(), " has a limit of ", to_text(role->settings.limit))});
    }
  }
}

// Whether the other leaf came before the winner, at the level where their paths part; `before` has
// the winner's shares.
bool had_less(const Leaf& other, const Leaf& winner, const Rank& before) {
  const auto way_to = [](const Leaf& l) {
    std::vector<const Node*> way;
    for (const Node* node = &l; node->parent != nullptr; node = node->parent) {
      way.push_back(node);
    }
    std::reverse(way.begin(), way.end());
    return way;
  };
  const std::vector<const Node*> way = way_to(other);
  const std::vector<const Node*> way_of_winner = way_to(winner);
  size_t parting = 0;
  while (way[parting] == way_of_winner[parting]) ++parting;
  return way[parting]->share < before[parting];
}

// Invariant 5. Uses only grow in a decision. So a leaf that has less at its end also had less when
// the other got resources.
void check_fairness(const Cluster& cluster, const Gate& gate, const DecisionRecord& record,
                    std::vector<Violation>& found) {
  // The amounts held for guarantees fall as these are met: a leaf that they denied during the
  // decision need not be denied at its end.
  if (holds_guarantees(cluster)) return;
  for (const DecisionRecord::Given& given : record.given) {
    if (given.from_claim || given.promised || given.agent->claimant != nullptr) continue;
    const Leaf& winner = *given.leaf;
    Books books = *given.agent;  // as before that task, or with less
    books.keep = given.keep;
    books.end_offered(books.book(given.last));
    books.compute_free();
    for (const auto& [id, l] : cluster.leaves) {
      if (l.get() == &winner || l->mode == OfferMode::kOpen || !l->wants_offers()) continue;
      if (!had_less(*l, winner, given.before)) continue;
      for (const AskEntry* ask : l->order) {
        // For gangs it is unknown whether a whole gang would have fitted. Filters by amount compare
        // with the present free amounts of the agent: the larger amounts of `books` must not lift
        // them.
        if (given.owed && !gate.is_owed(*ask, cluster.decided_at)) continue;
        if (ask->unmet() == 0 || ask->ask.gang > 1 || !denial(cluster, *ask).is_none()) continue;
        // The resources that others leave may have grown since.
        if (!ask->ask.borrow && !is_within_entitlement(cluster, *l->role, ask->at_once())) continue;
        if (!fits(ask->ask.shape, books, l->role->name)) continue;
        if (!withheld_from(*ask, given.withheld).is_zero()) continue;
        if (!suits(*ask, *given.agent, cluster.decided_at)) continue;
        found.push_back(
            {text("framework ", winner.framework.str(), " was given ",
                  to_text(Offer{.slices = given.last}.total()), " of agent ", given.agent->id.str(),
                  " before ", id.framework.str(), " with a lower share")});
      }
    }
  }
}

// No permitted ask fits the free resources outside claims.
void check_work_conservation(const Cluster& cluster, const Waiting& waiting,
                             std::vector<Violation>& found) {
  for (const auto& [id, l] : cluster.leaves) {
    if (!l->wants_offers()) continue;
    for (const auto& [agent_id, a] : cluster.agents) {
      if (!a->serves() || a->is_set_aside() || !a->listed) continue;
      if (waiting.unanswered.is_withheld(*l, *a)) continue;
      const bool unserved =
          l->mode == OfferMode::kOpen
              ? is_open_to(*l, *a, cluster.decided_at, l->open_on.count(a.get()) > 0) &&
                    !piece_for(cluster, *l, *a, permitted(cluster, *l)).empty()
              : std::any_of(l->order.begin(), l->order.end(), [&, agent = a.get()](AskEntry* ask) {
                  return ask->unmet() > 0 && denial(cluster, *ask).is_none() &&
                         is_usable(*ask, *agent, cluster.decided_at) &&
                         fits_now(cluster, *ask, *agent, cluster.decided_at);
                });
      if (!unserved) continue;
      found.push_back({text("framework ", id.framework.str(), " is not offered ", to_text(a->free),
                            " of agent ", agent_id.str(), " that it could use")});
    }
  }
}

}  // namespace

void check_decision(const Cluster& cluster, const Waiting& waiting, const DecisionRecord& record,
                    std::vector<Violation>& found) {
  check_work_conservation(cluster, waiting, found);
  check_fairness(cluster, waiting.gate, record, found);
  check_limits(cluster, record, found);
}

}  // namespace proffer::fair
