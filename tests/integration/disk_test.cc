// A task fills the disk of its agent's work directory, which is a small file system. The agent
// survives, reports ends of tasks, takes no new tasks, and takes tasks again when there is room.

#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/integration/processes.h"

namespace proffer::test {
namespace {

using testing::HasSubstr;

class FullDisk : public testing::Test {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "not run: only root can mount a file system";
    ASSERT_EQ(mkdir(work_dir_.c_str(), 0711), 0);
    if (mount("tmpfs", work_dir_.c_str(), "tmpfs", 0, "size=48m") != 0) {
      GTEST_SKIP() << "not run: this machine does not let root mount a file system";
    }
    mounted_ = true;
    master_ = std::make_unique<Process>(Words{program("proffer-master"),
                                              "--data_dir=" + (home_ / "master"),
                                              "--socket=" + socket_, "--heartbeat=1s"});
    ASSERT_TRUE(eventually([&] { return proffer({"status"}).code == 0; }));
    start_agent();
  }
  void TearDown() override {
    for (Process* daemon : {agent_.get(), master_.get()}) {
      if (daemon == nullptr) continue;
      daemon->kill(SIGTERM);
      EXPECT_EQ(daemon->wait().code, 0) << daemon->err();
    }
    if (mounted_) {
      EXPECT_EQ(umount2(work_dir_.c_str(), MNT_DETACH), 0);
    }
  }
  void start_agent() {
    agent_ = std::make_unique<Process>(Words{
        program("proffer-agent"), "--master=" + socket_, "--name=a1", "--work_dir=" + work_dir_,
        "--resources=cpus:4;mem:512", "--tasks_on_exit=kill", "--disk_reserve=2"});
    ASSERT_TRUE(eventually([&] { return agents().find("a1") != std::string::npos; }));
  }
  Exit proffer(Words words) const {
    words.insert(words.begin(), program("proffer"));
    return run(words, {{"PROFFER_MASTER", socket_}});
  }
  std::string agents() const { return proffer({"agents"}).out; }

  TemporaryDirectory home_;
  const std::string socket_ = home_ / "run/master.sock";
  const std::string work_dir_ = home_ / "agent";
  bool mounted_ = false;
  std::unique_ptr<Process> master_;
  std::unique_ptr<Process> agent_;
};

TEST_F(FullDisk, EndsNoAgentAndLosesNoTask) {
  Process victim({program("proffer"), "run", "--name", "victim", "--", "sleep 1000; exit 7"},
                 {{"PROFFER_MASTER", socket_}});
  ASSERT_TRUE(
      eventually([&] { return proffer({"tasks"}).out.find("running") != std::string::npos; }));
  // Fills space that becomes free, until the file `stop` exists.
  const std::string stop = home_ / "stop";
  Process filler({program("proffer"), "run", "--name", "filler", "--",
                  "while ! test -e " + stop +
                      "; do cat /dev/zero >> filler 2>/dev/null; sleep 0.1; done; rm filler"},
                 {{"PROFFER_MASTER", socket_}});
  ASSERT_TRUE(eventually([&] {
    return agents().find("takes no tasks: its disk is full") != std::string::npos;
  })) << agents();

  // No new task begins there, but ends of tasks are reported.
  Process waits({program("proffer"), "run", "--name", "waits", "--", "echo later"},
                {{"PROFFER_MASTER", socket_}});
  EXPECT_EQ(proffer({"kill", "victim-1"}).code, 0);
  EXPECT_NE(victim.wait().code, 0);
  EXPECT_THAT(proffer({"tasks", "--all"}).out, HasSubstr("killed"));

  // A restarted agent behaves the same.
  agent_->kill(SIGKILL);
  agent_->wait();
  start_agent();
  ASSERT_TRUE(eventually([&] {
    return agents().find("takes no tasks: its disk is full") != std::string::npos;
  })) << agents();
  EXPECT_THAT(proffer({"tasks"}).out, HasSubstr("filler"));

  run({"/usr/bin/touch", stop});
  EXPECT_EQ(filler.wait().code, 0) << filler.err();
  EXPECT_EQ(waits.wait().out, "later\n");
}

}  // namespace
}  // namespace proffer::test
