// An agent comes, changes or leaves. Each event brings the books up to date at once (what is free,
// who holds what, the index) and leaves the deciding to decide(). set_agent() first.

#include "allocator/state.h"

namespace proffer {

void Allocator::State::set_agent(const AgentId& id, AgentResources resources) {
  mark_dirty();
  shares_dirty_ = true;
  ++claimable_version_;
  ++agents_version_;
  std::unique_ptr<Agent>& place = agents_[id];
  const bool is_new = place == nullptr;
  if (is_new) {
    place = std::make_unique<Agent>();
    place->id = id;
  }
  Agent& a = *place;
  rescind_all(a.offers, RescindReason::kAgentChanged);
  free_.erase(a);
  a.total = {};
  for (const Slice& slice : resources.slices) {
    if (slice.reserved_for.empty() && !slice.revocable) a.total += slice.resources;
  }
  a.total.ports = {};
  if (is_new || a.attributes != resources.attributes) {
    a.attributes = std::move(resources.attributes);
    a.attributes_version = ++attributes_version_;
  }
  // Ports that were taken stay taken until we are told.
  PortSet taken = a.ports;
  taken -= a.free_ports;
  a.ports = resources.ports;
  a.free_ports = std::move(resources.ports);
  a.free_ports -= taken;
  a.free_port_count = a.free_ports.size();
  refresh(a, true);
  // It may be too small now, or not have the attributes.
  if (a.claim != nullptr && !could_ever_fit(*a.claim, a)) end_claim_on(a);
}

void Allocator::State::set_agent_active(const AgentId& id, bool active) {
  Agent& a = agent(id);
  if (a.active == active) return;
  mark_dirty();
  ++claimable_version_;
  ++agents_version_;
  rescind_all(a.offers, RescindReason::kAgentLost);
  free_.erase(a);
  a.active = active;
  refresh(a, true);
  if (!active) end_claim_on(a);
}

void Allocator::State::set_agent_draining(const AgentId& id, bool draining) {
  Agent& a = agent(id);
  if (a.draining == draining) return;
  mark_dirty();
  ++claimable_version_;
  ++agents_version_;
  rescind_all(a.offers, RescindReason::kAgentChanged);
  free_.erase(a);
  a.draining = draining;
  refresh(a, true);
  if (draining) end_claim_on(a);
}

void Allocator::State::remove_agent(const AgentId& id) {
  Agent& a = agent(id);
  mark_dirty();
  shares_dirty_ = true;
  ++claimable_version_;
  ++agents_version_;
  rescind_all(a.offers, RescindReason::kAgentLost);
  a.active = false;
  end_claim_on(a);
  free_.erase(a);
  free_.forget_fresh(a);
  for (const auto& [task, held] : a.tasks) {
    forget_task(a, task, held);
    change_use(*held.leaf, ResourceVector() - held.resources.amounts, {});
    --held.leaf->tasks;
    doubt(*held.leaf);
  }
  for (const auto& [framework, l] : leaves_) {
    remove_filter(*l, id);
    l->retry.erase(&a);
    CHECK_EQ(l->open_on.count(&a), 0u);
  }
  agents_.erase(id);
}

void Allocator::State::set_free_ports(const AgentId& id, PortSet free) {
  Agent& a = agent(id);
  mark_dirty();
  const int64_t before = a.free_port_count;
  a.free_ports = std::move(free);
  a.free_port_count = a.free_ports.size();
  refresh(a, a.free_port_count > before);
}

void Allocator::State::refresh(Agent& a, bool grew) {
  ++changes_;
  free_.erase(a);
  a.free = fair::what_is_free(a.total, a.allocated, a.offered);
  free_.insert(a, total_);
  if (!grew) return;
  ++a.growths;
  free_.stamp(a);
  // What is set aside is looked at by the one who waits for it, and by nobody else.
  if (a.claim != nullptr) update_hunger(*a.claim->leaf, true);
}

}  // namespace proffer
