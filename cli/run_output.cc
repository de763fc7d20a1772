#include "cli/run_output.h"

#include <cstdio>

#include "cli/output.h"
#include "common/hex.h"
#include "common/printable.h"
#include "common/text.h"
#include "proto/json/json.h"

namespace proffer::cli {

RunOutput::RunOutput(bool json, bool is_single,
                     std::function<void(const std::function<void()>&)> print)
    : json_(json), is_single_(is_single), print_(std::move(print)) {}

void RunOutput::write(const TaskId& task, OutputStreams::Stream stream, std::string_view bytes) {
  const bool to_stdout = stream == OutputStreams::Stream::kStdout;
  std::FILE* file = to_stdout || json_ ? stdout : stderr;
  if (json_) {
    std::string& partial = partial_[{task, stream}];
    partial += bytes;
    const size_t whole = partial.size() - bytes_of_partial_character(partial);
    write_json(task, to_stdout, std::string_view(partial).substr(0, whole));
    partial.erase(0, whole);
    return;
  }
  if (is_single_) {
    print_output_of_task(bytes, file);
    if (!bytes.empty()) is_in_line_[to_stdout ? 0 : 1] = bytes.back() != '\n';
    return;
  }
  std::string& partial = partial_[{task, stream}];
  while (!bytes.empty()) {
    const size_t end = bytes.find('\n');
    partial += bytes.substr(0, end);
    if (end == std::string_view::npos) break;
    print_line_of_task(task.str(), partial, file);
    partial.clear();
    bytes.remove_prefix(end + 1);
  }
  std::fflush(file);
}

// Text if it is UTF-8, else its bytes as hexadecimal digits.
void RunOutput::write_json(const TaskId& task, bool to_stdout, std::string_view bytes) {
  if (bytes.empty()) return;
  const bool is_text = is_utf8(bytes);
  print_json(
      proto::json_line({{"event", std::string("output")},
                        {"task", task.str()},
                        {"stream", std::string(to_stdout ? "stdout" : "stderr")},
                        {is_text ? "text" : "hex", is_text ? std::string(bytes) : to_hex(bytes)}}));
}

void RunOutput::missing(const TaskId& task, OutputStreams::Stream stream, uint64_t bytes) {
  is_incomplete_ = true;
  const bool of_stdout = stream == OutputStreams::Stream::kStdout;
  if (json_) {
    print_json(proto::json_line({{"event", std::string("output_missing")},
                                 {"task", task.str()},
                                 {"stream", std::string(of_stdout ? "stdout" : "stderr")},
                                 {"bytes", static_cast<int64_t>(bytes)}}));
    return;
  }
  print_([&] {
    end_line(task, stream);
    print_warning_text(text(bytes, " bytes of ", of_stdout ? "stdout" : "stderr", " of task ",
                            task.str(),
                            " are missing here: they were read too slowly, and its agent keeps a "
                            "limited part of an output (--output_max of the agent)"));
  });
}

void RunOutput::lost(const FrameworkId& framework, const TaskId& task, const std::string& why) {
  print_([&] {
    print_warning_text(
        text("output of task ", task.str(), " of ", framework.str(), " is lost: ", why));
  });
}

// The output goes on with a whole line.
void RunOutput::end_line(const TaskId& task, OutputStreams::Stream stream) {
  const bool of_stdout = stream == OutputStreams::Stream::kStdout;
  if (is_single_) {
    if (std::exchange(is_in_line_[of_stdout ? 0 : 1], false)) {
      print_output_of_task("\n", of_stdout ? stdout : stderr);
    }
    return;
  }
  const auto line = partial_.extract(std::pair(task, stream));
  if (line && !line.mapped().empty()) {
    print_line_of_task(task.str(), line.mapped(), of_stdout ? stdout : stderr);
  }
}

void RunOutput::closed(const TaskId& task) {
  if (json_) {
    for (const auto stream : {OutputStreams::Stream::kStdout, OutputStreams::Stream::kStderr}) {
      const auto rest = partial_.extract(std::pair(task, stream));
      if (rest) write_json(task, stream == OutputStreams::Stream::kStdout, rest.mapped());
    }
  }
  proto::TaskStatus status;
  {
    const std::lock_guard lock(mutex_);
    const auto ended = ends_.extract(task);
    if (!ended) {
      closed_.insert(task);
      return;
    }
    status = ended.mapped();
  }
  tell("ended", status);
}

void RunOutput::running(const proto::TaskStatus& status) {
  {
    const std::lock_guard lock(mutex_);
    followed_.insert(status.task);
  }
  tell("running", status);
}

void RunOutput::ended(const proto::TaskStatus& status) {
  {
    const std::lock_guard lock(mutex_);
    if (followed_.contains(status.task) && closed_.erase(status.task) == 0) {
      ends_[status.task] = status;
      return;
    }
  }
  tell("ended", status);
}

void RunOutput::tell(std::string_view event, const proto::TaskStatus& status) {
  if (!json_) return;
  std::vector<std::pair<std::string_view, proto::JsonValue>> members = {
      {"event", std::string(event)},
      {"framework", framework_.str()},
      {"task", status.task.str()},
      {"agent", status.agent.str()},
      {"state", std::string(to_text(status.state))},
      {"reason", std::string(to_text(status.reason))}};
  if (status.exit_code) members.emplace_back("exit_code", int64_t{*status.exit_code});
  if (status.signal) members.emplace_back("signal", int64_t{*status.signal});
  print_json(proto::json_line(members));
}

void RunOutput::finish() {
  if (json_) return;
  for (const auto& [key, line] : partial_) {
    if (line.empty()) continue;
    std::FILE* file = key.second == OutputStreams::Stream::kStdout ? stdout : stderr;
    print_line_of_task(key.first.str(), line, file);
  }
}

}  // namespace proffer::cli
