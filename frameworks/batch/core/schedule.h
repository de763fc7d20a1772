#pragma once

// A job that is started again and again, at the fire times of a cron expression (cron.h). A
// *firing* is one fire time and the decision about it. Each fire time is decided once: the decision
// and the job that it starts are stored in one transaction (jobs_schedules.cc).

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/ids.h"
#include "common/result.h"
#include "common/time.h"
#include "frameworks/batch/core/cron.h"
#include "frameworks/batch/core/waiting.h"

namespace proffer::batch {

// The decision at a fire time if an earlier job has not ended.
enum class Overlap : uint8_t {
  kSkip,     // the fire time is skipped
  kQueue,    // the job is started when the earlier ones have ended
  kReplace,  // the earlier job is cancelled first
};
inline constexpr size_t kOverlapCount = 3;
std::string_view to_text(Overlap overlap);  // "skip", "queue", "replace"
std::optional<Overlap> parse_overlap(std::string_view text);

// Which fire times that passed while no scheduler ran are started.
enum class CatchUp : uint8_t {
  kNone,  // none
  kLast,  // the last one
  kAll,   // all, one after the other; requires Overlap::kQueue
};
inline constexpr size_t kCatchUpCount = 3;
std::string_view to_text(CatchUp catch_up);  // "none", "last", "all"
std::optional<CatchUp> parse_catch_up(std::string_view text);

struct ScheduleOrder {
  // The stages of each firing: a job or a pipeline. Its outputs are directories in which each
  // firing has its own, named by firing_name(), and its plans are models (model_directory).
  Submission stages = {};
  std::string cron = {};
  std::string zone = "UTC";  // a name of the time zone database
  Overlap overlap = Overlap::kSkip;
  CatchUp catch_up = CatchUp::kLast;
  bool operator==(const ScheduleOrder&) const = default;
};
inline constexpr size_t kCronBytesMax = 256;
inline constexpr size_t kZoneBytesMax = 64;

// Checks a schedule, which comes from a user's process and may be hostile. Errors: kInvalidArgument
// names the value, what is allowed and the remedy.
Result<void> check_schedule(const ScheduleOrder& order);

// The name of its pipeline or of its job. Names of schedules are unique in a scheduler.
std::string schedule_name(const ScheduleOrder& order);

// "20261125T0230Z": it sorts like the fire times, and is a valid name.
std::string firing_name(int64_t at);
// The submission at a fire time, with $PROFFER_FIRE_TIME ("2026-11-25T02:30Z") for its commands.
Submission firing_of(const ScheduleOrder& order, int64_t at);

// The CLI writes the directory of a stage that awaits its plan (plan.h) here once:
// "OUTPUT/.schedule-<plan>". The first task of each firing copies it, set aside, and continues with
// the copy.
std::string model_directory(std::string_view output, std::string_view plan);
// For a stage of a firing: the directory of the plan to copy.
std::string model_of(const JobOrder& fired);

struct Firing {
  enum class Result : uint8_t {
    kStarted,
    kSkipped,  // an earlier job had not ended
    kMissed,   // no scheduler ran, or the schedule was paused
    kRefused,  // the scheduler had no room for another job
  };
  int64_t at = 0;    // the fire time, in seconds since the Unix epoch
  int64_t last = 0;  // for fire times that were missed together: the last one; else `at`
  Result result = Result::kStarted;
  JobId job = {};  // the job or pipeline that was started
  bool operator==(const Firing&) const = default;
};
inline constexpr size_t kFiringResultCount = 4;
std::string_view to_text(Firing::Result result);  // "started", "skipped", "missed", "refused"

// The stored record of a schedule.
struct ScheduleRecord {
  ScheduleOrder order = {};
  std::string owner = {};
  uint64_t number = 0;  // its place in the order of submission
  Time submitted_at = {};
  bool is_paused = false;
  int64_t decided_until = 0;          // all fire times up to this one are decided
  std::vector<int64_t> waiting = {};  // rising; these are started one after the other
  JobId job = {};                     // the job or pipeline that was started last
  std::vector<Firing> log = {};       // the last firings, oldest first
  bool operator==(const ScheduleRecord&) const = default;
};
inline constexpr size_t kFiringsKept = 30;     // in the log
inline constexpr size_t kFiringsWaiting = 50;  // of one schedule; above it the oldest are skipped
// A fire time that is decided later than this counts as missed.
inline constexpr Duration kFiringLateMax = minutes(5);

// The actions that are due.
struct ScheduleStep {
  ScheduleRecord record = {};         // the record to store, without the job that is started
  std::optional<int64_t> start = {};  // start a job for this fire time
  bool cancel_running = false;        // cancel the job that was started last
};

// The decisions that are due; none if there are none. Each fire time until `now` is decided, except
// those that wait for the job that was started last (`is_running`). O(log(time passed) + waiting).
std::optional<ScheduleStep> decide(const ScheduleRecord& record, const Cron& cron, const Zone& zone,
                                   bool is_running, int64_t now);
// Adds a firing to the log.
void add_firing(ScheduleRecord& record, Firing firing);

inline constexpr std::string_view kSchedulesPrefix = "schedules/";
std::string schedule_key(const std::string& name);
std::string encode(const ScheduleRecord& record);
// Errors: kCorruption, for any bytes that encode() does not make.
Result<ScheduleRecord> decode_schedule(std::string_view bytes);
// The form in which the CLI sends it.
std::string encode_schedule_order(const ScheduleOrder& order);
bool is_schedule_order(std::string_view bytes);
// Errors: kCorruption if the bytes are not a schedule; those of check_schedule if it is not valid.
Result<ScheduleOrder> decode_schedule_order(std::string_view bytes);

}  // namespace proffer::batch
