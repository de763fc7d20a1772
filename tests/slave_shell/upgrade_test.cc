// The checkpoint of an agent of an earlier version, read by this one. The file was written by the
// agent of commit 5fce925, the last one before tasks had users and limits: of three tasks one ran,
// one had ended with exit code 7 while the master was away, and the end of one was acknowledged;
// then the agent was killed with -9.

#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/check.h"
#include "slave/shell/checkpoint.h"
#include "tests/net/support.h"
#include "tests/slave/agent_scenario.h"

namespace proffer::agent::upgrade_test {
namespace {

using scenario::AgentScenario;
using testing::UnorderedElementsAre;

class Upgrade : public testing::Test {
 protected:
  Upgrade() {
    std::filesystem::copy_file(
        std::string(PROFFER_SOURCE_DIR) + "/tests/slave_shell/fixtures/checkpoint_before_users.log",
        home_.path() / "checkpoint.log");
  }
  Checkpoint open() const {
    Result<Checkpoint> found = open_checkpoint(home_.path(), 3, "boot-1 1:2");
    CHECK(found) << found.error().message();
    return *std::move(found);
  }

  net_test::TempDir home_;
};

TEST_F(Upgrade, AllThatTheCheckpointNamesIsKnown) {
  const Checkpoint found = open();
  EXPECT_EQ(found.remembered, Remembered::kAll);
  std::vector<std::string> tasks;
  for (const proto::CheckpointRecord& record : found.snapshot.records) {
    const auto* task = std::get_if<proto::TaskRecord>(&record);
    if (task == nullptr || task->run == 0) continue;
    tasks.push_back(text(task->framework.str(), "/", task->spec.id.str(), " run ", task->run, " ",
                         to_text(task->assignment.resources), " ", task->spec.command));
    EXPECT_EQ(task->assignment.user, "");
    EXPECT_EQ(task->spec.kill_grace, kKillGrace);
  }
  EXPECT_THAT(tasks,
              testing::IsSupersetOf(
                  {"sleeper-1-1/sleeper-1 run 1 cpus:1;mem:64 date >> $PROFFER_SANDBOX/starts; "
                   "echo $$; exec sleep 1000",
                   "shell-1-2/shell-1 run 3 cpus:1;mem:64 date >> starts; trap \"exit 7\" TERM; "
                   "while sleep 0.2; do :; done"}));
}

// After a boot nothing of it runs any more.
TEST_F(Upgrade, TheMasterHearsOfEachTaskWhatBecameOfIt) {
  AgentScenario s("cpus:4;mem:1024;ports:[34000-34009]");
  s.options.is_root = true;
  s.options.user = "root";
  s.restart(open().snapshot);
  s.tick();
  s.connect();
  std::vector<std::string> told;
  for (const proto::RegisterTasks& page : s.told_master<proto::RegisterTasks>()) {
    for (const proto::AgentTask& task : page.tasks) {
      for (const proto::TaskStatus& update : task.unacknowledged) {
        told.push_back(AgentScenario::line_of(update));
      }
    }
  }
  EXPECT_THAT(told, UnorderedElementsAre("shell-1 2 failed command_exited",
                                         "sleeper-1 1048578 lost agent_restarted"));
  // Nothing is started again.
  EXPECT_TRUE(s.take<StartExecutor>().empty());
}

}  // namespace
}  // namespace proffer::agent::upgrade_test
