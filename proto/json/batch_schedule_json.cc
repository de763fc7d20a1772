#include "proto/json/batch_schedule_json.h"

#include "proto/json/json_text.h"

namespace proffer::proto {

template <class F>
void fields(F& f, typename F::template Of<BatchFiring>& firing) {
  f.seconds("at_s", firing.at);
  if constexpr (F::kReads) {
    f.seconds("last_s", firing.last);
  } else {
    if (firing.last != Time()) f.seconds("last_s", firing.last);
  }
  f.text_if_any("result", firing.result);
  f.text_if_any("job", firing.job);
}

template <class F>
void fields(F& f, typename F::template Of<BatchSchedule>& schedule) {
  f.text("name", schedule.name);
  f.text("owner", schedule.owner);
  f.text("role", schedule.role);
  f.text("cron", schedule.cron);
  f.text("zone", schedule.zone);
  f.text("overlap", schedule.overlap);
  f.text("catch_up", schedule.catch_up);
  f.truth("paused", schedule.is_paused);
  f.seconds("submitted_at_s", schedule.submitted_at);
  f.whole("running", schedule.running);
  f.whole("waiting", schedule.waiting);
  f.rows("next", schedule.next);
  f.rows("log", schedule.log);
  f.text_if_any("output", schedule.output);
  f.text_if_any("note", schedule.note);
}

template <class F>
void fields(F& f, typename F::template Of<BatchSchedulePage>& page) {
  f.rows("schedules", page.schedules);
  f.text_if_any("next", page.next);
}

std::string batch_schedule_json(const BatchSchedule& schedule) { return print_value(schedule); }
Result<BatchSchedule> parse_batch_schedule(std::string_view json) {
  return parse_value<BatchSchedule>(json);
}

std::string batch_schedule_page_json(const BatchSchedulePage& page) { return print_value(page); }
Result<BatchSchedulePage> parse_batch_schedule_page(std::string_view json) {
  return parse_value<BatchSchedulePage>(json);
}

}  // namespace proffer::proto
