// A full disk: the agent takes no tasks, reports running ones as usual, and the master knows why.

#include "tests/slave/agent_scenario.h"

namespace proffer::agent::trouble_test {
namespace {

using proto::TaskState;
using scenario::AgentScenario;
using scenario::command_task;
using Lines = std::vector<std::string>;

constexpr int64_t kMib = int64_t{1} << 20;
constexpr DiskSpace kFull = {.is_low = true, .free_bytes = 3 * kMib, .reserve_bytes = 256 * kMib};
constexpr DiskSpace kRoom = {.free_bytes = 900 * kMib, .reserve_bytes = 256 * kMib};

TEST(Trouble, OfTheDiskIsToldOnceAndKeepsTasksAway) {
  AgentScenario s;
  s.registered();
  const PeerId peer = s.running("t1");
  s.acknowledge("t1", 1);
  s.updates();
  s.step(kFull);
  s.step(kFull);
  const auto told = s.told_master<proto::AgentTrouble>();
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].why, "its disk is full: 3 MiB are free, 256 MiB must stay free");

  // A refusal is not stored: it would be one more record on a full disk.
  const size_t before = s.log.size();
  s.run(command_task("t2"));
  EXPECT_EQ(s.updates(), (Lines{"t2 1 refused agent_full"}));
  EXPECT_EQ(s.log.size(), before);
  s.tell(peer, "t1", TaskState::kFinished, 2);
  EXPECT_EQ(s.updates(), (Lines{"t1 2 finished none"}));

  s.step(kRoom);
  EXPECT_EQ(s.told_master<proto::AgentTrouble>(), std::vector<proto::AgentTrouble>(1));
  s.run(command_task("t3"));
  EXPECT_TRUE(s.updates().empty());
}

// A million empty files use up a disk that has free bytes.
TEST(Trouble, OfFilesIsToldAsSuch) {
  AgentScenario s;
  s.registered();
  DiskSpace few = kRoom;
  few.is_low_on_files = true;
  few.free_files = 12;
  few.reserve_files = 10'000;
  s.step(few);
  const auto told = s.told_master<proto::AgentTrouble>();
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].why, "its disk is full: only 12 more files fit, 10000 must stay free");
  s.step(kRoom);
  EXPECT_EQ(s.told_master<proto::AgentTrouble>(), std::vector<proto::AgentTrouble>(1));
}

TEST(Trouble, IsPartOfARegistration) {
  AgentScenario s;
  s.step(kFull);
  s.connect();
  const auto registered = s.told_master<proto::RegisterAgent>();
  ASSERT_EQ(registered.size(), 1u);
  EXPECT_NE(registered[0].trouble, "");
  // A change before the answer is reported after it.
  s.step(kRoom);
  EXPECT_TRUE(s.told_master<proto::AgentTrouble>().empty());
  s.welcome();
  EXPECT_EQ(s.told_master<proto::AgentTrouble>(), std::vector<proto::AgentTrouble>(1));
}

}  // namespace
}  // namespace proffer::agent::trouble_test
