#include "common/wait_reason.h"

#include <set>

#include <gtest/gtest.h>

namespace proffer::wait_reason_test {
namespace {

TEST(WaitReason, EachHasANameOfItsOwnThatIsReadBack) {
  std::set<std::string_view> names;
  std::set<std::string_view> words;
  for (size_t i = 0; i < kWaitReasonCount; ++i) {
    const auto reason = static_cast<WaitReason>(i);
    EXPECT_TRUE(names.insert(to_text(reason)).second) << to_text(reason);
    EXPECT_TRUE(words.insert(explained(reason)).second) << explained(reason);
    EXPECT_EQ(parse_wait_reason(to_text(reason)), reason);
  }
  EXPECT_EQ(to_text(WaitReason::kShare), "share") << "the last one";
  EXPECT_EQ(parse_wait_reason("Share"), std::nullopt);
  EXPECT_EQ(parse_wait_reason(""), std::nullopt);
}

TEST(WaitReason, SpansAddUp) {
  EXPECT_EQ(whole_of({}), Duration());
  EXPECT_EQ(whole_of({{WaitReason::kStart, seconds(1)}, {WaitReason::kLimit, milliseconds(5)}}),
            milliseconds(1'005));
}

}  // namespace
}  // namespace proffer::wait_reason_test
