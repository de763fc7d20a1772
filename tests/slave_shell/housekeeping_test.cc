// Which parts of sandboxes are removed, and which never are.

#include "slave/shell/housekeeping.h"

#include <atomic>
#include <filesystem>
#include <fstream>

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/check.h"
#include "common/text.h"
#include "slave/shell/disk_reserve.h"
#include "slave/shell/runs_in_use.h"
#include "slave/shell/sandboxes.h"
#include "tests/net/support.h"

namespace proffer::agent::housekeeping_test {
namespace {

namespace fs = std::filesystem;
using net_test::TempDir;

const FrameworkId kFramework("f-1");

proto::ExecutorRecord executor(const std::string& id, uint64_t run) {
  return {.framework = kFramework, .executor = ExecutorId(id), .run = run};
}
proto::TaskRecord task(const std::string& id, const std::string& of, uint64_t run) {
  proto::TaskRecord record{.framework = kFramework, .executor = ExecutorId(of), .run = run};
  record.spec.id = TaskId(id);
  return record;
}
proto::UpdateRecord update(const std::string& id, proto::TaskState state, uint64_t sequence) {
  proto::UpdateRecord record{.framework = kFramework};
  record.status.task = TaskId(id);
  record.status.state = state;
  record.status.sequence = sequence;
  return record;
}
RunKey run_of(const std::string& id, uint64_t run) { return {kFramework.str(), id, run}; }

TEST(RunsInUse, ARunIsInUseUntilItsExecutorIsGoneAndItsTasksAreAcknowledged) {
  RunsInUse in_use;
  in_use.follow(task("t1", "e", 0));  // its run has not begun
  EXPECT_FALSE(in_use.contains(run_of("e", 0)));
  in_use.follow(executor("e", 7));
  in_use.follow(task("t1", "e", 7));
  in_use.follow(executor("e", 7));  // it has started
  in_use.follow(update("t1", proto::TaskState::kRunning, 1));
  EXPECT_TRUE(in_use.contains(run_of("e", 7)));
  EXPECT_FALSE(in_use.contains(run_of("e", 6)));
  EXPECT_EQ(in_use.run_of(kFramework, TaskId("t1")), run_of("e", 7));
  EXPECT_EQ(in_use.run_of(kFramework, TaskId("t2")), std::nullopt);
  in_use.follow(update("t1", proto::TaskState::kFinished, 2));
  in_use.follow(proto::ExecutorGone{kFramework, ExecutorId("e")});
  EXPECT_TRUE(in_use.contains(run_of("e", 7))) << "nobody has heard how its task ended";
  in_use.follow(proto::AcknowledgedRecord{kFramework, TaskId("t1"), 1});
  EXPECT_TRUE(in_use.contains(run_of("e", 7)));
  in_use.follow(proto::AcknowledgedRecord{kFramework, TaskId("t1"), 2});
  EXPECT_FALSE(in_use.contains(run_of("e", 7)));
}

TEST(RunsInUse, ExecutorsAreListedInPieces) {
  RunsInUse in_use;
  for (uint64_t i = 1; i <= 5; ++i) in_use.follow(executor(text("e", i), i));
  in_use.follow(executor("e1", 6));  // its next run
  in_use.follow(proto::ExecutorGone{kFramework, ExecutorId("e3")});
  std::vector<RunKey> all;
  for (RunKey last;;) {
    const std::vector<RunKey> some = in_use.executors_after(last, 2);
    if (some.empty()) break;
    all.insert(all.end(), some.begin(), some.end());
    last = some.back();
  }
  EXPECT_EQ(all, (std::vector<RunKey>{run_of("e1", 6), run_of("e2", 2), run_of("e4", 4),
                                      run_of("e5", 5)}));
  EXPECT_FALSE(in_use.contains(run_of("e1", 1)));
}

class HousekeepingTest : public testing::Test {
 protected:
  std::string make(const std::string& id, uint64_t run) {
    const Result<std::string> made = sandboxes_.make(kFramework, ExecutorId(id), run);
    CHECK(made) << made.error().message();
    std::ofstream(*made + "/stdout") << "something";
    return *made;
  }
  // Its executor runs; its executor has ended.
  void runs(const std::string& id, uint64_t run) { in_use_.follow(executor(id, run)); }
  void ends(const std::string& id) {
    in_use_.follow(proto::ExecutorGone{kFramework, ExecutorId(id)});
  }
  void begin(HousekeepingOptions options) {
    options.every = milliseconds(10);
    options.output_every = milliseconds(10);
    housekeeping_ = std::make_unique<Housekeeping>(work_.path(), sandboxes_, in_use_, options);
  }
  static bool eventually(const std::function<bool()>& holds) {
    for (int i = 0; i < 6'000 && !holds(); ++i) poll(nullptr, 0, 10);
    return holds();
  }
  bool is_trash_empty() const {
    return fs::exists(work_.path() / "trash") && fs::is_empty(work_.path() / "trash");
  }

  void TearDown() override {
    housekeeping_.reset();
    if (is_mounted_) {
      EXPECT_EQ(umount2(work_.path().c_str(), MNT_DETACH), 0);
    }
  }

  TempDir work_;
  bool is_mounted_ = false;
  Sandboxes sandboxes_{work_.path()};
  RunsInUse in_use_;
  std::unique_ptr<Housekeeping> housekeeping_;
};

TEST_F(HousekeepingTest, RemovesWhatIsOldAndNotInUse) {
  const std::string old = make("e1", 1);
  const std::string used = make("e2", 2);
  const std::string next = make("e1", 3);
  ASSERT_TRUE(sandboxes_.assign(kFramework, "t1", ExecutorId("e1"), 1));
  ASSERT_TRUE(sandboxes_.assign(kFramework, "t2", ExecutorId("e2"), 2));
  in_use_.follow(executor("e2", 2));
  in_use_.follow(executor("e1", 3));
  work_.write("outside", "stays");
  fs::create_directories(old + "/a/b/c");
  fs::create_symlink(work_.path() / "outside", old + "/a/link");
  fs::create_directory_symlink(work_.path(), old + "/a/b/around");
  ASSERT_EQ(mkfifo((old + "/pipe").c_str(), 0600), 0);
  std::ofstream(old + "/a/b/c/file") << "x";
  fs::permissions(old + "/a/b", fs::perms::none);
  fs::permissions(old, fs::perms::none);

  begin({.sandbox_age = nanoseconds(1)});
  EXPECT_TRUE(eventually([&] { return !fs::exists(old) && is_trash_empty(); }));
  EXPECT_TRUE(eventually([&] { return !fs::is_symlink(work_.path() / "runs/f-1/t1"); }));
  EXPECT_TRUE(fs::exists(used));
  EXPECT_TRUE(fs::exists(next));
  EXPECT_TRUE(fs::exists(work_.path() / "outside"));
  EXPECT_TRUE(sandboxes_.resolve("f-1/e1/"));
  EXPECT_TRUE(sandboxes_.resolve("f-1/t2/"));

  // The last sandbox is removed with its parent directories.
  in_use_.follow(proto::ExecutorGone{kFramework, ExecutorId("e1")});
  in_use_.follow(proto::ExecutorGone{kFramework, ExecutorId("e2")});
  EXPECT_TRUE(eventually([&] {
    return !fs::exists(work_.path() / "sandboxes/f-1") && !fs::exists(work_.path() / "runs/f-1");
  }));
  make("e9", 9);  // and they are created again
}

// The shift of the wall clock.
std::atomic<int64_t> wall_offset = 0;
Clocks set_clocks() {
  Clocks now = system_clocks();
  now.wall = now.wall + nanoseconds(wall_offset);
  return now;
}

// Sandboxes are removed after a week by default.
TEST_F(HousekeepingTest, AClockThatIsSetMakesNothingOldAndStopsNoRound) {
  for (const Duration step : {hours(24 * 7), Duration() - hours(24 * 7)}) {
    wall_offset = 0;
    const std::string young = make("e1", 1);
    std::atomic<int> rounds = 0;
    begin({.sandbox_age = hours(1), .make_room = [&] { ++rounds; }, .clocks = set_clocks});
    ASSERT_TRUE(eventually([&] { return rounds > 1; }));
    wall_offset = step.nanos();
    const int before = rounds;
    EXPECT_TRUE(eventually([&] { return rounds > before + 2; }));
    EXPECT_TRUE(fs::exists(young));
    housekeeping_.reset();
  }
}

// A reserve file without content would not free space when it is removed from a full disk.
TEST_F(HousekeepingTest, AReserveThatWasCutIsHeldAgain) {
  const auto held = [&] {
    struct stat found {};
    return stat((work_.path() / "reserve").c_str(), &found) == 0 ? found.st_blocks : 0;
  };
  {
    DiskReserve reserve(work_.path(), 0);
    reserve.hold();
  }
  const auto whole = held();
  ASSERT_GT(whole, 0);
  fs::resize_file(work_.path() / "reserve", 0);
  DiskReserve reserve(work_.path(), 0);
  EXPECT_EQ(held(), 0);
  reserve.hold();
  EXPECT_EQ(held(), whole);
}

TEST_F(HousekeepingTest, KeepsWhatIsYoungUnlessTheDiskIsShort) {
  const std::string first = make("e1", 1);
  const std::string second = make("e2", 2);
  const std::string used = make("e3", 3);
  in_use_.follow(executor("e3", 3));
  begin({.sandbox_age = hours(1), .disk_reserve = 0, .least_age = nanoseconds(1)});
  ASSERT_TRUE(eventually([&] { return is_trash_empty(); }));
  poll(nullptr, 0, 100);
  EXPECT_TRUE(fs::exists(first));
  EXPECT_TRUE(fs::exists(second));

  begin({.sandbox_age = hours(1), .disk_reserve = INT64_MAX, .least_age = hours(1)});
  poll(nullptr, 0, 100);
  EXPECT_TRUE(fs::exists(first)) << "its output is still being read";

  begin({.sandbox_age = hours(1), .disk_reserve = INT64_MAX, .least_age = nanoseconds(1)});
  EXPECT_TRUE(eventually([&] { return !fs::exists(first) && !fs::exists(second); }));
  EXPECT_TRUE(fs::exists(used));
}

// The oldest sandboxes are removed until the bounds hold.
TEST_F(HousekeepingTest, KeepsNoMoreThanItsBounds) {
  const struct {
    const char* what;
    HousekeepingOptions bound;
  } rows[] = {
      {"count", {.count_max = 2}},
      {"bytes", {.bytes_max = 2 * 300'000}},
      {"files", {.files_max = 2 * 30}},
  };
  uint64_t run = 0;
  for (const auto& row : rows) {
    SCOPED_TRACE(row.what);
    std::vector<std::string> paths;
    std::vector<std::string> ids;
    for (int i = 0; i < 4; ++i) {
      ids.push_back(text(row.what, i));
      paths.push_back(make(ids.back(), ++run));
      std::ofstream(paths.back() + "/large") << std::string(200'000, 'x');
      for (int n = 0; n < 20; ++n) std::ofstream(text(paths.back(), "/file", n)) << "";
      runs(ids.back(), run);
    }
    HousekeepingOptions options = row.bound;
    options.sandbox_age = hours(1);
    options.disk_reserve = 0;
    options.least_age = nanoseconds(1);
    const std::string bare = make(text(row.what, "-bare"), ++run);
    std::ofstream(bare + "/stdout").flush();
    begin(options);
    ASSERT_TRUE(eventually([&] { return !fs::exists(bare); })) << "it has looked at the disk";
    // They end in another order than they began.
    const auto is_there = [&](size_t at) { return fs::exists(paths[at]); };
    for (const size_t at : {size_t{2}, size_t{0}, size_t{3}}) ends(ids[at]);
    EXPECT_TRUE(eventually([&] { return !is_there(2); }));
    EXPECT_TRUE(is_there(0) && is_there(1) && is_there(3));
    ends(ids[1]);
    EXPECT_TRUE(eventually([&] { return !is_there(0) && is_trash_empty(); }));
    poll(nullptr, 0, 100);
    EXPECT_TRUE(is_there(1) && is_there(3));
    housekeeping_.reset();
    for (const std::string& path : paths) fs::remove_all(path);
  }
}

TEST_F(HousekeepingTest, WhatHasJustEndedStaysBeyondABound) {
  const std::string first = make("e1", 1);
  const std::string second = make("e2", 2);
  begin({.sandbox_age = hours(1), .disk_reserve = 0, .count_max = 1, .least_age = hours(1)});
  poll(nullptr, 0, 100);
  EXPECT_TRUE(fs::exists(first) && fs::exists(second));
}

// An empty sandbox has no content to ask for.
TEST_F(HousekeepingTest, RemovesWhatHoldsNothingUnlessItsTaskHasFailed) {
  const auto bare = [this](const std::string& id, uint64_t run) {
    std::string path = make(id, run);
    std::ofstream(path + "/stdout").flush();
    std::ofstream(path + "/stderr").flush();
    return path;
  };
  const std::string nothing = bare("e1", 1);
  const std::string file = bare("e2", 2);
  std::ofstream(file + "/result").flush();
  const std::string output = bare("e3", 3);
  std::ofstream(output + "/stderr") << "x";
  const std::string failed = bare("e4", 4);
  sandboxes_.note_failed(run_of("e4", 4));
  const std::string used = bare("e5", 5);
  runs("e5", 5);
  const std::string folder = bare("e6", 6);
  fs::create_directory(folder + "/empty");
  begin({.sandbox_age = hours(1), .disk_reserve = 0, .least_age = nanoseconds(1)});
  EXPECT_TRUE(eventually([&] { return !fs::exists(nothing) && is_trash_empty(); }));
  poll(nullptr, 0, 100);
  for (const std::string& kept : {file, output, failed, used, folder}) {
    EXPECT_TRUE(fs::exists(kept)) << kept;
  }
  ends("e5");
  EXPECT_TRUE(eventually([&] { return !fs::exists(used); }));
}

TEST(EndedSandboxes, KnowWhatTheyHoldAndTheirOrder) {
  EndedSandboxes ended;
  const auto add = [&](const std::string& id, int64_t since, int64_t bytes, bool is_bare = false) {
    ended.add(run_of(id, 1), since, {.bytes = bytes, .files = 7, .is_bare = is_bare});
  };
  add("job-1.b", 30, 100);
  add("job-1.a", 20, 200, true);
  add("job-10.a", 10, 300);
  EXPECT_EQ(ended.size(), 3u);
  EXPECT_EQ(ended.bytes(), 600);
  EXPECT_EQ(ended.files(), 21);
  EXPECT_EQ(ended.oldest()->run, run_of("job-10.a", 1));
  EXPECT_EQ(ended.next(*ended.oldest())->run, run_of("job-1.a", 1));
  EXPECT_EQ(ended.oldest_bare()->run, run_of("job-1.a", 1));
  EXPECT_EQ(ended.next_bare(*ended.oldest_bare()), nullptr);
  EXPECT_EQ(ended.that_begin(kFramework.str(), "job-1."),
            (std::vector<RunKey>{run_of("job-1.a", 1), run_of("job-1.b", 1)}));
  EXPECT_TRUE(ended.that_begin("f-2", "job-1.").empty());
  // The size is measured again.
  add("job-1.a", 20, 50);
  EXPECT_EQ(ended.bytes(), 450);
  EXPECT_EQ(ended.oldest_bare(), nullptr);
  for (const char* id : {"job-1.a", "job-1.b", "job-10.a", "none"}) ended.remove(run_of(id, 1));
  EXPECT_EQ(ended.size(), 0u);
  EXPECT_EQ(ended.bytes(), 0);
  EXPECT_EQ(ended.files(), 0);
  EXPECT_EQ(ended.oldest(), nullptr);
  EXPECT_EQ(ended.size_of(kFramework.str()), 0u);
}

TEST_F(HousekeepingTest, RemovesWhatIsReleasedAndNotInUse) {
  const std::string ended = make("job-1.a", 1);
  const std::string used = make("job-1.b", 2);
  const std::string other = make("job-10.a", 3);
  in_use_.follow(executor("job-1.b", 2));
  work_.write("outside", "stays");
  fs::create_directories(ended + "/deep/er");
  fs::create_symlink(work_.path() / "outside", ended + "/deep/link");
  fs::create_directory_symlink(work_.path(), ended + "/around");
  std::ofstream(ended + "/map.out") << "x";

  begin({.sandbox_age = hours(1)});
  housekeeping_->remove_released(kFramework, {"job-1.", "job-2."});
  housekeeping_->remove_released(FrameworkId("other"), {"job-10."});
  EXPECT_TRUE(eventually([&] { return !fs::exists(ended) && is_trash_empty(); }));
  EXPECT_FALSE(fs::exists(work_.path() / "sandboxes/f-1/job-1.a"));
  EXPECT_FALSE(fs::is_symlink(work_.path() / "runs/f-1/job-1.a"));
  EXPECT_TRUE(fs::exists(used));
  EXPECT_TRUE(fs::exists(other));
  EXPECT_TRUE(fs::exists(work_.path() / "outside"));
  EXPECT_TRUE(sandboxes_.resolve("f-1/job-1.b/"));

  in_use_.follow(proto::ExecutorGone{kFramework, ExecutorId("job-1.b")});
  housekeeping_->remove_released(kFramework, {"job-1."});
  EXPECT_TRUE(eventually([&] { return !fs::exists(used); }));
  EXPECT_TRUE(fs::exists(other));
}

// The user will look at the output; files for other tasks are no longer needed.
TEST_F(HousekeepingTest, KeepsTheEndOfTheOutputOfAReleasedFailedTask) {
  const std::string failed = make("job-1.a", 1);
  sandboxes_.note_failed(run_of("job-1.a", 1));
  sandboxes_.note_failed(run_of("job-1.a", 7));  // has no sandbox
  std::ofstream(failed + "/stderr") << std::string(3 << 20, 'x') << "the end";
  std::ofstream(failed + "/stdout") << "short";
  std::ofstream(failed + "/map.out") << "x";
  fs::create_directories(failed + "/files/stderr");
  fs::create_directory_symlink(work_.path(), failed + "/around");

  begin({.sandbox_age = hours(1)});
  housekeeping_->remove_released(kFramework, {"job-1."});
  EXPECT_TRUE(eventually([&] {
    return !fs::exists(failed + "/files") && !fs::is_symlink(failed + "/around") &&
           !fs::exists(failed + "/map.out") && is_trash_empty();
  }));
  EXPECT_TRUE(eventually([&] {
    struct stat status {};
    return stat((failed + "/stderr").c_str(), &status) == 0 &&
           int64_t{status.st_blocks} * 512 <= int64_t{1} << 20;
  }));
  std::ifstream file(failed + "/stdout");
  EXPECT_EQ(std::string((std::istreambuf_iterator<char>(file)), {}), "short");
  EXPECT_TRUE(sandboxes_.resolve("f-1/job-1.a/stderr"));

  begin({.sandbox_age = nanoseconds(1)});
  EXPECT_TRUE(eventually([&] {
    return !fs::exists(work_.path() / "sandboxes/f-1") && !fs::exists(work_.path() / "runs/f-1");
  }));
}

TEST(RestAfter, IsAHundredTimesTheRoundWithinBounds) {
  const struct {
    Duration round, every, rest;
  } rows[] = {
      {milliseconds(1), seconds(60), seconds(60)},  // at least as often as configured
      {seconds(2), seconds(60), seconds(200)},      // a hundredth of a CPU
      {minutes(30), seconds(60), hours(1)},         // at least once an hour
      {hours(24 * 365), seconds(60), hours(1)},     // also after the machine slept
      {seconds(2), hours(24), hours(24)},
  };
  for (const auto& row : rows) EXPECT_EQ(rest_after(row.round, row.every), row.rest);
}

// A million empty files of a task use up the files of a disk that has many free bytes.
TEST_F(HousekeepingTest, RemovesWhatIsYoungIfFewFilesFit) {
  if (geteuid() != 0 || mount("tmpfs", work_.path().c_str(), "tmpfs", 0, "nr_inodes=1000") != 0) {
    GTEST_SKIP() << "not run: only root can mount a file system";
  }
  is_mounted_ = true;
  const std::string first = make("e1", 1);
  DiskReserve reserve(work_.path(), 1);
  EXPECT_FALSE(reserve.look().is_low_on_files);
  const HousekeepingOptions options = {
      .sandbox_age = hours(1), .disk_reserve = 1, .least_age = nanoseconds(1)};
  begin(options);
  poll(nullptr, 0, 100);
  EXPECT_TRUE(fs::exists(first));
  EXPECT_EQ(reserve.files_to_stay_free(), 1000 / 16);

  // Stopped, so that it does not remove them before the test looks.
  housekeeping_.reset();
  for (int i = 0; i < 950; ++i) std::ofstream(text(first, "/", i));
  const DiskReserve::Space space = reserve.look();
  EXPECT_TRUE(space.is_low_on_files);
  EXPECT_FALSE(space.is_low);
  EXPECT_LT(space.free_files, 62);
  begin(options);
  EXPECT_TRUE(eventually([&] { return !fs::exists(first) && is_trash_empty(); }));
  EXPECT_FALSE(reserve.look().is_low_on_files);
}

// Deeper than any path length, and than the descriptors of a process.
TEST_F(HousekeepingTest, RemovesWhatIsDeep) {
  const std::string sandbox = make("e1", 1);
  Fd at(open(sandbox.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  for (int i = 0; i < 3'000; ++i) {
    ASSERT_EQ(mkdirat(at.get(), "d", 0700), 0);
    at = Fd(openat(at.get(), "d", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    ASSERT_GE(at.get(), 0);
  }
  begin({.sandbox_age = nanoseconds(1)});
  EXPECT_TRUE(eventually([&] { return !fs::exists(sandbox) && is_trash_empty(); }));
}

// A socket with a listener, or a new one, may belong to an agent.
TEST(DeadSockets, AreRemovedNoSoonerThanAfterAnHour) {
  const TempDir dir;
  const std::string path = dir.path() / "1234abcd.sock";
  const Fd fd(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_un address{.sun_family = AF_UNIX, .sun_path = {}};
  path.copy(address.sun_path, path.size());
  ASSERT_EQ(bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
  remove_dead_sockets(dir.path());
  EXPECT_TRUE(fs::exists(path));
  remove_dead_sockets(dir.path(), Duration());
  EXPECT_FALSE(fs::exists(path));
}

class Outputs : public testing::Test {
 protected:
  static constexpr int64_t kMax = int64_t{1} << 20;
  static int64_t held(const fs::path& path) {
    struct stat status {};
    CHECK_EQ(lstat(path.c_str(), &status), 0);
    return int64_t{status.st_blocks} * 512;
  }
  TempDir dir_;
};

TEST_F(Outputs, KeepTheirLastPart) {
  std::string bytes;
  for (int i = 0; bytes.size() < 24 * kMax; ++i) bytes += text("line ", i, "\n");
  dir_.write("stdout", bytes);
  dir_.write("stderr", "short");
  dir_.write("data", bytes);
  bound_outputs(dir_.path(), kMax);
  EXPECT_LE(held(dir_.path() / "stdout"), kMax);
  EXPECT_GT(held(dir_.path() / "data"), kMax);
  EXPECT_EQ(fs::file_size(dir_.path() / "stdout"), bytes.size());
  dir_.append("stdout", "more\n");
  std::ifstream file(dir_.path() / "stdout");
  const auto kept = static_cast<std::streamoff>(kMax / 2);
  file.seekg(static_cast<std::streamoff>(bytes.size()) - kept);
  const std::string tail((std::istreambuf_iterator<char>(file)), {});
  EXPECT_EQ(tail, bytes.substr(bytes.size() - kMax / 2) + "more\n");
  std::ifstream other(dir_.path() / "stderr");
  EXPECT_EQ(std::string((std::istreambuf_iterator<char>(other)), {}), "short");

  dir_.append("stdout", bytes);  // after the hole
  bound_outputs(dir_.path(), kMax);
  EXPECT_LE(held(dir_.path() / "stdout"), kMax);
}

// A task may replace its output by anything.
TEST_F(Outputs, NoOtherFileIsCut) {
  fs::create_directories(dir_.path() / "box");
  const std::string bytes(4 * kMax, 'x');
  dir_.write("linked", bytes);
  dir_.write("pointed", bytes);
  fs::create_hard_link(dir_.path() / "linked", dir_.path() / "box/stdout");
  fs::create_symlink(dir_.path() / "pointed", dir_.path() / "box/stderr");
  bound_outputs(dir_.path() / "box", kMax);
  EXPECT_GT(held(dir_.path() / "linked"), 3 * kMax);
  EXPECT_GT(held(dir_.path() / "pointed"), 3 * kMax);
  if (geteuid() != 0) GTEST_SKIP() << "the rest is not run: only root can give a file away";
  fs::remove(dir_.path() / "box/stdout");
  dir_.write("box/stdout", bytes);
  ASSERT_EQ(chown((dir_.path() / "box/stdout").c_str(), 65'534, 65'534), 0);
  bound_outputs(dir_.path() / "box", kMax);
  EXPECT_GT(held(dir_.path() / "box/stdout"), 3 * kMax);
}

}  // namespace
}  // namespace proffer::agent::housekeeping_test
