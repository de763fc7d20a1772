// Gangs never run in part: the end of one before all have run is the end of all.

#include "master/core/gangs.h"

#include "tests/master/cluster.h"

namespace proffer::master::gangs_test {
namespace {

using proto::TaskReason;
using proto::TaskState;

const FrameworkId kF("f");

std::vector<TaskId> ids(std::initializer_list<const char*> names) {
  std::vector<TaskId> out;
  for (const char* name : names) out.emplace_back(name);
  return out;
}

TEST(Gangs, TheEndOfOneBeforeAllHaveRunIsTheEndOfAll) {
  Gangs gangs;
  gangs.add(kF, 1, TaskId("t1"), false);
  gangs.add(kF, 1, TaskId("t2"), false);
  gangs.add(kF, 1, TaskId("t3"), false);
  gangs.add(kF, 2, TaskId("u1"), false);
  gangs.ran(kF, 1, TaskId("t1"));
  EXPECT_EQ(gangs.end(kF, 1, TaskId("t1")), ids({"t2", "t3"}));
  EXPECT_TRUE(gangs.end(kF, 1, TaskId("t2")).empty());  // It is known.
  EXPECT_TRUE(gangs.end(kF, 1, TaskId("t3")).empty());
  EXPECT_EQ(gangs.size(), 1u);
}

TEST(Gangs, OnceAllHaveRunEachEndsByItself) {
  Gangs gangs;
  gangs.add(kF, 1, TaskId("t1"), false);
  gangs.add(kF, 1, TaskId("t2"), false);
  gangs.ran(kF, 1, TaskId("t1"));
  gangs.ran(kF, 1, TaskId("t2"));
  EXPECT_TRUE(gangs.end(kF, 1, TaskId("t1")).empty());
  EXPECT_TRUE(gangs.end(kF, 1, TaskId("t2")).empty());
  EXPECT_EQ(gangs.size(), 0u);
}

TEST(Gangs, OneThatIsFoundLateEndsWithAGangThatHasFailed) {
  Gangs gangs;
  gangs.add(kF, 1, TaskId("t1"), true);
  gangs.add(kF, 1, TaskId("t2"), false);
  EXPECT_EQ(gangs.end(kF, 1, TaskId("t2")), ids({"t1"}));
  EXPECT_TRUE(gangs.add(kF, 1, TaskId("t3"), true));
}

// A master that was restarted hears of a gang of which one task has not run yet.
TEST(Gangs, AreKnownAgainFromWhatAgentsTell) {
  MasterScenario s;
  TestAgent& a = s.registered_agent("a1");
  TestScheduler& f = s.subscribed("f");
  s.restart_master();
  for (const char* name : {"t1", "t2"}) {
    proto::AgentTask task;
    task.framework = f.id;
    task.task = TaskId(name);
    task.resources = {.amounts = *parse_shape("cpus:1")};
    task.claim = {
        .slices = {{.resources = task.resources}}, .role = RoleName("default"), .gang = 7};
    a.tasks.emplace(std::pair(f.id, TaskId(name)), task);
  }
  a.registers();
  f.subscribes();
  a.updates(f.id, "t1", TaskState::kRunning);
  a.take<proto::KillTask>();
  a.updates(f.id, "t2", TaskState::kFailed, TaskReason::kLaunchFailed);
  EXPECT_EQ(a.take_one<proto::KillTask>().task, TaskId("t1"));
  f.told();
  a.updates(f.id, "t1", TaskState::kKilled, TaskReason::kKilledByScheduler);
  EXPECT_EQ(f.told(), (Lines{"t1 killed gang_incomplete"}));
}

}  // namespace
}  // namespace proffer::master::gangs_test
