#pragma once

// The batch scheduler: the jobs of all its users, from submission to the result. Pure. The shell
// (frameworks/batch/shell, sim) passes it the SDK's events and the requests of users, and carries
// out its commands.
//
//   submit → order stored → answered → queued → begun → tasks → outcome stored → last task
//                                        ↑                                          ↓
//                                        └── retry if it failed or was ────────── end stored
//                                            cancelled                              ↓
//                                                                             result reported
//
// A job that waits for others (waiting.h) is queued when its conditions are met. If they never can
// be, it is skipped; a retry of the others makes it wait again.
//
// The results of tasks are stored in groups while the job runs. The end of a task is acknowledged
// when it is stored, so a process that takes over receives the other ends again. It launches no
// task of the jobs that it finds before all running tasks are known.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "common/trace.h"
#include "frameworks/batch/core/job_core.h"
#include "frameworks/batch/core/order.h"
#include "frameworks/batch/core/schedules.h"
#include "frameworks/batch/core/waiting.h"
#include "proto/batch_status.h"
#include "sdk/notifications.h"
#include "sdk/store_loader.h"

namespace proffer::batch {

// --- bounds ------------------------------------------------------------------------------------

// Jobs that have not ended, in total and of one user. Further jobs are refused.
inline constexpr size_t kJobsMax = 400;
inline constexpr size_t kJobsPerUserMax = 100;
// Jobs that run tasks, and jobs that only end; other jobs wait. The former have at most four asks,
// the latter two.
inline constexpr size_t kJobsRunningMax = 40;
inline constexpr size_t kJobsEndingMax = 40;
static_assert(4 * kJobsRunningMax + 2 * kJobsEndingMax <= kAsksMax);
// Bytes and keys in the store: of jobs that have not ended, at their largest, and of jobs that have
// ended. The oldest ended jobs are forgotten.
inline constexpr size_t kJobsBytesMax = size_t{3} << 20;
inline constexpr size_t kJobsKeysMax = 3'000;
inline constexpr size_t kEndedBytesMax = size_t{512} << 10;
inline constexpr size_t kEndedMax = 400;
// Bytes and keys of jobs that can be retried. The finished work of the oldest is removed.
inline constexpr size_t kRetryBytesMax = size_t{384} << 10;
inline constexpr size_t kRetryKeysMax = 500;
static_assert(kJobsBytesMax + kEndedBytesMax + kRetryBytesMax < kStoreBytesPerFrameworkMax);
static_assert(kJobsKeysMax + kEndedMax + kRetryKeysMax < kStoreKeysPerFrameworkMax);
// How long after its end a job can be retried.
inline constexpr Duration kRetryFor = hours(24);
// Requests that wait for news of a job. Further ones are answered at once.
inline constexpr size_t kWatchesMax = 50;
inline constexpr Duration kWatchMax = seconds(30);

struct JobsOptions {
  RoleName role = RoleName("default");  // of the framework
  // Tasks run as the user that submitted their job. Only that user and operators may end the job or
  // see all of it. Otherwise all tasks run as the framework's user, and the master lets only that
  // user and operators send requests.
  bool serves_users = false;
  Duration retry_for = kRetryFor;
  // As in JobOptions.
  Duration elsewhere_wait = seconds(2);
  int32_t fetch_rounds = 8;
};

// --- events and actions ------------------------------------------------------------------------

struct Submit {
  JobOrder order = {};  // CHECKed with check_order
  RoleName role = {};   // the master has checked it; empty: none was given
};
// A job that waits for others, or a pipeline. All of it is stored, or nothing. The answer is the
// status of the first stage.
struct SubmitStages {
  Submission stages = {};  // CHECKed with check_submission
  RoleName role = {};
};
// Cancels a job. If it has ended and can be retried, its finished work is removed.
struct Cancel {
  JobId job = {};
};
// Retries a job that failed or was cancelled; it does only the missing work.
struct Retry {
  JobId job = {};
};
// The answer is the status of the job, when its phase differs from this one, or when the time is
// over.
struct WatchJob {
  JobId job = {};
  std::optional<proto::BatchPhase> phase = {};
  Duration wait = {};
};

// A schedule (schedule.h). It replaces the user's schedule of the same name. Answered when it is
// stored.
struct SubmitSchedule {
  ScheduleOrder order = {};  // CHECKed with check_schedule
  RoleName role = {};        // the role that is charged for its jobs
};
struct ChangeSchedule {
  enum class What : uint8_t { kPause, kResume, kRemove };
  std::string name = {};
  What what = What::kPause;
};

// The user of a request, as the master identifies it.
struct Caller {
  std::string user = {};
  bool is_operator = false;
};

// The SDK ensures that a repeated request arrives once.
struct Request {
  uint64_t relay = 0;  // returned in the answer
  std::variant<Submit, SubmitStages, Cancel, Retry, WatchJob, SubmitSchedule, ChangeSchedule> what =
      {};
  Caller by = {};
};
struct Tick {};
// The answer to JobsOutbox::zones_wanted.
struct ZoneRead {
  std::string name = {};
  Result<Zone> zone = Zone();
};
using JobsEvent = std::variant<sdk::Notification, Request, Tick, ZoneRead>;

struct Answer {
  uint64_t relay = 0;
  Result<proto::BatchJob> job = proto::BatchJob();  // the part that the caller may see
};
// The answer to a request about a schedule that was not refused.
struct ScheduleAnswer {
  uint64_t relay = 0;
  proto::BatchSchedule schedule = {};
};

struct JobsOutbox : JobOutbox {
  std::vector<Answer> answers = {};
  std::vector<ScheduleAnswer> schedule_answers = {};
  std::vector<std::string> zones_wanted = {};  // names of time zones to be read
};

// --- the core ----------------------------------------------------------------------------------

class Jobs {
 public:
  explicit Jobs(JobsOptions options);
  ~Jobs();
  Jobs(const Jobs&) = delete;
  Jobs& operator=(const Jobs&) = delete;

  void handle(const JobsEvent& event, Time now, JobsOutbox& out);
  std::optional<Time> next_deadline() const;

  bool connected() const;
  // The store has been read. Until then requests are answered with kUnavailable.
  bool loaded() const;
  const FrameworkId& framework() const;
  // At most `limit` jobs after `after`, in order of their ids' numbers; with or without ended jobs;
  // all, or the stages of one pipeline.
  std::vector<proto::BatchJob> list(const Caller& by, bool with_ended, const JobId& after,
                                    size_t limit, Time now, const std::string& pipeline = {}) const;
  // At most `limit` schedules after `after`, by name, each with this many next fire times.
  std::vector<proto::BatchSchedule> schedules(const Caller& by, const std::string& after,
                                              size_t limit, size_t fire_times, Time now) const;
  // Broken invariants; O(tasks). For tests and the simulator.
  std::vector<Violation> violations() const;

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace proffer::batch
