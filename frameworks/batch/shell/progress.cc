// The progress of a running job, for people and programs.

#include "frameworks/batch/shell/progress.h"

#include <algorithm>

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "common/text.h"
#include "frameworks/batch/core/job.h"
#include "net/terminal.h"
#include "proto/json/json.h"

namespace proffer::batch {
namespace {

using Members = std::vector<std::pair<std::string_view, proto::JsonValue>>;

std::string seconds_text(Duration duration) {
  const int64_t whole = duration.millis() / 1'000;
  if (whole >= 3'600) return fmt::format("{} h {:02} min", whole / 3'600, whole / 60 % 60);
  if (whole >= 60) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  return fmt::format("{} s", whole);
}

int64_t permille(const proto::BatchStage& stage) {
  return stage.total == 0 ? 1'000 : stage.done * 1'000 / stage.total;
}
int64_t ended(const proto::BatchElements& array) {
  return array.done + array.failed + array.skipped;
}

int64_t permille(const proto::BatchElements& array) {
  return array.total == 0 ? 1'000 : ended(array) * 1'000 / array.total;
}

// The text beside the bar.
std::string numbers(const proto::BatchElements& array) {
  std::string line =
      fmt::format(" {:3} %  {} of {}", permille(array) / 10, ended(array), array.total);
  if (array.tasks > 0) line += fmt::format("  {} running", array.tasks);
  if (array.waiting > 0) line += fmt::format("  {} waiting", array.waiting);
  if (array.failed > 0) line += fmt::format("  {} failed", array.failed);
  if (array.skipped > 0) line += fmt::format("  {} skipped", array.skipped);
  if (array.eta && ended(array) < array.total)
    line += fmt::format("  {} left", seconds_text(*array.eta));
  return line;
}
std::string numbers(const proto::BatchStage& stage) {
  std::string line =
      fmt::format(" {:3} %  {} of {}", permille(stage) / 10, stage.done, stage.total);
  if (stage.running > 0) line += fmt::format("  {} running", stage.running);
  if (stage.eta && stage.done < stage.total)
    line += fmt::format("  {} left", seconds_text(*stage.eta));
  return line;
}

template <class Stage>
std::string bar(std::string_view name, const Stage& stage, size_t width, size_t columns) {
  if (width < 5) return fmt::format("{:<7}{}", name, numbers(stage)).substr(0, columns);
  const size_t full = width * static_cast<size_t>(permille(stage)) / 1'000;
  return fmt::format("{:<7} [{}{}]{}", name, std::string(full, '#'), std::string(width - full, '-'),
                     numbers(stage));
}

proto::MilliNumber in_seconds(Duration duration) { return {.milli = duration.millis()}; }

Members members(std::string_view event, const proto::BatchJob& status, Duration elapsed) {
  Members all = {{"event", std::string(event)},
                 {"job", status.job},
                 {"phase", std::string(proto::to_text(status.phase))},
                 {"framework", status.framework.str()},
                 {"maps", status.map.total},
                 {"maps_done", status.map.done},
                 {"maps_running", status.map.running},
                 {"reduces", status.reduce.total},
                 {"reduces_done", status.reduce.done},
                 {"reduces_running", status.reduce.running},
                 {"attempts_failed", status.map.failed + status.reduce.failed},
                 {"maps_computed_again", status.map.recomputed},
                 {"input_bytes", status.input_bytes},
                 {"input_bytes_done", status.map.bytes_in},
                 {"elapsed_s", in_seconds(elapsed)}};
  const std::optional<Duration>& eta =
      status.phase == proto::BatchPhase::kMap ? status.map.eta : status.reduce.eta;
  if (eta) all.emplace_back("phase_left_s", in_seconds(*eta));
  if (status.array) {
    all.emplace_back("elements", status.array->total);
    all.emplace_back("elements_done", status.array->done);
    all.emplace_back("elements_failed", status.array->failed);
    all.emplace_back("elements_skipped", status.array->skipped);
    all.emplace_back("element_attempts_failed", status.array->failed_attempts);
  }
  if (!status.task_status.empty()) all.emplace_back("task_status", status.task_status);
  if (!status.note.empty()) all.emplace_back("note", status.note);
  return all;
}

size_t terminal_columns() {
  winsize size = {};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 80;
  return size.ws_col;
}

}  // namespace

std::string_view phase_text(const proto::BatchJob& status) {
  return status.array && status.phase == proto::BatchPhase::kMap ? "elements"
                                                                 : to_text(status.phase);
}

std::vector<std::string> bars(const proto::BatchJob& status, size_t columns) {
  if (status.array) {
    const size_t around = 10 + numbers(*status.array).size();
    const size_t width = columns > around ? std::min<size_t>(columns - around, 40) : 0;
    return {bar("array", *status.array, width, columns)};
  }
  const bool reduces = status.reduce.total > 0;
  const size_t beside =
      std::max(numbers(status.map).size(), reduces ? numbers(status.reduce).size() : 0);
  const size_t around = 10 + beside;  // the name, the brackets, the numbers
  const size_t width = columns > around ? std::min<size_t>(columns - around, 40) : 0;
  std::vector<std::string> lines = {bar("map", status.map, width, columns)};
  if (reduces) lines.push_back(bar("reduce", status.reduce, width, columns));
  return lines;
}

std::string progress_line(const proto::BatchJob& status) {
  if (status.phase == proto::BatchPhase::kQueued) return text(status.job, " is queued");
  if (status.array) {
    const proto::BatchElements& array = *status.array;
    std::string line = fmt::format("{} of {} elements", ended(array), array.total);
    if (array.failed > 0) line += fmt::format(", {} failed", array.failed);
    if (array.skipped > 0) line += fmt::format(", {} skipped", array.skipped);
    if (array.waiting > 0) line += fmt::format(", {} waiting", array.waiting);
    if (array.tasks > 0) line += fmt::format(", {} running", array.tasks);
    if (array.eta && array.eta->nanos() > 0) {
      line += fmt::format(", {} left", seconds_text(*array.eta));
    }
    return line;
  }
  std::string line = fmt::format("map {} of {}", status.map.done, status.map.total);
  if (status.reduce.total > 0) {
    line += fmt::format(", reduce {} of {}", status.reduce.done, status.reduce.total);
  }
  const int64_t running = status.map.running + status.reduce.running;
  if (running > 0) line += fmt::format(", {} running", running);
  const int64_t copies = status.map.copies + status.reduce.copies;
  if (copies > 0) line += fmt::format(", {} of them with a second attempt", copies);
  const std::optional<Duration>& eta =
      status.phase == proto::BatchPhase::kMap ? status.map.eta : status.reduce.eta;
  if (eta && eta->nanos() > 0) line += fmt::format(", {} left", seconds_text(*eta));
  return line;
}

std::string progress_json(const proto::BatchJob& status, Duration elapsed) {
  return proto::json_line(members("progress", status, elapsed));
}

std::vector<std::string> counter_lines(const proto::BatchJob& status) {
  std::vector<std::string> lines;
  for (const proto::BatchCounter& counter : status.counters) {
    lines.push_back(
        fmt::format("{:<9} {},{}  {}", "counter", counter.group, counter.name, counter.amount));
  }
  return lines;
}

std::string places_text(const proto::BatchJob& status) {
  const int64_t near = status.map.near + status.reduce.near;
  const int64_t all = near + status.map.far + status.reduce.far;
  return all == 0 ? "" : fmt::format("{} of {} tasks ran on their preferred hosts", near, all);
}

std::string result_text(const proto::BatchJob& status, Duration elapsed) {
  if (status.array) {
    const proto::BatchElements& array = *status.array;
    return fmt::format(
        "{} of {} elements done{}{}{}, {} of output in {} in {}.{} s", array.done, array.total,
        array.failed > 0 ? fmt::format(", {} failed", array.failed) : "",
        array.skipped > 0 ? fmt::format(", {} skipped", array.skipped) : "",
        array.failed_attempts > array.failed
            ? fmt::format(", {} attempts repeated", array.failed_attempts - array.failed)
            : "",
        print_bytes(array.bytes_out), status.output, elapsed.millis() / 1'000,
        elapsed.millis() % 1'000 / 100);
  }
  const int64_t parts = status.reduce.total > 0 ? status.reduce.total : status.map.total;
  const proto::BatchStage& last = status.reduce.total > 0 ? status.reduce : status.map;
  std::string again;
  if (status.map.failed + status.reduce.failed > 0) {
    again += fmt::format(", {} attempts failed", status.map.failed + status.reduce.failed);
  }
  if (status.map.recomputed > 0)
    again += fmt::format(", {} maps computed again", status.map.recomputed);
  std::string shuffled;
  if (status.reduce.total > 0) {
    shuffled = fmt::format(", shuffled {} records ({})", status.reduce.records_in,
                           print_bytes(status.reduce.bytes_in));
  }
  return fmt::format(
      "read {} lines ({}) in {} maps{}, wrote {} lines ({}) to {} parts in {} in {}.{} s{}",
      status.map.records_in, print_bytes(status.map.bytes_in), status.map.total, shuffled,
      last.records_out, print_bytes(last.bytes_out), parts, status.output, elapsed.millis() / 1'000,
      elapsed.millis() % 1'000 / 100, again);
}

std::string result_json(const proto::BatchJob& status, Duration elapsed) {
  const proto::BatchStage& last = status.reduce.total > 0 ? status.reduce : status.map;
  Members all = members("finished", status, elapsed);
  all.emplace_back("output", status.output);
  all.emplace_back("input_records", status.map.records_in);
  all.emplace_back("map_records", status.map.records_out);
  all.emplace_back("shuffle_records", status.reduce.records_in);
  all.emplace_back("shuffle_bytes", status.reduce.bytes_in);
  all.emplace_back("output_records", last.records_out);
  all.emplace_back("output_bytes", last.bytes_out);
  return proto::json_line(all);
}

// A reader that has gone (`| head`) must not end the job.
void Progress::show(const proto::BatchJob& status, Time now) {
  switch (form_) {
    case ProgressForm::kBars: {
      if (status.phase == proto::BatchPhase::kQueued) return;
      const std::vector<std::string> lines = bars(status, terminal_columns());
      std::string joined;
      for (const std::string& line : lines) joined += line + "\n";
      if (joined == last_) return;
      std::string up;
      if (bars_shown_ > 0) up = fmt::format("\x1b[{}A\r", bars_shown_);
      print_screen(lines, {.before = up, .behind_each = "\x1b[K\n"});
      bars_shown_ = lines.size();
      last_ = joined;
      return;
    }
    case ProgressForm::kLines: {
      const std::string line = progress_line(status);
      if (line == last_) return;
      print_line(line);
      last_ = line;
      return;
    }
    case ProgressForm::kJson:
      print_json(progress_json(status, now - started_));
      return;
  }
}

void Progress::note(const std::string& line) {
  erase_bars();
  print_line(line, stderr);
}

void Progress::finish(const proto::BatchJob& job, Duration elapsed) {
  if (form_ == ProgressForm::kJson) {
    print_json(result_json(job, elapsed));
    return;
  }
  show(job, started_);
  print_line(result_text(job, elapsed));
  for (const std::string& line : counter_lines(job)) print_line(line);
}

void Progress::erase_bars() {
  if (bars_shown_ == 0) return;
  print_screen({}, {.before = fmt::format("\x1b[{}A\r\x1b[J", bars_shown_)});
  bars_shown_ = 0;
  last_.clear();
}

}  // namespace proffer::batch
