// The laws of DESIGN §10 that are the allocator's, checked against the books from the ground up.
// violations() first; those about shares and limits are in fair_violations.cc. O(everything): for
// tests and the simulator.

#include <algorithm>
#include <map>
#include <unordered_map>

#include "allocator/state.h"
#include "common/text.h"

namespace proffer {

std::vector<Violation> Allocator::State::violations() const {
  std::vector<Violation> found;
  check_agents(found);
  check_leaves(found);
  check_claims(found);
  check_headroom(found);
  check_reclaims(found);
  check_parts(found);
  check_gangs(found);
  check_places(found);
  check_tree(found);
  // What a decision promises holds until the next event.
  if (!dirty_) {
    check_work_conservation(found);
    check_fairness(found);
    check_limits(found);
  }
  return found;
}

// Free + offered + allocated = total, per kind and device; each offer is counted where it is.
void Allocator::State::check_agents(std::vector<Violation>& found) const {
  for (const auto& [id, a] : agents_) {
    const auto wrong = [&, name = id.str()](const std::string& what) {
      found.push_back({text("agent ", name, ": ", what)});
    };
    if (a->draining != (draining_.count(a.get()) > 0)) {
      wrong("is not noted as it is drained");
    }
    fair::Held allocated;
    for (const auto& [framework, held] : a->allocated_to) {
      allocated.add(held);
      if (frameworks_.find(framework) == frameworks_.end())
        wrong("allocated to an unknown framework");
      if (held.is_zero()) wrong("nothing is noted as allocated");
    }
    fair::Held offered;
    int64_t ports = 0;
    for (const OfferId& offer_id : a->offers) {
      const fair::OutstandingOffer* offer = outstanding_.find(offer_id);
      if (offer == nullptr || offer->agent != a.get()) {
        wrong("an offer is noted that is not outstanding here");
        continue;
      }
      offered.add(offer->resources);
      ports += offer->ports;
    }
    fair::Held all_allocated = a->allocated;
    fair::Held all_offered = a->offered;
    for (const fair::Part& part : a->parts) {
      if (part.revocable) continue;
      all_allocated.add(part.allocated);
      all_offered.add(part.offered);
    }
    if (!(allocated == all_allocated)) wrong("allocated is not the sum over frameworks");
    if (!(offered == all_offered)) wrong("offered is not the sum over offers");
    if (ports != a->ports_offered) wrong("offered ports are not the sum over offers");
    if (!offered.is_zero() && !a->serves()) wrong("offered while inactive");
    const ResourceVector used = allocated.amounts() + offered.amounts();
    for (const ResourceKind kind : kResourceKinds) {
      const int64_t total = a->counted_total()[kind];
      const int64_t free = a->counted_free_of(kind);
      if (free < 0) wrong(text("less than nothing is free of ", to_text(kind)));
      if (offered.amounts()[kind] > 0 && used[kind] > total) {
        wrong(text("more is offered than is there of ", to_text(kind)));
      }
      if (kind != ResourceKind::kGpus && free != std::max<int64_t>(total - used[kind], 0)) {
        wrong(text("free + offered + allocated is not total of ", to_text(kind)));
      }
    }
    const bool should_list =
        a->serves() && a->claim == nullptr && !a->counted_free().amounts.is_zero();
    if (should_list != a->listed) wrong("its place in the index of free agents is wrong");
  }
}

void Allocator::State::check_leaves(std::vector<Violation>& found) const {
  struct Sums {
    ResourceVector allocated = {};
    int64_t tasks = 0;
    ResourceVector offered = {};
  };
  std::unordered_map<const Leaf*, Sums> sums;  // looked up only, never walked
  for (const auto& [agent_id, a] : agents_) {
    for (const auto& [ref, task] : a->tasks) {
      Sums& of_leaf = sums[task.leaf];
      of_leaf.allocated += task.resources.amounts;
      ++of_leaf.tasks;
    }
  }
  std::map<std::pair<FrameworkId, AskName>, int64_t> fills;
  for (const auto& [offer_id, offer] : outstanding_.all()) {
    const Leaf& l = *offer.leaf;
    sums[&l].offered += offer.resources.amounts;
    for (const AskFill& fill : offer.grant.offer.fills) {
      fills[{l.framework, fill.ask}] += fill.count;
    }
    const auto wrong = [&, &offer_id = offer_id](const std::string& what) {
      found.push_back({text("offer ", offer_id.value(), " of framework ", l.framework.str(), " in ",
                            l.role->name.str(), ": ", what)});
    };
    if (!l.owner->active) wrong("offered while inactive");
    if (l.mode == OfferMode::kOpen && l.open_on.count(offer.agent) == 0) {
      wrong("an open offer is not noted");
    }
    if (l.offers.count(offer_id) == 0) wrong("it is not noted at its leaf");
    if (offer.agent->offers.count(offer_id) == 0) wrong("it is not noted at its agent");
    if (offer.grant.role != l.role->name) wrong("offered in another role");
  }
  for (const auto& [id, l] : leaves_) {
    const auto wrong =
        [&, name = text(id.framework.str(), " in ", id.role.str())](const std::string& what) {
          found.push_back({text("framework ", name, ": ", what)});
        };
    const auto known = sums.find(l.get());
    const auto& [allocated, tasks, offered] = known == sums.end() ? Sums() : known->second;
    if (!(allocated == l->allocated)) wrong("allocated is not the sum over tasks");
    if (!(offered == l->offered)) wrong("offered is not the sum over offers");
    if (tasks != l->tasks) wrong("miscounts its tasks");
    if (hungry_.contains(*l) != l->wants_offers() || l->wants != l->wants_offers()) {
      wrong("hunger and asks disagree");
    }
    if (!dirty_ && !l->is_needed()) wrong("nobody needs it");
  }
  for (const auto& [id, f] : frameworks_) {
    for (const auto& [name, ask] : f->asks) {
      const auto offered = fills.find({id, name});
      if (ask->offered != (offered == fills.end() ? 0 : offered->second)) {
        found.push_back(
            {text("framework ", id.str(), ": ask ", name.str(), " miscounts its offers")});
      }
    }
  }
}

void Allocator::State::check_claims(std::vector<Violation>& found) const {
  for (const auto& [id, a] : agents_) {
    if (a->claim == nullptr) continue;
    const AskEntry& ask = *a->claim;
    if (!a->reclaims.empty()) continue;  // see check_reclaims()
    const bool mutual = std::any_of(ask.claim.begin(), ask.claim.end(),
                                    [&, on = a.get()](const auto& c) { return c.agent == on; }) &&
                        ask.leaf->claimed == &ask && claimed_.count(ask.claim_order) == 1 &&
                        claimed_.at(ask.claim_order) == &ask;
    if (!mutual)
      found.push_back({text("agent ", id.str(), ": its claim is noted on one side only")});
    if (!a->serves() || ask.unmet() == 0 || !ask.leaf->wants_offers()) {
      found.push_back({text("agent ", id.str(), ": claimed for nobody's good")});
    }
    if (!dirty_ && barred(ask).is_none() &&
        (ask.ask.gang > 1 ? !plan_gang(ask, decided_at_).empty()
                          : is_usable(ask, *a, decided_at_))) {
      found.push_back({text("agent ", id.str(), ": its claimant fits and was not served")});
    }
  }
}

// Nobody who may has an ask that fits what is free outside claims.
void Allocator::State::check_work_conservation(std::vector<Violation>& found) const {
  for (const auto& [id, l] : leaves_) {
    if (!l->wants_offers()) continue;
    for (const auto& [agent_id, a] : agents_) {
      if (!a->serves() || a->claim != nullptr || !a->listed) continue;
      const bool unserved =
          l->mode == OfferMode::kOpen
              ? is_open_to(*l, *a, decided_at_) && !piece_for(*l, *a, permitted(*l)).empty()
              : std::any_of(l->order.begin(), l->order.end(), [&, agent = a.get()](AskEntry* ask) {
                  return ask->unmet() > 0 && barred(*ask).is_none() &&
                         is_usable(*ask, *agent, decided_at_) &&
                         (ask->ask.gang == 1 || !plan_gang(*ask, decided_at_).empty());
                });
      if (!unserved) continue;
      found.push_back({text("framework ", id.framework.str(), " is not offered ", to_text(a->free),
                            " of agent ", agent_id.str(), " that it could use")});
    }
  }
}

}  // namespace proffer
