#include "net/trace_log.h"

#include <string>
#include <vector>

#include <glog/logging.h>
#include <gtest/gtest.h>

namespace proffer {
namespace {

class Lines : public google::LogSink {
 public:
  Lines() {
    FLAGS_minloglevel = google::GLOG_WARNING;
    google::AddLogSink(this);
  }
  ~Lines() override {
    google::RemoveLogSink(this);
    FLAGS_minloglevel = google::GLOG_ERROR;  // as tests/support/main.cc has it
  }
  void send(google::LogSeverity, const char*, const char*, int, const google::LogMessageTime&,
            const char* message, size_t length) override {
    all.emplace_back(message, length);
  }
  std::vector<std::string> all = {};
};

struct Refused {
  std::string user;

  static constexpr TraceKind kind() { return {TraceLevel::kMisbehaved, "audit: refused"}; }
  void fields(TraceFields& f) const { f("user", user); }
};

TEST(TraceLog, OneUserDoesNotKeepAnotherOutOfTheLog) {
  const auto refused = [](const std::string& user) { return Refused{user}; };
  TraceLog log;
  Lines lines;
  for (int i = 0; i < 100; ++i) log.write({refused("loud")}, 1);
  EXPECT_EQ(lines.all.size(), 10u);
  log.write({refused("quiet")}, 1);
  ASSERT_EQ(lines.all.size(), 11u);
  EXPECT_EQ(lines.all.back(), "audit: refused user=quiet");
  log.write({refused("loud")}, 2);
  EXPECT_EQ(lines.all.back(), "audit: refused user=loud left_out=90");
}

}  // namespace
}  // namespace proffer
