// Offers end: answered, expired or rescinded; tasks end, or are found running. settle() first.

#include <algorithm>

#include "allocator/state.h"

namespace proffer {

const Grant* Allocator::State::find_offer(const OfferId& id, const FrameworkId& framework) const {
  const fair::OutstandingOffer* offer = outstanding_.find(id);
  return offer != nullptr && offer->grant.framework == framework ? &offer->grant : nullptr;
}

void Allocator::State::settle(const std::vector<OfferId>& ids, std::vector<RunningTask> tasks,
                              const Refusal& refusal, Time now) {
  mark_dirty();
  CHECK(!ids.empty());
  const fair::OutstandingOffer* first = outstanding_.find(ids.front());
  CHECK(first != nullptr) << "no offer " << ids.front().value();
  Leaf& l = *first->leaf;
  Agent& a = *first->agent;
  Resources offered;
  std::map<AskName, int64_t> offered_to;
  int64_t ports = 0;
  ResourceVector seen;  // what was free when the last of them was made, with what they hold
  for (const OfferId& id : ids) {
    const fair::OutstandingOffer offer = end_offer(id);
    CHECK(offer.leaf->framework == l.framework && offer.agent == &a)
        << "offers of several frameworks or agents are settled together";
    for (const AskFill& fill : offer.grant.offer.fills) offered_to[fill.ask] += fill.count;
    if (offer.leaf != &l) update_hunger(*offer.leaf, true);
    offered += offer.resources;
    ports += offer.ports;
    seen = offer.free_then;
  }

  Resources taken;
  std::map<AskName, int64_t> launched;
  for (RunningTask& task : tasks) {
    ++launched[task.ask];
    const auto ask = l.owner->asks.find(task.ask);
    if (ask != l.owner->asks.end()) {  // Else no longer declared.
      AskEntry& entry = *ask->second;
      entry.ask.count = std::max<int64_t>(entry.ask.count - 1, 0);
      if (entry.unmet() == 0) stop_waiting(entry);
      if (entry.leaf != &l) update_hunger(*entry.leaf, true);
    }
    for (const Slice& slice : task.claim.slices) {
      taken += {.amounts = slice.resources.amounts, .gpus = slice.resources.gpus};
    }
    Leaf& of_task = task.claim.role.empty() ? l : leaf_in(*l.owner, task.claim.role);
    add_task(a, of_task, std::move(task));
  }
  for (const auto& [name, count] : offered_to) {
    const auto ask = l.owner->asks.find(name);
    if (ask != l.owner->asks.end()) note_answer(*ask->second, count, launched[name]);
  }
  CHECK(offered.contains(taken)) << to_text(taken) << " is used of " << to_text(offered);
  refresh(a, taken != offered || ports > 0);
  update_hunger(l, true);

  if (!refusal.too_little.empty() || refusal.wrong_agent) {
    // Its answer is about what it saw: what became free meanwhile is news to it.
    seen -= taken.amounts;
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

void Allocator::State::add_task(Agent& a, Leaf& l, RunningTask task) {
  ++l.tasks;
  fair::Task entry{
      .leaf = &l, .ask = std::move(task.ask), .claim = std::move(task.claim), .since = task.since};
  for (const Slice& slice : entry.claim.slices) {
    entry.resources += {.amounts = slice.resources.amounts, .gpus = slice.resources.gpus};
  }
  if (!entry.resources.is_zero()) {
    a.allocated.add(entry.resources);
    a.allocated_to[l.framework].add(entry.resources);
    change_use(l, entry.resources.amounts, {});
  }
  if (entry.claim.gang != 0) {
    gang_tasks_[{l.framework, entry.claim.gang}].insert({a.id, task.task});
  }
  const bool is_new =
      a.tasks.emplace(fair::TaskRef{l.framework, task.task}, std::move(entry)).second;
  CHECK(is_new) << "task " << l.framework.str() << "/" << task.task.str() << " is on agent "
                << a.id.str() << " already";
}

void Allocator::State::forget_task(Agent& a, const fair::TaskRef& ref, const fair::Task& task) {
  if (task.ends_by) {
    a.noticed -= task.resources.amounts;
    for (fair::Node* node = task.leaf; node != nullptr; node = node->parent) {
      node->noticed -= task.resources.amounts;
    }
  }
  if (task.claim.gang != 0) {
    const auto gang = gang_tasks_.find({ref.framework, task.claim.gang});
    gang->second.erase({a.id, ref.task});
    if (gang->second.empty()) gang_tasks_.erase(gang);
  }
}

void Allocator::State::release(const AgentId& agent_id, const FrameworkId& framework,
                               const TaskId& task) {
  mark_dirty();
  Agent& a = agent(agent_id);
  const auto at = a.tasks.find({framework, task});
  CHECK(at != a.tasks.end()) << "no task " << framework.str() << "/" << task.str() << " on agent "
                             << agent_id.str();
  forget_task(a, at->first, at->second);
  const Resources held = std::move(at->second.resources);
  Leaf& l = *at->second.leaf;
  a.tasks.erase(at);
  --l.tasks;
  doubt(l);
  if (held.is_zero()) return;
  const auto of_framework = a.allocated_to.find(framework);
  of_framework->second.remove(held);
  if (of_framework->second.is_zero()) a.allocated_to.erase(of_framework);
  a.allocated.remove(held);
  change_use(l, ResourceVector() - held.amounts, {});
  refresh(a, true);
}

void Allocator::State::adopt(const AgentId& agent_id, const FrameworkId& framework,
                             RunningTask task) {
  mark_dirty();
  Agent& a = agent(agent_id);
  Resources taken;
  for (const Slice& slice : task.claim.slices) {
    taken += {.amounts = slice.resources.amounts, .gpus = slice.resources.gpus};
  }
  // What runs there already may be what we have offered.
  if (!a.free.contains(taken)) rescind_all(a.offers, RescindReason::kAgentChanged);
  Framework& f = framework_at(framework);
  const RoleName role = task.claim.role.empty() ? f.role : task.claim.role;
  add_task(a, leaf_in(f, role), std::move(task));
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
  doubt(l);
  for (const AskFill& fill : offer.grant.offer.fills) {
    const auto ask = l.owner->asks.find(fill.ask);
    if (ask == l.owner->asks.end()) continue;
    ask->second->offered -= fill.count;
    // It may have moved to another role since.
    if (ask->second->leaf != &l) update_hunger(*ask->second->leaf, true);
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
