// Offers end: answered, expired or rescinded; tasks end, or are found running. settle() first.

#include <algorithm>

#include "allocator/state.h"

namespace proffer {

const Grant* Allocator::State::find_offer(const OfferId& id, const FrameworkId& framework) const {
  const fair::OutstandingOffer* offer = outstanding_.find(id);
  return offer != nullptr && offer->grant.framework == framework ? &offer->grant : nullptr;
}

void Allocator::State::settle(const OfferId& id, const Resources& used,
                              const std::vector<AskFill>& fills, const Refusal& refusal, Time now) {
  mark_dirty();
  const fair::OutstandingOffer offer = end_offer(id);
  Leaf& l = *offer.leaf;
  Agent& a = *offer.agent;

  Resources taken{.amounts = used.amounts, .gpus = used.gpus};
  CHECK(offer.resources.contains(taken))
      << "of offer " << id.value() << " " << to_text(taken) << " is used, which is not in "
      << to_text(offer.resources);
  if (!taken.is_zero()) {
    a.allocated.add(taken);
    a.allocated_to[l.framework].add(taken);
    change_use(l, taken.amounts, {});
  }
  for (const AskFill& fill : fills) {
    const auto ask = l.asks.find(fill.ask);
    if (ask == l.asks.end()) continue;  // No longer declared.
    AskEntry& entry = *ask->second;
    entry.ask.count = std::max<int64_t>(entry.ask.count - fill.count, 0);
    if (entry.unmet() == 0) stop_waiting(entry);
  }
  refresh(a, taken != offer.resources || offer.ports > 0);
  update_hunger(l, true);

  if (!refusal.too_little.empty() || refusal.wrong_agent) {
    // Its answer is about what it saw: what became free meanwhile is news to it.
    const ResourceVector seen = offer.free_then - taken.amounts;
    Filter filter;
    for (const ResourceKind kind : refusal.too_little) {
      filter.too_little[kind] = std::min(a.free.amounts[kind], seen[kind]);
    }
    if (refusal.wrong_agent) filter.wrong_agent = a.attributes;
    add_filter(l, a, std::move(filter));
  } else if (refusal.refuse_for > Duration()) {
    Filter filter;
    filter.until = later(now, refusal.refuse_for);
    add_filter(l, a, std::move(filter));
  }
}

void Allocator::State::release(const AgentId& agent_id, const FrameworkId& framework,
                               const Resources& resources) {
  mark_dirty();
  Agent& a = agent(agent_id);
  const auto held = a.allocated_to.find(framework);
  CHECK(held != a.allocated_to.end())
      << framework.str() << " holds nothing of agent " << agent_id.str();
  held->second.remove(resources);
  if (held->second.is_zero()) a.allocated_to.erase(held);
  a.allocated.remove(resources);
  change_use(leaf(framework), ResourceVector() - resources.amounts, {});
  refresh(a, true);
}

void Allocator::State::adopt(const AgentId& agent_id, const FrameworkId& framework,
                             const Resources& resources) {
  mark_dirty();
  Agent& a = agent(agent_id);
  const Resources taken{.amounts = resources.amounts, .gpus = resources.gpus};
  if (taken.is_zero()) return;
  // What runs there already may be what we have offered.
  if (!a.free.contains(taken)) rescind_all(a.offers, RescindReason::kAgentChanged);
  a.allocated.add(taken);
  a.allocated_to[framework].add(taken);
  change_use(leaf(framework), taken.amounts, {});
  refresh(a, false);
}

std::vector<const Grant*> Allocator::State::offers() const {
  std::vector<const Grant*> grants;
  for (const auto& [id, offer] : outstanding_.all()) grants.push_back(&offer.grant);
  return grants;
}

fair::OutstandingOffer Allocator::State::end_offer(const OfferId& id) {
  fair::OutstandingOffer offer = outstanding_.take(id);
  Leaf& l = *offer.leaf;
  Agent& a = *offer.agent;
  a.offered.remove(offer.resources);
  a.ports_offered -= offer.ports;
  change_use(l, {}, ResourceVector() - offer.resources.amounts);
  for (const AskFill& fill : offer.grant.offer.fills) {
    const auto ask = l.asks.find(fill.ask);
    if (ask != l.asks.end()) ask->second->offered -= fill.count;
  }
  // While it was out there was no second open offer of this agent.
  if (l.open_on.erase(&a) > 0) l.retry.insert(&a);
  return offer;
}

void Allocator::State::rescind(const OfferId& id, RescindReason reason) {
  const fair::OutstandingOffer offer = end_offer(id);
  rescinds_.push_back({id, offer.leaf->framework, reason});
  refresh(*offer.agent, true);
  update_hunger(*offer.leaf, true);
}

void Allocator::State::rescind_all(std::set<OfferId> ids, RescindReason reason) {
  for (const OfferId& id : ids) rescind(id, reason);
}

}  // namespace proffer
