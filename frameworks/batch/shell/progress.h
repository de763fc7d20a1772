#pragma once

// The progress of a running job: bars on a terminal, plain lines in a pipe, one object per line
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
// The amounts read, shuffled and written, the output, and the duration; then "counter   GROUP,NAME
// 12" for each counter of tasks.
std::vector<std::string> counter_lines(const proto::BatchJob& status);
// The number of done tasks that ran on preferred hosts; empty if no task prefers any.
std::string places_text(const proto::BatchJob& status);
std::string result_text(const proto::BatchJob& status, Duration elapsed);
std::string result_json(const proto::BatchJob& status, Duration elapsed);

// Writes the progress to standard output as it changes. A line in between does not break the bars.
class Progress {
 public:
  Progress(ProgressForm form, Time started) : form_(form), started_(started) {}

  // How often to call show().
  Duration interval() const { return milliseconds(form_ == ProgressForm::kBars ? 250 : 1'000); }
  // Prints if the status has changed; at a change of phase also between intervals.
  void show(const proto::BatchJob& status, Time now);
  // Prints a line for people on standard error, between the output of show().
  void note(const std::string& line);
  // Prints the last state and, if the job finished, the result.
  void finish(const proto::BatchJob& job, Duration elapsed);

 private:
  void erase_bars();

  ProgressForm form_;
  Time started_;
  size_t bars_shown_ = 0;
  std::string last_;
};

}  // namespace proffer::batch
