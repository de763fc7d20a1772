#include "proto/limit_warning.h"

#include <csignal>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace proffer::proto {
namespace {

using testing::HasSubstr;

TEST(LimitWarning, IsASignalAndATimeBeforeTheLimit) {
  EXPECT_EQ(*parse_limit_warning("USR1@2m"), (LimitWarning{SIGUSR1, seconds(120)}));
  EXPECT_EQ(*parse_limit_warning("SIGTERM"), (LimitWarning{SIGTERM, seconds(60)}));
  EXPECT_EQ(*parse_limit_warning("10@00:01:30"), (LimitWarning{SIGUSR1, seconds(90)}));
  for (const char* given : {"USR1@1m", "HUP@90s", "INT@1500ms"}) {
    const LimitWarning warning = *parse_limit_warning(given);
    EXPECT_EQ(*parse_limit_warning(to_text(warning)), warning) << given;
  }
}

TEST(LimitWarning, OfAnotherFormIsRefusedWithTheWayToWriteIt) {
  const std::pair<const char*, const char*> rows[] = {
      {"", "''"},
      {"@60s", "''"},
      {"KILL@60s", "must be from 1 to 31"},
      {"USR3@60s", "'USR3'"},
      {"USR1@", "''"},
      {"USR1@60", "'60'"},
      {"USR1@0s", "'USR1@0s'"},
      {"B:USR1@60s", "'B:USR1'"},
  };
  for (const auto& [given, says] : rows) {
    const Result<LimitWarning> warning = parse_limit_warning(given);
    ASSERT_FALSE(warning) << given;
    EXPECT_THAT(warning.error().message(), HasSubstr(says)) << given;
    EXPECT_NE(warning.error().hint(), "") << given;
  }
}

TEST(LimitWarning, LeavesTimeForTheCommandBefore) {
  const LimitWarning warning{SIGUSR1, seconds(60)};
  EXPECT_TRUE(check_limit_warning(warning, seconds(61), "time_limit"));
  const Result<void> none = check_limit_warning(warning, Duration(), "time_limit");
  EXPECT_THAT(none.error().message(), HasSubstr("needs a time limit"));
  EXPECT_THAT(none.error().hint(), HasSubstr("time_limit"));
  EXPECT_THAT(check_limit_warning(warning, seconds(60), "time_limit").error().message(),
              HasSubstr("less than the limit, which is 1m"));
}

}  // namespace
}  // namespace proffer::proto
