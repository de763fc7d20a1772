#include "common/result.h"

#include <gtest/gtest.h>

namespace proffer {
namespace {

TEST(Error, EscapesWhatItsHintRepeats) {
  const Error error = Error::invalid_argument("unknown").with_hint("write \x1b[31m\xff, or\nleave");
  EXPECT_EQ(error.hint(), "write \\x1b[31m\\xff, or\nleave");
}

}  // namespace
}  // namespace proffer
