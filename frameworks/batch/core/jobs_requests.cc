// Requests for jobs (on_request), and the status of jobs. A submission is answered when the order
// is stored, a cancel when the outcome is stored.

#include <algorithm>

#include "common/check.h"
#include "common/roles.h"
#include "common/text.h"
#include "frameworks/batch/core/jobs_state.h"
#include "frameworks/batch/core/trace.h"
#include "sdk/store.h"

namespace proffer::batch {
namespace {

// The part of a job's name in its id, so that ids of its tasks are valid names.
constexpr size_t kNameInIdBytesMax = 80;

// The most that a job can take in the store.
size_t bytes_of(const JobOrder& order) {
  if (order.array) {
    const size_t elements = order.array->size();
    const size_t runs_again = !order.array->requeue_on.empty() ? kRequeuedElementBytes
                              : order.array->retries > 0       ? kRetriedElementBytes
                                                               : 0;
    return encode_order(order).size() + elements * kBitsPerElement / 8 + elements * runs_again +
           1'024;
  }
  const size_t tasks = static_cast<size_t>(order.maps + order.reducers);
  const size_t blocks = static_cast<size_t>((order.maps + kBlockTasks - 1) / kBlockTasks +
                                            (order.reducers + kBlockTasks - 1) / kBlockTasks);
  return encode_order(order).size() + tasks * kTaskRecordBytes + blocks * kCountersBytesMax + 1'024;
}

size_t keys_of(const JobOrder& order) {
  if (order.array) return 5 + order.array->size() / kBlockElements;
  return 5 + static_cast<size_t>((order.maps + order.reducers) / kBlockTasks);
}

Error no_room_in_store(const JobOrder& order, std::string_view hint) {
  return Error::resource_exhausted(
             text("with this job of ",
                  order.array ? text(order.array->size(), " elements")
                              : text(order.maps + order.reducers, " tasks"),
                  ", the state of all jobs would not fit into the scheduler's store"))
      .with_hint(text(hint, order.array ? ", or make it smaller" : ", or use larger splits"));
}

}  // namespace

void Jobs::State::on_request(Step& step, const Request& request) {
  begin_stale_ = true;
  if (!loaded_) {
    return answer(step, request.relay,
                  Error::unavailable("the batch scheduler is still reading its jobs from the store")
                      .with_hint("try again in a moment"));
  }
  if (const auto* submit = std::get_if<Submit>(&request.what)) {
    const Submission one{.stages = {{.order = submit->order}}};
    return on_submit(step, request.relay, one, submit->role, request.by);
  }
  if (const auto* stages = std::get_if<SubmitStages>(&request.what)) {
    return on_submit(step, request.relay, stages->stages, stages->role, request.by);
  }
  if (const auto* cancel = std::get_if<Cancel>(&request.what)) {
    return on_cancel(step, request.relay, {resolved(cancel->job)}, request.by);
  }
  if (const auto* retry = std::get_if<Retry>(&request.what)) {
    return on_retry(step, request.relay, {resolved(retry->job)}, request.by);
  }
  if (const auto* schedule = std::get_if<SubmitSchedule>(&request.what)) {
    return on_schedule(step, request.relay, *schedule, request.by);
  }
  if (const auto* change = std::get_if<ChangeSchedule>(&request.what)) {
    return on_schedule_change(step, request.relay, *change, request.by);
  }
  WatchJob watch = std::get<WatchJob>(request.what);
  watch.job = resolved(watch.job);
  const Duration wait =
      watches_.size() < kWatchesMax ? std::min(watch.wait, kWatchMax) : Duration();
  touched_.insert(watch.job);
  watches_[request.relay] = {.what = watch, .by = request.by, .until = step.now + wait};
}

// --- submit ------------------------------------------------------------------------------------

void Jobs::State::on_submit(Step& step, uint64_t relay, const Submission& stages,
                            const RoleName& role, const Caller& by) {
  const Result<void> valid = check_submission(stages);
  CHECK(valid.has_value()) << valid.error().message();
  // The same plan again is the same job: its submitter got no answer the first time.
  for (auto& [id, known] : jobs_) {
    if (known.record.owner != by.user ||
        known.record.order.plan != stages.stages.front().order.plan) {
      continue;
    }
    if (!known.is_kept) return known.submits.push_back(relay);
    return answer(step, relay, picture(id, known, step.now));
  }
  Submission charged = stages;
  for (StageOrder& stage : charged.stages) stage.order.role = charged_role(role, by.user);
  std::vector<proto::StoreOperation> operations;
  Result<std::vector<JobId>> ids = add_jobs(step, charged, by.user, "", operations);
  if (!ids) return answer(step, relay, ids.error());
  jobs_.at(ids->front()).submits = {relay};
  continuations_[journal_.add(std::move(operations))] = Submitted{*std::move(ids)};
}

RoleName Jobs::State::charged_role(const RoleName& role, const std::string& user) const {
  if (!role.empty()) return role;
  const Result<RoleName> own = parse_role(text(options_.role.str(), "/", user));
  return options_.serves_users && own ? *own : options_.role;
}

Result<std::vector<JobId>> Jobs::State::add_jobs(Step& step, const Submission& stages,
                                                 const std::string& owner,
                                                 const std::string& schedule,
                                                 std::vector<proto::StoreOperation>& operations) {
  std::vector<const JobOrder*> orders;
  for (const StageOrder& stage : stages.stages) orders.push_back(&stage.order);
  if (Result<void> ok = has_room(orders, owner); !ok) return std::move(ok).error();
  const bool is_pipeline = !stages.pipeline.empty();
  uint64_t number = self_.jobs;
  const std::string pipeline = is_pipeline ? text(stages.pipeline, "-", ++number) : "";
  std::vector<JobId> ids;
  for (const StageOrder& stage : stages.stages) {
    // Without dots, so that no job's id is a prefix of another job's task ids (release_files).
    std::string name = is_pipeline ? text(stages.pipeline, "-", stage.stage)
                                   : stage.order.name.substr(0, kNameInIdBytesMax);
    std::replace(name.begin(), name.end(), '.', '_');
    ids.emplace_back(text(name, "-", ++number));
  }
  Result<std::vector<Waiting>> waits = waits_of(stages, ids);
  if (!waits) return std::move(waits).error();
  const uint64_t first = number - ids.size();
  self_.jobs = number;
  operations.push_back(sdk::put(std::string(kSchedulerKey), encode(self_)));
  for (size_t i = 0; i < ids.size(); ++i) {
    const JobOrder& order = stages.stages[i].order;
    KnownJob& known = jobs_[ids[i]];
    known.record = {
        .order = order, .owner = owner, .number = first + i + 1, .submitted_at = step.now};
    operations.push_back(sdk::put(order_key(ids[i]), encode(known.record)));
    Waiting& waiting = (*waits)[i];
    if (!is_pipeline && waiting.after.empty() && schedule.empty()) continue;
    waiting.pipeline = pipeline;
    waiting.schedule = schedule;
    if (!schedule.empty()) waiting.model = model_of(order);
    operations.push_back(sdk::put(waits_key(ids[i]), encode(waiting)));
    add_waiting(ids[i], known, std::move(waiting));
  }
  return ids;
}

void Jobs::State::on_submitted(Step& step, const std::vector<JobId>& jobs,
                               const std::optional<Error>& error) {
  const JobId& first = jobs.front();
  for (const uint64_t relay : std::exchange(jobs_.at(first).submits, {})) {
    if (error) {
      answer(step, relay, Error(*error).in("cannot store the job"));
    } else {
      answer(step, relay, picture(first, jobs_.at(first), step.now));
    }
  }
  for (const JobId& id : jobs) {
    KnownJob& known = touch(id);
    if (error) {
      forget_waiting(id, known);
      jobs_.erase(id);
      continue;
    }
    known.is_kept = true;
    step.trace(JobSubmitted{id, known.record.owner});
    decide_wait(step, id, known);
  }
}

Result<void> Jobs::State::has_room_for_plan(const JobId& job, const JobOrder& order) const {
  size_t bytes = bytes_of(order) + schedules_.bytes() + kept_elements_bytes();
  size_t keys = keys_of(order) + schedules_.size();
  for (const auto& [id, known] : jobs_) {
    if (known.ended || id == job) continue;
    bytes += bytes_of(known.record.order);
    keys += keys_of(known.record.order);
  }
  if (bytes <= kJobsBytesMax && keys <= kJobsKeysMax) return {};
  return no_room_in_store(order, "retry it after other jobs have ended");
}

Result<void> Jobs::State::has_room(const std::vector<const JobOrder*>& orders,
                                   const std::string& owner) const {
  size_t of_user = 0;
  size_t jobs = 0;
  size_t bytes = schedules_.bytes() + kept_elements_bytes();
  size_t keys = schedules_.size();
  for (const JobOrder* order : orders) {
    bytes += bytes_of(*order);
    keys += keys_of(*order);
  }
  for (const auto& [id, known] : jobs_) {
    if (known.ended) continue;  // it has separate bounds
    ++jobs;
    of_user += known.record.owner == owner;
    bytes += bytes_of(known.record.order);
    keys += keys_of(known.record.order);
  }
  constexpr std::string_view kHint = "wait until some of them end, or cancel one";
  const size_t more = orders.size() - 1;
  if (of_user + more >= kJobsPerUserMax) {
    return Error::resource_exhausted(text("user ", quoted(owner), " has ", of_user,
                                          " jobs that have not ended, the maximum"))
        .with_hint(std::string(kHint));
  }
  if (jobs + more >= kJobsMax) {
    return Error::resource_exhausted(
               text("there are ", jobs, " jobs that have not ended, the maximum"))
        .with_hint(std::string(kHint));
  }
  if (bytes > kJobsBytesMax || keys > kJobsKeysMax) {
    return no_room_in_store(*orders.front(), kHint);
  }
  return {};
}

// --- cancel ------------------------------------------------------------------------------------

Result<void> Jobs::State::may(std::string_view what, const std::string& owner, const JobId& job,
                              const Caller& by) const {
  if (!options_.serves_users || by.is_operator || owner == by.user) return {};
  return Error::permission_denied(text("user ", quoted(by.user), " may not ", what, " job ",
                                       quoted(job.str()), " of user ", quoted(owner)))
      .with_hint("only that user and operators may");
}

void Jobs::State::on_cancel(Step& step, uint64_t relay, const Cancel& cancel, const Caller& by) {
  if (const auto ended = ended_.find(cancel.job); ended != ended_.end()) {
    if (Result<void> ok = may("end", ended->second.owner, cancel.job, by); !ok) {
      return answer(step, relay, ok.error());
    }
    return answer(step, relay, shown_to(by, ended->second));  // there is nothing to end
  }
  KnownJob* found = find(cancel.job);
  if (found == nullptr || !found->is_kept) return answer(step, relay, unknown_job(cancel.job));
  KnownJob& known = *found;
  if (Result<void> ok = may("end", known.record.owner, cancel.job, by); !ok) {
    return answer(step, relay, ok.error());
  }
  if (known.ended) {
    known.retry_until = std::min(known.retry_until, step.now);
    return answer(step, relay, shown_to(by, picture(cancel.job, known, step.now)));
  }
  if (known.has_outcome()) {  // it is ending already; answered when that is stored
    if (known.is_outcome_asked) {
      known.cancels.emplace_back(relay, by);
      return;
    }
    return answer(step, relay, shown_to(by, picture(cancel.job, known, step.now)));
  }
  known.cancels.emplace_back(relay, by);
  end_as_cancelled(step, cancel.job, known,
                   text("the job was cancelled by user ", quoted(by.user)));
}

void Jobs::State::end_as_cancelled(Step& step, const JobId& id, KnownJob& known,
                                   const std::string& why) {
  Outcome outcome{.phase = proto::BatchPhase::kCancelled, .error = why, .is_kept = true};
  step.trace(JobCancelled{id, why});
  // keep_decisions does the rest
  if (known.job) return known.job->end(std::move(outcome), step.out);
  known.state.outcome = std::move(outcome);
  known.is_outcome_asked = true;
  continuations_[journal_.add({sdk::put(state_key(id), encode(known.state))})] = OutcomeKept{id};
}

// --- status ------------------------------------------------------------------------------------

Error Jobs::State::unknown_job(const JobId& job) const {
  std::vector<std::string_view> names;
  for (const auto& [id, known] : jobs_) names.push_back(id.str());
  for (const auto& [id, ended] : ended_) names.push_back(id.str());
  const std::string_view near = nearest(job.str(), names);
  return Error::not_found(text("there is no job ", quoted(job.str())))
      .with_hint(near.empty() ? std::string("list jobs with: proffer batch list --all")
                              : text("did you mean ", quoted(near), "?"));
}

void Jobs::State::say_what_it_waited_for(const std::optional<Waiting>& waiting,
                                         proto::BatchJob& job) {
  if (!waiting) return;
  job.pipeline = waiting->pipeline;
  job.stage = waiting->stage;
  job.after.clear();
  for (const Dependency& one : waiting->after) {
    job.after.push_back({.job = one.job.str(),
                         .on = std::string(to_text(one.on)),
                         .fate = std::string(to_text(one.fate))});
  }
}

// "etl-7.clean"; names of pipelines and stages have no dots.
JobId Jobs::State::resolved(const JobId& job) const {
  if (jobs_.contains(job) || ended_.contains(job)) return job;
  const size_t dot = job.str().rfind('.');
  if (dot == std::string::npos) return job;
  const std::string pipeline = job.str().substr(0, dot);
  const std::string stage = job.str().substr(dot + 1);
  for (const auto& [id, known] : jobs_) {
    if (known.waiting && known.waiting->pipeline == pipeline && known.waiting->stage == stage) {
      return id;
    }
  }
  for (const auto& [id, ended] : ended_) {
    if (ended.pipeline == pipeline && ended.stage == stage) return id;
  }
  return job;
}

proto::BatchJob Jobs::State::picture(const JobId& id, const KnownJob& known, Time now) const {
  if (known.ended) {
    proto::BatchJob job = *known.ended;
    if (known.is_retryable() && now < known.retry_until) job.retry_until = known.retry_until;
    return job;
  }
  if (known.job) {
    proto::BatchJob job = known.job->status(now);
    say_what_it_waited_for(known.waiting, job);
    return job;
  }
  proto::BatchJob job;
  job.job = id.str();
  job.owner = known.record.owner;
  job.role = known.record.order.role;
  job.priority = known.record.order.priority;
  job.framework = framework_;
  if (known.record.order.array) {
    job.array.emplace().total = known.record.order.array->size();
  } else {
    job.map.total = known.record.order.maps;
    job.reduce.total = known.record.order.reducers;
  }
  job.input_bytes = known.record.order.input_bytes;
  job.submitted_at = known.record.submitted_at;
  job.output = known.record.order.output;
  say_what_it_waited_for(known.waiting, job);
  if (known.state.outcome) {
    job.phase = job.array ? proto::BatchPhase::kCommitting : proto::BatchPhase::kRemoving;
    job.error = known.state.outcome->error;
  } else if (known.is_waiting()) {
    job.phase = proto::BatchPhase::kWaiting;
    job.note = text("waits for ", waits_for(*known.waiting, Fate::kOpen));
  } else if (!may_run(known)) {
    job.note = "waits until the agents of a restarted master have registered";
  }
  return job;
}

// The end of a job is reported when it is stored; until then the job is ending.
std::optional<proto::BatchJob> Jobs::State::picture(const JobId& job, Time now) const {
  if (const auto ended = ended_.find(job); ended != ended_.end()) return ended->second;
  const auto found = jobs_.find(job);
  if (found == jobs_.end() || !found->second.is_kept) return std::nullopt;
  return picture(job, found->second, now);
}

proto::BatchJob Jobs::State::shown_to(const Caller& by, proto::BatchJob job) const {
  if (options_.serves_users && !by.is_operator && job.owner != by.user) {
    for (std::string* text :
         {&job.output, &job.note, &job.error, &job.hint, &job.failed_task, &job.task_status}) {
      text->clear();
    }
    job.counters.clear();
  }
  return job;
}

std::vector<proto::BatchJob> Jobs::State::list(const Caller& by, bool with_ended,
                                               const JobId& after, size_t limit, Time now,
                                               const std::string& pipeline) const {
  std::vector<proto::BatchJob> jobs;
  auto live = after.empty() ? jobs_.begin() : jobs_.upper_bound(after);
  auto ended = !with_ended     ? ended_.end()
               : after.empty() ? ended_.begin()
                               : ended_.upper_bound(after);
  const ByNumber is_before;
  while (jobs.size() < limit && (live != jobs_.end() || ended != ended_.end())) {
    if (ended == ended_.end() || (live != jobs_.end() && is_before(live->first, ended->first))) {
      const std::optional<Waiting>& waiting = live->second.waiting;
      const bool is_meant = pipeline.empty() || (waiting && waiting->pipeline == pipeline);
      if (is_meant && live->second.is_kept && (with_ended || !live->second.ended)) {
        jobs.push_back(shown_to(by, picture(live->first, live->second, now)));
      }
      ++live;
    } else {
      if (pipeline.empty() || ended->second.pipeline == pipeline) {
        jobs.push_back(shown_to(by, ended->second));
      }
      ++ended;
    }
  }
  return jobs;
}

void Jobs::State::answer_watches(Step& step) {
  for (auto at = watches_.begin(); at != watches_.end();) {
    const Watch& watch = at->second;
    if (!touched_.contains(watch.what.job) && step.now < watch.until) {
      ++at;
      continue;
    }
    std::optional<proto::BatchJob> job = picture(watch.what.job, step.now);
    if (job && job->phase == watch.what.phase && step.now < watch.until) {
      ++at;
      continue;
    }
    if (job) {
      answer(step, at->first, shown_to(watch.by, *std::move(job)));
    } else {
      answer(step, at->first, unknown_job(watch.what.job));
    }
    at = watches_.erase(at);
  }
}

}  // namespace proffer::batch
