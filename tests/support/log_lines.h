#pragma once

// The warnings and errors of the log while it lives, as messages alone.

#include <string>
#include <vector>

#include <glog/logging.h>

namespace proffer::test {

class LogLines : public google::LogSink {
 public:
  LogLines() {
    FLAGS_minloglevel = google::GLOG_WARNING;
    google::AddLogSink(this);
  }
  ~LogLines() override {
    google::RemoveLogSink(this);
    FLAGS_minloglevel = google::GLOG_ERROR;  // as tests/support/main.cc has it
  }
  void send(google::LogSeverity, const char*, const char*, int, const google::LogMessageTime&,
            const char* message, size_t length) override {
    all.emplace_back(message, length);
  }

  std::vector<std::string> all = {};
};

}  // namespace proffer::test
