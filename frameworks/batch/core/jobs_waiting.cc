// Jobs that wait for others, and for their plans. The end of a job decides the fates of those that
// wait for it (on_dependency_ended). A job whose conditions can never be met ends as skipped, which
// is an end too. A retry opens fates again (on_dependency_retried). A fate is written before its
// job can be forgotten: the journal keeps the order.

#include <algorithm>

#include "common/check.h"
#include "common/text.h"
#include "frameworks/batch/core/jobs_state.h"
#include "frameworks/batch/core/trace.h"
#include "sdk/store.h"

namespace proffer::batch {

void Jobs::State::add_waiting(const JobId& id, KnownJob& known, Waiting waiting) {
  for (const Dependency& one : waiting.after) dependents_[one.job].insert(id);
  known.waiting = std::move(waiting);
}

void Jobs::State::forget_waiting(const JobId& id, const KnownJob& known) {
  if (!known.waiting) return;
  for (const Dependency& one : known.waiting->after) {
    if (one.on == Condition::kEach) forget_elements(one.job, id);
    const auto found = dependents_.find(one.job);
    if (found == dependents_.end()) continue;
    found->second.erase(id);
    if (found->second.empty()) dependents_.erase(found);
  }
}

void Jobs::State::write_waiting(const JobId& id, const KnownJob& known) {
  journal_.add({sdk::put(waits_key(id), encode(*known.waiting))});
}

std::optional<proto::BatchPhase> Jobs::State::end_of(const JobId& job) const {
  if (const auto ended = ended_.find(job); ended != ended_.end()) return ended->second.phase;
  const auto known = jobs_.find(job);
  if (known == jobs_.end()) return proto::BatchPhase::kSkipped;
  if (!known->second.ended) return std::nullopt;
  return known->second.ended->phase;
}

// --- ends --------------------------------------------------------------------------------------

void Jobs::State::on_dependency_ended(Step& step, const JobId& job) {
  follow_again(step, job);
  const auto found = dependents_.find(job);
  if (found == dependents_.end()) return;
  for (const JobId& id : std::set<JobId>(found->second)) {
    KnownJob& known = touch(id);
    bool is_news = false;
    for (Dependency& one : known.waiting->after) {
      if (one.job != job || one.fate != Fate::kOpen) continue;
      one.fate = fate_now(one);
      is_news = true;
    }
    if (!is_news) continue;
    write_waiting(id, known);
    decide_wait(step, id, known);
  }
}

void Jobs::State::decide_wait(Step& step, const JobId& id, KnownJob& known) {
  touched_.insert(id);
  if (!known.is_kept || known.job || known.has_outcome() || known.is_outcome_asked ||
      !known.waiting || verdict(*known.waiting) != Fate::kNever) {
    return;
  }
  known.state.outcome =
      Outcome{.phase = proto::BatchPhase::kSkipped,
              .error = text("it waited for ", waits_for(*known.waiting, Fate::kNever),
                            ", which can no longer happen"),
              .hint = text("retry the failed job with proffer batch retry; the jobs that wait for "
                           "it then wait again"),
              .is_kept = true};
  known.is_outcome_asked = true;
  continuations_[journal_.add({sdk::put(state_key(id), encode(known.state))})] = OutcomeKept{id};
  step.trace(JobSkipped{id});
}

// --- retries -----------------------------------------------------------------------------------

// A fate can be open again only if the other job exists.
Waiting Jobs::State::looked_at_again(const Waiting& waiting) const {
  Waiting again = waiting;
  for (Dependency& one : again.after) {
    if (!jobs_.contains(one.job) && !ended_.contains(one.job)) continue;
    one.fate = fate_now(one);
  }
  return again;
}

void Jobs::State::on_dependency_retried(Step& step, const JobId& job) {
  follow_again(step, job);
  const auto found = dependents_.find(job);
  if (found == dependents_.end()) return;
  for (const JobId& id : std::set<JobId>(found->second)) {
    wait_again(step, id, jobs_.at(id));
  }
}

void Jobs::State::wait_again(Step& step, const JobId& id, KnownJob& known) {
  if (!known.is_retryable() || known.ended->phase != proto::BatchPhase::kSkipped ||
      known.is_retry_asked || known.retry_until <= step.now ||
      verdict(looked_at_again(*known.waiting)) == Fate::kNever) {
    return;
  }
  // All elements of the other array have failed, and its end is not stored yet.
  const Dependency* each = each_of(known);
  const auto other = each == nullptr ? jobs_.end() : jobs_.find(each->job);
  if (other != jobs_.end() && other->second.job && other->second.job->have_all_failed()) return;
  ask_for_retry(id, known);
}

// The previous life may have ended between an end, or a retry, and its consequences.
void Jobs::State::restore_waits(Step& step) {
  std::vector<JobId> retried;
  for (auto& [id, known] : jobs_) {
    if (!known.waiting) continue;
    if (known.ended && known.ended->phase == proto::BatchPhase::kSkipped) {
      for (const Dependency& one : known.waiting->after) {
        const bool was_over = one.fate == Fate::kNever || one.on == Condition::kEach;
        if (was_over && !end_of(one.job)) retried.push_back(one.job);
      }
    }
    if (known.ended || known.job) continue;
    bool is_news = false;
    for (Dependency& one : known.waiting->after) {
      if (one.fate != Fate::kOpen) continue;
      one.fate = fate_now(one);
      is_news |= one.fate != Fate::kOpen;
    }
    if (is_news) write_waiting(id, known);
    decide_wait(step, id, known);
  }
  for (const JobId& job : retried) on_dependency_retried(step, job);
  std::vector<JobId> kept;
  for (const auto& [job, blocks] : kept_elements_) kept.push_back(job);
  for (const JobId& job : kept) forget_elements(job, {});
}

// --- plans -------------------------------------------------------------------------------------

// Nothing of it is launched before its number of tasks is stored for all lives of the scheduler.
void Jobs::State::keep_plan(Step& step, const JobId& id, KnownJob& known) {
  const JobOrder& before = known.record.order;
  const Result<JobOrder> order =
      before.awaits_plan() ? planned_order(before, *known.job->plan()) : before;
  Result<void> has_room = order ? has_room_for_plan(id, *order) : Result<void>(order.error());
  const Dependency* each = each_of(known);
  if (has_room && each != nullptr && (jobs_.contains(each->job) || ended_.contains(each->job))) {
    has_room = check_size(*order, each->job);
  }
  if (!has_room) {
    const Error error = std::move(has_room).error().in("the job's plan");
    return known.job->end({.phase = proto::BatchPhase::kFailed,
                           .error = error.message(),
                           .hint = error.hint(),
                           .is_kept = true},
                          step.out);
  }
  known.is_plan_asked = true;
  OrderRecord record = known.record;
  record.order = *order;
  std::vector<proto::StoreOperation> operations = {sdk::put(order_key(id), encode(record))};
  if (known.waiting) {
    Waiting waiting = *known.waiting;
    waiting.is_planned = true;
    operations.push_back(sdk::put(waits_key(id), encode(waiting)));
  }
  continuations_[journal_.add(std::move(operations))] = PlanKept{.job = id, .order = *order};
}

// --- submissions -------------------------------------------------------------------------------

Result<std::vector<Waiting>> Jobs::State::waits_of(const Submission& stages,
                                                   const std::vector<JobId>& ids) const {
  std::vector<Waiting> waits;
  for (const StageOrder& stage : stages.stages) {
    Waiting& waiting = waits.emplace_back();
    waiting.stage = stage.stage;
    waiting.takes_any = stage.takes_any;
    for (const StageDependency& one : stage.after) {
      Dependency dependency{.on = one.on};
      for (size_t i = 0; i < stages.stages.size(); ++i) {
        if (!stages.pipeline.empty() && stages.stages[i].stage == one.job) dependency.job = ids[i];
      }
      if (dependency.job.empty()) {
        dependency.job = resolved(JobId(one.job));
        const auto known = jobs_.find(dependency.job);
        if (!ended_.contains(dependency.job) && (known == jobs_.end() || !known->second.is_kept)) {
          return unknown_job(dependency.job).in("the job's dependencies");
        }
        if (one.on == Condition::kEach) {
          Result<void> ok = check_each_of(stage.order, dependency.job);
          if (!ok) return std::move(ok).error();
          // all of its elements are then done
          if (ended_.contains(dependency.job)) dependency.on = Condition::kFinished;
        }
        dependency.fate = fate_now(dependency);
      }
      waiting.after.push_back(std::move(dependency));
    }
  }
  return waits;
}

}  // namespace proffer::batch
