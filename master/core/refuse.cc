// Refused launches: the updates for their scheduler, and how long it waits for offers after some of
// them.

#include <algorithm>

#include "common/text.h"
#include "master/core/state.h"
#include "master/core/trace.h"

namespace proffer::master {

using proto::TaskReason;
using proto::TaskState;

// A refused task is in no table of live tasks: it never began, and another launch may have its id.
void Master::State::refuse(Framework& framework, const AgentId& on, const proto::TaskSpec& spec,
                           TaskRefusal&& refusal, Step& step) {
  step.trace(TaskRefused{framework.id(), spec.id, on, refusal.reason, framework.user_of(spec)});
  note_refused(framework, spec.id, spec.ask, refusal.reason, refusal.message, step.now);
  proto::TaskStatus status{.task = spec.id,
                           .agent = AgentId(),
                           .state = TaskState::kRefused,
                           .reason = refusal.reason,
                           .source = proto::UpdateSource::kMaster,
                           .sequence = next_sequence(),
                           .message = refusal.message.substr(0, kReasonTextBytesMax),
                           .data = {},
                           .exit_code = {},
                           .signal = {},
                           .at = step.now};
  // Labels may be the reason for the refusal; then they may not be sent.
  if (proto::check_labels(spec.labels)) status.labels = spec.labels;
  if (is_valid_name(spec.id.str()) && !tasks_.is_used({framework.id(), spec.id})) {
    tasks_.add_refused({.framework = framework.id(),
                        .task = spec.id,
                        .agent = on,
                        .state = TaskState::kRefused,
                        .reason = refusal.reason,
                        .message = status.message,
                        .command = spec.command.substr(0, kCommandShownBytes),
                        .user = framework.user_of(spec),
                        .role = framework.record.role,
                        .labels = status.labels,
                        .launched_at = step.now,
                        .changed_at = step.now});
  }
  keep_refusal(framework, spec, std::move(status), step);
}

// Keeps the refusal until its scheduler has acknowledged it.
void Master::State::keep_refusal(Framework& framework, const proto::TaskSpec& spec,
                                 proto::TaskStatus&& status, Step& step) {
  if (is_valid_name(spec.id.str())) keep_refused(framework, spec, status);
  framework.refusals.emplace(std::pair(spec.id, status.sequence), status);
  ++unacknowledged_;
  if (!framework.connected()) return;
  send(framework.peer, proto::Update{.framework = framework.id(), .status = std::move(status)},
       step);
}

// All agents are back or removed, so a later launch of these ids runs only if it is known.
void Master::State::tell_old_refusals(Framework& framework, Step& step) {
  for (auto& [task, status] : std::exchange(framework.old_refusals, {})) {
    if (framework.gone || tasks_.is_used({framework.id(), task})) continue;
    status.task = task;
    status.source = proto::UpdateSource::kMaster;
    status.sequence = next_sequence();
    tasks_.add_refused({.framework = framework.id(),
                        .task = task,
                        .agent = status.agent,
                        .state = TaskState::kRefused,
                        .reason = status.reason,
                        .message = status.message,
                        .user = framework.record.user,
                        .role = framework.record.role,
                        .labels = status.labels,
                        .launched_at = status.at,
                        .changed_at = status.at});
    proto::TaskSpec spec;
    spec.id = task;
    keep_refusal(framework, spec, std::move(status), step);
  }
}

// Counts a launch that the master refused, or the agent that got it.
void Master::State::note_refused(Framework& framework, const TaskId& task, const AskName& ask,
                                 TaskReason reason, const std::string& message, Time now) {
  RefusedLaunches& refused = framework.refused_launches;
  ++refused.count;
  ++refused.by_reason[reason];
  ++series_.of(framework.id()).refused[reason];
  refused.last = {.task = task,
                  .ask = ask,
                  .reason = reason,
                  .message = message.substr(0, kReasonTextBytesMax),
                  .at = now};
}

AcceptOutcome outcome_of(const TakenOffers& taken, const AcceptPlan& plan) {
  AcceptOutcome outcome{.has_offers = !taken.valid.empty(),
                        .refused_any = !plan.refusals.empty() ||
                                       (!plan.complaints.empty() && plan.reservations.empty()),
                        .did_other = !plan.reservations.empty()};
  for (const OffersUse& use : plan.uses) {
    for (const RunningTask& task : use.tasks) outcome.launched.insert(task.ask);
  }
  for (const Grant* grant : taken.valid) {
    for (const AskFill& fill : grant->offer.fills) {
      if (!outcome.launched.contains(fill.ask)) outcome.failed.insert(fill.ask);
    }
  }
  return outcome;
}

// A scheduler that repeatedly declines an agent for no time is offered the agent less and less
// often.
Refusal Master::State::not_too_short(Framework& framework, const AgentId& agent, Refusal refusal,
                                     Time now) {
  const bool has_reason = !refusal.too_little.empty() || refusal.wrong_agent;
  if (has_reason || refusal.refuse_for >= kShortDecline) return refusal;
  ShortDeclines& declines = framework.short_declines;
  refusal.refuse_for = std::max(refusal.refuse_for, declines.note(agent, now));
  declines.keep_only(agents_.all().size(),
                     [&](const AgentId& id) { return agents_.find(id) != nullptr; });
  return refusal;
}

// Called after each accept. Launches that are refused because a message was too long on its way
// count too: one such failure causes no wait. An accept without tasks and without a filter comes
// from a scheduler whose library refused its tasks.
void Master::State::note_outcome(Framework& framework, AcceptOutcome&& outcome, Step& step) {
  for (const AskName& ask : outcome.launched) framework.back_off.note_launched(ask);
  const bool did_nothing = outcome.launched.empty() && !outcome.did_other && !outcome.declines;
  if (!outcome.has_offers || (!outcome.refused_any && !did_nothing)) return;
  const bool is_open = framework.record.mode == OfferMode::kOpen;
  if (is_open ? !outcome.launched.empty() : outcome.failed.empty()) return;
  framework.back_off.note_failed(outcome.failed, step.now);
  if (!framework.back_off.next_end()) return;
  step.trace(FrameworkWaits{framework.id(), framework.back_off.all().failures});
  pause_waiting(framework);
}

// Offers of the framework expired without an answer. Others wait for these resources, so the
// framework gets offers less and less often, and with shorter leases, until it answers.
void Master::State::note_silence(Framework& framework, Step& step) {
  constexpr int64_t kHalvings = 20;  // more than any lease allows
  const int64_t times = std::min(++framework.unanswered.times, kHalvings);
  const Duration longest = options_.allocator.offer_timeout;
  const Duration halved = nanoseconds(longest.nanos() >> times);
  allocator_.limit_lease(framework.id(), std::max(halved, std::min(longest, kOfferTimeoutMin)));
  framework.back_off.note_failed({}, step.now);
  pause_waiting(framework);
}

void Master::State::note_answer(Framework& framework) {
  framework.unanswered.since_answer = 0;
  if (std::exchange(framework.unanswered.times, 0) == 0) return;
  allocator_.limit_lease(framework.id(), std::nullopt);
}

// Called after each declaration, too: the allocator treats an ask that is declared anew as another
// one.
void Master::State::pause_waiting(const Framework& framework) {
  const std::optional<Time> end = framework.back_off.next_end();
  if (!end) return;
  allocator_.pause(framework.id(), framework.back_off.pauses_all());
  for (const auto& [ask, row] : framework.back_off.asks()) {
    if (row.until) allocator_.pause(framework.id(), ask, true);
  }
  deadlines_.arm({.kind = DeadlineKind::kBackOff, .peer = {}, .id = framework.id().str()}, *end);
}

void Master::State::end_waits(Framework& framework, Step& step) {
  const BackOff::Ended ended = framework.back_off.take_ended(step.now);
  if (ended.all) allocator_.pause(framework.id(), false);
  for (const AskName& ask : ended.asks) allocator_.pause(framework.id(), ask, false);
  if (const std::optional<Time> next = framework.back_off.next_end()) {
    deadlines_.arm({.kind = DeadlineKind::kBackOff, .peer = {}, .id = framework.id().str()}, *next);
  }
}

}  // namespace proffer::master
