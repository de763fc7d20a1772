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
  fair::Books brought;
  for (const Slice& slice : resources.slices) {
    const bool is_plain = slice.reserved_for.empty() && !slice.revocable;
    Resources& total =
        is_plain ? brought.total : brought.part(slice.reserved_for, slice.revocable).total;
    total += {.amounts = slice.resources.amounts, .gpus = slice.resources.gpus};
  }
  // If it is another machine, what was offered of it is not what there is.
  const bool is_other = a.attributes != resources.attributes ||
                        a.counted_total() != brought.counted_total() || a.ports != resources.ports;
  if (is_other) rescind_all(a.offers, RescindReason::kAgentChanged);
  free_.erase(a);
  const bool is_reserved_otherwise = !is_new && a.total != brought.total;
  a.total = brought.total;
  for (fair::Part& part : a.parts) part.total = {};
  for (const fair::Part& part : brought.parts) {
    a.part(part.reserved_for, part.revocable).total = part.total;
  }
  a.forget_empty_parts();
  a.compute_free();
  const bool other_attributes = is_new || a.attributes != resources.attributes;
  if (other_attributes) {
    a.attributes = std::move(resources.attributes);
    a.attributes_version = ++attributes_version_;
    recount_tasks_on(a);
  }
  if (!is_other) rescind_what_does_not_fit(a);
  // Ports that were taken stay taken until we are told.
  PortSet taken = a.ports;
  taken -= a.free_ports;
  a.ports = resources.ports;
  a.free_ports = std::move(resources.ports);
  a.free_ports -= taken;
  a.free_port_count = a.free_ports.size();
  refresh(a, true);
  if (is_reserved_otherwise) forget_too_little(a);
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
  draining ? void(draining_.insert(&a)) : void(draining_.erase(&a));
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
  for (const auto& [ref, task] : a.tasks) forget_task(a, ref, task);
  estimating_.erase(&a);
  draining_.erase(&a);
  free_.remove(a);
  for (const auto& [task, held] : a.tasks) {
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
  free_.update(a, total_);
  if (a.estimate() != nullptr) {
    estimating_.insert(&a);
  } else if (!estimating_.empty()) {
    estimating_.erase(&a);
  }
  if (!grew) return;
  ++a.growths;
  free_.stamp(a);
  if (a.claim == nullptr) return;
  // What is set aside is looked at by the one who waits for it, and by those who come before
  // claims.
  update_hunger(*a.claim->leaf, true);
  if (a.reclaims.empty()) wake_promised(tree_.root());
}

}  // namespace proffer
