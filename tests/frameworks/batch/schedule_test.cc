// Schedules: which fire times start a job, which are skipped, and what is stored.

#include "frameworks/batch/core/schedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/prng.h"
#include "common/text.h"

namespace proffer::batch::schedule_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr int64_t kMidnight = 1'795'651'200;  // 2026-11-26T00:00Z
constexpr int64_t kMinute = 60;
constexpr int64_t kHour = 60 * kMinute;

Zone utc() { return {.begin = 0, .end = int64_t{1} << 33, .offsets = {{0, 0}}}; }

Submission job() {
  JobOrder order;
  order.name = "report";
  order.output = "/data/report";
  order.plan = "p1";
  order.resources = ResourceVector::of(1'000, 256'000);
  order.array = ArrayOrder();
  order.array->command = {"true"};
  order.array->indices = {{.first = 0, .step = 1, .count = 1}};
  order.array->directory = "/";
  return {.stages = {{.order = order}}};
}

ScheduleRecord hourly(Overlap overlap, CatchUp catch_up) {
  ScheduleRecord record;
  record.order = {.stages = job(), .cron = "0 * * * *", .overlap = overlap, .catch_up = catch_up};
  record.owner = "ann";
  record.decided_until = kMidnight;
  return record;
}

// A minimal scheduler: it stores decisions and counts starts.
struct Keeper {
  ScheduleRecord record;
  bool is_running = false;
  std::vector<std::string> started = {};
  int cancels = 0;

  // Looks until there is nothing more to decide.
  void look(int64_t now) {
    const Cron cron = *parse_cron(record.order.cron);
    while (const std::optional<ScheduleStep> step = decide(record, cron, utc(), is_running, now)) {
      record = step->record;
      if (step->cancel_running) ++cancels;
      if (!step->start) continue;
      started.push_back(firing_name(*step->start));
      add_firing(record, {.at = *step->start, .last = *step->start});
      is_running = true;
    }
  }
  void job_ends(int64_t now) {
    is_running = false;
    look(now);
  }
  std::vector<std::string> log() const {
    std::vector<std::string> lines;
    for (const Firing& firing : record.log) {
      lines.push_back(text(firing_name(firing.at).substr(9, 4), "-",
                           firing_name(firing.last).substr(9, 4), " ", to_text(firing.result)));
    }
    return lines;
  }
};

TEST(Schedule, EachFireTimeStartsOneJob) {
  Keeper keeper{hourly(Overlap::kSkip, CatchUp::kLast)};
  keeper.look(kMidnight + 59 * kMinute);
  EXPECT_THAT(keeper.started, IsEmpty());
  keeper.look(kMidnight + kHour);
  keeper.job_ends(kMidnight + kHour + 1);
  keeper.look(kMidnight + kHour + 2);
  EXPECT_THAT(keeper.started, ElementsAre("20261126T0100Z"));
  keeper.look(kMidnight + 2 * kHour + kMinute);
  EXPECT_THAT(keeper.started, ElementsAre("20261126T0100Z", "20261126T0200Z"));
}

TEST(Schedule, OverlapIsSkippedQueuedOrReplaced) {
  const int64_t two = kMidnight + 2 * kHour;
  Keeper skips{hourly(Overlap::kSkip, CatchUp::kLast)};
  Keeper queues{hourly(Overlap::kQueue, CatchUp::kLast)};
  Keeper replaces{hourly(Overlap::kReplace, CatchUp::kLast)};
  for (Keeper* keeper : {&skips, &queues, &replaces}) {
    keeper->look(kMidnight + kHour);
    keeper->look(two);
    EXPECT_THAT(keeper->started, ElementsAre("20261126T0100Z"));
    keeper->look(two + kHour);
    keeper->job_ends(two + kHour + kMinute);
  }
  EXPECT_THAT(skips.started, ElementsAre("20261126T0100Z"));
  EXPECT_THAT(skips.log(),
              ElementsAre("0100-0100 started", "0200-0200 skipped", "0300-0300 skipped"));
  EXPECT_THAT(queues.started, ElementsAre("20261126T0100Z", "20261126T0200Z"));
  queues.job_ends(two + kHour + 2 * kMinute);
  EXPECT_THAT(queues.started, ElementsAre("20261126T0100Z", "20261126T0200Z", "20261126T0300Z"));
  EXPECT_EQ(replaces.cancels, 2);
  EXPECT_THAT(replaces.started, ElementsAre("20261126T0100Z", "20261126T0300Z"));
  EXPECT_THAT(replaces.log(),
              ElementsAre("0100-0100 started", "0200-0200 skipped", "0300-0300 started"));
}

TEST(Schedule, AfterAnOutageTheLastFireTimeOrNoneOrAllAreStarted) {
  const int64_t late = kMidnight + 4 * kHour + 30 * kMinute;
  Keeper none{hourly(Overlap::kSkip, CatchUp::kNone)};
  Keeper last{hourly(Overlap::kSkip, CatchUp::kLast)};
  Keeper all{hourly(Overlap::kQueue, CatchUp::kAll)};
  for (Keeper* keeper : {&none, &last, &all}) keeper->look(late);
  EXPECT_THAT(none.log(), ElementsAre("0100-0400 missed"));
  EXPECT_THAT(last.log(), ElementsAre("0100-0300 missed", "0400-0400 started"));
  for (int i = 0; i < 5; ++i) all.job_ends(late + i);
  EXPECT_THAT(all.log(), ElementsAre("0100-0100 started", "0200-0200 started", "0300-0300 started",
                                     "0400-0400 started"));
  // A short delay does not count as an outage.
  Keeper prompt{hourly(Overlap::kSkip, CatchUp::kNone)};
  prompt.look(kMidnight + kHour + 4 * kMinute);
  EXPECT_THAT(prompt.log(), ElementsAre("0100-0100 started"));
}

