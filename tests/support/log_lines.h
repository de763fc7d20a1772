#pragma once

// Collects the messages of logged warnings and errors during its lifetime.

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
    FLAGS_minloglevel = google::GLOG_ERROR;  // as in tests/support/main.cc
  }
  void send(google::LogSeverity, const char*, const char*, int, const google::LogMessageTime&,
            const char* message, size_t length) override {
    all.emplace_back(message, length);
  }

  std::vector<std::string> all = {};
};

}  // namespace proffer::test
