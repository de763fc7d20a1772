// The public face of the allocator: each call goes to State, whose story begins in decide.cc.

#include "allocator/allocator.h"

#include "allocator/state.h"

namespace proffer {

Allocator::Allocator(AllocatorOptions options)
    : state_(std::make_unique<State>(std::move(options))) {}
Allocator::~Allocator() = default;

void Allocator::set_agent(const AgentId& agent, AgentResources resources) {
  state_->set_agent(agent, std::move(resources));
}
void Allocator::set_agent_active(const AgentId& agent, bool active) {
  state_->set_agent_active(agent, active);
}
void Allocator::set_agent_draining(const AgentId& agent, bool draining) {
  state_->set_agent_draining(agent, draining);
}
void Allocator::remove_agent(const AgentId& agent) { state_->remove_agent(agent); }
void Allocator::set_free_ports(const AgentId& agent, PortSet free) {
  state_->set_free_ports(agent, std::move(free));
}

void Allocator::add_framework(const FrameworkId& framework, const RoleName& role, OfferMode mode) {
  state_->add_framework(framework, role, mode);
}
void Allocator::set_framework_active(const FrameworkId& framework, bool active) {
  state_->set_framework_active(framework, active);
}
void Allocator::remove_framework(const FrameworkId& framework) {
  state_->remove_framework(framework);
}
void Allocator::declare_asks(const FrameworkId& framework, std::vector<Ask> asks, Time now) {
  state_->declare_asks(framework, std::move(asks), now);
}
void Allocator::suppress(const FrameworkId& framework) { state_->suppress(framework); }
void Allocator::revive(const FrameworkId& framework) { state_->revive(framework); }
void Allocator::set_role(const RoleName& role, const RoleSettings& settings) {
  state_->set_role(role, settings);
}
const RoleTable& Allocator::role_table() const { return state_->role_table(); }
void Allocator::set_knows_all_tasks(bool knows) { state_->set_knows_all_tasks(knows); }

const Grant* Allocator::find_offer(const OfferId& offer, const FrameworkId& framework) const {
  return state_->find_offer(offer, framework);
}
void Allocator::settle(const std::vector<OfferId>& offers, std::vector<RunningTask> tasks,
                       const Refusal& refusal, Time now) {
  state_->settle(offers, std::move(tasks), refusal, now);
}
void Allocator::release(const AgentId& agent, const FrameworkId& framework, const TaskId& task) {
  state_->release(agent, framework, task);
}
void Allocator::adopt(const AgentId& agent, const FrameworkId& framework, RunningTask task) {
  state_->adopt(agent, framework, std::move(task));
}
std::vector<const Grant*> Allocator::offers() const { return state_->offers(); }
std::vector<const Grant*> Allocator::gang_offers(uint64_t gang) const {
  return state_->gang_offers(gang);
}

std::optional<Time> Allocator::next_decision(Time now) const { return state_->next_decision(now); }
Decision Allocator::decide(Time now) { return state_->decide(now); }

ResourceVector Allocator::total() const { return state_->total(); }
std::vector<RoleStatus> Allocator::roles() const { return state_->roles(); }
std::vector<LeafStatus> Allocator::leaves() const { return state_->leaves(); }
std::vector<AskStatus> Allocator::asks(const FrameworkId& framework) const {
  return state_->asks(framework);
}
uint64_t Allocator::fit_version() const { return state_->fit_version(); }
std::vector<AgentUse> Allocator::agents() const { return state_->agents(); }
std::vector<EndingTask> Allocator::ending() const { return state_->ending(); }
FrameworkExplanation Allocator::explain(const FrameworkId& framework, Time now) const {
  return state_->explain(framework, now);
}
std::optional<RoleExplanation> Allocator::explain_role(const RoleName& role, Time now) const {
  return state_->explain_role(role, now);
}
std::optional<TaskStanding> Allocator::explain_task(const AgentId& agent,
                                                    const FrameworkId& framework,
                                                    const TaskId& task, Time now) const {
  return state_->explain_task(agent, framework, task, now);
}
ReclaimOutlook Allocator::reclaim_outlook(const FrameworkId& framework, const AskName& ask,
                                          Time now) const {
  return state_->reclaim_outlook(framework, ask, now);
}
std::vector<Violation> Allocator::violations() const { return state_->violations(); }

}  // namespace proffer
