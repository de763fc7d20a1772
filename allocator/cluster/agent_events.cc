// Events of agents. Each event updates the books at once (free amounts, uses, the index) and leaves
// decisions to decide(). Begin with set_agent().

#include <algorithm>

#include "allocator/cluster/cluster.h"
#include "common/check.h"

namespace proffer::fair {

Agent& Cluster::set_agent(const AgentId& id, AgentResources resources) {
  mark_dirty();
  shares_dirty = true;
  ++claimable_version;
  ++agents_version;
  std::unique_ptr<Agent>& place = agents[id];
  const bool is_new = place == nullptr;
  if (is_new) {
    place = std::make_unique<Agent>();
    place->id = id;
    if (free_agent_slots_.empty()) {
      place->slot = agents.size() - 1;  // All lower slots are taken.
    } else {
      place->slot = free_agent_slots_.back();
      free_agent_slots_.pop_back();
    }
    find_rank(*place);
  }
  Agent& a = *place;
  Books brought;
  for (const Slice& slice : resources.slices) {
    const bool is_plain = slice.reserved_for.empty() && !slice.revocable;
    Resources& there =
        is_plain ? brought.total : brought.part(slice.reserved_for, slice.revocable).total;
    there += {.amounts = slice.resources.amounts, .gpus = slice.resources.gpus};
  }
  // If the agent is another machine, its offers are void.
  const bool is_other = a.attributes != resources.attributes ||
                        a.counted_total() != brought.counted_total() || a.ports != resources.ports;
  if (is_other) rescind_all(offers_of(a), RescindReason::kAgentChanged);
  free_agents.erase(a);
  total_now_.remove(a.counted_total());
  const bool is_reserved_otherwise = !is_new && a.total != brought.total;
  a.total = brought.total;
  for (Part& part : a.parts) part.total = {};
  for (const Part& part : brought.parts) {
    a.part(part.reserved_for, part.revocable).total = part.total;
  }
  a.forget_empty_parts();
  a.compute_free();
  total_now_.add(a.counted_total());
  const bool other_attributes = is_new || a.attributes != resources.attributes;
  if (other_attributes) {
    a.attributes = std::move(resources.attributes);
    a.attributes_version = ++attributes_version_;
    a.rests_until = {};
    recount_tasks_on(a);
  }
  if (!is_other) rescind_what_does_not_fit(a);
  a.ports = std::move(resources.ports);
  a.count_free_ports();
  refresh(a, true);
  if (is_reserved_otherwise) forget_too_little(a);
  return a;
}

// The rank lies between those of the neighbours, nearer to the lower one, since agents often come
// in the order of their ids. If no number is left there, all agents get new ranks: O(agents).
void Cluster::find_rank(Agent& a) {
  constexpr uint64_t kMiddle = uint64_t{1} << 63;
  constexpr uint64_t kFar = uint64_t{1} << 32;
  constexpr uint64_t kNear = uint64_t{1} << 20;
  const auto at = agents.find(a.id);
  const auto next = std::next(at);
  const uint64_t after = next == agents.end() ? 0 : next->second->rank;
  if (at == agents.begin()) {
    a.rank = next == agents.end() ? kMiddle : after - kFar;
    return;
  }
  const uint64_t before = std::prev(at)->second->rank;
  a.rank = next == agents.end() ? before + kFar : before + std::min((after - before) / 2, kNear);
  if (a.rank != before) return;
  uint64_t rank = kMiddle;
  for (const auto& [id, other] : agents) other->rank = rank += kFar;
  free_agents.weigh_anew(total);
}

Agent& Cluster::set_agent_active(const AgentId& id, bool active) {
  Agent& a = agent(id);
  if (a.active == active) return a;
  mark_dirty();
  ++claimable_version;
  ++agents_version;
  rescind_all(offers_of(a), RescindReason::kAgentLost);
  free_agents.erase(a);
  a.active = active;
  refresh(a, true);
  return a;
}

Agent& Cluster::set_agent_draining(const AgentId& id, bool drains) {
  Agent& a = agent(id);
  if (a.draining == drains) return a;
  mark_dirty();
  ++claimable_version;
  ++agents_version;
  rescind_all(offers_of(a), RescindReason::kAgentChanged);
  free_agents.erase(a);
  a.draining = drains;
  drains ? void(draining.insert(&a)) : void(draining.erase(&a));
  refresh(a, true);
  return a;
}

void Cluster::withdraw_agent(Agent& a) {
  mark_dirty();
  shares_dirty = true;
  ++claimable_version;
  ++agents_version;
  rescind_all(offers_of(a), RescindReason::kAgentLost);
  a.active = false;
}

void Cluster::remove_agent(Agent& a) {
  CHECK(a.claimant == nullptr) << a.id.str();
  for (const auto& [ref, task] : a.tasks) forget_task(a, ref, task);
  estimating.erase(&a);
  draining.erase(&a);
  if (a.is_grown) std::erase(grown, &a);
  std::erase_if(vacated, [&](const Vacated& place) { return place.agent == &a; });
  free_agents.remove(a);
  forget_filter_timers([&](const FilterTimer& timer) { return timer.agent == &a; });
  for (const auto& [task, held] : a.tasks) {
    change_use(*held.leaf, ResourceVector() - held.amounts(), {});
    --held.leaf->tasks;
    doubt(*held.leaf);
  }
  for (const auto& [framework, l] : leaves) {
    remove_filter(*l, a);
    l->retry.erase(&a);
    CHECK_EQ(l->open_on.count(&a), 0u);
  }
  total_now_.remove(a.counted_total());
  free_agent_slots_.push_back(a.slot);
  agents.erase(AgentId(a.id));
}

void Cluster::refresh(Agent& a, bool grew) {
  ++changes;
  free_agents.update(a, total, grew);
  if (a.estimate() != nullptr) {
    estimating.insert(&a);
  } else if (!estimating.empty()) {
    estimating.erase(&a);
  }
  if (!grew) return;
  ++a.growths;
  if (!a.is_grown) grown.push_back(&a);
  a.is_grown = true;
  if (a.claimant == nullptr) return;
  // The asks that must look at the agent are its claimant and those that come before claims.
  update_demand(*a.claimant->leaf, true);
  if (a.purpose == Purpose::kClaim) wake_promised(tree.root());
}

void Cluster::clear_grown() {
  for (Agent* a : grown) a->is_grown = false;
  grown.clear();
}

// The next claim on the agent calls begin_hold().
void Cluster::end_hold(Agent& a) {
  if (a.hold.is_speculative) --speculative_holds;
  a.hold = {};
}

void Cluster::set_aside(Agent& a, AskEntry& ask, Purpose purpose, const ResourceVector& keep) {
  end_hold(a);
  free_agents.erase(a);
  a.keep = keep;
  a.compute_free();
  purpose == Purpose::kOwed ? void(owed.insert(&a)) : void(owed.erase(&a));
  if (a.claimant != nullptr) std::erase(a.claimant->set_aside, &a);
  a.claimant = &ask;
  a.purpose = purpose;
  const auto at = std::find_if(ask.set_aside.begin(), ask.set_aside.end(), [&](const Agent* other) {
    return a.by_notice() && (!other->by_notice() || a.id < other->id);
  });
  ask.set_aside.insert(at, &a);
  free_agents.insert(a, total);
}

void Cluster::change_keep(Agent& a, const ResourceVector& keep) {
  free_agents.erase(a);
  a.keep = keep;
  a.compute_free();
  free_agents.insert(a, total);
}

void Cluster::end_set_aside(Agent& a) {
  end_hold(a);
  std::erase(a.claimant->set_aside, &a);
  a.claimant = nullptr;
  a.purpose = Purpose::kNone;
  a.keep = {};
  owed.erase(&a);
}

void Cluster::end_keep(Agent& a) {
  end_set_aside(a);
  refresh(a, true);
}

void Cluster::tell_to_end(Agent& a, const TaskRef& ref, RevokeReason reason,
                          const RoleName& beneficiary, Time now) {
  Task& task = a.tasks.at(ref);
  CHECK(!task.ends_by()) << ref.task.str() << " has had its notice";
  task.times.change([&](Task::Times& times) { times.ends_by = later(now, options.revoke_grace); });
  a.noticed += task.amounts();
  for (Node* node = task.leaf; node != nullptr; node = node->parent) {
    node->noticed += task.amounts();
  }
  revokes.push_back({.agent = a.id,
                     .framework = ref.framework,
                     .task = ref.task,
                     .reason = reason,
                     .beneficiary = beneficiary,
                     .deadline = *task.ends_by()});
}

}  // namespace proffer::fair
