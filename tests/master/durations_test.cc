// Stored durations of ended tasks, which forecasts use.

#include <gtest/gtest.h>

#include "common/text.h"
#include "master/forecast/remembered_durations.h"

namespace proffer::master::durations_test {
namespace {

using proto::TaskState;

const ResourceVector kShape = ResourceVector::of(1'000, 512'000);

proto::EndedTask ended(const std::string& framework, const std::string& ask, Duration ran,
                       TaskState state = TaskState::kFinished) {
  proto::EndedTask task{.framework_name = framework,
                        .role = RoleName("eng"),
                        .ask = AskName(ask),
                        .amounts = kShape,
                        .launched_at = Time() + seconds(1'000)};
  task.status = {.task = TaskId("t-1"), .state = state, .at = task.launched_at + ran};
  return task;
}

proto::LiveSnapshot live(const std::string& framework, const std::string& ask,
                         const std::string& role = "eng") {
  proto::LiveSnapshot all;
  all.frameworks = {{.framework = FrameworkId("f-1"), .name = framework, .role = RoleName(role)}};
  all.asks = {{.framework = FrameworkId("f-1"),
               .ask = {.name = AskName(ask), .shape = kShape, .count = 1}}};
  return all;
}

// The durations that a forecast assumes for a task of the ask; empty if it has none.
std::vector<Duration> supposed(const RememberedDurations& durations, const std::string& framework,
                               const std::string& ask, const std::string& role = "eng") {
  const std::vector<proto::KindDurations> rows = durations.used_by(live(framework, ask, role));
  const DurationsByKind by_kind(rows);
  const std::vector<Duration>* found =
      by_kind.find(framework, RoleName(role), proto::kind_of(AskName(ask), "", kShape));
  return found == nullptr ? std::vector<Duration>() : *found;
}

TEST(RememberedDurations, AreThoseOfTheSameKindWhateverItsNumbers) {
  RememberedDurations durations;
  for (int64_t i = 1; i <= 3; ++i) {
    durations.remember(ended("sort", text("job-", i, ".map"), seconds(i)));
    durations.remember(ended("sort", text("job-", i, ".reduce"), seconds(100 * i)));
  }
  EXPECT_EQ(supposed(durations, "sort", "job-7.map"),
            (std::vector{seconds(1), seconds(2), seconds(3)}));
  EXPECT_EQ(supposed(durations, "sort", "job-7.reduce"),
            (std::vector{seconds(100), seconds(200), seconds(300)}));
}

TEST(RememberedDurations, OfTheFrameworkAreUsedIfTheKindIsNew) {
  RememberedDurations durations;
  for (int64_t i = 1; i <= 3; ++i) durations.remember(ended("sort", "map", seconds(i)));
  EXPECT_EQ(supposed(durations, "sort", "shuffle").size(), 3u);
}

TEST(RememberedDurations, OfTheRoleAreUsedIfTheFrameworkIsNew) {
  RememberedDurations durations;
  for (int64_t i = 1; i <= 3; ++i) durations.remember(ended("sort", "map", seconds(i)));
  EXPECT_EQ(supposed(durations, "count", "map").size(), 3u);
  EXPECT_TRUE(supposed(durations, "count", "map", "lab").empty());
}

TEST(RememberedDurations, FewOfAKindGiveWayToManyOfTheFramework) {
  RememberedDurations durations;
  durations.remember(ended("sort", "new", seconds(9)));
  EXPECT_EQ(supposed(durations, "sort", "new"), std::vector{seconds(9)});
  for (int64_t i = 1; i <= 3; ++i) durations.remember(ended("sort", "map", seconds(i)));
  EXPECT_EQ(supposed(durations, "sort", "new").size(), 4u);
}

TEST(RememberedDurations, OfTasksThatWereEndedSayNothing) {
  RememberedDurations durations;
  for (const TaskState state : {TaskState::kKilled, TaskState::kLost, TaskState::kRefused}) {
    durations.remember(ended("sort", "map", seconds(1), state));
  }
  EXPECT_TRUE(supposed(durations, "sort", "map").empty());
  durations.remember(ended("sort", "map", seconds(5), TaskState::kFailed));
  EXPECT_EQ(supposed(durations, "sort", "map"), std::vector{seconds(5)});
}

TEST(RememberedDurations, TheNewestStayWhateverTheHistoryHas) {
  RememberedDurations durations;
  for (size_t i = 0; i < kDurationsKept + 10; ++i) {
    durations.remember(ended("sort", "map", seconds(static_cast<int64_t>(i))));
  }
  durations.remember_older(ended("sort", "map", hours(9)));
  const std::vector<Duration> known = supposed(durations, "sort", "map");
  EXPECT_EQ(known.size(), kDurationsKept);
  EXPECT_EQ(*std::min_element(known.begin(), known.end()), seconds(10));
  EXPECT_LT(*std::max_element(known.begin(), known.end()), hours(9));
}

TEST(RememberedDurations, AreBoundedAndTheOldestAreForgotten) {
  RememberedDurations durations;
  for (size_t i = 0; i < kDurationKindsMax; ++i) {
    durations.remember(ended(text("f", i), "map", seconds(1)));
    ASSERT_LE(durations.kinds(), kDurationKindsMax);
  }
  EXPECT_TRUE(supposed(durations, "f0", "map", "lab").empty());
  EXPECT_EQ(supposed(durations, text("f", kDurationKindsMax - 1), "map", "lab").size(), 1u);
}

}  // namespace
}  // namespace proffer::master::durations_test
