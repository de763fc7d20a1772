// Log lines as JSON, with any foreign text in them.

#include "proto/json/log_json.h"

#include <gtest/gtest.h>

namespace proffer::proto {
namespace {

struct Happened {
  std::string said;

  static constexpr TraceKind kind() { return {TraceLevel::kMisbehaved, "somebody misbehaved"}; }
  void fields(TraceFields& f) const {
    f("agent", "a1")("tasks", 3);
    f.free_text("message", said);
  }
};

const LogLine kLine = {.at = Time::from_nanos(1'500'000'000), .program = "proffer-x", .pid = 7};

TEST(LogJson, HasTheFieldsOfAnEvent) {
  EXPECT_EQ(log_line_json(kLine, Happened{"no"}, 0),
            R"({"time_s":1.5,"level":"warning","program":"proffer-x","pid":7,)"
            R"("message":"somebody misbehaved","agent":"a1","tasks":3,"field_message":"no"})");
  EXPECT_EQ(log_line_json(kLine, Happened{""}, 12),
            R"({"time_s":1.5,"level":"warning","program":"proffer-x","pid":7,)"
            R"("message":"somebody misbehaved","agent":"a1","tasks":3,"field_message":"",)"
            R"("left_out":12})");
}

TEST(LogJson, IsOneLineWhateverTheBytes) {
  EXPECT_EQ(log_line_json(kLine, "info", "a \"b\"\n\\ \x01 \xff", "x.cc:1"),
            "{\"time_s\":1.5,\"level\":\"info\",\"program\":\"proffer-x\",\"pid\":7,"
            "\"message\":\"a \\\"b\\\"\\n\\\\ \\u0001 \xEF\xBF\xBD\",\"source\":\"x.cc:1\"}");
  for (int byte = 0; byte < 256; ++byte) {
    const std::string hostile = {'"', '}', static_cast<char>(byte), '\\'};
    const std::string line = log_line_json(kLine, Happened{hostile}, 0);
    EXPECT_EQ(line.find('\n'), line.npos) << byte;
    EXPECT_TRUE(line.ends_with("\"}")) << byte;
  }
}

TEST(LogJson, KeepsTheBeginningOfALongText) {
  EXPECT_LT(log_line_json(kLine, Happened{std::string(100'000, 'x')}, 0).size(), 2'000u);
}

}  // namespace
}  // namespace proffer::proto
