#include "common/deadlines.h"

#include <map>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "common/prng.h"

namespace proffer::deadlines_test {
namespace {

constexpr Time at(int64_t s) { return Time() + seconds(s); }
using Queue = DeadlineQueue<std::string>;

TEST(DeadlineQueue, TakesTheEarliestThatIsDueAndOfEqualTimesTheLeastKey) {
  Queue queue;
  queue.arm("c", at(2));
  queue.arm("b", at(1));
  queue.arm("a", at(2));
  EXPECT_EQ(queue.next(), at(1));
  EXPECT_EQ(queue.pop(at(0)), std::nullopt);
  EXPECT_EQ(queue.pop(at(2)), "b");
  EXPECT_EQ(queue.pop(at(2)), "a");
  EXPECT_EQ(queue.pop(at(2)), "c");
  EXPECT_EQ(queue.pop(at(2)), std::nullopt);
  EXPECT_EQ(queue.next(), std::nullopt);
}

TEST(DeadlineQueue, AKeyHasOneTimeTheLastThatItWasGiven) {
  Queue queue;
  queue.arm("a", at(1));
  queue.arm("a", at(3));
  queue.arm("b", at(2));
  EXPECT_EQ(queue.size(), 2u);
  EXPECT_EQ(queue.time_of("a"), at(3));
  queue.cancel("b");
  queue.cancel("b");
  EXPECT_FALSE(queue.armed("b"));
  EXPECT_EQ(queue.pop(at(2)), std::nullopt);
  EXPECT_EQ(queue.pop(at(3)), "a");
  EXPECT_EQ(queue.time_of("a"), std::nullopt);
}

// The order contains pointers to the times; both move together.
TEST(DeadlineQueue, GoesOnWhenItWasMoved) {
  Queue first;
  first.arm("b", at(2));
  first.arm("a", at(1));
  Queue queue = std::move(first);
  queue.arm("b", at(0));
  EXPECT_EQ(queue.pop(at(5)), "b");
  EXPECT_EQ(queue.pop(at(5)), "a");
}

TEST(DeadlineQueue, DoesWhatAPlainTableDoes) {
  Prng prng(1);
  Queue queue;
  std::map<std::string, Time> plain;
  for (int i = 0; i < 20'000; ++i) {
    const std::string key(1, static_cast<char>('a' + prng.below(20)));
    const Time time = at(static_cast<int64_t>(prng.below(30)));
    switch (prng.below(3)) {
      case 0:
        queue.arm(key, time);
        plain[key] = time;
        break;
      case 1:
        queue.cancel(key);
        plain.erase(key);
        break;
      default: {
        const auto* first = static_cast<const std::pair<const std::string, Time>*>(nullptr);
        for (const auto& each : plain) {
          if (first == nullptr || each.second < first->second) first = &each;
        }
        const bool is_due = first != nullptr && first->second <= time;
        const std::optional<std::string> expected =
            is_due ? std::optional<std::string>(first->first) : std::nullopt;
        ASSERT_EQ(queue.pop(time), expected) << i;
        if (expected) plain.erase(*expected);
      }
    }
    ASSERT_EQ(queue.size(), plain.size()) << i;
  }
}

}  // namespace
}  // namespace proffer::deadlines_test
