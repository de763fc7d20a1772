// The laws of the tree: its books, limits, and that nobody was given what one who was to come first
// could have used. check_fairness() is invariant 5 of DESIGN §10.

#include <algorithm>

#include "allocator/state.h"
#include "common/text.h"

namespace proffer {

void Allocator::State::check_tree(std::vector<Violation>& found) const {
  for (const std::string& what : tree_.broken()) found.push_back({what});
  for (const auto& [name, settings] : role_table_) {
    const Role* role = tree_.find(name);
    if (role == nullptr || !(role->settings == settings)) {
      found.push_back({text("role ", name.str(), " is not as it was set")});
    }
  }
}

// Whatever the decision gave, it left the roles above within their limits. (Tasks that were found
// running, or a limit that was lowered, may have taken a role above it; then nothing is given.)
void Allocator::State::check_limits(std::vector<Violation>& found) const {
  for (const Given& given : given_) {
    for (const Role* role = given.leaf->role; role->parent != nullptr; role = role->parent) {
      if (fair::is_within_limit(*role, {}) && (knows_all_tasks_ || !role->has_limit())) continue;
      found.push_back({text("framework ", given.leaf->framework.str(), " was given ",
                            to_text(given.last), " while role ", role->name.str(),
                            " has a limit of ", to_text(role->settings.limit))});
    }
  }
}

// Invariant 5. Shares and uses only grow in a decision. So who still has less at its end, even if
// it alone counts as demanding, had less when the other was given something.
void Allocator::State::check_fairness(std::vector<Violation>& found) const {
  for (const Given& given : given_) {
    if (given.from_claim || given.promised || given.agent->claim != nullptr) continue;
    const Leaf& winner = *given.leaf;
    Agent agent = *given.agent;  // as it was before that task, or with less
    agent.offered.remove(given.last);
    agent.free = fair::what_is_free(agent.total, agent.allocated, agent.offered);
    for (const auto& [id, l] : leaves_) {
      if (l.get() == &winner || l->mode == OfferMode::kOpen || !l->wants_offers()) continue;
      if (!had_less(*l, winner, given.before)) continue;
      for (const AskEntry* ask : l->order) {
        // Filters by amount look at what is free now: more than that must not lift them here.
        if (ask->unmet() == 0 || is_filtered(*l, *given.agent, decided_at_)) continue;
        if (!fits(ask->ask.shape, agent.free) || !ask->matches(*given.agent)) continue;
        if (given.agent->ports_left() < ask->ask.ports || !barred(*ask).is_none()) continue;
        found.push_back({text("framework ", winner.framework.str(), " was given ",
                              to_text(given.last), " of agent ", agent.id.str(), " before ",
                              id.framework.str(), " with a lower share")});
      }
    }
  }
}

// Whether, where their ways part, the other came before the winner, which had these shares. No if
// that is not certain: where roles inside roles are rescaled, what each kind counts for depends on
// who was saturated at that moment.
bool Allocator::State::had_less(const Leaf& other, const Leaf& winner, const Rank& before) const {
  const auto way_to = [](const Leaf& l) {
    std::vector<const fair::Node*> way;
    for (const fair::Node* node = &l; node->parent != nullptr; node = node->parent) {
      way.push_back(node);
    }
    std::reverse(way.begin(), way.end());
    return way;
  };
  const std::vector<const fair::Node*> way = way_to(other);
  const std::vector<const fair::Node*> way_of_winner = way_to(winner);
  size_t parting = 0;
  while (way[parting] == way_of_winner[parting]) ++parting;
  for (const std::vector<const fair::Node*>* nodes : {&way, &way_of_winner}) {
    for (size_t i = parting + 1; i < nodes->size(); ++i) {
      const auto& roles = (*nodes)[i]->parent->roles;
      const bool is_certain = std::all_of(roles.begin(), roles.end(), [&](const auto& role) {
        return role.second == (*nodes)[i] || role.second->wanting == 0;
      });
      if (!is_certain) return false;
    }
  }
  const std::vector<fair::Standing> standings = tree_.standings_alone(other);
  const fair::Standing& its = standings[parting];
  const Share& share = before.shares[parting];
  if (its.exact) return its.share < share;
  const int64_t parts = its.share.parts(fair::kPartsWhole);
  return parts + parts / (1 << 12) + 1'000 < share.parts(fair::kPartsWhole);
}

}  // namespace proffer
