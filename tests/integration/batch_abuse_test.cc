// Jobs with bad commands, files and disks: each ends with a fitting error or with the right result,
// and leaves no partial output.

#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <unistd.h>

#include "common/text.h"
#include "tests/integration/word_count.h"

namespace proffer::test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

// A file system of a few MiB, for the lifetime of this object.
class SmallDisk {
 public:
  explicit SmallDisk(std::string path, int kib) : path_(std::move(path)) {
    fs::create_directories(path_);
    is_there_ = ::mount("tmpfs", path_.c_str(), "tmpfs", 0, text("size=", kib, "k").c_str()) == 0;
  }
  ~SmallDisk() {
    if (is_there_) {
      EXPECT_EQ(::umount2(path_.c_str(), MNT_DETACH), 0);
    }
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;
  bool is_there() const { return is_there_; }

 private:
  std::string path_;
  bool is_there_ = false;
};

class Abuse : public WordCount {
 protected:
  Words map_only(const std::string& map, const std::string& input, Words more = {}) const {
    Words words = {"batch",   "run",        "--name",      "abuse",        "--map",
                   map,       "--reducers", "0",           "--output",     home_ / "out",
                   "--input", input,        "--resources", "cpus:1;mem:64"};
    words.insert(words.end(), more.begin(), more.end());
    return words;
  }
  // The output of a map of twelve lines: numbers that do not compress well.
  static constexpr const char* kNumbers =
      "awk '{ x = $1; for (i = 0; i < 250000; ++i) { x = (x * 48271) % 2147483647; print x } }'";
  std::string sum_of(const std::string& command) const {
    return run({"bash", "-c", "set -o pipefail; export LC_ALL=C; " + command + " | sort | md5sum"},
               {}, home_.path())
        .out;
  }
};

TEST_F(Abuse, OneLineOfAGibibyteIsReadByOneTask) {
  Cluster cluster({.agents = 1, .resources = "cpus:2;mem:1024", .batch = true});
  write_file(home_ / "line", "");
  fs::resize_file(home_ / "line", uintmax_t{1} << 30);
  const Exit done =
      cluster.proffer(map_only("wc -c", home_ / "line", {"--split", "64MiB"}), Seconds(120));
  EXPECT_EQ(done.code, 0) << done.err;
  // The line has no newline in the file; the mapper gets one.
  EXPECT_EQ(run({"bash", "-c", "cat out/part-* | sort -n | uniq -c | awk '{ print $1, $2 }'"}, {},
                home_.path())
                .out,
            "15 0\n1 1073741825\n");
}

TEST_F(Abuse, AMapperThatWritesALineOfAGibibyteFailsTheJobAtOnce) {
  Cluster cluster({.agents = 1, .batch = true});
  Words words = job("head -c 1073741824 /dev/zero | tr '\\0' x");
  const Exit failed = cluster.proffer(words, Seconds(120));
  EXPECT_EQ(failed.code, 1);
  EXPECT_THAT(failed.err, HasSubstr("a line of output is longer than 64 MiB"));
  EXPECT_FALSE(fs::exists(home_ / "out"));
}

TEST_F(Abuse, GarbageOfAMapperComesThroughAsItIs) {
  write_file(home_ / "garbage.sh",
             "cat >/dev/null; awk 'BEGIN { for (i = 0; i < 60000; ++i) printf \"%c\", (i * i) % 256"
             " }'; printf '\\n'\n");
  Cluster cluster({.agents = 1, .batch = true});
  const Exit done = cluster.proffer(
      map_only("sh garbage.sh", home_ / "in", {"--files", home_ / "garbage.sh"}), Seconds(120));
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_EQ(read_file(home_ / "out/part-00000"),
            run({"bash", "-c", "LC_ALL=C sh garbage.sh </dev/null"}, {}, home_.path()).out);
}

TEST_F(Abuse, InputThatIsGoneOrHasBecomeShorterEndsTheJobAndIsNamed) {
  Cluster cluster({.agents = 1, .resources = "cpus:1;mem:1024", .batch = true});
  fs::create_directories(home_ / "two");
  for (const bool is_gone : {true, false}) {
    write_file(home_ / "two/a", "a\n");
    write_file(home_ / "two/b", "b\nb\n");
    fs::remove(home_ / "go");
    // The first task occupies the only slot until the second task's file has changed.
    const auto running =
        cluster.start(map_only("until test -e " + (home_ / "go") + "; do sleep 0.02; done; cat",
                               home_ / "two", {"--by-file"}));
    ASSERT_TRUE(eventually([&] { return cluster.running_tasks("batch") >= 1; }));
    if (is_gone) {
      fs::remove(home_ / "two/b");
    } else {
      write_file(home_ / "two/b", "b\n");
    }
    write_file(home_ / "go", "");
    const Exit failed = running->wait(Seconds(120));
    EXPECT_EQ(failed.code, 1) << failed.out;
    EXPECT_THAT(failed.err, HasSubstr(home_ / "two/b"));
    EXPECT_THAT(failed.err, HasSubstr(is_gone ? "No such file" : "has become shorter"));
    EXPECT_FALSE(fs::exists(home_ / "out"));
  }
}

TEST_F(Abuse, AFullDiskOfOneAgentChangesNoResult) {
  Cluster cluster({.agents = 1, .resources = "cpus:1;mem:1024", .batch = true});
  SmallDisk disk(cluster.dir() + "/agent-9", 4 * 1024);
  if (!disk.is_there()) GTEST_SKIP() << "not run: only root can mount a file system";
  const auto small = cluster.start_agent("agent-9", "cpus:4;mem:1024", {"--disk_reserve=1"});
  std::string seeds;
  for (int i = 1; i <= 12; ++i) seeds += text(i, "\n");
  write_file(home_ / "seeds", seeds);
  const Exit done =
      cluster.proffer({"batch", "run", "--name", "full", "--map", kNumbers, "--reduce", "cat",
                       "--input", home_ / "seeds", "--output", home_ / "out", "--reducers", "2",
                       "--split", "2", "--resources", "cpus:1;mem:128"},
                      Seconds(180));
  EXPECT_EQ(done.code, 0) << done.err << done.out;
  EXPECT_EQ(sum_of("cat out/part-*"), sum_of(text("cat seeds | ", kNumbers)));
  EXPECT_FALSE(fs::exists(home_ / "out/_temporary"));
  const proto::BatchJob ended = status(cluster, "full-1");
  EXPECT_GE(ended.map.failed + ended.reduce.failed, 1) << "the disk was not full";
  small->kill(SIGKILL);
  small->wait();
}

TEST_F(Abuse, AFullDiskOfTheOutputEndsTheJobWithTheErrorOfTheSystem) {
  SmallDisk disk(home_ / "small", 256);
  if (!disk.is_there()) GTEST_SKIP() << "not run: only root can mount a file system";
  Cluster cluster({.agents = 1, .batch = true});
  write_file(home_ / "seeds", "1\n");
  const Exit failed = cluster.proffer(
      {"batch", "run", "--name", "full", "--map", kNumbers, "--input", home_ / "seeds", "--output",
       home_ / "small/out", "--reducers", "0", "--resources", "cpus:1;mem:128"},
      Seconds(120));
  EXPECT_EQ(failed.code, 1) << failed.out;
  EXPECT_THAT(failed.err, HasSubstr("No space left on device"));
  EXPECT_FALSE(fs::exists(home_ / "small/out"));
}

}  // namespace
}  // namespace proffer::test
