#pragma once

// The batch scheduler: the jobs of all its users, from what they submit to what they are told at
// the end. Pure; the shell (frameworks/batch/shell, sim) feeds it what the SDK hears and what
// people ask, and carries out its commands.
//
//   submit → order kept → told → queued → begun → tasks → outcome kept → last task → end kept →
//   told
//                              ↑                                                       │
//                              └──────── retry of one that failed or was cancelled ────┘
//
// A job that waits for others (waiting.h) is queued when these have ended as it says. If they never
// can, it has ended as skipped; a retry of theirs makes it wait again.
//
// What tasks have done is kept in groups while they run, and the end of a task is acknowledged when
// that is kept: a process that takes over is told of the others again. It launches nothing of the
// jobs that it finds before it knows what runs.

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

// Jobs that have not ended, in all and of one user; further ones are refused.
inline constexpr size_t kJobsMax = 400;
inline constexpr size_t kJobsPerUserMax = 100;
// Jobs that run tasks, and jobs that only end; others wait. The first have at most four asks, the
// second two.
inline constexpr size_t kJobsRunningMax = 40;
inline constexpr size_t kJobsEndingMax = 40;
static_assert(4 * kJobsRunningMax + 2 * kJobsEndingMax <= kAsksMax);
// Bytes and keys in the store: of jobs that have not ended, at their largest, and of jobs that have
// ended. The oldest of the latter are forgotten.
inline constexpr size_t kJobsBytesMax = size_t{3} << 20;
inline constexpr size_t kJobsKeysMax = 3'000;
inline constexpr size_t kEndedBytesMax = size_t{512} << 10;
inline constexpr size_t kEndedMax = 400;
// Bytes and keys of jobs that can be retried. Of the oldest what they have done is removed.
inline constexpr size_t kRetryBytesMax = size_t{384} << 10;
inline constexpr size_t kRetryKeysMax = 500;
static_assert(kJobsBytesMax + kEndedBytesMax + kRetryBytesMax < kStoreBytesPerFrameworkMax);
static_assert(kJobsKeysMax + kEndedMax + kRetryKeysMax < kStoreKeysPerFrameworkMax);
// So long after its end a job can be retried.
inline constexpr Duration kRetryFor = hours(24);
// Questions that wait for news of a job; further ones are answered at once.
inline constexpr size_t kWatchesMax = 50;
inline constexpr Duration kWatchMax = seconds(30);

struct JobsOptions {
  RoleName role = RoleName("default");  // of the framework
  // Tasks run as the user that submitted their job; only that user and operators end it or see all
  // of it. Else all run as the framework's user, and the master lets only that one and operators
  // ask.
  bool serves_users = false;
  Duration retry_for = kRetryFor;
  // As JobOptions.
  Duration elsewhere_wait = seconds(2);
  int32_t fetch_rounds = 8;
};

// --- events and actions ------------------------------------------------------------------------

struct Submit {
  JobOrder order = {};  // CHECKed with check_order
  RoleName role = {};   // that the master has checked; empty: none was named
};
// A job that waits for others, or a pipeline: all of it is kept, or nothing. Answered with a
// picture of the first stage.
struct SubmitStages {
  Submission stages = {};  // CHECKed with check_submission
  RoleName role = {};
};
// Of a job that has ended and can be retried: what it has done is removed.
struct Cancel {
  JobId job = {};
};
// A job that failed or was cancelled does what is missing.
struct Retry {
  JobId job = {};
};
// Answered with a picture of the job when its phase is another than this, or when the time is over.
struct WatchJob {
  JobId job = {};
  std::optional<proto::BatchPhase> phase = {};
  Duration wait = {};
};

// A schedule (schedule.h), in place of one of this name that the user has. Answered when it is
// kept.
struct SubmitSchedule {
  ScheduleOrder order = {};  // CHECKed with check_schedule
  RoleName role = {};        // that is charged for its jobs
};
struct ChangeSchedule {
  enum class What : uint8_t { kPause, kResume, kRemove };
  std::string name = {};
  What what = What::kPause;
};

// A user that asks, as the master names it.
struct Caller {
  std::string user = {};
  bool is_operator = false;
};

// The SDK sees to it that what is asked twice comes once.
struct Request {
  uint64_t relay = 0;  // repeated in the answer
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
  Result<proto::BatchJob> job = proto::BatchJob();  // as the caller may see it
};
// To a request about a schedule that was not refused.
struct ScheduleAnswer {
  uint64_t relay = 0;
  proto::BatchSchedule schedule = {};
};

struct JobsOutbox : JobOutbox {
  std::vector<Answer> answers = {};
  std::vector<ScheduleAnswer> schedule_answers = {};
  std::vector<std::string> zones_wanted = {};  // time zones to be read
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
  // What the store holds has been read. Until then requests are answered with kUnavailable.
  bool loaded() const;
  const FrameworkId& framework() const;
  // At most `limit` jobs behind `after`, in order of their ids' numbers; with those that have ended
  // or without; of all, or the stages of one pipeline.
  std::vector<proto::BatchJob> list(const Caller& by, bool with_ended, const JobId& after,
                                    size_t limit, Time now, const std::string& pipeline = {}) const;
  // At most `limit` schedules behind `after`, by name, each with so many fire times to come.
  std::vector<proto::BatchSchedule> schedules(const Caller& by, const std::string& after,
                                              size_t limit, size_t fire_times, Time now) const;
  // Broken invariants; O(tasks). For tests and the simulator.
  std::vector<Violation> violations() const;

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace proffer::batch
