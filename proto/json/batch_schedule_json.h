#pragma once

// Schedules of the batch framework in JSON. The rules of json.h apply.

#include <string>
#include <string_view>
#include <vector>

#include "common/result.h"
#include "proto/batch_schedule.h"

namespace proffer::proto {

// {"name","owner","role","cron","zone","overlap","catch_up","paused","submitted_at_s","running",
// "waiting","next":[{"at_s"}],"log":[{"at_s","last_s","result","job"}],"output","note"}
std::string batch_schedule_json(const BatchSchedule& schedule);
Result<BatchSchedule> parse_batch_schedule(std::string_view json);
// {"schedules":[…],"next"}: `next` is the last schedule of the page if more follow.
struct BatchSchedulePage {
  std::vector<BatchSchedule> schedules = {};
  std::string next = {};
  bool operator==(const BatchSchedulePage&) const = default;
};
std::string batch_schedule_page_json(const BatchSchedulePage& page);
Result<BatchSchedulePage> parse_batch_schedule_page(std::string_view json);

}  // namespace proffer::proto
