// Checkpoints of agents of earlier versions, read by the current one. Real processes wrote each of
// them (tests/upgrade/recorded_test.cc; that of 5fce925, the last version before tasks had users
// and limits, was made by hand in the same way). Of three tasks, one ran, one had ended with exit
// code 7 while the master was away, and the end of one was acknowledged; then the agent was killed
// with -9.

#include "slave/shell/checkpoint.h"

#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/check.h"
#include "tests/net/support.h"
#include "tests/slave/agent_scenario.h"
#include "tests/upgrade/recorded.h"

namespace proffer::upgrade_test {
namespace {

namespace fs = std::filesystem;
using agent::Checkpoint;
using agent::scenario::AgentScenario;
using testing::UnorderedElementsAre;

struct Recorded {
  std::string commit = {};
  std::string sleeper = {};  // the command that ran
  std::string shell = {};    // the command that ended
};

// Its form in failure messages.
void PrintTo(const Recorded& recorded, std::ostream* out) { *out << recorded.commit; }

std::vector<Recorded> all_recorded() {
  std::vector<Recorded> all = {
      {"5fce925", "date >> $PROFFER_SANDBOX/starts; echo $$; exec sleep 1000",
       "date >> starts; trap \"exit 7\" TERM; while sleep 0.2; do :; done"}};
  for (const Version& version : versions()) all.push_back({version.commit, kSleeper, kShell});
  return all;
}

class PreviousCheckpoint : public testing::TestWithParam<Recorded> {
 protected:
  PreviousCheckpoint() {
    const Version version{.commit = GetParam().commit};
    for (const auto& file : fs::directory_iterator(version.fixture(""))) {
      const std::string name = file.path().filename();
      if (name == "checkpoint.log" || name == "identity") {
        fs::copy_file(file.path(), home_.path() / name);
      }
    }
  }
  Checkpoint open() const {
    Result<Checkpoint> found = agent::open_checkpoint(home_.path(), 3, "boot-1 1:2");
    CHECK(found) << found.error().message();
    return *std::move(found);
  }

  net_test::TempDir home_;
};
INSTANTIATE_TEST_SUITE_P(Of, PreviousCheckpoint, testing::ValuesIn(all_recorded()),
                         [](const auto& of) { return of.param.commit; });

TEST_P(PreviousCheckpoint, AllThatItNamesIsKnown) {
  const Checkpoint found = open();
  EXPECT_EQ(found.remembered, agent::Remembered::kAll);
  std::vector<std::string> tasks;
  for (const proto::CheckpointRecord& record : found.snapshot.records) {
    const auto* task = std::get_if<proto::TaskRecord>(&record);
    if (task == nullptr || task->run == 0) continue;
    tasks.push_back(text(task->framework.str(), "/", task->spec.id.str(), " run ", task->run, " ",
                         to_text(task->assignment.resources), " ", task->spec.command));
    EXPECT_EQ(task->spec.kill_grace, kKillGrace);
  }
  EXPECT_THAT(tasks, testing::IsSupersetOf(
                         {text("sleeper-1-1/sleeper-1 run 1 cpus:1;mem:64 ", GetParam().sleeper),
                          text("shell-1-2/shell-1 run ", GetParam().commit == "5fce925" ? 3 : 2,
                               " cpus:1;mem:64 ", GetParam().shell)}));
}

// After a reboot, none of its processes exists.
TEST_P(PreviousCheckpoint, TheMasterHearsOfEachTaskWhatBecameOfIt) {
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
  // No task is started again.
  EXPECT_TRUE(s.take<agent::StartExecutor>().empty());
}

}  // namespace
}  // namespace proffer::upgrade_test
