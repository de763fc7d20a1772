// Which tasks get a speculative copy (LATE).

#include "frameworks/batch/core/stragglers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/limits.h"
#include "common/prng.h"

namespace proffer::batch::stragglers_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TaskTimes finished(std::vector<int> times_s) {
  TaskTimes times;
  for (const int time : times_s) times.add(seconds(time));
  return times;
}

// A task that has just reported its progress, in percent.
RunningTask at(uint32_t number, Duration age, int64_t percent) {
  return {.number = number, .age = age, .done = percent * 100, .told_ago = seconds(1)};
}
RunningTask silent(uint32_t number, Duration age) { return {.number = number, .age = age}; }

}  // namespace

TEST(Stragglers, AreSlowerThanMostAndWouldEndLater) {
  struct Row {
    const char* story;
    TaskTimes times;
    std::vector<RunningTask> running;
    std::vector<uint32_t> expected;
  };
  const std::vector<Row> rows = {
      {"nothing runs", finished({10, 10}), {}, {}},
      {"nothing to compare with", finished({}), {silent(0, minutes(10))}, {}},
      {"a task as any other", finished({10, 10, 10}), {at(0, seconds(5), 50)}, {}},
      {"one that is four times slower", finished({10, 10, 10}), {at(0, seconds(8), 20)}, {0}},
      {"one that is slower, and nearly done", finished({10, 10, 10}), {at(0, seconds(30), 80)}, {}},
      {"one that is too young to tell", finished({1, 1, 1}), {silent(0, milliseconds(1'900))}, {}},
      {"one that has told nothing for long", finished({1, 1, 1}), {silent(0, seconds(3))}, {0}},
      {"many that run while the first have finished",
       finished({1, 1}),
       {silent(0, seconds(3)), silent(1, seconds(3)), silent(2, seconds(3))},
       {}},
      {"many that have told nothing for very long",
       finished({1}),
       {silent(0, kStragglerSilence), silent(1, kStragglerSilence)},
       {0, 1}},
      {"one that has told nothing yet", finished({10, 10, 10}), {silent(0, seconds(9))}, {}},
      {"one that tells nothing, and others do",
       finished({}),
       {silent(0, seconds(13)), at(1, seconds(13), 20)},
       {0}},
      {"all are slow: none is slower than most",
       finished({}),
       {at(0, seconds(60), 10), at(1, seconds(60), 10), at(2, seconds(60), 10)},
       {}},
      {"of a single wave, the one that is behind",
       finished({}),
       {at(0, seconds(20), 50), at(1, seconds(20), 50), at(2, seconds(20), 10),
        at(3, seconds(20), 50)},
       {2}},
      {"the longest time to the end comes first",
       finished({10, 10, 10, 10, 10, 10, 10, 10}),
       {at(0, seconds(10), 20), at(1, seconds(10), 5), at(2, seconds(10), 10)},
       {1, 2, 0}},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(stragglers(row.running, row.times), row.expected) << row.story;
  }
}

TEST(Stragglers, AreThoseThatStoodStillFarAlong) {
  RunningTask task = at(0, seconds(20), 95);
  task.told_ago = kStragglerSilence - seconds(1);
  EXPECT_THAT(stragglers({task}, finished({10, 10, 10})), IsEmpty());
  task.told_ago = kStragglerSilence;
  EXPECT_THAT(stragglers({task}, finished({10, 10, 10})), ElementsAre(0));
}

TEST(Stragglers, ThatHaveACopyGetNoOther) {
  RunningTask task = silent(0, minutes(1));
  task.has_copy = true;
  EXPECT_THAT(stragglers({task, silent(1, minutes(1))}, finished({1, 1, 1})), ElementsAre(1));
}

// For any reports of executors, a task is selected once, is old enough, and has no copy.
TEST(Stragglers, OfAnythingThatIsToldAreTasksThatMayHaveACopy) {
  Prng random(7);
  for (int round = 0; round < 2'000; ++round) {
    TaskTimes times;
    for (uint64_t i = random.below(5); i > 0; --i) {
      times.add(milliseconds(random.between(0, 100'000)));
    }
    std::vector<RunningTask> running;
    for (uint32_t i = 0; i < random.below(8); ++i) {
      RunningTask task{.number = i, .age = milliseconds(random.between(0, 100'000))};
      if (random.chance(1, 8)) task.age = kDurationMax;
      task.done = random.between(0, kProgressWhole);
      if (random.chance(2, 3)) task.told_ago = milliseconds(random.between(0, 20'000));
      task.has_copy = random.chance(1, 4);
      running.push_back(task);
    }
    const std::vector<uint32_t> found = stragglers(running, times);
    std::set<uint32_t> once;
    for (const uint32_t number : found) {
      ASSERT_TRUE(once.insert(number).second) << "round " << round;
      ASSERT_FALSE(running[number].has_copy) << "round " << round;
      ASSERT_GE(running[number].age, kStragglerAge) << "round " << round;
    }
  }
}

TEST(Stragglers, AreCopiedUpToATenthOfTheRunningTasks) {
  EXPECT_EQ(copies_max(0), kCopiesLeast);
  EXPECT_EQ(copies_max(29), kCopiesLeast);
  EXPECT_EQ(copies_max(30), 3U);
  EXPECT_EQ(copies_max(1'000), 100U);
}

}  // namespace proffer::batch::stragglers_test
