// Sizes of sandboxes, and which of them exceed their limit.

#include "slave/shell/disk_limits.h"

#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/check.h"
#include "common/text.h"
#include "tests/net/support.h"

namespace proffer::agent::disk_limits_test {
namespace {

namespace fs = std::filesystem;
using net_test::TempDir;

constexpr int64_t kMebi = int64_t{1} << 20;
const FrameworkId kFramework("f-1");

proto::TaskRecord task(const std::string& id, uint64_t run, int64_t disk_mib) {
  proto::TaskRecord record{.framework = kFramework, .executor = ExecutorId(id), .run = run};
  record.spec.id = TaskId(id);
  record.assignment.resources.amounts[ResourceKind::kDisk] = disk_mib * 1000;
  return record;
}
proto::UpdateRecord update(const std::string& id, proto::TaskState state) {
  proto::UpdateRecord record{.framework = kFramework};
  record.status.task = TaskId(id);
  record.status.state = state;
  return record;
}

int64_t bytes_of(const fs::path& sandbox) {
  SandboxWalk walk(sandbox);
  while (walk.advance(3)) {
  }
  return walk.bytes();
}

// --- a walk --------------------------------------------------------------------------------------

TEST(SandboxWalk, AddsUpWhatIsHeld) {
  TempDir dir;
  dir.write("stdout", std::string(kMebi, 'x'));
  fs::create_directories(dir.path() / "a/b/c");
  dir.write("a/b/c/file", std::string(kMebi, 'x'));
  const int64_t held = bytes_of(dir.path());
  EXPECT_GE(held, 2 * kMebi);
  EXPECT_LE(held, 2 * kMebi + 64 * 1024);
  // A hole occupies no space.
  dir.write("sparse", "");
  fs::resize_file(dir.path() / "sparse", 100 * kMebi);
  EXPECT_LE(bytes_of(dir.path()), held + 8 * 1024);
  // Two names of one file count once.
  fs::create_hard_link(dir.path() / "stdout", dir.path() / "a/again");
  EXPECT_LE(bytes_of(dir.path()), held + 16 * 1024);
}

TEST(SandboxWalk, AnEmptyFileIsNotFree) {
  TempDir dir;
  for (int i = 0; i < 1'000; ++i) dir.write(std::to_string(i), "");
  EXPECT_EQ(bytes_of(dir.path()), 1'000 * 4'096);
}

TEST(SandboxWalk, LinksLeadNowhere) {
  TempDir outside;
  outside.write("large", std::string(kMebi, 'x'));
  TempDir dir;
  fs::create_directory_symlink(outside.path(), dir.path() / "out");
  fs::create_directory_symlink(dir.path(), dir.path() / "around");
  fs::create_symlink(outside.path() / "large", dir.path() / "file");
  EXPECT_LE(bytes_of(dir.path()), 3 * 4'096);
}

TEST(SandboxWalk, NoDepthIsTooDeep) {
  TempDir dir;
  const std::string name(200, 'd');
  int at = open(dir.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  for (int i = 0; i < 100; ++i) {  // 20,000 bytes of path
    ASSERT_EQ(mkdirat(at, name.c_str(), 0700), 0);
    const int next = openat(at, name.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    close(at);
    at = next;
    ASSERT_GE(at, 0);
  }
  const int file = openat(at, "file", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  ASSERT_EQ(posix_fallocate(file, 0, 3 * kMebi), 0);
  close(file);
  close(at);
  EXPECT_GE(bytes_of(dir.path()), 3 * kMebi + 100 * 4'096);
}

TEST(SandboxWalk, WhatIsNotThereHoldsNothing) { EXPECT_EQ(bytes_of("/nowhere/at/all"), 0); }

// --- limits --------------------------------------------------------------------------------------

TEST(DiskLimits, AreOfTasksThatRunAndHaveAsked) {
  DiskLimits limits;
  limits.follow(task("waits", 0, 100));
  limits.follow(task("asks-nothing", 1, 0));
  proto::TaskRecord shares = task("shares", 2, 100);
  shares.spec.executor_id = ExecutorId("shared");
  limits.follow(shares);
  EXPECT_TRUE(limits.all().empty());

  limits.follow(task("waits", 3, 100));
  limits.follow(update("waits", proto::TaskState::kRunning));
  const std::map<RunKey, DiskLimits::Limit> all = limits.all();
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all.begin()->first, (RunKey{kFramework.str(), "waits", 3}));
  EXPECT_EQ(all.begin()->second.bytes, 100 * kMebi);
  limits.follow(update("waits", proto::TaskState::kFinished));
  EXPECT_TRUE(limits.all().empty());
}

// --- the watch -----------------------------------------------------------------------------------

class DiskWatchTest : public testing::Test {
 protected:
  std::string begin(const std::string& id, uint64_t run, int64_t disk_mib) {
    const Result<std::string> made = sandboxes_.make(kFramework, ExecutorId(id), run);
    CHECK(made) << made.error().message();
    limits_.follow(task(id, run, disk_mib));
    return *made;
  }
  void watch() {
    watch_ = std::make_unique<DiskWatch>(
        sandboxes_, limits_,
        [this](const DiskWatch::Over& over) {
          const std::lock_guard lock(mutex_);
          over_[over.limit.task.str()] = over.bytes;
          told_.notify_all();
        },
        DiskWatchOptions{.every = milliseconds(5), .entries = 50});
  }
  bool is_told(const std::string& id) {
    std::unique_lock lock(mutex_);
    return told_.wait_for(lock, std::chrono::seconds(60), [&] { return over_.contains(id); });
  }

  TempDir work_;
  Sandboxes sandboxes_{work_.path()};
  DiskLimits limits_;
  std::mutex mutex_;
  std::condition_variable told_;
  std::map<std::string, int64_t> over_;
  std::unique_ptr<DiskWatch> watch_;
};

TEST_F(DiskWatchTest, TellsOfATaskThatHoldsMoreThanItMay) {
  const std::string filler = begin("filler", 1, 2);
  const std::string modest = begin("modest", 2, 2);
  const std::string many = begin("many", 3, 2);
  fs::create_directory(many + "/d");
  // 4 MiB in files of 4 KiB
  for (int i = 0; i < 1'000; ++i) std::ofstream(text(many, "/d/", i)) << i;
  std::ofstream(modest + "/file") << std::string(kMebi, 'x');
  watch();
  EXPECT_TRUE(is_told("many"));
  std::ofstream(filler + "/file") << std::string(3 * kMebi, 'x');
  EXPECT_TRUE(is_told("filler"));
  watch_.reset();
  EXPECT_GT(over_["filler"], 2 * kMebi);
  EXPECT_FALSE(over_.contains("modest"));
}

}  // namespace
}  // namespace proffer::agent::disk_limits_test
