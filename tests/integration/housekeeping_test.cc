// The files that a real agent keeps on its disk.

#include <filesystem>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "common/text.h"
#include "tests/integration/processes.h"

namespace proffer::test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

// The cluster's own agent is too small for the task, so the task runs on the test's agent.
class HousekeepingOfAnAgent : public testing::Test {
 protected:
  void begin(const Words& flags) {
    agent_ = cluster_.start_agent("big", "cpus:4;mem:1024", flags);
    ASSERT_TRUE(eventually(
        [&] { return cluster_.proffer({"agents"}).out.find("big") != std::string::npos; }));
  }
  void TearDown() override {
    agent_->kill(SIGTERM);
    agent_->wait();
  }
  std::vector<fs::path> outputs() const {
    std::vector<fs::path> found;
    std::error_code none;
    for (const auto& entry :
         fs::recursive_directory_iterator(cluster_.dir() + "/big/sandboxes", none)) {
      if (entry.path().filename() == "stdout") found.push_back(entry.path());
    }
    return found;
  }

  const Cluster cluster_{{.resources = "cpus:1;mem:256"}};
  std::unique_ptr<Process> agent_;
};

TEST_F(HousekeepingOfAnAgent, AnOutputIsBoundedAndFollowedToItsEnd) {
  begin({"--output_max=1"});
  const auto task = cluster_.start({"run", "--cpus", "2", "--",
                                    "yes 0123456789abcdef | head -c 30000000; echo the end; "
                                    "exec sleep 1000"});
  ASSERT_TRUE(task->line_with("the end")) << task->err();
  ASSERT_EQ(outputs().size(), 1u);
  const fs::path output = outputs().front();
  EXPECT_TRUE(eventually([&] {
    struct stat status {};
    return stat(output.c_str(), &status) == 0 && status.st_size > 30'000'000 &&
           status.st_blocks * 512 <= 1'100'000;
  }));
  const Exit logs = cluster_.proffer({"logs", "run-"});
  EXPECT_EQ(logs.code, 0) << logs.err;
  EXPECT_THAT(logs.out, HasSubstr("bytes of this output are not kept"));
  EXPECT_THAT(logs.out, testing::EndsWith("the end\n"));
  EXPECT_LT(logs.out.size(), 2'000'000u);
  task->kill(SIGINT);
  task->wait();
}

TEST_F(HousekeepingOfAnAgent, AReaderThatIsTooSlowLearnsItFromRun) {
  begin({"--output_max=1"});
  const TemporaryDirectory home;
  const std::string go = home / "go";
  const std::string out = home / "out";
  Process reader(
      {"bash", "-c",
       text("set -o pipefail; ", program("proffer"), " run --cpus 2 --master ", cluster_.master(),
            " -- 'seq 3000000; until [ -e ", go, " ]; do sleep 0.05; done' | (until [ -e ", go,
            " ]; do sleep 0.05; done; cat >", out, ")")});
  // Until the agent has dropped what the reader has not read.
  ASSERT_TRUE(eventually([&] {
    struct stat status {};
    return outputs().size() == 1 && stat(outputs().front().c_str(), &status) == 0 &&
           status.st_size > 20'000'000 && status.st_blocks * 512 <= 1'100'000;
  }));
  write_file(go, "");
  const Exit read = reader.wait();
  EXPECT_EQ(read.code, 1) << read.err;
  EXPECT_THAT(read.err, HasSubstr(" bytes of stdout of task run-1 are missing here"));
  // Nothing but whole lines of the command is in its output, except where it is cut.
  int64_t strange = 0;
  std::istringstream lines(read_file(out));
  for (std::string line; std::getline(lines, line);) {
    strange += line.empty() || line.find_first_not_of("0123456789") != std::string::npos;
  }
  EXPECT_EQ(strange, 0);
  EXPECT_THAT(read_file(out), testing::EndsWith("\n3000000\n"));
}

TEST_F(HousekeepingOfAnAgent, SandboxesOfWhatEndedAreRemoved) {
  begin({"--sandbox_age=1s"});
  const auto stays = cluster_.start({"run", "--cpus", "2", "--", "echo here; exec sleep 1000"});
  ASSERT_TRUE(stays->line_with("here")) << stays->err();
  EXPECT_EQ(cluster_.proffer({"run", "--cpus", "2", "--", "echo gone"}).out, "gone\n");
  EXPECT_TRUE(eventually([&] { return outputs().size() == 1; }));
  EXPECT_TRUE(eventually([&] { return fs::is_empty(cluster_.dir() + "/big/trash"); }));
  EXPECT_EQ(read_file(outputs().front()), "here\n");
  stays->kill(SIGINT);
  stays->wait();
}

}  // namespace
}  // namespace proffer::test
