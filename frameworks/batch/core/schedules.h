#pragma once

// All schedules of the batch scheduler, and the time zones that they need. It decides which fire
// times are due; Jobs stores the decisions and starts the jobs (jobs_schedules.cc).

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "common/deadlines.h"
#include "common/result.h"
#include "common/time.h"
#include "frameworks/batch/core/schedule.h"
#include "proto/batch_schedule.h"

namespace proffer::batch {

// Schedules in total and of one user. Further schedules are refused.
inline constexpr size_t kSchedulesMax = 200;
inline constexpr size_t kSchedulesPerUserMax = 50;
// Zones are read again after this time, since the time zone database changes.
inline constexpr Duration kZoneReadEvery = hours(24);
inline constexpr size_t kFireTimesShownMax = 100;
inline constexpr size_t kFireTimesInAnswer = 5;  // in answers to requests that change a schedule

int64_t unix_seconds(Time time);
Time from_unix(int64_t seconds);

class Schedules {
 public:
  // The record that an earlier life of the scheduler stored, or that was just stored.
  void put(const std::string& name, ScheduleRecord record, Time now);
  void remove(const std::string& name);
  const ScheduleRecord* find(const std::string& name) const;
  // Checks that this owner may have one more. Errors: kResourceExhausted.
  Result<void> has_room(const std::string& owner) const;
  size_t size() const { return schedules_.size(); }
  size_t bytes() const { return bytes_; }  // that they take in the store

  // Jobs that a schedule has started and that have not ended. An unknown name is ignored.
  void on_job_started(const std::string& name, const JobId& job);
  void on_job_ended(const std::string& name, const JobId& job, Time now);
  const std::set<JobId>& running(const std::string& name) const;

  // Names of zones that must be read now; each is returned once.
  std::vector<std::string> take_wanted_zones(Time now);
  void on_zone(const std::string& zone, Result<Zone> read, Time now);

  // A schedule with decisions that are due, until put() is called with their result.
  struct Due {
    std::string name = {};
    ScheduleStep step = {};
  };
  std::optional<Due> next_due(Time now);
  // A record of it is being written: it decides nothing meanwhile.
  void begin_writing(const std::string& name);
  bool is_writing(const std::string& name) const;
  // The write failed: it decides again.
  void on_write_failed(const std::string& name, Time now);
  std::optional<Time> next_deadline() const;

  // The status, with this many next fire times, at most kFireTimesShownMax.
  proto::BatchSchedule picture(const std::string& name, size_t fire_times, Time now) const;
  // At most `limit` names after `after`.
  std::vector<std::string> names(const std::string& after, size_t limit) const;

 private:
  struct Known {
    ScheduleRecord record = {};
    size_t bytes = 0;
    Cron cron = {};
    std::set<JobId> running = {};
    bool is_writing = false;
  };
  struct KnownZone {
    std::optional<Zone> zone = {};
    std::string trouble = {};  // why there is no zone
  };
  // Sets the time when it is next due.
  void arm(const std::string& name, const Known& known, Time now);
  const Zone* zone_of(const ScheduleRecord& record) const;

  std::map<std::string, Known> schedules_;
  std::map<std::string, KnownZone> zones_;
  size_t bytes_ = 0;
  DeadlineQueue<std::string> due_;        // by name
  DeadlineQueue<std::string> zones_due_;  // when zones must be read
};

}  // namespace proffer::batch
