// History entries: each ended task once, and the use of roles.

#include "master/core/role_use.h"
#include "tests/master/cluster.h"

namespace proffer::master::history_test {
namespace {

using proto::EndedTask;
using proto::RoleUse;
using proto::TaskReason;
using proto::TaskState;

template <class T>
std::vector<T> kept(const MasterScenario& s) {
  std::vector<T> found;
  for (const proto::HistoryRecord& record : s.history) {
    if (const T* one = std::get_if<T>(&record)) found.push_back(*one);
  }
  return found;
}

TEST(History, HasATaskOnceItsSchedulerKnowsItsEnd) {
  MasterScenario s;
  TestAgent& a = s.registered_agent("a1");
  TestScheduler& f = s.with_task("t1", "cpus:1;mem:1GiB");
  f.acknowledges_by_itself = false;
  const Time launched = s.now;
  s.now = s.now + seconds(5);
  a.updates(f.id, "t1", TaskState::kRunning);
  a.updates(f.id, "t1", TaskState::kFailed, TaskReason::kCommandExited);
  EXPECT_TRUE(kept<EndedTask>(s).empty());
  for (const proto::Update& update : f.take<proto::Update>()) f.acknowledges(update.status);

  const std::vector<EndedTask> ended = kept<EndedTask>(s);
  ASSERT_EQ(ended.size(), 1u);
  EXPECT_EQ(ended[0].framework, f.id);
  EXPECT_EQ(ended[0].framework_name, "f");
  EXPECT_EQ(ended[0].role, RoleName("default"));
  EXPECT_EQ(ended[0].user, "ada");
  EXPECT_EQ(ended[0].command, "true");
  EXPECT_EQ(ended[0].ask, AskName("t"));
  EXPECT_EQ(to_text(ended[0].amounts), "cpus:1;mem:1024");
  EXPECT_EQ(ended[0].launched_at, launched);
  EXPECT_EQ(ended[0].status.task, TaskId("t1"));
  EXPECT_EQ(ended[0].status.agent, AgentId("a1"));
  EXPECT_EQ(ended[0].status.state, TaskState::kFailed);
  EXPECT_EQ(ended[0].status.reason, TaskReason::kCommandExited);
  EXPECT_EQ(ended[0].status.at, s.now);
}

TEST(History, HasWhatATaskUsed) {
  MasterScenario s;
  TestAgent& a = s.registered_agent("a1");
  TestScheduler& f = s.with_task("t1");
  const proto::TaskUsage usage{.cpu_nanos = 1'500'000'000, .memory_peak_bytes = 1 << 20};
  a.sends(proto::Update{f.id,
                        {.task = TaskId("t1"),
                         .agent = AgentId("a1"),
                         .state = TaskState::kFinished,
                         .sequence = 1,
                         .usage = usage}});
  ASSERT_EQ(kept<EndedTask>(s).size(), 1u);
  EXPECT_EQ(kept<EndedTask>(s)[0].status.usage, usage);
  EXPECT_EQ(s.task(f.id, "t1")->usage, usage);
}

TEST(History, HasLaunchesThatWereRefused) {
  MasterScenario s;
  s.registered_agent("a1");
  TestScheduler& f = s.subscribed("f", "eng/ads");
  f.accepts({}, {TestScheduler::spec("t1", "cpus:1;mem:64")});
  ASSERT_EQ(kept<EndedTask>(s).size(), 1u);
  EXPECT_EQ(kept<EndedTask>(s)[0].status.state, TaskState::kRefused);
  EXPECT_EQ(s.master->status().tasks_ended, 0) << "as /metrics says, which counts updates";
  EXPECT_EQ(kept<EndedTask>(s)[0].role, RoleName("eng/ads"));
}

TEST(History, OfATaskThatOutlivedTheMasterHasItsCommandAndItsLaunch) {
  MasterScenario s;
  TestAgent& a = s.registered_agent("a1");
  TestScheduler& f = s.with_task("t1");
  const Time launched = s.now;
  a.updates(f.id, "t1", TaskState::kRunning);
  s.now = s.now + seconds(30);
  s.restart_master();
  a.registers();
  f.subscribes();
  s.settle();
  a.updates(f.id, "t1", TaskState::kFinished);
  ASSERT_EQ(kept<EndedTask>(s).size(), 1u);
  EXPECT_EQ(kept<EndedTask>(s)[0].command, "true");
  EXPECT_EQ(kept<EndedTask>(s)[0].launched_at, launched);
}

TEST(History, HasNoLaunchOfATimeToCome) {
  MasterScenario s;
  TestAgent& a = s.registered_agent("a1");
  TestScheduler& f = s.with_task("t1");
  a.tasks.begin()->second.launched_at = Time::far_future();
  s.restart_master();
  a.registers();
  f.subscribes();
  EXPECT_EQ(s.task(f.id, "t1")->launched_at, s.now);
}

TEST(History, HasWhatRolesUsedByTheMinute) {
  MasterScenario s;
  s.now = Time::from_nanos(1'200'000'000'000);  // a whole minute
  TestAgent& a = s.registered_agent("a1");
  TestScheduler& f = s.with_task("t1", "cpus:2;mem:1GiB");
  a.updates(f.id, "t1", TaskState::kRunning);
  const Time launched = s.now;
  s.advance(seconds(60));
  std::vector<RoleUse> uses = kept<RoleUse>(s);
  ASSERT_EQ(uses.size(), 1u);
  EXPECT_EQ(uses[0], (RoleUse{.role = RoleName("default"),
                              .from = launched,
                              .until = launched + seconds(60),
                              .seconds = ResourceVector::of(2 * 60'000, 1024 * 60'000)}));

  s.advance(seconds(10));
  a.updates(f.id, "t1", TaskState::kFinished);
  s.advance(seconds(50));
  uses = kept<RoleUse>(s);
  ASSERT_EQ(uses.size(), 2u);
  EXPECT_EQ(uses[1].seconds, ResourceVector::of(2 * 10'000, 1024 * 10'000));
  // Without use there is no entry.
  s.advance(minutes(5));
  EXPECT_EQ(kept<RoleUse>(s).size(), 2u);
}

TEST(History, OfALifeThatEndsInOrderIsWhole) {
  MasterScenario s;
  s.registered_agent("a1");
  s.with_task("t1", "cpus:1;mem:64");
  s.now = s.now + seconds(3);
  const std::vector<proto::HistoryRecord> last = s.master->last_history(s.now);
  ASSERT_EQ(last.size(), 3u);
  EXPECT_EQ(std::get<RoleUse>(last[0]).seconds, ResourceVector::of(3'000, 64 * 3'000));
  EXPECT_EQ(std::get<proto::RoleWait>(last[1]).waited,
            (std::vector<WaitSum>{{WaitReason::kStart, 3'000, 1}}));
  EXPECT_EQ(std::get<proto::LifeEnded>(last[2]).at, s.now);
}

TEST(History, IsNotMadeUnlessItIsKept) {
  MasterScenario s;
  s.options.keeps_history = false;
  s.restart_master();
  TestAgent& a = s.registered_agent("a1");
  TestScheduler& f = s.with_task("t1");
  a.updates(f.id, "t1", TaskState::kFinished);
  s.advance(minutes(2));
  EXPECT_TRUE(s.history.empty());
}

TEST(RoleUses, CountExactlyOverManySpans) {
  RoleUses uses;
  const RoleName role("r");
  Time now = Time::from_nanos(7);
  uses.take(role, ResourceVector::of(1, 0), now);
  int64_t sum = 0;
  for (int i = 0; i < 300; ++i) {  // A third of a second each: a third of a milli-unit-second.
    now = now + Duration::nanos(333'333'333);
    for (const RoleUse& use : uses.cut(now)) sum += use.seconds[ResourceKind::kCpus];
  }
  EXPECT_EQ(sum, 99);
}

TEST(RoleUses, OfTheLargestClusterDoNotOverflow) {
  RoleUses uses;
  const RoleName role("r");
  uses.take(role, ResourceVector::of(kAmountMax, 1), Time());
  const std::vector<RoleUse> told = uses.cut(Time() + hours(24 * 365));
  ASSERT_EQ(told.size(), 1u);
  EXPECT_EQ(told[0].seconds[ResourceKind::kCpus], kAmountMax);
  uses.give(role, ResourceVector::of(kAmountMax, 1), Time() + hours(24 * 365));
  EXPECT_TRUE(uses.cut(Time() + hours(24 * 365)).empty());
  EXPECT_TRUE(uses.empty());
}

}  // namespace
}  // namespace proffer::master::history_test
