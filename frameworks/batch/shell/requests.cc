#include "frameworks/batch/shell/requests.h"

#include "common/text.h"
#include "proto/json/batch_json.h"
#include "proto/json/batch_schedule_json.h"

namespace proffer::batch {

Caller caller_of(const proto::FrameworkRequest& request) {
  return {.user = request.principal, .is_operator = request.is_operator};
}

Result<Asked> parse_request(const proto::FrameworkRequest& request) {
  Result<proto::BatchCall> call = proto::parse_batch_call(request.data);
  if (!call) return std::move(call).error();
  if (call->verb == "list") {
    return Asked(ListJobs{
        .with_ended = call->ended, .after = JobId(call->after), .pipeline = call->pipeline});
  }
  if (call->verb == "schedules") {
    const auto fire_times = static_cast<size_t>(call->count);
    return Asked(ListSchedules{.after = call->after, .fire_times = fire_times});
  }
  Request asked{.relay = request.relay, .by = caller_of(request)};
  if (call->verb == "submit") {
    const auto refused = [](Error error) {
      if (error.code() != ErrorCode::kCorruption) return error;
      return Error::invalid_argument("the job has a format that this scheduler does not know")
          .with_hint("proffer must not be newer than the scheduler");
    };
    if (is_submission(call->order)) {
      Result<Submission> stages = decode_submission(call->order);
      if (!stages) return refused(std::move(stages).error());
      asked.what = SubmitStages{.stages = *std::move(stages), .role = request.role};
      return Asked(std::move(asked));
    }
    if (is_schedule_order(call->order)) {
      Result<ScheduleOrder> schedule = decode_schedule_order(call->order);
      if (!schedule) return refused(std::move(schedule).error());
      asked.what = SubmitSchedule{.order = *std::move(schedule), .role = request.role};
      return Asked(std::move(asked));
    }
    Result<JobOrder> order = decode_order(call->order);
    if (!order) return refused(std::move(order).error());
    asked.what = Submit{.order = *std::move(order), .role = request.role};
    return Asked(std::move(asked));
  }
  const JobId job(call->job);
  if (call->verb == "cancel") {
    asked.what = Cancel{job};
    return Asked(std::move(asked));
  }
  if (call->verb == "retry") {
    asked.what = Retry{job};
    return Asked(std::move(asked));
  }
  if (call->verb == "status") {
    asked.what =
        WatchJob{.job = job, .phase = proto::parse_batch_phase(call->phase), .wait = call->wait};
    return Asked(std::move(asked));
  }
  using What = ChangeSchedule::What;
  for (const auto& [verb, what] :
       {std::pair{"pause", What::kPause}, {"resume", What::kResume}, {"remove", What::kRemove}}) {
    if (call->verb != verb) continue;
    asked.what = ChangeSchedule{.name = call->job, .what = what};
    return Asked(std::move(asked));
  }
  return Error::invalid_argument(
      text("unknown request ", quoted(call->verb),
           "; known are submit, list, status, cancel, retry, schedules, pause, resume and remove"));
}

std::string show(const Jobs& jobs, const ListJobs& asked, const Caller& by, Time now) {
  proto::BatchPage page;
  page.jobs = jobs.list(by, asked.with_ended, asked.after, kJobsPerPage, now, asked.pipeline);
  if (page.jobs.size() == kJobsPerPage) page.next = page.jobs.back().job;
  return proto::batch_page_json(page);
}

std::string show(const Jobs& jobs, const ListSchedules& asked, const Caller& by, Time now) {
  proto::BatchSchedulePage page;
  page.schedules = jobs.schedules(by, asked.after, kSchedulesPerPage, asked.fire_times, now);
  if (page.schedules.size() == kSchedulesPerPage) page.next = page.schedules.back().name;
  return proto::batch_schedule_page_json(page);
}

}  // namespace proffer::batch
