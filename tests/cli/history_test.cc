// What `proffer history` prints.

#include "cli/history.h"

#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace proffer::cli::history_test {
namespace {

using testing::HasSubstr;

class InUtc : public testing::Test {
 protected:
  void SetUp() override {
    setenv("TZ", "UTC", 1);
    tzset();
  }
};
using CliHistory = InUtc;

TEST_F(CliHistory, ShowsTasksAndGapsInTheirOrder) {
  proto::HistoryPage page;
  page.tasks.push_back({.framework = FrameworkId("f"),
                        .role = RoleName("eng"),
                        .user = "ada",
                        .command = "make -j8",
                        .amounts = ResourceVector::of(1000, 64'000),
                        .launched_at = Time() + seconds(10),
                        .status = {.task = TaskId("t1"),
                                   .state = proto::TaskState::kFailed,
                                   .exit_code = 3,
                                   .at = Time() + seconds(70),
                                   .usage = proto::TaskUsage{.cpu_nanos = 1'250'000'000,
                                                             .memory_peak_bytes = 3 << 19}}});
  page.tasks.push_back({.framework = FrameworkId("f"),
                        .status = {.task = TaskId("t2"),
                                   .state = proto::TaskState::kGone,
                                   .reason = proto::TaskReason::kAgentRemoved,
                                   .at = Time() + seconds(200)}});
  page.gaps.push_back({.from = Time() + seconds(70), .until = Time() + seconds(100)});
  page.gaps.push_back({.from = Time() + seconds(300), .until = Time() + seconds(310), .lost = 7});
  const std::vector<std::string> lines = history_table(page).lines();
  ASSERT_EQ(lines.size(), 5u);
  for (const char* part : {"1970-01-01 00:01:10", "f/t1", "failed", "exit 3", "eng", "ada",
                           "cpus:1;mem:64", "60s", "1.25 s", "1.5 MiB", "make -j8"}) {
    EXPECT_THAT(lines[1], HasSubstr(part));
  }
  EXPECT_THAT(lines[2], HasSubstr("gap of 30s: the last entries may be lost"));
  EXPECT_THAT(lines[3], HasSubstr("agent_removed"));
  EXPECT_THAT(lines[4], HasSubstr("gap of 10s: 7 entries are lost"));
}

TEST_F(CliHistory, SumsWhatRolesUsedByTheHour) {
  const auto use = [](const char* role, int64_t minute, int64_t cpu_seconds) {
    return proto::RoleUse{.role = RoleName(role),
                          .from = Time() + minutes(minute),
                          .until = Time() + minutes(minute + 1),
                          .seconds = ResourceVector::of(cpu_seconds * 1000, 0)};
  };
  const std::vector<RoleHour> hours =
      by_hour({use("b", 0, 60), use("a", 1, 30), use("b", 59, 120), use("b", 60, 36)});
  ASSERT_EQ(hours.size(), 3u);
  EXPECT_EQ(hours[0], (RoleHour{Time(), RoleName("a"), ResourceVector::of(30'000, 0)}));
  EXPECT_EQ(hours[1], (RoleHour{Time(), RoleName("b"), ResourceVector::of(180'000, 0)}));
  EXPECT_EQ(hours[2],
            (RoleHour{Time() + minutes(60), RoleName("b"), ResourceVector::of(36'000, 0)}));
  const std::vector<std::string> lines = role_hours_table(hours).lines();
  ASSERT_EQ(lines.size(), 4u);
  EXPECT_THAT(lines[2], HasSubstr("0.05"));
  EXPECT_THAT(lines[3], HasSubstr("1970-01-01 01:00:00"));
}

TEST(CliFigures, ArePrintedForPeople) {
  EXPECT_EQ(bytes_text(std::nullopt), "-");
  EXPECT_EQ(bytes_text(0), "0 MiB");
  EXPECT_EQ(bytes_text(64 << 10), "0.062 MiB");
  EXPECT_EQ(bytes_text((100 << 20) + 77'777), "100 MiB");
  EXPECT_EQ(bytes_text(int64_t{3} << 30), "3 GiB");
  EXPECT_EQ(nanos_text(std::nullopt), "-");
  EXPECT_EQ(nanos_text(1'234'567'890), "1.234 s");
}

// --- of several masters --------------------------------------------------------------------------

proto::EndedTask ended(const std::string& task, int64_t at, int64_t launched = 0) {
  return {.framework = FrameworkId("f"),
          .launched_at = Time() + seconds(launched),
          .status = {.task = TaskId(task), .at = Time() + seconds(at)}};
}
std::string names(const HistoryRows& rows) {
  std::string all;
  for (const proto::EndedTask& task : rows.page.tasks) all += task.status.task.str() + " ";
  return all + (rows.more ? "and more" : "");
}
HistoryRows rows_of(std::vector<proto::EndedTask> tasks, bool more = false) {
  HistoryRows rows{.more = more};
  rows.page.tasks = std::move(tasks);
  return rows;
}

TEST_F(CliHistory, MergesWhatMastersSawByTime) {
  const std::vector<HistoryRows> parts = {rows_of({ended("a3", 30), ended("a2", 20)}),
                                          rows_of({ended("b4", 40), ended("b1", 10)})};
  EXPECT_EQ(names(sdk::merge_history(parts, {}, 100)), "b4 a3 a2 b1 ");
  EXPECT_EQ(names(sdk::merge_history(parts, {}, 3)), "b4 a3 a2 and more");
  // Each master wrote in the order of acknowledgements, which may differ from the order of ends.
  EXPECT_EQ(
      names(sdk::merge_history(
          {rows_of({ended("a1", 10), ended("a2", 20)}), rows_of({ended("b3", 15)})}, {}, 100)),
      "b3 a1 a2 ");
}

// The scheduler acknowledged the end, but the agent did not hear of it before the next master led.
// So the agent reported the end again.
TEST_F(CliHistory, ShowsATaskThatTwoMastersWroteOnce) {
  const HistoryRows all =
      sdk::merge_history({rows_of({ended("t1", 20, 5)}), rows_of({ended("t1", 25, 5)}),
                          rows_of({ended("t1", 90, 80)})},  // a later task with the same name
                         {}, 100);
  EXPECT_EQ(names(all), "t1 t1 ");
  EXPECT_EQ(all.page.tasks[1].status.at, Time() + seconds(20));
}

TEST_F(CliHistory, NamesMastersThatAreMissingUnlessTheyLedBeforeWhatIsShown) {
  const proto::MasterRow away{.name = "m1:5050",
                              .role = proto::MasterRole::kAway,
                              .led_since = Time() + seconds(5),
                              .led_until = Time() + seconds(15)};
  std::vector<HistoryRows> parts = {rows_of({ended("t3", 30), ended("t2", 20)})};
  parts[0].page.gaps.push_back({.from = Time() + seconds(8), .until = Time() + seconds(9)});
  EXPECT_EQ(sdk::merge_history(parts, {away}, 100).page.missing.size(), 1u);
  EXPECT_EQ(sdk::merge_history(parts, {away}, 100).page.gaps.size(), 1u);
  parts[0].more = true;
  EXPECT_TRUE(sdk::merge_history(parts, {away}, 100).page.missing.empty());
  EXPECT_TRUE(sdk::merge_history(parts, {away}, 100).page.gaps.empty());
  parts[0].page.tasks.push_back(ended("t1", 12));
  EXPECT_EQ(sdk::merge_history(parts, {away}, 100).page.missing.size(), 1u);
  EXPECT_EQ(missing_words(away),
            "the master m1:5050 led from 1970-01-01 00:00:05 to 1970-01-01 00:00:15 and is away: "
            "its part of the history is missing");
}

}  // namespace
}  // namespace proffer::cli::history_test
