// Each file system call of one small job fails once. Finished work is kept: nothing that succeeded
// runs again, its results can be read, and a retry does the rest. PROFFER_LONG tries every call,
// otherwise a sample.

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/frameworks/batch_disk/disk_job.h"
#include "tests/support/long.h"

namespace proffer::batch::disk_test {
namespace {

namespace fs = std::filesystem;
using ::testing::IsEmpty;

constexpr int64_t kQuickRuns = 8;  // per fault

int sum(const std::map<std::string, int>& counts) {
  int all = 0;
  for (const auto& [name, count] : counts) all += count;
  return all;
}

// Runs the story without a fault, then with each.
void for_each_call(const std::function<void(DiskJob&, Fault)>& story) {
  for (const Fault fault :
       {Fault::kNoSpace, Fault::kError, Fault::kShortWrite, Fault::kKill, Fault::kFull}) {
    int64_t calls = 0;
    {
      SCOPED_TRACE("no fault");
      DiskJob job(fault, -1);
      story(job, fault);
      calls = job.failing().counted();
    }
    ASSERT_GT(calls, 5) << to_text(fault);
    std::cout << to_text(fault) << ": " << calls << " calls\n";
    const int64_t stride = test::is_long() ? 1 : std::max<int64_t>(calls / kQuickRuns, 1);
    for (int64_t index = static_cast<int64_t>(fault) % stride; index < calls; index += stride) {
      DiskJob job(fault, index);
      story(job, fault);
      if (!testing::Test::HasFailure()) continue;
      FAIL() << to_text(fault) << " at call " << index << " of " << calls << ", "
             << job.failing().failed();
    }
  }
}

// --- an array that fails, and is retried ---------------------------------------------------------

constexpr uint32_t kElements = 7;
constexpr uint32_t kFailing = 3;  // it fails until the file `mended` exists

std::string output_of(const std::string& index) { return text("out ", index, "\n"); }

void expect_results(const DiskJob& job, const std::map<std::string, int>& ended) {
  const std::map<uint32_t, std::string> results = job.results();
  for (const auto& [index, count] : ended) {
    const auto found = results.find(static_cast<uint32_t>(std::stoul(index)));
    ASSERT_NE(found, results.end()) << "element " << index << " has no result";
    EXPECT_EQ(found->second, output_of(index));
  }
  EXPECT_EQ(results.size(), ended.size());
}

void run_array(DiskJob& job, Fault fault) {
  const std::string journal = job.beside("journal");
  JobText flags;
  flags.command = {
      "sh", "-c",
      text("echo began {} >> ", journal, "; echo out {}; test {} != ", kFailing, " || test -e ",
           job.beside("mended"), " || exit 9; echo ended {} >> ", journal)};
  flags.array = text("1-", kElements);
  flags.directory = job.beside("");
  ASSERT_NO_FATAL_FAILURE(job.submit(flags));
  ASSERT_NO_FATAL_FAILURE(job.run());
  // Finished elements are reported and readable, and unfinished ones are reported as such.
  const JobScenario& scheduler = job.scheduler();
  EXPECT_FALSE(scheduler.succeeded());
  EXPECT_NE(scheduler.error(), "");
  const std::map<std::string, int> well = job.journal("ended");
  const std::map<std::string, int> began = job.journal("began");
  EXPECT_EQ(scheduler.status().array->done, std::ssize(well)) << scheduler.error();
  ASSERT_NO_FATAL_FAILURE(expect_results(job, well));

  job.failing().mend();
  std::ofstream(job.beside("mended")) << "now";
  ASSERT_TRUE(job.retry());
  ASSERT_NO_FATAL_FAILURE(job.run());
  EXPECT_TRUE(scheduler.succeeded()) << scheduler.error();
  ASSERT_NO_FATAL_FAILURE(expect_results(job, job.journal("ended")));
  EXPECT_EQ(job.journal("ended").size(), size_t{kElements});
  // If a process is killed between the end of an element and its record, the element runs again.
  const int cut_off = fault == Fault::kKill && !job.failing().failed().empty() ? 1 : 0;
  EXPECT_LE(sum(job.journal("ended")), static_cast<int>(kElements) + cut_off);
  std::map<std::string, int> began_again = job.journal("began");
  for (const auto& [index, count] : began) began_again[index] -= count;
  for (const auto& [index, count] : well) {
    EXPECT_LE(began_again[index], cut_off) << "element " << index;
  }
  EXPECT_LE(sum(job.journal("began")), static_cast<int>(kElements) + 1 + cut_off);
  EXPECT_TRUE(fs::exists(job.output() + "/_SUCCESS"));
  EXPECT_FALSE(fs::exists(job.output() + "/_temporary"));
}

TEST(Writes, OfAnArrayThatFailRepeatNoElementThatHasEnded) { for_each_call(run_array); }

// --- an array of one element, whose files hold what its last attempt wrote -----------------------

void run_only(DiskJob& job, Fault fault) {
  const std::string journal = job.beside("journal");
  JobText flags;
  flags.run =
      text("echo try; test $PROFFER_ARRAY_ATTEMPT -gt 1 || exit 7; echo ended 1 >> ", journal);
  flags.retries = "1";
  flags.directory = job.beside("");
  ASSERT_NO_FATAL_FAILURE(job.submit(flags));
  ASSERT_NO_FATAL_FAILURE(job.run());
  const JobScenario& scheduler = job.scheduler();
  if (!scheduler.succeeded()) {
    EXPECT_EQ(fault, Fault::kFull) << scheduler.error();
    EXPECT_EQ(job.results().size(), job.journal("ended").size());
    job.failing().mend();
    ASSERT_TRUE(job.retry());
    ASSERT_NO_FATAL_FAILURE(job.run());
  }
  EXPECT_TRUE(scheduler.succeeded()) << scheduler.error();
  EXPECT_LE(sum(job.journal("ended")), fault == Fault::kKill ? 2 : 1);
  EXPECT_EQ(job.results(), (std::map<uint32_t, std::string>{{1, "try\n"}}));
  std::string all;
  for (const auto& entry : fs::directory_iterator(job.output())) {
    if (!entry.path().filename().string().starts_with("stdout-")) continue;
    std::ifstream file(entry.path());
    all.append(std::istreambuf_iterator<char>(file), {});
  }
  EXPECT_EQ(all, "try\n");
}

TEST(Writes, OfAnOnlyElementThatFailLoseNothing) { for_each_call(run_only); }

// --- a MapReduce ---------------------------------------------------------------------------------

constexpr std::string_view kCounts = "2 a\n2 b\n1 c\n1 d\n";

void run_mapreduce(DiskJob& job, Fault fault) {
  for (const char* name : {"one", "two", "three"}) {
    std::ofstream file(text(job.disk(), "/in/", name));
    file << (name == std::string("one")   ? "a\nb\n"
             : name == std::string("two") ? "b\nc\n"
                                          : "a\nd\n");
  }
  const std::string journal = job.beside("journal");
  JobText flags;
  flags.map = text("cat; echo map $PROFFER_TASK_INDEX >> ", journal);
  flags.reduce = text("uniq -c | sed 's/^ *//'; echo reduce $PROFFER_TASK_INDEX >> ", journal);
  flags.inputs = {job.disk() + "/in"};
  flags.by_file = "true";
  flags.reducers = "2";
  flags.speculation = "off";
  ASSERT_NO_FATAL_FAILURE(job.submit(flags));
  ASSERT_NO_FATAL_FAILURE(job.run());
  const JobScenario& scheduler = job.scheduler();
  if (!scheduler.succeeded()) {
    EXPECT_EQ(fault, Fault::kFull) << scheduler.error();
    EXPECT_NE(scheduler.error(), "");
    job.failing().mend();
    ASSERT_TRUE(job.retry());
    ASSERT_NO_FATAL_FAILURE(job.run());
  }
  EXPECT_TRUE(scheduler.succeeded()) << scheduler.error();
  std::string counts = job.output_of_parts();
  std::vector<std::string> lines;
  for (size_t at = 0; at < counts.size();) {
    const size_t end = counts.find('\n', at) + 1;
    lines.push_back(counts.substr(at, end - at));
    at = end;
  }
  std::sort(lines.begin(), lines.end(), [](const std::string& a, const std::string& b) {
    return a.back() != b.back() ? a.back() < b.back() : a.substr(2) < b.substr(2);
  });
  std::string sorted;
  for (const std::string& line : lines) sorted += line;
  EXPECT_EQ(sorted, kCounts);
  // A finished task does not run again; a failed one does.
  EXPECT_THAT(job.repeated(), IsEmpty());
  EXPECT_TRUE(fault == Fault::kFull || job.failed_tasks() <= 1) << job.failed_tasks();
  EXPECT_LE(sum(job.journal("map")) + sum(job.journal("reduce")), 5 + job.failed_tasks());
  EXPECT_TRUE(fs::exists(job.output() + "/_SUCCESS"));
  EXPECT_FALSE(fs::exists(job.output() + "/_temporary"));
}

TEST(Writes, OfAMapReduceThatFailRepeatNoTaskThatHasFinished) { for_each_call(run_mapreduce); }

}  // namespace
}  // namespace proffer::batch::disk_test