TEST(Schedule, CatchUpOfVeryManyIsBounded) {
  ScheduleRecord record = hourly(Overlap::kQueue, CatchUp::kAll);
  record.order.cron = "* * * * *";
  Keeper keeper{record};
  const int64_t late = kMidnight + 365 * 24 * kHour;
  keeper.look(late);
  for (size_t i = 0; i < 3 * kFiringsWaiting; ++i) keeper.job_ends(late);
  EXPECT_EQ(keeper.started.size(), kFiringsWaiting);
  EXPECT_EQ(keeper.started.back(), firing_name(late));
  EXPECT_LE(keeper.record.log.size(), kFiringsKept);
}

TEST(Schedule, NothingStartsWhileItIsPaused) {
  ScheduleRecord record = hourly(Overlap::kQueue, CatchUp::kAll);
  record.is_paused = true;
  record.waiting = {kMidnight};
  Keeper keeper{record};
  keeper.look(kMidnight + 3 * kHour);
  EXPECT_THAT(keeper.started, IsEmpty());
  EXPECT_THAT(keeper.log(), ElementsAre("0100-0300 missed"));
  keeper.record.is_paused = false;
  keeper.look(kMidnight + 3 * kHour + kMinute);
  EXPECT_THAT(keeper.started, ElementsAre("20261126T0000Z"));
}

// For any times of the looks, each fire time is decided once, and starts are in order.
TEST(Schedule, EachFireTimeIsDecidedOnce) {
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    SCOPED_TRACE(seed);
    Prng prng(seed);
    const auto overlap = static_cast<Overlap>(prng.below(kOverlapCount));
    auto catch_up = static_cast<CatchUp>(prng.below(kCatchUpCount));
    if (overlap != Overlap::kQueue && catch_up == CatchUp::kAll) catch_up = CatchUp::kLast;
    ScheduleRecord record = hourly(overlap, catch_up);
    record.order.cron = "*/7 * * * *";
    Keeper keeper{record};
    int64_t now = kMidnight;
    std::map<int64_t, int> decided;
    for (int i = 0; i < 30; ++i) {
      now += prng.chance(1, 3) ? prng.between(0, 2 * kHour) : prng.between(0, 5 * kMinute);
      prng.chance(1, 2) ? keeper.job_ends(now) : keeper.look(now);
      ASSERT_LT(keeper.record.log.size(), kFiringsKept);
      for (const Firing& firing : std::exchange(keeper.record.log, {})) {
        for (int64_t time = firing.at; time <= firing.last; time += kMinute) {
          if (next_fire_time(*parse_cron("*/7 * * * *"), utc(), time - 1) == time) ++decided[time];
        }
      }
    }
    for (const int64_t at : keeper.record.waiting) ++decided[at];
    int64_t at = kMidnight;
    while (true) {
      at = *next_fire_time(*parse_cron("*/7 * * * *"), utc(), at);
      if (at > now) break;
      EXPECT_EQ(decided[at], 1) << firing_name(at);
    }
    EXPECT_TRUE(std::is_sorted(keeper.started.begin(), keeper.started.end()));
  }
}

TEST(Schedule, IsReadBackAsItWasWritten) {
  ScheduleRecord record = hourly(Overlap::kReplace, CatchUp::kNone);
  record.number = 7;
  record.submitted_at = Time::from_nanos(5);
  record.is_paused = true;
  record.waiting = {kMidnight, kMidnight + kHour};
  record.job = JobId("report-8");
  record.log = {{.at = kMidnight, .last = kMidnight, .job = JobId("report-8")},
                {.at = 1, .last = 9, .result = Firing::Result::kMissed}};
  const std::string bytes = encode(record);
  const Result<ScheduleRecord> back = decode_schedule(bytes);
  ASSERT_TRUE(back);
  EXPECT_EQ(*back, record);
  const Result<ScheduleOrder> order = decode_schedule_order(encode_schedule_order(record.order));
  ASSERT_TRUE(order);
  EXPECT_EQ(*order, record.order);
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(decode_schedule(bytes.substr(0, size)));
  }
}

TEST(Schedule, SaysWhatIsWrong) {
  struct Row {
    ScheduleOrder order;
    std::string_view why;
  };
  const Row rows[] = {
      {{.stages = job(), .cron = "0 0 * *"}, "4 fields"},
      {{.stages = job(), .cron = "@daily", .zone = "../etc/passwd"}, "'../etc/passwd'"},
      {{.stages = job(), .cron = "@daily", .zone = ""}, "''"},
      {{.stages = job(), .cron = "@daily", .catch_up = CatchUp::kAll}, "overlap: skip"},
      {{.stages = job(), .cron = std::string(300, ' ')}, "300 bytes"},
  };
  for (const Row& row : rows) {
    const Result<void> ok = check_schedule(row.order);
    ASSERT_FALSE(ok);
    EXPECT_THAT(ok.error().message(), HasSubstr(row.why));
    EXPECT_FALSE(decode_schedule_order(encode_schedule_order(row.order)));
  }
}

}  // namespace
}  // namespace proffer::batch::schedule_test
