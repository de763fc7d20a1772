#pragma once

// What `run` prints of its tasks: their output, and with --json an object for each event.

#include <atomic>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "cli/output_streams.h"
#include "proto/status.h"

namespace proffer::cli {

class RunOutput {
 public:
  // Output of a single task is printed as it arrives; output of several tasks by line, each with
  // the task's name. `print` calls its argument, which prints lines of this program.
  RunOutput(bool json, bool is_single, std::function<void(const std::function<void()>&)> print);

  // --- on the streams' thread ---
  void write(const TaskId& task, OutputStreams::Stream stream, std::string_view bytes);
  // The agent has dropped bytes.
  void missing(const TaskId& task, OutputStreams::Stream stream, uint64_t bytes);
  void lost(const FrameworkId& framework, const TaskId& task, const std::string& why);
  // All output of the task was written.
  void closed(const TaskId& task);

  // --- on the scheduler's thread ---
  void subscribed(const FrameworkId& framework) { framework_ = framework; }
  // The output of this task is followed from now on.
  void running(const proto::TaskStatus& status);
  // Reports the end of a task. It is the task's last event in --json, so it comes after all output
  // of the task.
  void ended(const proto::TaskStatus& status);
  // All output was written: prints last lines that have no newline.
  void finish();
  bool is_incomplete() const { return is_incomplete_; }

 private:
  void tell(std::string_view event, const proto::TaskStatus& status);
  void write_json(const TaskId& task, bool to_stdout, std::string_view bytes);
  void end_line(const TaskId& task, OutputStreams::Stream stream);

  const bool json_;
  const bool is_single_;
  const std::function<void(const std::function<void()>&)> print_;
  FrameworkId framework_ = {};
  std::atomic<bool> is_incomplete_ = false;  // an agent has dropped output
  bool is_in_line_[2] = {};                  // of stdout and stderr of a single task
  std::mutex mutex_;
  std::set<TaskId> followed_;                 // guarded by mutex_
  std::map<TaskId, proto::TaskStatus> ends_;  // guarded by mutex_: waiting for output
  std::set<TaskId> closed_;                   // guarded by mutex_: waiting for the end
  // Incomplete lines, if several tasks run, and incomplete characters, for JSON.
  std::map<std::pair<TaskId, OutputStreams::Stream>, std::string> partial_;
};

}  // namespace proffer::cli
