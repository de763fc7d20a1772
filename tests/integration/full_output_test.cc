// An array whose output fills its disk, which is a small file system. Finished results stay
// readable, and when there is room, a retry runs the rest.

#include <map>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/text.h"
#include "tests/integration/processes.h"

namespace proffer::test {
namespace {

using testing::HasSubstr;

constexpr int kElements = 120;
constexpr size_t kBytesEach = 40'000;

class FullOutput : public testing::Test {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "not run: only root can mount a file system";
    ASSERT_EQ(mkdir(disk_.c_str(), 0777), 0);
    if (mount("tmpfs", disk_.c_str(), "tmpfs", 0, "size=2m") != 0) {
      GTEST_SKIP() << "not run: this machine does not let root mount a file system";
    }
    mounted_ = true;
  }
  void TearDown() override {
    if (mounted_) {
      EXPECT_EQ(umount2(disk_.c_str(), MNT_DETACH), 0);
    }
  }
  // The number of entries of each element after this word in the journal, which is on another disk.
  std::map<int, int> journal(const std::string& word) const {
    std::map<int, int> counts;
    std::istringstream lines(read_file(home_ / "journal"));
    std::string what;
    for (int element = 0; lines >> what >> element;) counts[element] += what == word ? 1 : 0;
    std::erase_if(counts, [](const auto& row) { return row.second == 0; });
    return counts;
  }

  TemporaryDirectory home_;
  const std::string disk_ = home_ / "disk";
  bool mounted_ = false;
};

TEST_F(FullOutput, KeepsWhatIsDoneAndARetryRunsTheRest) {
  Cluster cluster({.agents = 2, .resources = "cpus:4;mem:2048", .batch = true});
  const std::string journal_file = home_ / "journal";
  const std::string line =
      text("echo began $PROFFER_ARRAY_INDEX >> ", journal_file, "; head -c ", kBytesEach,
           " /dev/zero | tr '\\0' x || exit 1; echo ended $PROFFER_ARRAY_INDEX >> ", journal_file);
  const Exit failed =
      cluster.proffer({"batch", "array", text("1-", kElements), "--name", "full", "--output",
                       disk_ + "/out", "--directory", home_.path(), "--resources", "cpus:1;mem:64",
                       "--", "bash", "-o", "pipefail", "-c", line},
                      Seconds(120));
  EXPECT_EQ(failed.code, 1);
  EXPECT_THAT(failed.err, HasSubstr("proffer batch retry full-1"));
  const std::map<int, int> well = journal("ended");
  ASSERT_GT(well.size(), 10u);
  ASSERT_LT(well.size(), size_t{kElements});
  // Without retries, no element ran twice.
  for (const auto& [element, count] : journal("began")) EXPECT_EQ(count, 1) << element;

  // Also while the disk is full.
  const auto expect_results = [&](const std::map<int, int>& ended) {
    const std::string table = cluster.proffer({"batch", "results", "full-1", "--table"}).out;
    const Exit all = cluster.proffer({"batch", "results", "full-1"});
    EXPECT_EQ(all.code, 0) << all.err;
    EXPECT_GE(all.out.size(), ended.size() * kBytesEach);
    for (const auto& [element, count] : ended) {
      EXPECT_THAT(table, HasSubstr(text("\n", element, "\t1\t0\tdone\t"))) << element;
    }
    const std::string first = std::to_string(ended.begin()->first);
    EXPECT_TRUE(cluster.proffer({"batch", "results", "full-1", first}).out ==
                std::string(kBytesEach, 'x'));
  };
  expect_results(well);

  ASSERT_EQ(mount(nullptr, disk_.c_str(), nullptr, MS_REMOUNT, "size=64m"), 0);
  const Exit retried = cluster.proffer({"batch", "retry", "full-1"});
  EXPECT_EQ(retried.code, 0) << retried.err;
  const Exit done = cluster.proffer({"batch", "wait", "full-1"}, Seconds(120));
  EXPECT_EQ(done.code, 0) << done.err;
  const std::map<int, int> ended = journal("ended");
  EXPECT_EQ(ended.size(), size_t{kElements});
  for (const auto& [element, count] : ended) EXPECT_EQ(count, 1) << element;
  for (const auto& [element, count] : journal("began")) {
    EXPECT_LE(count, well.contains(element) ? 1 : 2) << element;
  }
  EXPECT_EQ(cluster.proffer({"batch", "results", "full-1"}).out.size(), kElements * kBytesEach);
}

}  // namespace
}  // namespace proffer::test
