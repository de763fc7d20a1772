#include "common/lazy_queue.h"

#include <gtest/gtest.h>

namespace proffer::lazy_queue_test {
namespace {

TEST(LazyQueue, IsFirstInFirstOutAlsoAfterItWasEmpty) {
  LazyQueue<int> queue;
  for (int round = 0; round < 3; ++round) {
    EXPECT_TRUE(queue.empty());
    EXPECT_EQ(queue.size(), 0u);
    for (int i = 0; i < 100; ++i) EXPECT_EQ(queue.emplace_back(i), i);
    EXPECT_EQ(queue.size(), 100u);
    for (int i = 0; i < 100; ++i) {
      EXPECT_EQ(queue.front(), i);
      queue.pop_front();
    }
  }
  queue.emplace_back(1);
  queue.clear();
  EXPECT_TRUE(queue.empty());
}

}  // namespace
}  // namespace proffer::lazy_queue_test
