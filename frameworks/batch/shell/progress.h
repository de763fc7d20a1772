#pragma once

// How a job is shown while it runs: bars on a terminal, plain lines when piped, one object per line
// with --json. The texts are plain functions of the status.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "proto/batch_status.h"

namespace proffer::batch {

enum class ProgressForm : uint8_t { kBars, kLines, kJson };

// The phase; "elements" while those of an array run.
std::string_view phase_text(const proto::BatchJob& status);
// "map     [########------]  57 %  12 of 21  3 running  8 s left" for map and reduce, each without
// a newline and at most `columns` wide; one line only if there are no reducers.
std::vector<std::string> bars(const proto::BatchJob& status, size_t columns);
// "map 12 of 21, reduce 0 of 4, 3 running, 8 s left".
std::string progress_line(const proto::BatchJob& status);
std::string progress_json(const proto::BatchJob& status, Duration elapsed);
// What was read, shuffled and written, where to, and how long it took.
// "counter   GROUP,NAME  12" for each that tasks have counted.
std::vector<std::string> counter_lines(const proto::BatchJob& status);
// How many of the tasks that are done ran on hosts that they prefer; empty if none prefers any.
std::string places_text(const proto::BatchJob& status);
std::string result_text(const proto::BatchJob& status, Duration elapsed);
std::string result_json(const proto::BatchJob& status, Duration elapsed);

// Writes it to standard output as it changes; what a line in between says does not tear the bars.
class Progress {
 public:
  Progress(ProgressForm form, Time started) : form_(form), started_(started) {}

  // How often show() is worth calling.
  Duration interval() const { return milliseconds(form_ == ProgressForm::kBars ? 250 : 1'000); }
  // Prints if something changed; at a change of phase also between intervals.
  void show(const proto::BatchJob& status, Time now);
  // A line for people, on standard error, between what show() prints.
  void note(const std::string& line);
  // The last state and, if it ended well, the result.
  void finish(const proto::BatchJob& job, Duration elapsed);

 private:
  void erase_bars();

  ProgressForm form_;
  Time started_;
  size_t bars_shown_ = 0;
  std::string last_;
};

}  // namespace proffer::batch
