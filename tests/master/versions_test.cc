// Protocol versions N and N-1 work together: agents and schedulers of the previous version with a
// master of this version.

#include "tests/master/cluster.h"

namespace proffer::master::versions_test {
namespace {

using proto::TaskReason;
using proto::TaskState;

TEST(Versions, PeersOfTheVersionBeforeRunTheirTasks) {
  MasterScenario s;
  TestAgent& a = s.agent("a1");
  a.version = proto::kProtocolVersionMin;
  a.registers();
  TestScheduler& f = s.scheduler("f");
  f.version = proto::kProtocolVersionMin;
  f.subscribes();
  f.asks("cpus:1;mem:1GiB", 1);
  s.settle();
  ASSERT_EQ(f.offers.size(), 1u);
  f.accepts({f.offers[0]}, {TestScheduler::spec("t1", "cpus:1;mem:1GiB")});
  ASSERT_TRUE(a.has(f.id, "t1"));
  a.updates(f.id, "t1", TaskState::kRunning);
  a.updates(f.id, "t1", TaskState::kFinished, TaskReason::kCommandExited);
  EXPECT_EQ(f.told(), (Lines{"t1 running", "t1 finished command_exited"}));
  EXPECT_FALSE(a.has(f.id, "t1"));
  s.advance(minutes(1));
  EXPECT_TRUE(a.is_connected());
  EXPECT_TRUE(f.is_connected());
}

TEST(Versions, ATaskWhoseAgentTellsNoClaimCountsInItsFrameworksRole) {
  MasterScenario s;
  TestAgent& old = s.agent("a1");
  old.version = proto::kProtocolVersionMin;
  old.registers();
  TestScheduler& f = s.with_task("t1");
  old.updates(f.id, "t1", TaskState::kRunning);
  s.restart_master();
  old.registers();
  f.subscribes();
  // The agent has no ticket for it: its scheduler has to name it.
  f.sends(proto::Reconcile{.tasks = {TaskId("t1")}, .agents = {AgentId("a1")}});
  s.settle();
  EXPECT_EQ(s.task(f.id, "t1")->state, TaskState::kRunning);
  EXPECT_EQ(s.allocated(), "cpus:1;mem:1024");
  EXPECT_EQ(s.master->roles().at(0).allocated, *parse_shape("cpus:1;mem:1GiB"));
}

TEST(Versions, AnAgentMayComeBackInTheNextVersion) {
  MasterScenario s;
  TestAgent& a = s.agent("a1");
  a.version = proto::kProtocolVersionMin;
  a.registers();
  TestScheduler& f = s.with_task("t1");
  a.updates(f.id, "t1", TaskState::kRunning);
  a.lose();
  a.version = proto::kProtocolVersion;
  a.registers();
  s.settle();
  EXPECT_EQ(s.task(f.id, "t1")->state, TaskState::kRunning);
  EXPECT_EQ(s.allocated(), "cpus:1;mem:1024");
}

}  // namespace
}  // namespace proffer::master::versions_test
