// An agent whose network fails in one direction, and an agent whose work directory was copied to a
// second machine. Machines are network namespaces.

#include <csignal>
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/text.h"
#include "tests/integration/processes.h"
#include "tests/machines/joined.h"

namespace proffer::cut_off_test {
namespace {

using namespace test;
using testing::HasSubstr;

class CutOff : public JoinedMachines {
 protected:
  // A task on the agent's machine that runs until it is killed; `proof` gets a line when it starts.
  std::unique_ptr<Process> start_task(const std::string& proof) const {
    auto task = std::make_unique<Process>(
        master_machine_->command({home_ / "proffer", "run", "--master=" + socket_path(), "--",
                                  text("echo $$ >> ", proof, "; exec sleep 1000")}),
        master_machine_->environment());
    EXPECT_TRUE(eventually([&] { return read_file(proof).ends_with('\n'); })) << task->err();
    return task;
  }
  bool tasks_show(const std::string& state) const {
    return operates({"tasks"}).out.find(" " + state) != std::string::npos;
  }
  // Whether `proffer agents` shows this state.
  bool agents_show(const std::string& state) const {
    return operates({"agents"}).out.find(" " + state) != std::string::npos;
  }
};

// Packets from the master are dropped, packets from the agent arrive.
TEST_F(CutOff, OneWayOnlyIsUnreachableAndGoesOnWithItsTaskWhenItIsBack) {
  join_agent("a2");
  start_agent();
  const std::string proof = home_ / "proof";
  const auto task = start_task(proof);
  ASSERT_TRUE(eventually([&] { return tasks_show("running"); }));
  const Words swallow = {"ip", "route", "add", "blackhole", "10.231.1.2/32"};
  ASSERT_EQ(master_machine_->runs(swallow).code, 0);
  EXPECT_TRUE(eventually([&] { return agents_show("unreachable"); })) << master_->err();
  EXPECT_TRUE(eventually([&] { return tasks_show("unreachable"); }));
  ASSERT_EQ(master_machine_->runs({"ip", "route", "del", "blackhole", "10.231.1.2/32"}).code, 0);
  EXPECT_TRUE(eventually([&] { return serves("a2"); })) << agent_->err();
  EXPECT_TRUE(eventually([&] { return tasks_show("running"); }));
  EXPECT_EQ(split(trimmed(read_file(proof)), '\n').size(), 1u) << "it was started twice";
  task->kill(SIGINT);
  task->wait();
}

// The copy includes its key. The connected machine keeps its place and its task.
TEST_F(CutOff, ACopyOfItsWorkDirectoryOnASecondMachineIsRefusedAndToldSo) {
  if (run({"unshare", "--mount", "true"}).code != 0) {
    GTEST_SKIP() << "not run: `unshare --mount` fails, as where / is no mount point (a chroot)";
  }
  join_agent("a2");
  start_agent();
  const std::string proof = home_ / "proof";
  const auto task = start_task(proof);
  ASSERT_TRUE(eventually([&] { return tasks_show("running"); }));

  fs::create_directories(home_ / "copy");
  for (const char* file : {"checkpoint.log", "identity"}) {
    fs::copy_file(home_ / text("agent/", file), home_ / text("copy/", file));
  }
  fs::copy(*agent_machine_ / "config", *user_machine_ / "config", fs::copy_options::recursive);
  // Namespaces on one kernel share the boot id, so this machine gets another one.
  write_file(home_ / "boot", "11111111-2222-3333-4444-555555555555\n");
  Words words = {
      "unshare",
      "--mount",
      "--",
      "sh",
      "-c",
      text("mount --bind ", home_ / "boot", " /proc/sys/kernel/random/boot_id && exec \"$@\""),
      "sh"};
  const Words agent = agent_command("copy", {"--master=10.231.2.1:5050"});
  words.insert(words.end(), agent.begin(), agent.end());
  const auto copy = user_machine_->starts(words);
  EXPECT_TRUE(copy->complains("agent 'a2' is connected from another machine")) << copy->err();
  EXPECT_TRUE(master_->complains("two machines say that they are this agent")) << master_->err();
  EXPECT_TRUE(serves("a2"));
  EXPECT_TRUE(tasks_show("running"));
  copy->kill(SIGTERM);
  copy->wait();
  EXPECT_TRUE(serves("a2"));
  task->kill(SIGINT);
  task->wait();
}

}  // namespace
}  // namespace proffer::cut_off_test
