// Passes each event to the cluster, and to the waiting structures that it concerns.

#include "allocator/allocator.h"

#include <algorithm>

#include "allocator/explain/explainer.h"
#include "allocator/explain/status.h"
#include "allocator/explain/wait_reason.h"
#include "allocator/round/round.h"
#include "allocator/rules/fit.h"
#include "common/check.h"

namespace proffer {

using fair::Agent;
using fair::AskEntry;
using fair::Framework;

Allocator::Allocator(AllocatorOptions options)
    : cluster_(std::make_unique<fair::Cluster>(std::move(options))),
      waiting_(std::make_unique<fair::Waiting>(*cluster_)),
      last_(std::make_unique<fair::DecisionRecord>()) {}
Allocator::~Allocator() = default;

// --- agents -------------------------------------------------------------------------------------

void Allocator::set_agent(const AgentId& id, AgentResources resources) {
  Agent& agent = cluster_->set_agent(id, std::move(resources));
  if (agent.claimant == nullptr) return;
  // The agent may be too small now, or have other attributes; and no part of an agent is kept if it
  // has reservations.
  const bool is_kept_in_vain = !agent.keep.is_zero() && !agent.parts.empty();
  if (is_kept_in_vain || !fair::could_ever_fit(*agent.claimant, agent)) waiting_->leave(agent);
}

void Allocator::set_agent_active(const AgentId& id, bool active) {
  Agent& agent = cluster_->set_agent_active(id, active);
  if (!active) waiting_->leave(agent);
}

void Allocator::set_agent_draining(const AgentId& id, bool draining) {
  Agent& agent = cluster_->set_agent_draining(id, draining);
  if (draining) waiting_->leave(agent);
}

void Allocator::remove_agent(const AgentId& id) {
  Agent& agent = cluster_->agent(id);
  cluster_->withdraw_agent(agent);
  waiting_->leave(agent);
  waiting_->withheld.leave(agent);
  cluster_->remove_agent(agent);
}

const PortSet& Allocator::free_ports(const AgentId& agent) const {
  return cluster_->agent(agent).free_ports;
}

// --- frameworks ---------------------------------------------------------------------------------

void Allocator::add_framework(const FrameworkId& id, const RoleName& role, OfferMode mode) {
  cluster_->add_framework(id, role, mode);
}

void Allocator::set_framework_active(const FrameworkId& id, bool active) {
  Framework& framework = cluster_->framework(id);
  if (framework.active == active) return;
  cluster_->set_framework_active(framework, active);
  if (active) return;
  for (const auto& [name, ask] : framework.asks) waiting_->stop(*ask);
}

void Allocator::remove_framework(const FrameworkId& id) {
  Framework& framework = cluster_->framework(id);
  cluster_->withdraw_framework(framework);
  for (const auto& [name, ask] : framework.asks) waiting_->forget(*ask);
  cluster_->remove_framework(id);
}

void Allocator::declare_asks(const FrameworkId& id, std::vector<Ask> asks, Time now) {
  for (const auto& gone : cluster_->declare_asks(id, std::move(asks), now)) {
    waiting_->forget(*gone);
    cluster_->forget_ask(*gone);
  }
  for (const auto& [name, ask] : cluster_->framework(id).asks) {
    if (ask->unmet() == 0) waiting_->stop(*ask);
  }
}

void Allocator::suppress(const FrameworkId& id) {
  Framework& framework = cluster_->framework(id);
  cluster_->suppress(framework);
  for (const auto& [name, ask] : framework.asks) waiting_->stop(*ask);
}

void Allocator::revive(const FrameworkId& id) { cluster_->revive(cluster_->framework(id)); }

void Allocator::pause(const FrameworkId& id, bool paused) {
  Framework& framework = cluster_->framework(id);
  cluster_->pause(framework, paused);
  if (!paused) return;
  for (const auto& [name, ask] : framework.asks) waiting_->stop(*ask);
}

void Allocator::pause(const FrameworkId& id, const AskName& name, bool paused) {
  const Framework& framework = cluster_->framework(id);
  const auto ask = framework.asks.find(name);
  if (ask == framework.asks.end()) return;
  cluster_->pause(*ask->second, paused);
  if (paused) waiting_->stop(*ask->second);
}

void Allocator::spare_unanswered(Time until) { waiting_->unanswered.spare(until); }

void Allocator::note_late_use(const FrameworkId& id, const OfferId& offer, Time now) {
  cluster_->note_late_use(cluster_->framework(id), offer, now);
}

void Allocator::limit_lease(const FrameworkId& id, std::optional<Duration> most) {
  cluster_->framework(id).lease_max = most;
}

// --- roles --------------------------------------------------------------------------------------

void Allocator::set_role(const RoleName& role, const RoleSettings& settings) {
  cluster_->set_role(role, settings);
  if (const fair::Role* known = cluster_->tree.find(role)) waiting_->headroom.drop_useless(*known);
}

const RoleTable& Allocator::role_table() const { return cluster_->role_table; }

void Allocator::set_knows_all_tasks(bool knows) { cluster_->set_knows_all_tasks(knows); }

// --- offers and tasks ---------------------------------------------------------------------------

const Grant* Allocator::find_offer(const OfferId& id, const FrameworkId& framework) const {
  const fair::OutstandingOffer* offer = cluster_->outstanding.find(id);
  return offer != nullptr && offer->grant->framework == framework ? &*offer->grant : nullptr;
}

void Allocator::settle(const std::vector<OfferId>& offers, std::vector<RunningTask> tasks,
                       const Refusal& refusal, Time now) {
  const auto launched = static_cast<int64_t>(tasks.size());
  const fair::Cluster::Settled settled = cluster_->settle(offers, std::move(tasks), refusal, now);
  for (AskEntry* ask : settled.met) waiting_->stop(*ask);
  if (const AskEntry* ask = settled.leaf->owner->implied) {
    waiting_->reclaims.note_open_answer(*ask, launched);
  }
  if (settled.implied) {
    waiting_->imply(*settled.leaf, *settled.implied);
    if (settled.filtered_on != nullptr) {
      waiting_->reclaims.grow(*settled.leaf, *settled.filtered_on, now);
    }
  }
  for (const fair::Cluster::Answer& answer : settled.answers) {
    if (answer.offered == 0) continue;
    waiting_->reclaims.note_answer(*answer.ask, answer.offered, answer.launched);
  }
  if (settled.filtered_on != nullptr) {
    waiting_->refuse(*settled.leaf->owner, *settled.filtered_on);
  }
}

void Allocator::release(const AgentId& agent, const FrameworkId& framework, const TaskId& task) {
  cluster_->release(agent, framework, task);
}

void Allocator::adopt(const AgentId& agent, const FrameworkId& framework, RunningTask task) {
  cluster_->adopt(agent, framework, std::move(task));
}

std::vector<const Grant*> Allocator::offers() const {
  std::vector<const Grant*> grants;
  for (const auto& [id, offer] : cluster_->outstanding.all()) grants.push_back(&*offer.grant);
  std::sort(grants.begin(), grants.end(),
            [](const Grant* a, const Grant* b) { return a->offer.id < b->offer.id; });
  return grants;
}

std::vector<const Grant*> Allocator::gang_offers(uint64_t gang) const {
  std::vector<const Grant*> grants;
  for (const OfferId& id : cluster_->outstanding.of_gang(gang)) {
    grants.push_back(&*cluster_->outstanding.find(id)->grant);
  }
  return grants;
}

// --- decisions ----------------------------------------------------------------------------------

std::optional<Time> Allocator::next_decision(Time now) const {
  if (cluster_->dirty) return now;
  const std::optional<Time> by_books = cluster_->next_deadline();
  const std::optional<Time> by_waiting = waiting_->next_deadline();
  if (!by_books || !by_waiting) return by_books ? by_books : by_waiting;
  return std::min(*by_books, *by_waiting);
}

Decision Allocator::decide(Time now) {
  fair::Round round(*cluster_, *waiting_, now);
  Decision decision = round.decide();
  *last_ = round.take_record();
  return decision;
}

// --- pictures and laws ---------------------------------------------------------------------------

ResourceVector Allocator::total() const { return cluster_->total_now(); }

std::vector<RoleStatus> Allocator::roles() const { return fair::role_statuses(*cluster_); }

std::vector<LeafStatus> Allocator::leaves() const {
  return fair::leaf_statuses(*cluster_, *waiting_);
}

std::vector<FrameworkLag> Allocator::framework_lags(Time now) const {
  return fair::framework_lags(*cluster_, now);
}

std::map<RoleName, LagStatus> Allocator::role_lags(Time now) const {
  return fair::role_lags(*cluster_, now);
}

std::vector<AskStatus> Allocator::asks(const FrameworkId& id) const {
  return fair::ask_statuses(*cluster_, *waiting_, id);
}

int64_t Allocator::wanted(const FrameworkId& id, const AskName& name) const {
  const Framework& framework = cluster_->framework(id);
  const auto ask = framework.asks.find(name);
  return ask == framework.asks.end() ? 0 : ask->second->ask.count;
}

int64_t Allocator::lacking(const FrameworkId& id, const AskName& name) const {
  const Framework& framework = cluster_->framework(id);
  const auto ask = framework.asks.find(name);
  return ask == framework.asks.end() ? 0 : ask->second->lacking();
}

int64_t Allocator::offered(const FrameworkId& id, const AskName& name) const {
  const Framework& framework = cluster_->framework(id);
  const auto ask = framework.asks.find(name);
  return ask == framework.asks.end() ? 0 : ask->second->offered;
}

WaitReason Allocator::wait_reason(const FrameworkId& id, const AskName& name, Time now) const {
  const Framework& framework = cluster_->framework(id);
  const auto ask = framework.asks.find(name);
  CHECK(ask != framework.asks.end()) << id.str() << "/" << name.str();
  return fair::wait_reason(*cluster_, *waiting_, *ask->second, now);
}

uint64_t Allocator::fit_version() const {
  return cluster_->agents_version + cluster_->settings_version;
}

std::vector<AgentUse> Allocator::agents() const { return fair::agent_uses(*cluster_); }

std::vector<EndingTask> Allocator::ending() const { return fair::ending_tasks(*cluster_); }

FrameworkExplanation Allocator::explain(const FrameworkId& id, Time now) const {
  return fair::Explainer(*cluster_, *waiting_, now).explain(id);
}

std::optional<RoleExplanation> Allocator::explain_role(const RoleName& role, Time now) const {
  return fair::Explainer(*cluster_, *waiting_, now).explain_role(role);
}

std::optional<TaskStanding> Allocator::explain_task(const AgentId& agent,
                                                    const FrameworkId& framework,
                                                    const TaskId& task, Time now) const {
  return fair::Explainer(*cluster_, *waiting_, now).explain_task(agent, framework, task);
}

ReclaimOutlook Allocator::reclaim_outlook(const FrameworkId& framework, const AskName& ask,
                                          Time now) const {
  return fair::Explainer(*cluster_, *waiting_, now).reclaim_outlook(framework, ask);
}

std::vector<Violation> Allocator::violations() const {
  std::vector<Violation> found;
  cluster_->check(found);
  waiting_->check(found);
  // The laws of a decision hold until the next event.
  if (!cluster_->dirty) fair::check_decision(*cluster_, *waiting_, *last_, found);
  return found;
}

}  // namespace proffer
