#include "common/boxed.h"

#include <string>
#include <variant>

#include <gtest/gtest.h>

namespace proffer::boxed_test {
namespace {

using Value = std::variant<int, std::string>;

TEST(Boxed, IsMadeFromWhateverItsValueIsMadeFrom) {
  const Boxed<Value> box = std::string("seven");
  EXPECT_EQ(*box, Value("seven"));
  EXPECT_EQ(Boxed<Value>(7)->index(), 0U);
}

TEST(Boxed, MovesWithoutMovingWhatItHolds) {
  Boxed<Value> from = 7;
  const Value* value = &*from;
  Boxed<Value> to = std::move(from);
  EXPECT_EQ(&*to, value);
  from = std::move(to);
  EXPECT_EQ(&*from, value);
}

TEST(Boxed, IsADefaultValueWhenItIsEmpty) {
  const Boxed<Value> never;
  Boxed<Value> box = std::string("seven");
  const Boxed<Value> taken = std::move(box);
  EXPECT_EQ(*never, Value());
  EXPECT_EQ(box, never);
  EXPECT_NE(taken, never);
  *box = 8;
  EXPECT_EQ(*box, Value(8));
}

TEST(Boxed, CopiesWhatItHolds) {
  Boxed<Value> box = 7;
  Boxed<Value> copy = box;
  *copy = 8;
  EXPECT_EQ(*box, Value(7));
  box = copy;
  EXPECT_EQ(box, copy);
  copy = Boxed<Value>();
  EXPECT_EQ(*copy, Value());
  EXPECT_EQ(*box, Value(8));
}

}  // namespace
}  // namespace proffer::boxed_test
