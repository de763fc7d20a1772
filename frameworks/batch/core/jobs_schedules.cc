// Schedules (schedules.h) within the scheduler: requests for them, and the jobs that they start. A
// decision and the job that it starts are stored in one transaction, so a fire time starts at most
// one job, even across restarts.

#include <algorithm>

#include "common/check.h"
#include "common/text.h"
#include "frameworks/batch/core/jobs_state.h"
#include "frameworks/batch/core/trace.h"
#include "sdk/store.h"

namespace proffer::batch {

// --- requests ----------------------------------------------------------------------------------

void Jobs::State::on_schedule(Step& step, uint64_t relay, const SubmitSchedule& submit,
                              const Caller& by) {
  const std::string name = schedule_name(submit.order);
  const ScheduleRecord* known = schedules_.find(name);
  if (known != nullptr && known->owner != by.user) {
    return answer(
        step, relay,
        Error::already_exists(text("user ", quoted(known->owner), " already has a schedule of the ",
                                   "name ", quoted(name)))
            .with_hint("give the job another name"));
  }
  if (schedules_.is_writing(name)) return answer(step, relay, busy_schedule(name));
  ScheduleRecord record = known != nullptr ? *known : ScheduleRecord();
  record.order = submit.order;
  for (StageOrder& stage : record.order.stages.stages) {
    stage.order.role = charged_role(submit.role, by.user);
  }
  record.owner = by.user;
  record.submitted_at = step.now;
  record.decided_until = unix_seconds(step.now);
  if (known == nullptr) {
    if (Result<void> ok = schedules_.has_room(by.user); !ok) return answer(step, relay, ok.error());
  }
  std::vector<const JobOrder*> orders;
  for (const StageOrder& stage : record.order.stages.stages) orders.push_back(&stage.order);
  if (Result<void> ok = has_room(orders, by.user); !ok) return answer(step, relay, ok.error());
  step.trace(ScheduleSubmitted{name, by.user, record.order.cron});
  write_schedule(name, std::move(record), relay, by);
}

void Jobs::State::on_schedule_change(Step& step, uint64_t relay, const ChangeSchedule& change,
                                     const Caller& by) {
  const ScheduleRecord* known = schedules_.find(change.name);
  if (known == nullptr) {
    return answer(step, relay,
                  Error::not_found(text("there is no schedule ", quoted(change.name)))
                      .with_hint("list schedules with: proffer batch cron list"));
  }
  constexpr std::string_view kWhat[] = {"pause", "resume", "remove"};
  const std::string_view what = kWhat[static_cast<size_t>(change.what)];
  if (options_.serves_users && !by.is_operator && known->owner != by.user) {
    return answer(
        step, relay,
        Error::permission_denied(text("user ", quoted(by.user), " may not ", what, " schedule ",
                                      quoted(change.name), " of user ", quoted(known->owner)))
            .with_hint("only that user and operators may"));
  }
  if (schedules_.is_writing(change.name)) return answer(step, relay, busy_schedule(change.name));
  step.trace(ScheduleChanged{change.name, by.user, what});
  if (change.what == ChangeSchedule::What::kRemove) {
    schedules_.begin_writing(change.name);
    continuations_[journal_.add({sdk::erase(schedule_key(change.name))})] =
        ScheduleKept{.name = change.name, .relay = relay, .by = by};
    return;
  }
  ScheduleRecord record = *known;
  record.is_paused = change.what == ChangeSchedule::What::kPause;
  write_schedule(change.name, std::move(record), relay, by);
}

Error Jobs::State::busy_schedule(const std::string& name) {
  return Error::unavailable(text("schedule ", quoted(name), " is being written"))
      .with_hint("try again in a moment");
}

void Jobs::State::write_schedule(const std::string& name, ScheduleRecord record, uint64_t relay,
                                 const Caller& by) {
  if (schedules_.find(name) != nullptr) schedules_.begin_writing(name);
  std::string bytes = encode(record);
  continuations_[journal_.add({sdk::put(schedule_key(name), std::move(bytes))})] =
      ScheduleKept{.name = name, .record = std::move(record), .relay = relay, .by = by};
}

void Jobs::State::on_schedule_kept(Step& step, const ScheduleKept& kept,
                                   const std::optional<Error>& error) {
  if (error) {
    schedules_.on_write_failed(kept.name, step.now);
    return answer(step, kept.relay, Error(*error).in("cannot store the schedule"));
  }
  proto::BatchSchedule picture;
  if (kept.record) {
    schedules_.put(kept.name, *kept.record, step.now);
    find_started_jobs();
    picture = schedules_.picture(kept.name, kFireTimesInAnswer, step.now);
  } else {
    picture = schedules_.picture(kept.name, 0, step.now);
    schedules_.remove(kept.name);
  }
  step.out.schedule_answers.push_back({kept.relay, shown_to(kept.by, std::move(picture))});
}

proto::BatchSchedule Jobs::State::shown_to(const Caller& by, proto::BatchSchedule schedule) const {
  if (options_.serves_users && !by.is_operator && schedule.owner != by.user) {
    schedule.output.clear();
    schedule.note.clear();
  }
  return schedule;
}

std::vector<proto::BatchSchedule> Jobs::State::schedules(const Caller& by, const std::string& after,
                                                         size_t limit, size_t fire_times,
                                                         Time now) const {
  std::vector<proto::BatchSchedule> out;
  for (const std::string& name : schedules_.names(after, limit)) {
    out.push_back(shown_to(by, schedules_.picture(name, fire_times, now)));
  }
  return out;
}

// --- firings -----------------------------------------------------------------------------------

void Jobs::State::on_zone(Step& step, const ZoneRead& read) {
  if (!read.zone) {
    step.trace(ZoneCannotBeRead{read.name, read.zone.error().message()});
  }
  schedules_.on_zone(read.name, read.zone, step.now);
}

// A schedule that was removed and submitted again finds its jobs. A schedule of another user with
// the same name does not, since that user may not end them.
void Jobs::State::find_started_jobs() {
  for (const auto& [id, known] : jobs_) {
    if (!known.waiting || known.ended) continue;
    const ScheduleRecord* schedule = schedules_.find(known.waiting->schedule);
    if (schedule == nullptr || schedule->owner != known.record.owner) continue;
    schedules_.on_job_started(known.waiting->schedule, id);
  }
}

void Jobs::State::fire(Step& step) {
  if (!loaded_) return;
  step.out.zones_wanted = schedules_.take_wanted_zones(step.now);
  while (std::optional<Schedules::Due> due = schedules_.next_due(step.now)) {
    ScheduleRecord& record = due->step.record;
    if (due->step.cancel_running) {
      for (const JobId& job : std::set<JobId>(schedules_.running(due->name))) {
        KnownJob& known = touch(job);
        if (known.has_outcome() || known.is_outcome_asked) continue;
        end_as_cancelled(step, job, known,
                         text("schedule ", due->name, " replaced it at its next fire time"));
      }
    }
    Fired fired{.schedule = due->name};
    std::vector<proto::StoreOperation> operations;
    if (due->step.start) {
      const int64_t at = *due->step.start;
      Result<std::vector<JobId>> jobs =
          add_jobs(step, firing_of(record.order, at), record.owner, due->name, operations);
      if (jobs) {
        fired.jobs = *std::move(jobs);
        const std::string& pipeline = jobs_.at(fired.jobs.front()).waiting->pipeline;
        record.job = pipeline.empty() ? fired.jobs.front() : JobId(pipeline);
        add_firing(record, {.at = at, .last = at, .job = record.job});
      } else {
        step.trace(FiringRefused{due->name, jobs.error().message()});
        add_firing(record, {.at = at, .last = at, .result = Firing::Result::kRefused});
      }
    }
    operations.push_back(sdk::put(schedule_key(due->name), encode(record)));
    fired.record = std::move(record);
    continuations_[journal_.add(std::move(operations))] = std::move(fired);
  }
}

void Jobs::State::on_fired(Step& step, const Fired& fired, const std::optional<Error>& error) {
  if (!fired.jobs.empty()) on_submitted(step, fired.jobs, error);
  if (error) return schedules_.on_write_failed(fired.schedule, step.now);
  for (const JobId& job : fired.jobs) schedules_.on_job_started(fired.schedule, job);
  schedules_.put(fired.schedule, fired.record, step.now);
}

}  // namespace proffer::batch
