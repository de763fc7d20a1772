// The history as a master writes and reads it: written asynchronously, read in pages back in time,
// with gaps for losses by a crash or a full disk.

#include "master/shell/history.h"

#include <filesystem>

#include <gtest/gtest.h>

#include "common/text.h"
#include "tests/store/support.h"

namespace proffer::master::history_shell_test {
namespace {

using proto::EndedTask;
using proto::HistoryQuery;
using proto::TaskState;
using store_test::FullDisk;
using store_test::TemporaryDirectory;

// One run of a master with a history in a directory.
struct Life {
  explicit Life(const TemporaryDirectory& in, size_t waiting_max = 20'000)
      : history(loop, {.log = {.directory = in / "history"},
                       .leader = LeaderEpoch(1),
                       .delay = milliseconds(1),
                       .retry = milliseconds(1),
                       .waiting_max = waiting_max}) {}

  // Runs the loop until the condition holds.
  template <class IsSo>
  void until(IsSo is_so) {
    Timer timer(loop, [&] {
      if (is_so()) return loop.stop();
      timer.arm(loop.now() + milliseconds(1));
    });
    timer.arm(loop.now());
    loop.run();
  }
  void ended(const std::string& task, TaskState state = TaskState::kFinished,
             const std::string& role = "eng/ads", const std::string& user = "ada") {
    std::vector<proto::HistoryRecord> records;
    records.emplace_back(
        EndedTask{.framework = FrameworkId("f-1-1"),
                  .framework_name = "sort",
                  .role = RoleName(role),
                  .user = user,
                  .status = {.task = TaskId(task), .state = state, .at = loop.now()}});
    history.add(std::move(records));
  }
  void write_all(uint64_t entries) {
    until([&] { return history.written() >= entries; });
  }
  History::Found read(HistoryQuery query) {
    std::optional<Result<History::Found>> found;
    history.read(std::move(query), [&](Result<History::Found> page) {
      found = std::move(page);
      loop.stop();
    });
    loop.run();
    EXPECT_TRUE(*found) << found->error().message();
    return *found ? **found : History::Found();
  }
  // The ids of the found tasks, page by page, with '|' between pages.
  std::string names(HistoryQuery query) {
    std::string names;
    while (true) {
      const History::Found found = read(query);
      for (const EndedTask& task : found.page.tasks) names += task.status.task.str() + " ";
      if (found.next.empty()) return names;
      query.before = found.next;
      names += "| ";
    }
  }

  Loop loop;
  History history;
};

TEST(HistoryShell, IsReadBackwardsInPages) {
  TemporaryDirectory directory;
  Life life(directory);
  for (const char* task : {"t1", "t2", "t3", "t4", "t5"}) life.ended(task);
  life.write_all(6);  // with the entry for the begin of this run
  EXPECT_EQ(life.names({}), "t5 t4 t3 t2 t1 ");
  EXPECT_EQ(life.names({.limit = 2}), "t5 t4 | t3 t2 | t1 ");
}

TEST(HistoryShell, FindsWhatIsAskedFor) {
  TemporaryDirectory directory;
  Life life(directory);
  life.ended("a1");
  life.ended("a2", TaskState::kFailed);
  life.ended("b1", TaskState::kFinished, "eng/web");
  life.ended("b2", TaskState::kFinished, "ops", "bob");
  life.write_all(5);
  EXPECT_EQ(life.names({.role = RoleName("eng")}), "b1 a2 a1 ");
  EXPECT_EQ(life.names({.role = RoleName("eng/ads")}), "a2 a1 ");
  EXPECT_EQ(life.names({.user = "bob"}), "b2 ");
  EXPECT_EQ(life.names({.task = "a"}), "a2 a1 ");
  EXPECT_EQ(life.names({.task = "f-1-1/b"}), "b2 b1 ");
  EXPECT_EQ(life.names({.state = TaskState::kFailed}), "a2 ");
  EXPECT_EQ(life.names({.framework = "sort", .limit = 1}),
            "b2 | b1 | a2 | a1 | ");  // the last page reaches the begin of the history
  EXPECT_EQ(life.names({.framework = "f-1-1"}), "b2 b1 a2 a1 ");
  EXPECT_EQ(life.names({.framework = "f-1"}), "");
  EXPECT_EQ(life.names({.since = life.loop.now() + hours(1)}), "");
  EXPECT_EQ(life.names({.roles = true}), "");
}

TEST(HistoryShell, RefusesAPlaceThatIsNone) {
  TemporaryDirectory directory;
  Life life(directory);
  life.write_all(1);
  for (const char* wrong : {"x", "1", "1.", ".1", "1.2.3", "-1.0", "99999999999999999999.1"}) {
    std::optional<ErrorCode> code;
    life.history.read({.before = wrong}, [&](const Result<History::Found>& found) {
      code = found ? std::nullopt : std::optional(found.error().code());
      life.loop.stop();
    });
    life.loop.run();
    EXPECT_EQ(code, ErrorCode::kInvalidArgument) << wrong;
  }
}

TEST(HistoryShell, OfALifeThatEndedInOrderHasNoGap) {
  TemporaryDirectory directory;
  {
    Life first(directory);
    first.ended("t1");
    first.history.finish({proto::LifeEnded{.at = first.loop.now()}});
  }
  Life second(directory);
  second.ended("t2");
  second.write_all(2);
  EXPECT_EQ(second.names({}), "t2 t1 ");
  EXPECT_TRUE(second.read({}).page.gaps.empty());
}

TEST(HistoryShell, TellsTheEndOfALifeThatWasKilledAsAGap) {
  TemporaryDirectory directory;
  Time last = {};
  {
    Life first(directory);
    first.ended("t1");
    first.write_all(2);
    last = first.read({}).page.tasks.at(0).status.at;
    first.ended("lost");
  }
  Life second(directory);
  second.ended("t2");
  second.write_all(3);
  EXPECT_EQ(second.names({}), "t2 t1 ");
  const auto gaps = second.read({}).page.gaps;
  ASSERT_EQ(gaps.size(), 1u);
  EXPECT_GT(gaps[0].from, last - seconds(1));  // file times are coarse
  EXPECT_GE(gaps[0].until, gaps[0].from);
  EXPECT_EQ(gaps[0].lost, 0u);
}

TEST(HistoryShell, WaitsForAFullDiskAndTellsWhatIsLost) {
  TemporaryDirectory directory;
  Life life(directory, 10);
  life.ended("t0");
  life.write_all(2);
  {
    const FullDisk full(60);
    for (int i = 0; i < 15; ++i) life.ended(text("t", i));
    life.until([&] { return !life.history.trouble().empty(); });
    EXPECT_EQ(life.history.written(), 2u);
    EXPECT_EQ(life.history.lost(), 5u);
  }
  life.write_all(13);
  EXPECT_EQ(life.history.trouble(), "");
  EXPECT_EQ(life.names({}), "t14 t13 t12 t11 t10 t9 t8 t7 t6 t5 t0 ");
  const auto gaps = life.read({}).page.gaps;
  ASSERT_EQ(gaps.size(), 1u);
  EXPECT_EQ(gaps[0].lost, 5u);
}

TEST(HistoryShell, GoesOnWithoutADirectory) {
  TemporaryDirectory directory;
  store_test::write_file(directory / "history", "a file is in its place");
  Life life(directory);
  EXPECT_NE(life.history.trouble(), "");
  life.ended("t1");
  std::filesystem::remove(directory / "history");
  life.write_all(2);
  EXPECT_EQ(life.history.trouble(), "");
  EXPECT_EQ(life.names({}), "t1 ");
}

TEST(HistoryShell, SkipsWhatIsDamagedAndSaysHowMuch) {
  TemporaryDirectory directory;
  {
    Life first(directory);
    first.ended("t1");
    first.ended("t2");
    first.history.finish({proto::LifeEnded{.at = first.loop.now()}});
  }
  const std::string path = directory / "history/000000000001.log";
  std::string bytes = store_test::read_file(path);
  bytes[bytes.find("t1")] = 'T';
  store_test::write_file(path, bytes);
  Life second(directory);
  second.write_all(1);
  EXPECT_EQ(second.names({}), "t2 ");
  EXPECT_GT(second.read({}).page.damaged_bytes, 0);
}

// Another master led meanwhile: this master's gap ends when that lead began.
TEST(HistoryShell, AGapEndsWhenTheNextMasterLed) {
  TemporaryDirectory directory;
  {
    Life first(directory);
    first.ended("t1");
    first.write_all(2);
  }
  Loop loop;
  const Time led_until = loop.now();
  History history(loop, {.log = {.directory = directory / "history"},
                         .leader = LeaderEpoch(3),
                         .led_until = led_until});
  std::optional<Result<FoundHistory>> found;
  history.read({}, [&](Result<FoundHistory> page) {
    found = std::move(page);
    loop.stop();
  });
  loop.run();
  ASSERT_TRUE(*found);
  ASSERT_EQ((*found)->page.gaps.size(), 1u);
  EXPECT_EQ((*found)->page.gaps[0].until, led_until);
}

FoundHistory read_past(const TemporaryDirectory& directory, HistoryQuery query,
                       Duration age_max = hours(1)) {
  Loop loop;
  PastHistory past(loop, {.directory = directory / "history", .age_max = age_max});
  std::optional<Result<FoundHistory>> found;
  past.read(std::move(query), [&](Result<FoundHistory> page) {
    found = std::move(page);
    loop.stop();
  });
  loop.run();
  EXPECT_TRUE(*found) << found->error().message();
  return *found ? **found : FoundHistory();
}

TEST(HistoryShell, OfAMasterThatLeadsNoLongerIsReadWithoutBeginningALife) {
  TemporaryDirectory directory;
  EXPECT_TRUE(read_past(directory, {}).page.tasks.empty());
  EXPECT_TRUE(read_past(directory, {}).page.gaps.empty());
  {
    Life killed(directory);
    for (const char* task : {"t1", "t2", "t3"}) killed.ended(task);
    killed.write_all(4);
  }
  // The first read has changed no file, so the gap begins with the last entry both times.
  const auto changed = std::filesystem::last_write_time(directory / "history/000000000001.log");
  for (int i = 0; i < 2; ++i) {
    const FoundHistory newest = read_past(directory, {.limit = 2});
    ASSERT_EQ(newest.page.tasks.size(), 2u);
    EXPECT_EQ(newest.page.tasks[0].status.task, TaskId("t3"));
    ASSERT_EQ(newest.page.gaps.size(), 1u);
    EXPECT_GE(newest.page.gaps[0].until, newest.page.tasks[0].status.at);
    const FoundHistory rest = read_past(directory, {.before = newest.next});
    EXPECT_EQ(rest.page.tasks.size(), 1u);
    EXPECT_TRUE(rest.page.gaps.empty());
  }
  EXPECT_EQ(std::filesystem::last_write_time(directory / "history/000000000001.log"), changed);
  EXPECT_TRUE(read_past(directory, {}, nanoseconds(1)).page.tasks.empty());
  {
    Life next(directory);
    next.history.finish({proto::LifeEnded{.at = next.loop.now()}});
  }
  EXPECT_EQ(read_past(directory, {}).page.gaps.size(), 1u);  // the gap that was written
}

}  // namespace
}  // namespace proffer::master::history_shell_test
