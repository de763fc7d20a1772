// Ranges of an array with real commands and files, and the index of their results.

#include <atomic>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "common/text.h"
#include "frameworks/batch/core/plan.h"
#include "frameworks/batch/core/results.h"
#include "frameworks/batch/executor/lane.h"
#include "frameworks/batch/executor/task.h"
#include "frameworks/batch/planning/lanes.h"
#include "tests/support/with_directory.h"

namespace proffer::batch::range_test {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string contents(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream all;
  all << file.rdbuf();
  return all.str();
}

class Range : public test::WithDirectory {
 protected:
  void SetUp() override {
    fs::create_directories(root_ / "out/_temporary");
    fs::create_directories(root_ / "here");
    write_plan({});
  }

  std::string output() const { return (root_ / "out").string(); }

  void write_plan(const std::vector<std::string>& arguments) {
    entries_ = argument_entries(static_cast<uint32_t>(arguments.size()));
    std::string entries;
    std::string index;
    const auto add = [&](const std::string& entry) {
      index += encode_index_entry(plan_entry(static_cast<int64_t>(entries.size()), entry));
      entries += entry;
    };
    for (size_t i = 0; i < arguments.size(); i += kArgumentsPerEntry) {
      const size_t end = std::min<size_t>(i + kArgumentsPerEntry, arguments.size());
      add(encode_arguments({arguments.begin() + static_cast<std::ptrdiff_t>(i),
                            arguments.begin() + static_cast<std::ptrdiff_t>(end)}));
    }
    add(encode_files({}));
    const fs::path directory = plan_directory(output(), "p");
    fs::create_directories(directory);
    std::ofstream(directory / "entries", std::ios::binary) << entries;
    std::ofstream(directory / "index", std::ios::binary) << index;
  }

  WorkCommon common() const {
    return {.job = "job-1", .output = output(), .plan = "p", .maps = entries_, .attempt = 1};
  }
  RangeWork work(std::vector<std::string> command, uint32_t first, uint32_t count) const {
    return {.common = common(),
            .command = std::move(command),
            .first = first,
            .indices = {{.first = first + 1, .step = 1, .count = count}},
            .directory = (root_ / "here").string(),
            .ok = {0},
            .time = seconds(100)};
  }
  RangeWork shell(const std::string& line, uint32_t first, uint32_t count) const {
    return work({"sh", "-c", line}, first, count);
  }

  TaskSetting setting() {
    const fs::path sandbox = root_ / "sandbox";
    fs::create_directories(sandbox);
    return {.task = "t",
            .sandbox = sandbox.string(),
            .environment = {{"PATH", "/usr/local/bin:/usr/bin:/bin"}, {"GIVEN", "yes"}},
            .stopped = &stopped_,
            .group = &group_};
  }
  RangeResult run(const RangeWork& work) {
    const TaskOutcome outcome = run_task(work, setting());
    EXPECT_TRUE(outcome.range) << outcome.message;
    return outcome.range.value_or(RangeResult());
  }
  std::string trouble_of(const RangeWork& work) {
    const TaskOutcome outcome = run_task(work, setting());
    EXPECT_FALSE(outcome.range);
    return outcome.message;
  }
  TaskOutcome gather(uint32_t size, uint32_t done, bool commits = true,
                     const std::vector<int32_t>& ok = {0}, bool keeps = false) {
    return run_task(GatherWork{.common = common(),
                               .indices = {{.first = 1, .step = 1, .count = size}},
                               .ok = ok,
                               .done = done,
                               .commits = commits,
                               .keeps = keeps},
                    setting());
  }
  std::vector<ElementResult> index() const {
    std::vector<ElementResult> results;
    std::istringstream lines(contents(results_path(output())));
    for (std::string line; std::getline(lines, line);) {
      const auto one = parse_results_line(line);
      EXPECT_TRUE(one) << line;
      if (one && *one) results.push_back(**one);
    }
    return results;
  }
  std::string output_of(const ElementResult& one, LaneFile file) const {
    const std::string all = contents(lane_path(output(), file, one.lane));
    return file == LaneFile::kStdout ? all.substr(static_cast<size_t>(one.end.stdout_offset),
                                                  static_cast<size_t>(one.end.stdout_length))
                                     : all.substr(static_cast<size_t>(one.end.stderr_offset),
                                                  static_cast<size_t>(one.end.stderr_length));
  }
  std::vector<KeptEnd> ends() const {
    std::vector<KeptEnd> all;
    const auto read = read_ends(output(), [&](const KeptEnd& end) { all.push_back(end); });
    EXPECT_TRUE(read) << read.error().message();
    return all;
  }

