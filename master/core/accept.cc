// A framework accepts offers. Begin with `on_accept`; the rules are in accept_plan.cc.

#include <algorithm>

#include "common/text.h"
#include "master/core/state.h"
#include "master/core/trace.h"

namespace proffer::master {

using proto::TaskState;

namespace {

constexpr Duration kRefuseMax = hours(24 * 365 * 10);

// The allocator accepts any refusal whose end is within the range of time.
Refusal bounded(Refusal refusal) {
  refusal.refuse_for = std::clamp(refusal.refuse_for, Duration(), kRefuseMax);
  return refusal;
}

// The asks that the offers were made for; the empty name stands for open offers.
std::set<AskName> asks_of(const std::vector<const Grant*>& offers) {
  std::set<AskName> asks;
  for (const Grant* grant : offers) {
    if (grant->offer.fills.empty()) asks.insert(AskName());
    for (const AskFill& fill : grant->offer.fills) asks.insert(fill.ask);
  }
  return asks;
}

std::vector<AskName> filled_by(const Offer& offer) {
  std::vector<AskName> asks;
  for (const AskFill& fill : offer.fills) asks.push_back(fill.ask);
  return asks;
}

}  // namespace

// All outstanding offers of the gangs that these offers belong to.
std::map<uint64_t, GangOffers> Master::State::gangs_of(
    const std::vector<const Grant*>& offers) const {
  std::map<uint64_t, GangOffers> gangs;
  for (const Grant* grant : offers) {
    if (grant->offer.gang == 0) continue;
    const auto [at, is_new] = gangs.try_emplace(grant->offer.gang);
    if (!is_new) continue;
    for (const Grant* one : allocator_.gang_offers(grant->offer.gang)) {
      ++at->second.offers;
      for (const AskFill& fill : one->offer.fills) {
        at->second.tasks += fill.count;
        at->second.ask = fill.ask;
      }
    }
  }
  return gangs;
}

TakenOffers Master::State::take_offers(const Framework& framework,
                                       const std::vector<OfferId>& ids) const {
  TakenOffers taken;
  std::set<OfferId> seen;
  for (const OfferId id : ids) {
    if (!seen.insert(id).second) continue;
    if (const Grant* grant = allocator_.find_offer(id, framework.id())) {
      taken.valid.push_back(grant);
      taken.ports.emplace(grant->offer.agent, allocator_.free_ports(grant->offer.agent));
    } else if (!taken.invalid) {
      taken.invalid = id;
    }
  }
  taken.gangs = gangs_of(taken.valid);
  return taken;
}

// For the asks that the tasks of the accept name.
std::map<AskName, int64_t> Master::State::wanted_of(const Framework& framework,
                                                    const proto::Accept& accept) const {
  std::map<AskName, int64_t> wanted;
  for (const proto::Operation& operation : accept.operations) {
    const auto* launch = std::get_if<proto::Launch>(&operation);
    if (launch == nullptr) continue;
    for (const proto::TaskSpec& spec : launch->tasks) {
      const auto [at, is_new] = wanted.try_emplace(spec.ask);
      if (is_new) at->second = allocator_.wanted(framework.id(), spec.ask);
    }
  }
  return wanted;
}

// A scheduler that launches a task now cannot have launched it before.
void Master::State::deny_hidden(const Framework& framework, const proto::Accept& accept,
                                Step& step) {
  if (framework.hidden == 0) return;
  for (const proto::Operation& operation : accept.operations) {
    for (const proto::TaskSpec& spec : proto::launched_by(operation)) {
      Task* task = tasks_.find({framework.id(), spec.id});
      if (task != nullptr && task->hidden)
        disbelieve(*task, "its scheduler launches it again now", step);
    }
  }
}

void Master::State::on_accept(Framework& framework, proto::Accept&& accept, Step& step) {
  // Take. An offer is answered once: it is settled below, regardless of the plan.
  note_answer(framework);
  deny_hidden(framework, accept, step);
  TakenOffers taken = take_offers(framework, accept.offers);
  taken.wanted = wanted_of(framework, accept);

  // Decide. Reads only, so that each rule has its own case in accept_plan_test.cc.
  AcceptPlan plan = plan_accept(accept, framework, taken, tasks_, agents_,
                                framework.remembers_tasks() ? &registry_.stores() : nullptr,
                                SecretShelf{registry_.secrets(), secrets_key_});

  AcceptOutcome outcome = outcome_of(taken, plan);
  if (taken.invalid && !plan.refusals.empty()) {
    allocator_.note_late_use(framework.id(), *taken.invalid, step.now);
  }
  FrameworkFigures& figures = series_.of(framework.id());
  figures.accepted += taken.valid.size();
  figures.launches += plan.launches.size() + plan.refusals.size();
  std::set<AskName> asks = asks_of(taken.valid);

  // Apply. Unused resources are free again at once, and refused for a while. If nothing could be
  // launched because an offer id was invalid, the scheduler did not mean to refuse the other
  // offers.
  const Refusal refusal = taken.invalid ? Refusal() : bounded(std::move(accept.refusal));
  // If a task was refused or a reservation was made, unused offers were not declined on purpose.
  const bool is_left = !taken.invalid && plan.refusals.empty() && plan.reservations.empty();
  // An accept without an operation is a decline.
  const bool is_decline = accept.operations.empty() && refusal != Refusal();
  for (OffersUse& use : plan.uses) {
    for (RunningTask& task : use.tasks) task.since = step.now;
    // If a gang is not launched, the first of its offers ends all of them.
    std::erase_if(use.offers, [&](OfferId offer) {
      return allocator_.find_offer(offer, framework.id()) == nullptr;
    });
    if (use.offers.empty()) continue;
    for (const OfferId offer : use.offers) {
      OfferAccepted accepted{framework.id(), offer, use.tasks.size()};
      if (is_left && use.tasks.empty()) {
        accepted.unused_for = filled_by(allocator_.find_offer(offer, framework.id())->offer);
      }
      step.trace(std::move(accepted));
    }
    const AgentId on = allocator_.find_offer(use.offers.front(), framework.id())->offer.agent;
    allocator_.settle(use.offers, std::move(use.tasks),
                      is_decline ? not_too_short(framework, on, refusal, step.now) : refusal,
                      step.now);
  }

  for (const auto& [agent, port] : plan.next_ports) agents_.find(agent)->next_port = port;
  change_reservations(plan.reservations, step);

  outcome.declines = refusal != Refusal();
  note_outcome(framework, std::move(outcome), step);

  // Tell. Each refused task gets a terminal update, so that its framework does not wait for it.
  for (TaskLaunch& launched : plan.launches) {
    auto& operation = std::get<proto::Launch>(accept.operations[launched.operation]);
    launch(framework, operation.agent, std::move(operation.tasks[launched.task]),
           std::move(launched.assignment), step);
  }
  for (const auto& [ask, wanted] : taken.wanted) asks.insert(ask);
  for (TaskRefusal& refused : plan.refusals) {
    const auto& operation = std::get<proto::Launch>(accept.operations[refused.operation]);
    refuse(framework, operation.agent, operation.tasks[refused.task], std::move(refused), step);
  }
  for (const AskName& ask : asks) refresh_wait(framework, ask, step.now);
  for (const Error& complaint : plan.complaints) {
    step.trace(OperationRefused{framework.id(), complaint.message()});
    send_error(framework.peer, complaint, false, true, step);
  }
}

// The resources are already allocated, because the offer was settled with them.
void Master::State::launch(Framework& framework, const AgentId& on, proto::TaskSpec&& spec,
                           proto::Assignment&& assignment, Step& step) {
  Agent& agent = *agents_.find(on);
  assignment.user = framework.user_of(spec);
  assignment.launched_at = step.now;
  assignment.ticket = ticket_of(framework, spec.id, agent, assignment);
  spec.max_run_time = assignment.claim.max_run_time;
  step.trace(TaskLaunched{framework.id(), spec.id, on, assignment.user, spec.ask,
                          asked_at(framework, spec.ask, step.now)});
  if (framework.remembers_tasks()) {
    remember(framework, spec.id,
             {.agent = on, .admission = agent.admission, .memory = agent.memory}, step);
  }
  send(agent.peer,
       proto::RunTask{.framework = framework.id(),
                      .spec = spec,
                      .assignment = assignment,
                      .secrets = sealed_secrets(spec, assignment.user, registry_.secrets())},
       step);
  if (!spec.executor_id.empty()) framework.executor_agents.insert(on);
  const TaskKey key{framework.id(), spec.id};
  Task launched;
  launched.agent = on;
  launched.text = tasks_.share(TaskText{.ask = spec.ask,
                                        .executor = spec.executor_id,
                                        .command = spec.command.substr(0, kCommandShownBytes),
                                        .user = std::move(assignment.user),
                                        .labels = spec.labels});
  launched.allotment = tasks_.share(TaskAllotment{.resources = std::move(assignment.resources),
                                                  .ports = std::move(assignment.ports),
                                                  .claim = std::move(assignment.claim)});
  launched.held = true;
  launched.spec = tasks_.share(std::move(spec));
  launched.launched_at = step.now;
  launched.changed_at = step.now;
  launched.waited =
      PackedWaits(note_launched(framework, launched.text->ask, launched.claim().role, step.now));
  launched.is_starting = true;
  Task& added = tasks_.add(key, std::move(launched));
  count_use(added, true);
  agent.tasks.insert(added);
  await_start(agent, added, step);
  ++framework.tasks;
  ++framework.held;
  framework.short_declines.note_launched(on);
  framework.old_refusals.erase(added.key().task);
}

void Master::State::on_decline(Framework& framework, const proto::Decline& decline, Step& step) {
  note_answer(framework);
  const Refusal refusal = bounded(decline.refusal);
  const std::vector<const Grant*> taken = take_offers(framework, decline.offers).valid;
  series_.of(framework.id()).declined += taken.size();
  const std::set<AskName> asks = asks_of(taken);
  std::vector<OfferId> valid;
  std::map<AgentId, Refusal> refusals;  // an agent is declined once, for any number of offers
  for (const Grant* grant : taken) {
    valid.push_back(grant->offer.id);
    const auto [at, is_new] = refusals.try_emplace(grant->offer.agent);
    if (is_new) at->second = not_too_short(framework, at->first, refusal, step.now);
  }
  for (const OfferId id : valid) {
    // A gang ends with the first of its offers.
    const Grant* grant = allocator_.find_offer(id, framework.id());
    if (grant == nullptr) continue;
    step.trace(OfferDeclined{framework.id(), id, grant->offer.agent, filled_by(grant->offer)});
    const Refusal& of_agent = refusals.at(grant->offer.agent);
    allocator_.settle({id}, {}, of_agent, step.now);
  }
  for (const AskName& ask : asks) refresh_wait(framework, ask, step.now);
}

}  // namespace proffer::master
