#include "common/hex.h"

#include <gtest/gtest.h>

namespace proffer::hex_test {
namespace {

TEST(Hex, GivesBackEachByte) {
  std::string bytes;
  for (int byte = 0; byte < 256; ++byte) bytes += static_cast<char>(byte);
  EXPECT_EQ(from_hex(to_hex(bytes)), bytes);
  EXPECT_EQ(to_hex(std::string_view("\0\x7f\xff", 3)), "007fff");
  EXPECT_EQ(from_hex(""), "");
}

TEST(Hex, IsNothingElse) {
  for (const char* digits : {"0", "012", "0g", "g0", "0A", " 0", "0x", "-1"}) {
    EXPECT_EQ(from_hex(digits), std::nullopt) << digits;
  }
}

}  // namespace
}  // namespace proffer::hex_test
