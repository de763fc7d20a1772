#include "frameworks/batch/core/schedules.h"

#include <algorithm>
#include <utility>

#include "common/check.h"
#include "common/text.h"

namespace proffer::batch {

int64_t unix_seconds(Time time) { return time.nanos() / seconds(1).nanos(); }
Time from_unix(int64_t seconds_since) { return Time() + seconds(seconds_since); }

void Schedules::put(const std::string& name, ScheduleRecord record, Time now) {
  Result<Cron> cron = parse_cron(record.order.cron);
  CHECK(cron.has_value()) << cron.error().message();  // decode_schedule has parsed it
  Known& known = schedules_[name];
  bytes_ -= known.bytes;
  known.bytes = name.size() + encode(record).size();
  bytes_ += known.bytes;
  known.record = std::move(record);
  known.cron = *cron;
  known.is_writing = false;
  const std::string& zone = known.record.order.zone;
  if (!zones_.contains(zone) && !zones_due_.armed(zone)) zones_due_.arm(zone, now);
  arm(name, known, now);
}

void Schedules::remove(const std::string& name) {
  const auto found = schedules_.find(name);
  if (found == schedules_.end()) return;
  bytes_ -= found->second.bytes;
  due_.cancel(name);
  const std::string zone = found->second.record.order.zone;
  schedules_.erase(found);
  const bool is_used =
      std::any_of(schedules_.begin(), schedules_.end(),
                  [&zone](const auto& other) { return other.second.record.order.zone == zone; });
  if (is_used) return;
  zones_.erase(zone);
  zones_due_.cancel(zone);
}

const ScheduleRecord* Schedules::find(const std::string& name) const {
  const auto found = schedules_.find(name);
  return found == schedules_.end() ? nullptr : &found->second.record;
}

Result<void> Schedules::has_room(const std::string& owner) const {
  constexpr std::string_view kHint = "remove one with proffer batch cron remove";
  if (schedules_.size() >= kSchedulesMax) {
    return Error::resource_exhausted(
               text("there are ", schedules_.size(), " schedules, the maximum"))
        .with_hint(std::string(kHint));
  }
  const auto of_owner =
      std::count_if(schedules_.begin(), schedules_.end(),
                    [&owner](const auto& known) { return known.second.record.owner == owner; });
  if (of_owner >= static_cast<int64_t>(kSchedulesPerUserMax)) {
    return Error::resource_exhausted(
               text("user ", quoted(owner), " has ", of_owner, " schedules, the maximum"))
        .with_hint(std::string(kHint));
  }
  return {};
}

// --- jobs --------------------------------------------------------------------------------------

void Schedules::on_job_started(const std::string& name, const JobId& job) {
  const auto found = schedules_.find(name);
  if (found != schedules_.end()) found->second.running.insert(job);
}

void Schedules::on_job_ended(const std::string& name, const JobId& job, Time now) {
  const auto found = schedules_.find(name);
  if (found == schedules_.end()) return;
  found->second.running.erase(job);
  arm(name, found->second, now);
}

const std::set<JobId>& Schedules::running(const std::string& name) const {
  return schedules_.at(name).running;
}

// --- zones -------------------------------------------------------------------------------------

std::vector<std::string> Schedules::take_wanted_zones(Time now) {
  std::vector<std::string> wanted;
  while (std::optional<std::string> zone = zones_due_.pop(now)) wanted.push_back(*std::move(zone));
  return wanted;
}

void Schedules::on_zone(const std::string& zone, Result<Zone> read, Time now) {
  KnownZone& known = zones_[zone];
  if (read) {
    known.zone = *std::move(read);
    known.trouble.clear();
  } else {
    known.trouble = read.error().message();  // an older zone is better than none
  }
  zones_due_.arm(zone, now + kZoneReadEvery);
  for (const auto& [name, schedule] : schedules_) {
    if (schedule.record.order.zone == zone) arm(name, schedule, now);
  }
}

const Zone* Schedules::zone_of(const ScheduleRecord& record) const {
  const auto found = zones_.find(record.order.zone);
  return found == zones_.end() || !found->second.zone ? nullptr : &*found->second.zone;
}

// --- decisions ---------------------------------------------------------------------------------

void Schedules::arm(const std::string& name, const Known& known, Time now) {
  due_.cancel(name);
  const Zone* zone = zone_of(known.record);
  if (known.is_writing || zone == nullptr) return;
  const ScheduleRecord& record = known.record;
  if (known.running.empty() && !record.is_paused && !record.waiting.empty()) {
    return due_.arm(name, now);
  }
  const std::optional<int64_t> next = next_fire_time(known.cron, *zone, record.decided_until);
  if (next) due_.arm(name, std::max(now, from_unix(*next)));
}

std::optional<Schedules::Due> Schedules::next_due(Time now) {
  while (const std::optional<std::string> name = due_.pop(now)) {
    Known& known = schedules_.at(*name);
    std::optional<ScheduleStep> step = decide(known.record, known.cron, *zone_of(known.record),
                                              !known.running.empty(), unix_seconds(now));
    if (!step) {
      arm(*name, known, now);
      continue;
    }
    known.is_writing = true;
    return Due{.name = *name, .step = *std::move(step)};
  }
  return std::nullopt;
}

void Schedules::begin_writing(const std::string& name) {
  schedules_.at(name).is_writing = true;
  due_.cancel(name);
}

bool Schedules::is_writing(const std::string& name) const {
  const auto found = schedules_.find(name);
  return found != schedules_.end() && found->second.is_writing;
}

void Schedules::on_write_failed(const std::string& name, Time now) {
  const auto found = schedules_.find(name);
  if (found == schedules_.end()) return;
  found->second.is_writing = false;
  arm(name, found->second, now);
}

std::optional<Time> Schedules::next_deadline() const {
  const std::optional<Time> zone = zones_due_.next();
  const std::optional<Time> fire = due_.next();
  return zone && fire ? std::min(*zone, *fire) : zone ? zone : fire;
}

// --- status ------------------------------------------------------------------------------------

proto::BatchSchedule Schedules::picture(const std::string& name, size_t fire_times,
                                        Time now) const {
  const Known& known = schedules_.at(name);
  const ScheduleRecord& record = known.record;
  proto::BatchSchedule out;
  out.name = name;
  out.owner = record.owner;
  out.role = record.order.stages.stages.front().order.role;
  out.cron = record.order.cron;
  out.zone = record.order.zone;
  out.overlap = to_text(record.order.overlap);
  out.catch_up = to_text(record.order.catch_up);
  out.is_paused = record.is_paused;
  out.submitted_at = record.submitted_at;
  out.running = static_cast<int64_t>(known.running.size());
  out.waiting = static_cast<int64_t>(record.waiting.size());
  for (const Firing& firing : record.log) {
    out.log.push_back({.at = from_unix(firing.at),
                       .last = firing.last == firing.at ? Time() : from_unix(firing.last),
                       .result = std::string(to_text(firing.result)),
                       .job = firing.job.str()});
  }
  out.output = record.order.stages.stages.front().order.output;
  const auto zone = zones_.find(record.order.zone);
  if (zone != zones_.end()) out.note = zone->second.trouble;
  const Zone* read = zone_of(record);
  int64_t after = std::max(record.decided_until, unix_seconds(now));
  while (read != nullptr && out.next.size() < std::min(fire_times, kFireTimesShownMax)) {
    const std::optional<int64_t> next = next_fire_time(known.cron, *read, after);
    if (!next) break;
    out.next.push_back({.at = from_unix(*next)});
    after = *next;
  }
  return out;
}

std::vector<std::string> Schedules::names(const std::string& after, size_t limit) const {
  std::vector<std::string> out;
  for (auto at = after.empty() ? schedules_.begin() : schedules_.upper_bound(after);
       at != schedules_.end() && out.size() < limit; ++at) {
    out.push_back(at->first);
  }
  return out;
}

}  // namespace proffer::batch
