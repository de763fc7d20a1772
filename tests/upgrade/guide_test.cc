// Runs the commands of docs/guides/upgrade.md in their order while a task runs. The test replaces
// programs machine by machine in place of apt-get. In each ./test both versions are the current
// one, which shows that the commands work; in the long form the first one is an earlier version.

#include <csignal>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "tests/support/long.h"
#include "tests/support/shell_blocks.h"
#include "tests/upgrade/cluster.h"

namespace proffer::upgrade_test {
namespace {

using namespace test;
using testing::HasSubstr;

constexpr const char* kRegistry = "/var/lib/proffer/";

class UpgradeGuide : public testing::TestWithParam<Version> {
 protected:
  void SetUp() override {
    if (GetParam().commit == "today") return;
    if (!test::is_long()) GTEST_SKIP() << "not run: PROFFER_LONG is not set";
    if (!GetParam().is_built()) GTEST_SKIP() << "not run: tools/previous has not built it";
  }
  // An executable script with this name, found before all other programs.
  void stand_in(const std::string& name, const std::string& script) const {
    write_file(tools_ / name, "#!/bin/sh\n" + script);
    ASSERT_EQ(::chmod((tools_ / name).c_str(), 0755), 0);
  }
  // Runs a block; `replace` acts in place of its apt-get, and is called while the block runs.
  void run_block(const MixedCluster& cluster, Of of, const ShellBlock& block,
                 const std::function<void(bool goes_back)>& replace) const {
    stand_in("sudo", "exec \"$@\"\n");
    stand_in("proffer", "exec " + cluster.program(of, "proffer") + " \"$@\"\n");
    stand_in("apt-get", text("echo \"$*\" > ", tools_ / "asked.new", "; mv ", tools_ / "asked.new",
                             " ", tools_ / "asked", "; until [ -e ", tools_ / "done",
                             " ]; do sleep 0.02; done; rm ", tools_ / "done", "\n"));
    std::string script = block.script;
    for (size_t at = 0; (at = script.find(kRegistry, at)) != std::string::npos;) {
      script.replace(at, std::string(kRegistry).size(), cluster.path(""));
    }
    Process shell({"/bin/sh", "-ec", text("PATH=", tools_.path(), ":$PATH; ", script)},
                  {{"PROFFER_MASTER", cluster.socket()}});
    if (script.find("apt-get") != std::string::npos) {
      ASSERT_TRUE(eventually([&] { return std::filesystem::exists(tools_ / "asked"); }))
          << shell.err();
      const std::string asked = read_file(tools_ / "asked");
      std::filesystem::remove(tools_ / "asked");
      ASSERT_TRUE(asked.starts_with("install ")) << asked;
      const bool goes_back = asked.find("--allow-downgrades") != std::string::npos;
      replace(goes_back);
      // From now on the machine also has the other version's command.
      stand_in(
          "proffer",
          "exec " + cluster.program(goes_back ? Of::kBefore : Of::kToday, "proffer") + " \"$@\"\n");
      write_file(tools_ / "done", "");
    }
    const Exit ended = shell.wait();
    EXPECT_EQ(ended.code, 0) << block.where << "\n" << script << ended.out << ended.err;
  }

  TemporaryDirectory tools_;
};
INSTANTIATE_TEST_SUITE_P(From, UpgradeGuide, testing::ValuesIn(versions_by_socket()), name_of);

TEST_P(UpgradeGuide, ItsCommandsWorkInItsOrderWhileATaskRuns) {
  const std::vector<ShellBlock> blocks =
      shell_blocks(read_file(std::string(PROFFER_SOURCE_DIR) + "/docs/guides/upgrade.md"));
  MixedCluster cluster(GetParam());
  cluster.set_master(Of::kBefore);
  cluster.set_agent(Of::kBefore);
  ASSERT_TRUE(eventually([&] { return cluster.has_agent(Of::kToday); })) << cluster.agent().err();
  const auto task = cluster.start(
      Of::kBefore,
      {"run", "--", "echo begun; until [ -e " + cluster.path("end") + " ]; do sleep 0.05; done"});
  ASSERT_TRUE(task->line_with("begun")) << task->err();

  int replaced = 0;
  Of master = Of::kBefore;
  Of agent = Of::kBefore;
  for (const ShellBlock& block : blocks) {
    const bool is_masters = block.where.starts_with("On the master's machine");
    ASSERT_TRUE(is_masters || block.where.starts_with("On an agent's machine")) << block.where;
    run_block(cluster, is_masters ? master : agent, block, [&](bool goes_back) {
      ++replaced;
      Of& changed = is_masters ? master : agent;
      changed = goes_back ? Of::kBefore : Of::kToday;
      is_masters ? cluster.set_master(changed) : cluster.set_agent(changed);
      ASSERT_TRUE(eventually([&] { return cluster.has_agent(Of::kToday); }))
          << cluster.agent().err();
    });
    ASSERT_FALSE(HasFailure());
    EXPECT_TRUE(is_alive(task->pid())) << block.where;
  }
  EXPECT_EQ(replaced, 4);
  EXPECT_TRUE(std::filesystem::exists(cluster.path("before-upgrade")));
  write_file(cluster.path("end"), "");
  const Exit ended = task->wait();
  EXPECT_EQ(ended.code, 0) << ended.err;
}

}  // namespace
}  // namespace proffer::upgrade_test
