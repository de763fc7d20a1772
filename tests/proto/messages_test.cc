// Checks of single values, besides the bounds of the codec.

#include "proto/messages.h"

#include <gtest/gtest.h>

namespace proffer::proto::messages_test {
namespace {

TEST(KillSignal, IsANameOrANumber) {
  for (const auto& [text, number] :
       {std::pair("SIGINT", 2), {"INT", 2}, {"2", 2}, {"SIGTERM", 15}, {"USR1", 10}}) {
    const Result<int32_t> parsed = parse_kill_signal(text);
    ASSERT_TRUE(parsed) << text;
    EXPECT_EQ(*parsed, number) << text;
  }
  for (const char* wrong : {"", "SIG", "SIGKILL", "9", "STOP", "19", "0", "32", "-1", "02", "int",
                            "SIGINT ", "SIGSIGINT", "SIGRTMIN"}) {
    EXPECT_FALSE(parse_kill_signal(wrong)) << wrong;
  }
}

}  // namespace
}  // namespace proffer::proto::messages_test
