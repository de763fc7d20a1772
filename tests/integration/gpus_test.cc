// Tasks see the GPUs that they asked for, and no others. The test needs no GPU: one agent gets its
// GPUs by a flag, the other asks a program that prints like nvidia-smi.

#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include "common/text.h"
#include "tests/integration/processes.h"

namespace proffer::test {
namespace {

using testing::HasSubstr;

constexpr const char* kShow =
    "echo \"[${CUDA_VISIBLE_DEVICES-unset}] [${NVIDIA_VISIBLE_DEVICES-unset}]\"";

// The cluster's own agent is too small for any task.
class GpusOfAnAgent : public testing::Test {
 protected:
  std::string told(Words words) const {
    words.insert(words.begin(), "run");
    words.insert(words.end(), {"--env", "CUDA_VISIBLE_DEVICES=mine", "--", kShow});
    const Exit done = cluster_.proffer(words);
    EXPECT_EQ(done.code, 0) << done.err;
    return done.out;
  }
  bool has_joined(const std::string& name) const {
    return eventually(
        [&] { return cluster_.proffer({"agents"}).out.find(name) != std::string::npos; });
  }
  static void end(Process& agent) {
    agent.kill(SIGTERM);
    EXPECT_EQ(agent.wait().code, 0) << agent.err();
  }

  const Cluster cluster_{{.resources = "cpus:0.1;mem:16"}};
};

TEST_F(GpusOfAnAgent, AreThoseOfItsDeclaredList) {
  const auto agent = cluster_.start_agent("declared", "cpus:4;mem:1024;gpus:[1,3]");
  ASSERT_TRUE(has_joined("declared"));
  EXPECT_EQ(told({"--gpus", "1"}), "[1] [1]\n");
  EXPECT_EQ(told({"--gpus", "2"}), "[1,3] [1,3]\n");
  EXPECT_EQ(told({"--gpus", "0.3"}), "[1] [1]\n");
  EXPECT_EQ(told({}), "[] []\n");
  // Two tasks at once get different GPUs.
  const auto first = cluster_.start(
      {"run", "--name", "holds", "--gpus", "1", "--", std::string(kShow) + "; exec sleep 1000"});
  ASSERT_TRUE(first->line_with("[1] [1]"));
  EXPECT_EQ(told({"--gpus", "1"}), "[3] [3]\n");
  // A command in a task sees the task's GPUs.
  EXPECT_EQ(cluster_.proffer({"exec", "holds-1", "--", kShow}).out, "[1] [1]\n");
  first->kill(SIGINT);
  first->wait();
  end(*agent);
}

TEST_F(GpusOfAnAgent, AreFoundByTheToolsOfTheMachine) {
  const TemporaryDirectory tools;
  write_file(tools / "nvidia-smi",
             "#!/bin/sh\necho 'GPU 0: T4 (UUID: GPU-aa)'\necho 'GPU 1: T4 (UUID: GPU-bb)'\n");
  std::filesystem::permissions(tools / "nvidia-smi", std::filesystem::perms(0755));
  Process agent(cluster_.agent_command("found", ""), {{"PATH", tools.path() + ":/usr/bin:/bin"}});
  ASSERT_TRUE(has_joined("found"));
  EXPECT_THAT(cluster_.proffer({"agents"}).out, HasSubstr("gpus 0 of 2"));
  EXPECT_EQ(told({"--gpus", "2"}), "[GPU-aa,GPU-bb] [GPU-aa,GPU-bb]\n");
  EXPECT_EQ(told({}), "[] []\n");
  end(agent);
}

// Without a driver an open of a device fails, too; one that is hidden is not permitted at all.
TEST_F(GpusOfAnAgent, TheKernelHidesTheOthers) {
  if (geteuid() != 0 || access("/sys/fs/cgroup/devices/cgroup.procs", W_OK) != 0) {
    GTEST_SKIP() << "not run: needs root and the controller of devices of cgroups v1";
  }
  const auto agent =
      cluster_.start_agent("hiding", "cpus:4;mem:1024;gpus:[0-1]",
                           {"--limits=required", text("--cgroup_parent=proffer-test-", getpid())});
  ASSERT_TRUE(has_joined("hiding"));
  EXPECT_THAT(cluster_.proffer({"agents"}).out, HasSubstr("cpu, gpus, memory, pids"));
  const std::string look =
      "for i in 0 1; do mknod gpu$i c 195 $i 2>/dev/null && echo sees $i; rm -f gpu$i; done; echo "
      ".";
  const auto seen = [&](Words words) {
    words.insert(words.begin(), "run");
    words.insert(words.end(), {"--", look});
    return cluster_.proffer(words).out;
  };
  const auto first = cluster_.start(
      {"run", "--name", "holds", "--gpus", "1", "--", look + " echo ready; exec sleep 1000"});
  ASSERT_TRUE(first->line_with("sees 0"));
  ASSERT_TRUE(first->line_with("ready"));
  EXPECT_EQ(seen({"--gpus", "0.5"}), "sees 1\n.\n");
  EXPECT_EQ(seen({}), ".\n");
  EXPECT_EQ(seen({"--gpus", "0.5"}), "sees 1\n.\n");
  EXPECT_EQ(cluster_.proffer({"exec", "holds-1", "--", look}).out, "sees 0\n.\n");
  first->kill(SIGINT);
  first->wait();
  EXPECT_EQ(seen({"--gpus", "2"}), "sees 0\nsees 1\n.\n");
  end(*agent);
}

}  // namespace
}  // namespace proffer::test
