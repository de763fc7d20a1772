#include "net/json_log.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <ctime>

#include <glog/logging.h>
#include <unistd.h>

#include "common/printable.h"
#include "common/text.h"
#include "net/trace_log.h"
#include "proto/json/log_json.h"

namespace proffer {
namespace {

void write_line(std::string_view json) {
  const std::string line = printable_json(json) + "\n";
  std::string_view bytes = line;
  while (!bytes.empty()) {
    const ssize_t count = ::write(STDERR_FILENO, bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return;  // There is no other place to report the failure.
    bytes.remove_prefix(static_cast<size_t>(count));
  }
}

std::string_view level_of(google::LogSeverity severity) {
  constexpr std::array<std::string_view, 4> kLevels = {"info", "warning", "error", "fatal"};
  return kLevels[static_cast<size_t>(std::clamp(severity, 0, 3))];
}

class JsonSink : public google::LogSink {
 public:
  explicit JsonSink(std::string program) : program_(std::move(program)) {}

  void send(google::LogSeverity severity, const char*, const char* file, int line,
            const google::LogMessageTime&, const char* message, size_t size) override {
    timespec now{};
    ::clock_gettime(CLOCK_REALTIME, &now);
    proto::LogLine entry{.at = Time::from_nanos(int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec),
                         .program = program_,
                         .pid = ::getpid()};
    // LOG itself calls this, in the thread that writes the event.
    if (const LoggedEvent logged = event_being_logged(); logged.event != nullptr) {
      write_line(proto::log_line_json(entry, *logged.event, logged.left_out));
      return;
    }
    const std::string source = text(file, ":", line);
    write_line(proto::log_line_json(entry, level_of(severity), {message, size}, source));
  }

 private:
  const std::string program_;
};

}  // namespace

Result<void> choose_log_format(std::string_view format, std::string program) {
  if (format == "text") return {};
  if (format != "json") {
    return Error::invalid_argument(
        text("the format of the log must be text or json, not ", quoted(format)));
  }
  // It lives until the process ends, since other threads may log meanwhile.
  static JsonSink* const sink = new JsonSink(std::move(program));
  google::AddLogSink(sink);
  // glog's own text is switched off, on standard error and in files.
  FLAGS_logtostderr = false;
  FLAGS_alsologtostderr = false;
  FLAGS_stderrthreshold = google::NUM_SEVERITIES;
  for (int severity = 0; severity < google::NUM_SEVERITIES; ++severity) {
    google::SetLogDestination(severity, "");
  }
  return {};
}

}  // namespace proffer