  uint32_t entries_ = 0;
  std::atomic<bool> stopped_ = false;
  ElementGroup group_;
};

TEST_F(Range, RunsACommandForEachIndexInItsDirectory) {
  const RangeResult result = run(
      shell("echo $PROFFER_ARRAY_INDEX $PROFFER_ARRAY_ATTEMPT $GIVEN; pwd; echo e{} >&2", 4, 2));
  EXPECT_EQ(result.ended, 2u);
  EXPECT_EQ(result.ran, 2u);
  EXPECT_THAT(result.failures, IsEmpty());
  const TaskOutcome done = gather(6, 2);
  ASSERT_TRUE(done.result) << done.message;
  const std::vector<ElementResult> results = index();
  ASSERT_EQ(results.size(), 2u);
  const std::string here = (root_ / "here").string();
  EXPECT_EQ(output_of(results[0], LaneFile::kStdout), text("5 1 yes\n", here, "\n"));
  EXPECT_EQ(output_of(results[1], LaneFile::kStdout), text("6 1 yes\n", here, "\n"));
  EXPECT_EQ(output_of(results[1], LaneFile::kStderr), "e6\n");
  EXPECT_EQ(results[1].index, 6u);
  EXPECT_EQ(done.result->bytes_out, std::ssize(contents(output() + "/stdout-00000")));
  EXPECT_TRUE(fs::exists(output() + "/_SUCCESS"));
  EXPECT_FALSE(fs::exists(output() + "/_temporary"));
}

TEST_F(Range, TakesItsArgumentsOutOfThePlanAsTheyAre) {
  std::vector<std::string> arguments;
  for (int i = 0; i < 150; ++i) arguments.push_back(text("a '\"$x\n", i, "\t*"));
  write_plan(arguments);
  const RangeResult result = run(work({"printf", "%s|", "{}"}, 60, 80));
  EXPECT_EQ(result.ended, 80u);
  std::string expected;
  for (size_t i = 60; i < 140; ++i) expected += arguments[i] + "|";
  EXPECT_EQ(contents(output() + "/stdout-00000"), expected);
}

TEST_F(Range, TellsExitCodesAsAShellDoes) {
  fs::create_directories(root_ / "here/directory");
  std::ofstream(root_ / "here/plain") << "no program";
  struct Row {
    std::vector<std::string> command;
    int32_t code;
  };
  const Row rows[] = {
      {{"sh", "-c", "exit 7"}, 7},
      {{"sh", "-c", "kill -9 $$"}, 137},
      {{"no-such-program"}, 127},
      {{"./no-such-program"}, 127},
      {{"./plain"}, 126},
      {{"./directory"}, 126},
      {{"sh", "-c", "kill -15 $$"}, 143},
  };
  uint32_t position = 0;
  for (const Row& row : rows) {
    const RangeResult result = run(work(row.command, position++, 1));
    EXPECT_THAT(result.failures,
                ElementsAre(ElementFailure{.place = 0, .attempt = 1, .code = row.code}))
        << row.command.back();
  }
}

TEST_F(Range, AScriptThatDoesNotSayOfWhatIsOneOfTheShell) {
  std::ofstream(root_ / "here/script") << "echo \"$1, $2\"\n";
  fs::permissions(root_ / "here/script", fs::perms::owner_all);
  EXPECT_THAT(run(work({"./script", "a b", "c"}, 0, 1)).failures, IsEmpty());
  EXPECT_EQ(contents(output() + "/stdout-00000"), "a b, c\n");
}

TEST_F(Range, AnAcceptedExitCodeIsNoFailure) {
  RangeWork range = shell("echo why >&2; exit $PROFFER_ARRAY_INDEX", 0, 3);
  range.ok = {1, 3};
  const RangeResult result = run(range);
  EXPECT_THAT(result.failures, ElementsAre(ElementFailure{.place = 1, .attempt = 1, .code = 2}));
  EXPECT_EQ(result.stderr_tail, "why\n");
}

TEST_F(Range, EndsAnElementWhoseTimeIsOver) {
  RangeWork range = shell("sleep 100 & sleep 100", 0, 1);
  range.timeout = milliseconds(50);
  const RangeResult result = run(range);
  EXPECT_THAT(result.failures,
              ElementsAre(ElementFailure{.place = 0, .attempt = 1, .code = kTimedOutCode}));
}

TEST_F(Range, BeginsNoElementAfterItsTimeButRunsOne) {
  RangeWork range = work({"true"}, 0, 3);
  range.time = Duration();
  const RangeResult result = run(range);
  EXPECT_EQ(result.ended, 1u);
  EXPECT_EQ(result.ran, 1u);
}

TEST_F(Range, LeavesNothingOfAnElementBehind) {
  run(shell("sleep 100 & echo $! > pid", 0, 1));
  const pid_t left = std::stoi(contents(root_ / "here/pid"));
  // The process was killed and has another parent: it is gone, or ends when it gets CPU time.
  const Fd process(static_cast<int>(::syscall(SYS_pidfd_open, left, 0)));
  if (process.get() < 0) return;
  pollfd ends = {.fd = process.get(), .events = POLLIN, .revents = 0};
  EXPECT_EQ(::poll(&ends, 1, 60'000), 1) << contents(text("/proc/", left, "/stat"));
}

TEST_F(Range, DoesNotRepeatWhatATaskThatWasCutOffHasKept) {
  const auto put = [&](const ElementEnd& end) {
    std::ofstream(lane_path(output(), LaneFile::kIndex, 0), std::ios::binary | std::ios::app)
        << encode_element_end(end);
  };
  put({.position = 0, .attempt = 1, .code = 0});
  put({.position = 1, .attempt = 1, .code = 9});  // the range knows this failure
  put({.position = 2, .attempt = 1, .code = 8});
  std::ofstream(lane_path(output(), LaneFile::kIndex, 0), std::ios::binary | std::ios::app)
      << "half of an entry";
  std::ofstream(lane_path(output(), LaneFile::kStdout, 0)) << "what it wrote";
  RangeWork range = shell("echo {}", 0, 4);
  range.looks_back = true;
  range.failures = {{1, 1}};
  const RangeResult result = run(range);
  EXPECT_EQ(result.ended, 4u);
  EXPECT_EQ(result.ran, 2u);
  EXPECT_THAT(result.failures, ElementsAre(ElementFailure{.place = 2, .attempt = 1, .code = 8}));
  // Its lane gets no more output.
  EXPECT_EQ(contents(lane_path(output(), LaneFile::kStdout, 0)), "what it wrote");
  EXPECT_EQ(contents(lane_path(output(), LaneFile::kStdout, 1)), "2\n4\n");
}

TEST_F(Range, GoesOnInALaneThatWasLeftTidy) {
  run(shell("echo {}", 0, 2));
  run(shell("echo {}", 2, 2));
  EXPECT_EQ(contents(lane_path(output(), LaneFile::kStdout, 0)), "1\n2\n3\n4\n");
  EXPECT_FALSE(fs::exists(lane_path(output(), LaneFile::kIndex, 1)));
  EXPECT_EQ(ends().size(), 4u);
}

TEST_F(Range, LeavesALaneToTheTaskThatHasIt) {
  const Result<Lane> taken = Lane::open(output(), 0);
  ASSERT_TRUE(taken) << taken.error().message();
  run(shell("echo {}", 0, 1));
  EXPECT_EQ(contents(lane_path(output(), LaneFile::kStdout, 0)), "");
  EXPECT_EQ(contents(lane_path(output(), LaneFile::kStdout, 1)), "1\n");
}

TEST_F(Range, EndsItsElementWhenItIsStoppedAndKeepsNothingOfIt) {
  const std::string begun = (root_ / "here/begun").string();
  ASSERT_EQ(::mkfifo(begun.c_str(), 0600), 0);
  std::thread stopper([&] {
    EXPECT_EQ(contents(begun), "now\n");
    stopped_ = true;
    group_.signal(SIGTERM);
  });
  const std::string message =
      trouble_of(shell("trap 'exit 0' TERM; echo now > begun; while :; do sleep 0.01; done", 0, 2));
  stopper.join();
  EXPECT_THAT(message, HasSubstr("killed"));
  EXPECT_THAT(ends(), IsEmpty());
}

// If the kill comes after an element's work is done, its end is kept. Later elements do not start.
TEST_F(Range, KeepsTheEndOfAnElementThatNoKillHasInterrupted) {
  const std::string begun = (root_ / "here/begun").string();
  const std::string go = (root_ / "here/go").string();
  ASSERT_EQ(::mkfifo(begun.c_str(), 0600), 0);
  ASSERT_EQ(::mkfifo(go.c_str(), 0600), 0);
  std::thread stopper([&] {
    EXPECT_EQ(contents(begun), "now\n");
    stopped_ = true;  // the signal is on its way
    std::ofstream(go) << "go";
  });
  EXPECT_THAT(trouble_of(shell("echo {}; echo now > begun; read go < go; exit 0", 0, 2)),
              HasSubstr("killed"));
  stopper.join();
  ASSERT_EQ(ends().size(), 1u);
  EXPECT_EQ(ends().front().end.code, 0);
  EXPECT_EQ(contents(output() + "/stdout-00000"), "1\n");
}

// An element that fails during a kill may have failed because of it: it runs again.
TEST_F(Range, KeepsNoFailureOfAnElementThatIsKilled) {
  const std::string begun = (root_ / "here/begun").string();
  const std::string go = (root_ / "here/go").string();
  ASSERT_EQ(::mkfifo(begun.c_str(), 0600), 0);
  ASSERT_EQ(::mkfifo(go.c_str(), 0600), 0);
  std::thread stopper([&] {
    EXPECT_EQ(contents(begun), "now\n");
    stopped_ = true;
    std::ofstream(go) << "go";
  });
  trouble_of(shell("echo now > begun; read go < go; exit 143", 0, 1));
  stopper.join();
  EXPECT_THAT(ends(), IsEmpty());
}

// Finished elements are reported even if the next one cannot start.
TEST_F(Range, TellsWhatHasEndedIfTheNextOneCannotBegin) {
  const RangeResult result = run(shell("echo {}; rm -r ../here", 0, 3));
  EXPECT_EQ(result.ended, 1u);
  EXPECT_THAT(result.trouble, HasSubstr("here"));
  EXPECT_FALSE(result.lost_last);
  EXPECT_EQ(ends().size(), 1u);
}

TEST_F(Range, TakesTheRoomForAnEndBeforeItsElementBegins) {
  Result<Lane> lane = Lane::open(output(), 0);
  ASSERT_TRUE(lane);
  ASSERT_TRUE(lane->begin()) << "no room";
  struct stat seen = {};
  const std::string index = lane_path(output(), LaneFile::kIndex, 0);
  ASSERT_EQ(::stat(index.c_str(), &seen), 0);
  EXPECT_EQ(seen.st_size, 0);
  EXPECT_GE(seen.st_blocks * 512, std::ssize(std::string(2 * kElementEndBytes, ' ')));
}

TEST_F(Range, SaysThatItsDirectoryIsNotThere) {
  RangeWork range = work({"true"}, 0, 1);
  range.directory = (root_ / "elsewhere").string();
  EXPECT_THAT(trouble_of(range), HasSubstr("elsewhere"));
  EXPECT_THAT(ends(), IsEmpty());
}

TEST_F(Range, SaysThatTheOutputIsNotThere) {
  RangeWork range = work({"true"}, 0, 1);
  range.common.output = (root_ / "another").string();
  EXPECT_THAT(trouble_of(range), HasSubstr("another"));
}

TEST_F(Range, OfTheEndsOfAnElementTheBestIsChosen) {
  run(shell("echo bad; exit 9", 0, 2));
  RangeWork again = shell("echo good", 1, 1);
  again.failures = {{0, 1}};
  run(again);
  RangeWork late = shell("echo late; exit 9", 1, 1);  // from a task that was given up
  late.failures = {{0, 2}};
  run(late);
  const TaskOutcome done = gather(2, 1, false);
  ASSERT_TRUE(done.result) << done.message;
  const std::vector<ElementResult> results = index();
  ASSERT_EQ(results.size(), 2u);
  EXPECT_EQ(results[0].end.code, 9);
  EXPECT_EQ(output_of(results[1], LaneFile::kStdout), "good\n");
  EXPECT_FALSE(fs::exists(output() + "/_SUCCESS"));
}

// The last task of the first try made an index, and kept what the second try needs. Element 0 is
// done and does not run again; element 1 runs again, in the same lane.
TEST_F(Range, ARetryAddsToTheResultsThatThereAre) {
  write_plan({"a", "b"});
  run(shell("echo first {}; test {} = a", 0, 2));
  ASSERT_TRUE(gather(2, 1, false, {0}, true).result);
  ASSERT_EQ(index().size(), 2u);
  EXPECT_EQ(output_of(index()[1], LaneFile::kStdout), "first b\n");

  RangeWork again = shell("echo second {}", 0, 2);
  again.failures = {{0, 1}, {1, 1}};
  again.looks_back = true;
  const RangeResult result = run(again);
  EXPECT_EQ(result.ended, 2u);
  EXPECT_EQ(result.ran, 1u);
  EXPECT_THAT(result.failures, IsEmpty());
  const TaskOutcome done = gather(2, 2);
  ASSERT_TRUE(done.result) << done.message;
  const std::vector<ElementResult> results = index();
  ASSERT_EQ(results.size(), 2u);
  EXPECT_EQ(output_of(results[0], LaneFile::kStdout), "first a\n");
  EXPECT_EQ(output_of(results[1], LaneFile::kStdout), "second b\n");
  EXPECT_EQ(results[1].end.attempt, 2u);
  EXPECT_EQ(done.result->bytes_out, std::ssize(std::string("first a\nsecond b\n")));
  EXPECT_TRUE(fs::exists(output() + "/_SUCCESS"));
  EXPECT_FALSE(fs::exists(output() + "/_temporary"));
}

TEST_F(Range, WritesNothingIntoTheOutputOfAnotherJob) {
  RangeWork range = shell("echo x", 0, 1);
  range.common.plan = "another";
  EXPECT_THAT(trouble_of(range), HasSubstr("the job's plan"));
  EXPECT_FALSE(fs::exists(lane_path(output(), LaneFile::kStdout, 0)));
}

TEST_F(Range, TheIndexSaysOfEachElementWhetherItsExitCodeIsAccepted) {
  run(shell("exit {}", 0, 3));
  const TaskOutcome done = gather(3, 1, true, {1});
  ASSERT_TRUE(done.result) << done.message;
  const std::vector<ElementResult> results = index();
  ASSERT_EQ(results.size(), 3u);
  EXPECT_EQ(results[0].end.code, 1);
  EXPECT_TRUE(results[0].is_done);
  EXPECT_EQ(results[1].end.code, 2);
  EXPECT_FALSE(results[1].is_done);
}

// A later stage reads in these files the output of the attempt that counts.
TEST_F(Range, TheFilesOfAnOnlyElementHoldTheAttemptThatCounted) {
  // A killed task leaves its lane with output of an unfinished element.
  {
    Result<Lane> lane = Lane::open(output(), 0);
    ASSERT_TRUE(lane);
    ASSERT_TRUE(lane->begin());
    ASSERT_EQ(::write(lane->out(), "cut off\n", 8), 8);
  }
  run(shell("echo counted; echo note >&2", 0, 1));
  EXPECT_EQ(contents(output() + "/stdout-00000"), "cut off\n");
  ASSERT_TRUE(gather(1, 1).result);
  ASSERT_EQ(index().size(), 1u);
  EXPECT_EQ(index()[0].lane, 1u);
  EXPECT_EQ(contents(output() + "/stdout-00001"), "counted\n");
  EXPECT_EQ(contents(output() + "/stderr-00001"), "note\n");
  EXPECT_FALSE(fs::exists(output() + "/stdout-00000"));
  EXPECT_FALSE(fs::exists(output() + "/stderr-00000"));
}

TEST_F(Range, TheFilesOfAnOnlyElementDoNotHoldItsFailures) {
  run(shell("echo failed; exit 1", 0, 1));
  RangeWork again = shell("echo counted; echo note >&2", 0, 1);
  again.failures = {{0, 1}};
  run(again);
  EXPECT_EQ(contents(output() + "/stdout-00000"), "failed\ncounted\n");
  // The task is killed after the index is in place: the plan still exists, and the task runs again.
  const fs::path plan = plan_directory(output(), "p");
  const fs::path lanes = root_ / "out/_temporary/index-00000";
  fs::copy(root_ / "out/_temporary", root_ / "kept", fs::copy_options::recursive);
  for (int attempt = 0; attempt < 2; ++attempt) {
    const TaskOutcome done = gather(1, 1);
    ASSERT_TRUE(done.result) << done.message;
    EXPECT_EQ(done.result->bytes_out, 8);
    ASSERT_EQ(index().size(), 1u);
    EXPECT_EQ(index()[0].end.attempt, 2u);
    EXPECT_EQ(output_of(index()[0], LaneFile::kStdout), "counted\n");
    EXPECT_EQ(output_of(index()[0], LaneFile::kStderr), "note\n");
    EXPECT_EQ(contents(lane_path(output(), LaneFile::kStdout, index()[0].lane)), "counted\n");
    EXPECT_FALSE(fs::exists(output() + "/stdout-00000"));
    if (attempt == 0)
      fs::copy(root_ / "kept", root_ / "out/_temporary", fs::copy_options::recursive);
  }
  EXPECT_FALSE(fs::exists(plan));
  EXPECT_FALSE(fs::exists(lanes));
}

TEST_F(Range, DoesNotCommitIfResultsAreMissing) {
  run(work({"true"}, 0, 2));
  const TaskOutcome outcome = gather(3, 3);
  EXPECT_FALSE(outcome.result);
  EXPECT_THAT(outcome.message, HasSubstr("3 elements are done, but only 2"));
  EXPECT_FALSE(fs::exists(output() + "/_SUCCESS"));
}

TEST_F(Range, CommitsOnceAndTouchesNoOutputOfAnother) {
  run(work({"true"}, 0, 1));
  ASSERT_TRUE(gather(1, 1).result);
  ASSERT_TRUE(gather(1, 1).result);  // its first answer was lost
  EXPECT_EQ(index().size(), 1u);
  fs::remove_all(output());
  fs::create_directories(output());
  EXPECT_FALSE(gather(1, 1).result);
  EXPECT_TRUE(gather(1, 1, false).result);
  EXPECT_TRUE(fs::is_empty(output()));
}

}  // namespace
}  // namespace proffer::batch::range_test
