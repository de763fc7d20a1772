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
    if (!(settings == (role == nullptr ? RoleSettings() : role->settings))) {
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
                            to_text(Offer{.slices = given.last}.total()), " while role ",
                            role->name.str(), " has a limit of ", to_text(role->settings.limit))});
    }
  }
}

// Invariant 5. Uses only grow in a decision. So who still has less at its end had less when the
// other was given something.
void Allocator::State::check_fairness(std::vector<Violation>& found) const {
  // What is held for guarantees falls when those are served for whom it is: who was barred by it
  // when others were given something need not be at the end.
  if (options_.reclaim == ReclaimMode::kOff && !tree_.root().promised.empty()) return;
  for (const Given& given : given_) {
    if (given.from_claim || given.promised || given.agent->claim != nullptr) continue;
    const Leaf& winner = *given.leaf;
    fair::Books books = *given.agent;  // as it was before that task, or with less
    books.end_offered(books.book(given.last));
    books.compute_free();
    for (const auto& [id, l] : leaves_) {
      if (l.get() == &winner || l->mode == OfferMode::kOpen || !l->wants_offers()) continue;
      if (!had_less(*l, winner, given.before)) continue;
      for (const AskEntry* ask : l->order) {
        // Filters by amount look at what is free now: more than that must not lift them here.
        // Of gangs it would have to be known whether all of one would have fitted.
        if (ask->unmet() == 0 || ask->ask.gang > 1 || !barred(*ask).is_none()) continue;
        // What others leave of what they are entitled to may have become more since.
        if (!ask->ask.borrow && !is_within_entitlement(*l->role, ask->at_once())) continue;
        if (!fair::fits(ask->ask.shape, books, l->role->name)) continue;
        if (!suits(*ask, *given.agent, decided_at_)) continue;
        found.push_back(
            {text("framework ", winner.framework.str(), " was given ",
                  to_text(Offer{.slices = given.last}.total()), " of agent ", given.agent->id.str(),
                  " before ", id.framework.str(), " with a lower share")});
      }
    }
  }
}

// Whether, where their ways part, the other came before the winner, which had these shares. A
// rescaled share is at most that of the plain sum, which only grows in a decision; so if that is
// less, it was less then. (More cannot be said at the end of a decision: a rescaled share falls
// when a child that is not the least grows in its dominant kind, since its other kinds are scaled
// with it.)
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
  const fair::Node& node = *way[parting];
  const Share most = dominant_share(node.use(), total_, node.weight);
  const Share& share = before[parting];
  const bool is_exact = node.standing[0].exact && way_of_winner[parting]->standing[0].exact;
  if (is_exact) return most < share;
  // Rounding may have made it larger by so much.
  const int64_t parts = most.parts(fair::kPartsWhole);
  return parts + parts / (1 << 12) + 1'000 < share.parts(fair::kPartsWhole);
}

}  // namespace proffer
