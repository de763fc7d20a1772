// proffer batch cron: schedules.

#include <algorithm>
#include <ctime>

#include <fmt/format.h>

#include "common/text.h"
#include "frameworks/batch/core/schedules.h"
#include "frameworks/batch/shell/calls.h"
#include "frameworks/batch/shell/zones.h"
#include "proto/json/batch_schedule_json.h"
#include "sdk/shell/history.h"

namespace proffer::batch {
namespace {

// All pages, by name.
Result<std::vector<proto::BatchSchedule>> ask_for_schedules(const CommandOptions& options,
                                                            int64_t fire_times) {
  std::vector<proto::BatchSchedule> all;
  std::string after;
  do {
    const Result<std::string> answer =
        ask(options, {.verb = "schedules", .after = after, .count = fire_times});
    if (!answer) return answer.error();
    Result<proto::BatchSchedulePage> page = proto::parse_batch_schedule_page(*answer);
    if (!page) return std::move(page).error().in("the scheduler's answer");
    for (proto::BatchSchedule& schedule : page->schedules) all.push_back(std::move(schedule));
    after = page->next;
  } while (!after.empty());
  return all;
}

Result<proto::BatchSchedule> ask_for_schedule(const CommandOptions& options,
                                              const std::string& name, int64_t fire_times) {
  const Result<std::vector<proto::BatchSchedule>> all = ask_for_schedules(options, fire_times);
  if (!all) return all.error();
  std::vector<std::string_view> names;
  for (const proto::BatchSchedule& schedule : *all) {
    if (schedule.name == name) return schedule;
    names.push_back(schedule.name);
  }
  const std::string_view near = nearest(name, names);
  return Error::not_found(text("there is no schedule ", quoted(name)))
      .with_hint(near.empty() ? std::string("list schedules with: proffer batch cron list")
                              : text("did you mean ", quoted(near), "?"));
}

std::string state_of(const proto::BatchSchedule& schedule) {
  if (schedule.is_paused) return "paused";
  if (schedule.running > 0) return "running";
  return schedule.note.empty() ? "waiting" : "stuck";
}

// In the schedule's zone; if this machine does not have that zone, in its own.
std::string zone_time(const proto::BatchSchedule& schedule, Time at) {
  const int64_t seconds = unix_seconds(at);
  const Result<Zone> zone = read_zone(schedule.zone, seconds);
  return zone ? text(local_text(*zone, seconds), " ", schedule.zone) : sdk::local_time(at);
}

}  // namespace

int list_schedules(const CommandOptions& options) {
  const Result<std::vector<proto::BatchSchedule>> all = ask_for_schedules(options, 1);
  if (!all) return print_answer(all.error(), options.json);
  if (options.json) {
    print_json(proto::batch_schedule_page_json({.schedules = *all}));
    return 0;
  }
  constexpr const char* kRow = "{:<20} {:<12} {:<8} {:<20} {:<20} {:<34} {}";
  print_line(fmt::format(kRow, "SCHEDULE", "OWNER", "STATE", "CRON", "ZONE", "NEXT", "LAST"));
  for (const proto::BatchSchedule& one : *all) {
    const std::string next =
        one.is_paused || one.next.empty() ? "-" : zone_time(one, one.next.front().at);
    const std::string last = one.log.empty()
                                 ? "-"
                                 : text(one.log.back().result,
                                        one.log.back().job.empty() ? "" : " ", one.log.back().job);
    print_line(
        fmt::format(kRow, one.name, one.owner, state_of(one), one.cron, one.zone, next, last));
  }
  return 0;
}

int show_fire_times(const std::string& name, int64_t count, const CommandOptions& options) {
  if (count < 1 || count > static_cast<int64_t>(kFireTimesShownMax)) {
    return print_error(Error::invalid_argument(
                           text("--count must be from 1 to ", kFireTimesShownMax, ", not ", count)),
                       options.json);
  }
  const Result<proto::BatchSchedule> schedule = ask_for_schedule(options, name, count);
  if (!schedule) return print_answer(schedule.error(), options.json);
  if (options.json) {
    print_json(proto::batch_schedule_json(*schedule));
    return 0;
  }
  for (const proto::BatchFiring& firing : schedule->log) {
    std::string line = text(zone_time(*schedule, firing.at), "  ", firing.result);
    if (firing.last != Time()) line += text(" until ", zone_time(*schedule, firing.last));
    if (!firing.job.empty()) line += text("  ", firing.job);
    print_line(line);
  }
  for (const proto::BatchFiring& next : schedule->next) {
    print_line(text(zone_time(*schedule, next.at), schedule->is_paused ? "  paused" : "  to come"));
  }
  if (!schedule->note.empty()) print_line(text("note: ", schedule->note));
  return 0;
}

int change_schedule(const std::string& name, const std::string& verb,
                    const CommandOptions& options) {
  const Result<std::string> answer = ask(options, {.verb = verb, .job = name});
  if (!answer) return print_answer(answer.error(), options.json);
  const Result<proto::BatchSchedule> schedule = proto::parse_batch_schedule(*answer);
  if (!schedule) return print_answer(Error(schedule.error()).in("the answer"), options.json);
  if (options.json) {
    print_json(*answer);
  } else if (verb == "resume" && !schedule->next.empty()) {
    print_line(text(name, " next fires at ", zone_time(*schedule, schedule->next.front().at)));
  }
  return 0;
}

}  // namespace proffer::batch
