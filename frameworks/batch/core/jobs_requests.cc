// What people want of jobs (on_request), and what they see of them. A job that was submitted is
// told when its order is kept, one that was cancelled when its outcome is.

#include <algorithm>

#include "common/check.h"
#include "common/roles.h"
#include "common/text.h"
#include "frameworks/batch/core/jobs_state.h"
#include "sdk/store.h"

namespace proffer::batch {
namespace {

// Of the name of a job in its id, so that ids of its tasks are names.
constexpr size_t kNameInIdBytesMax = 80;

// What a job can come to take of the store.
size_t bytes_of(const JobOrder& order) {
  if (order.array) {
    const size_t elements = order.array->size();
    return encode_order(order).size() + elements * kBitsPerElement / 8 +
           (order.array->retries > 0 ? elements * kRetriedElementBytes : 0) + 1'024;
  }
  const size_t tasks = static_cast<size_t>(order.maps + order.reducers);
  const size_t blocks = static_cast<size_t>((order.maps + kBlockTasks - 1) / kBlockTasks +
                                            (order.reducers + kBlockTasks - 1) / kBlockTasks);
  return encode_order(order).size() + tasks * kTaskRecordBytes + blocks * kCountersBytesMax + 1'024;
}

size_t keys_of(const JobOrder& order) {
  if (order.array) return 4 + order.array->size() / kBlockElements;
  return 4 + static_cast<size_t>((order.maps + order.reducers) / kBlockTasks);
}

}  // namespace

void Jobs::State::on_request(Step& step, const Request& request) {
  begin_stale_ = true;
  if (!loaded_) {
    return answer(step, request.relay,
                  Error::unavailable("the batch scheduler is reading its jobs from the store")
                      .with_hint("try again in a moment"));
  }
  if (const auto* submit = std::get_if<Submit>(&request.what)) {
    return on_submit(step, request.relay, *submit, request.by);
  }
  if (const auto* cancel = std::get_if<Cancel>(&request.what)) {
    return on_cancel(step, request.relay, *cancel, request.by);
  }
  if (const auto* retry = std::get_if<Retry>(&request.what)) {
    return on_retry(step, request.relay, *retry, request.by);
  }
  const auto& watch = std::get<WatchJob>(request.what);
  const Duration wait =
      watches_.size() < kWatchesMax ? std::min(watch.wait, kWatchMax) : Duration();
  touched_.insert(watch.job);
  watches_[request.relay] = {.what = watch, .by = request.by, .until = step.now + wait};
}

// --- submit ------------------------------------------------------------------------------------

void Jobs::State::on_submit(Step& step, uint64_t relay, const Submit& submit, const Caller& by) {
  const Result<void> valid = check_order(submit.order);
  CHECK(valid.has_value()) << valid.error().message();
  // The same plan again is the same job: its submitter got no answer the first time.
  for (auto& [id, known] : jobs_) {
    if (known.record.owner != by.user || known.record.order.plan != submit.order.plan) continue;
    if (!known.is_kept) return known.submits.push_back(relay);
    return answer(step, relay, picture(id, known, step.now));
  }
  if (Result<void> ok = has_room(submit.order, by.user); !ok)
    return answer(step, relay, ok.error());
  self_.jobs += 1;
  // Without dots: no id of a job is the beginning of another one's task ids (release_files).
  std::string name = submit.order.name.substr(0, kNameInIdBytesMax);
  std::replace(name.begin(), name.end(), '.', '_');
  const JobId id(text(name, "-", self_.jobs));
  OrderRecord record{
      .order = submit.order, .owner = by.user, .number = self_.jobs, .submitted_at = step.now};
  // Users share by roles of their own, unless they say otherwise.
  record.order.role = submit.role;
  if (submit.role.empty()) {
    const Result<RoleName> own = parse_role(text(options_.role.str(), "/", by.user));
    record.order.role = options_.serves_users && own ? *own : options_.role;
  }
  const sdk::StoreJournal::Ticket ticket =
      journal_.add({sdk::put(std::string(kSchedulerKey), encode(self_)),
                    sdk::put(order_key(id), encode(record))});
  continuations_[ticket] = Submitted{id};
  KnownJob& known = jobs_[id];
  known.record = std::move(record);
  known.submits = {relay};
}

Result<void> Jobs::State::has_room(const JobOrder& order, const std::string& owner) const {
  size_t of_user = 0;
  size_t jobs = 0;
  size_t bytes = bytes_of(order);
  size_t keys = keys_of(order);
  for (const auto& [id, known] : jobs_) {
    if (known.ended) continue;  // It has bounds of its own.
    ++jobs;
    of_user += known.record.owner == owner;
    bytes += bytes_of(known.record.order);
    keys += keys_of(known.record.order);
  }
  constexpr std::string_view kHint = "wait until some have ended, or cancel one";
  if (of_user >= kJobsPerUserMax) {
    return Error::resource_exhausted(text("user ", quoted(owner), " has ", of_user,
                                          " jobs that have not ended, the most"))
        .with_hint(std::string(kHint));
  }
  if (jobs >= kJobsMax) {
    return Error::resource_exhausted(
               text("there are ", jobs, " jobs that have not ended, the most"))
        .with_hint(std::string(kHint));
  }
  if (bytes > kJobsBytesMax || keys > kJobsKeysMax) {
    return Error::resource_exhausted(
               text("with this job of ",
                    order.array ? text(order.array->size(), " elements")
                                : text(order.maps + order.reducers, " tasks"),
                    ", the state of all jobs would not fit into the scheduler's store"))
        .with_hint(text(kHint, order.array ? ", or make it smaller" : ", or use larger splits"));
  }
  return {};
}

// --- cancel ------------------------------------------------------------------------------------

Result<void> Jobs::State::may(std::string_view what, const std::string& owner, const JobId& job,
                              const Caller& by) const {
  if (!options_.serves_users || by.is_operator || owner == by.user) return {};
  return Error::permission_denied(text("user ", quoted(by.user), " may not ", what, " job ",
                                       quoted(job.str()), " of user ", quoted(owner)))
      .with_hint("that user and operators of the cluster may");
}

void Jobs::State::on_cancel(Step& step, uint64_t relay, const Cancel& cancel, const Caller& by) {
  if (const auto ended = ended_.find(cancel.job); ended != ended_.end()) {
    if (Result<void> ok = may("end", ended->second.owner, cancel.job, by); !ok) {
      return answer(step, relay, ok.error());
    }
    return answer(step, relay, shown_to(by, ended->second));  // There is nothing to end.
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
  if (known.has_outcome()) {  // It is ending already; told when that is kept.
    if (known.is_outcome_asked) {
      known.cancels.emplace_back(relay, by);
      return;
    }
    return answer(step, relay, shown_to(by, picture(cancel.job, known, step.now)));
  }
  Outcome outcome{.phase = proto::BatchPhase::kCancelled,
                  .error = text("the job was cancelled by user ", quoted(by.user)),
                  .is_kept = !known.record.order.array};
  trace(step, TraceLevel::kLongLived, "job cancelled",
        {{"job", cancel.job.str()}, {"by", by.user}});
  known.cancels.emplace_back(relay, by);
  if (known.job)
    return known.job->end(std::move(outcome), step.out);  // keep_decisions does the rest
  known.state.outcome = std::move(outcome);
  known.is_outcome_asked = true;
  continuations_[journal_.add({sdk::put(state_key(cancel.job), encode(known.state))})] =
      OutcomeKept{cancel.job};
}

// --- pictures ----------------------------------------------------------------------------------

Error Jobs::State::unknown_job(const JobId& job) const {
  std::vector<std::string_view> names;
  for (const auto& [id, known] : jobs_) names.push_back(id.str());
  const std::string_view near = nearest(job.str(), names);
  return Error::not_found(text("there is no job ", quoted(job.str())))
      .with_hint(near.empty() ? std::string("proffer batch list --all shows the jobs")
                              : text("did you mean ", quoted(near), "?"));
}

proto::BatchJob Jobs::State::picture(const JobId& id, const KnownJob& known, Time now) const {
  if (known.ended) {
    proto::BatchJob job = *known.ended;
    if (known.is_retryable() && now < known.retry_until) job.retry_until = known.retry_until;
    return job;
  }
  if (known.job) return known.job->status(now);
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
  if (known.state.outcome) {
    job.phase = job.array ? proto::BatchPhase::kCommitting : proto::BatchPhase::kRemoving;
    job.error = known.state.outcome->error;
  } else if (!may_run(known)) {
    job.note = "waits until the agents of a restarted master are back";
  }
  return job;
}

// The end of a job is told when it is kept; until then it is ending.
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
                                               const JobId& after, size_t limit, Time now) const {
  std::vector<proto::BatchJob> jobs;
  auto live = after.empty() ? jobs_.begin() : jobs_.upper_bound(after);
  auto ended = !with_ended     ? ended_.end()
               : after.empty() ? ended_.begin()
                               : ended_.upper_bound(after);
  const ByNumber is_before;
  while (jobs.size() < limit && (live != jobs_.end() || ended != ended_.end())) {
    if (ended == ended_.end() || (live != jobs_.end() && is_before(live->first, ended->first))) {
      if (live->second.is_kept && (with_ended || !live->second.ended)) {
        jobs.push_back(shown_to(by, picture(live->first, live->second, now)));
      }
      ++live;
    } else {
      jobs.push_back(shown_to(by, ended->second));
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
