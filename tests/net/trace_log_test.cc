#include "net/trace_log.h"

#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/support/log_lines.h"

namespace proffer {
namespace {

struct Refused {
  std::string user;

  static constexpr TraceKind kind() { return {TraceLevel::kMisbehaved, "audit: refused"}; }
  void fields(TraceFields& f) const { f("user", user); }
};

TEST(TraceLog, OneUserDoesNotKeepAnotherOutOfTheLog) {
  const auto refused = [](const std::string& user) { return Refused{user}; };
  TraceLog log;
  test::LogLines lines;
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
