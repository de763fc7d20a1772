// Frameworks that remember their tasks: the entries in the store, and ids that stay used across
// restarts of all peers.

#include "master/core/remembered.h"

#include "tests/master/cluster.h"

namespace proffer::master::remembered_test {
namespace {

using proto::TaskReason;
using proto::TaskState;
using Lines = std::vector<std::string>;

class Remembered : public testing::Test {
 protected:
  Remembered() : a(s.registered_agent("a1")), f(s.scheduler("f")) {
    f.subscribe.remembers_tasks = true;
    f.subscribes();
    s.settle();
    f.told();
  }

  // Declares an ask, and launches a task with this id on the offer.
  void launch(const std::string& task) {
    f.asks("cpus:1;mem:1GiB", 1);
    s.settle();
    ASSERT_EQ(f.offers.size(), 1u);
    f.accepts({f.offers.front()}, {TestScheduler::spec(task, "cpus:1;mem:1GiB")});
    s.settle();
  }
  // The first word of its entry; empty if there is none.
  std::string entry(const std::string& task) {
    const proto::StoreResult got =
        f.stores({{.kind = proto::StoreOperation::Kind::kGet, .key = "tasks/" + task}});
    const std::string& value = got.outcomes.at(0).value;
    return value.substr(0, value.find(' '));
  }
  // Restarts the master and the scheduler, which find the durable state.
  void restart_both() {
    f.lose();
    s.restart_master();
    f.subscribes();
    s.settle();
    f.told();
  }

  MasterScenario s;
  TestAgent& a;
  TestScheduler& f;
};

TEST_F(Remembered, LaunchIsWrittenWhenSentAndEndWhenAcknowledged) {
  launch("t1");
  EXPECT_TRUE(a.has(f.id, "t1"));
  EXPECT_EQ(entry("t1"), "launched");
  f.acknowledges_by_itself = false;
  a.updates(f.id, "t1", TaskState::kFinished);
  EXPECT_EQ(entry("t1"), "launched") << "its scheduler may die before it has heard";
  f.acknowledges(f.take<proto::Update>().back().status);
  EXPECT_EQ(entry("t1"), "finished");
}

TEST_F(Remembered, AnIdIsRefusedForAsLongAsItsEntryIsThere) {
  launch("t1");
  a.updates(f.id, "t1", TaskState::kFinished);
  f.told();
  restart_both();
  a.registers();
  launch("t1");
  EXPECT_EQ(f.told(), Lines{"t1 refused duplicate_task_id"});
  EXPECT_FALSE(a.has(f.id, "t1"));
  f.stores({{.kind = proto::StoreOperation::Kind::kDelete, .key = "tasks/t1"}});
  launch("t1");
  EXPECT_TRUE(a.has(f.id, "t1"));
}

TEST_F(Remembered, LaunchThatTheAgentNeverReceivedIsRefusedAndItsIdIsFree) {
  a.receives_tasks = false;
  launch("t1");
  restart_both();
  f.sends(proto::Reconcile{});
  EXPECT_EQ(f.take_one<proto::Reconciled>().missing_agents, 1u);
  EXPECT_EQ(f.told(), Lines{});
  a.receives_tasks = true;
  a.registers();
  EXPECT_EQ(f.told(), Lines{"t1 refused task_unknown"});
  EXPECT_EQ(f.take_one<proto::Reconciled>().missing_agents, 0u);
  EXPECT_EQ(entry("t1"), "");
  launch("t1");
  EXPECT_TRUE(a.has(f.id, "t1"));
}

TEST_F(Remembered, ATaskThatRunsIsToldWhenItsAgentIsBack) {
  launch("t1");
  a.updates(f.id, "t1", TaskState::kRunning);
  restart_both();
  f.sends(proto::Reconcile{});
  a.registers();
  EXPECT_EQ(f.told(), Lines{"t1 running"});
}

// It is not known whether the task began.
TEST_F(Remembered, ATaskIsLostIfItsAgentForgotOrWasRemovedOrIsAnother) {
  for (const std::string what : {"forgot", "removed", "another"}) {
    SCOPED_TRACE(what);
    MasterScenario cluster;
    TestAgent& agent = cluster.registered_agent("a1");
    TestScheduler& author = cluster.scheduler("f");
    author.subscribe.remembers_tasks = true;
    author.subscribes();
    author.asks("cpus:1;mem:1GiB", 1);
    cluster.settle();
    author.accepts({author.offers.at(0)}, {TestScheduler::spec("t1", "cpus:1;mem:1GiB")});
    author.lose();
    if (what == "another") agent.sends(proto::UnregisterAgent{});
    cluster.restart_master();
    author.subscribes();
    author.told();
    author.sends(proto::Reconcile{});
    agent.tasks.clear();
    if (what == "removed") {
      cluster.advance(cluster.options.agent_timeout + cluster.options.reregistration_timeout);
    } else {
      if (what == "forgot") ++agent.memory;
      agent.registers();
      author.sends(proto::Reconcile{});
    }
    EXPECT_FALSE(author.told().empty());
    author.sends(proto::Reconcile{.tasks = {TaskId("t1")}});
    EXPECT_EQ(author.told(), Lines{"t1 lost task_unknown"}) << "each life is told";
  }
}

// Found by the simulator (once, seed 2206).
TEST_F(Remembered, AnOldRefusalDoesNotHideTheLaunchThatFollowedIt) {
  TestAgent& b = s.registered_agent("a2");
  launch("t1");
  TestAgent& first = a.has(f.id, "t1") ? a : b;
  TestAgent& second = a.has(f.id, "t1") ? b : a;
  const proto::AgentTask refused = first.tasks.begin()->second;
  first.updates(f.id, "t1", TaskState::kRefused, TaskReason::kAgentFull);
  EXPECT_EQ(entry("t1"), "");
  for (int i = 0; i < 20 && !second.has(f.id, "t1"); ++i) {
    for (const Offer& offer : std::vector<Offer>(f.offers))
      f.declines(offer, {.refuse_for = hours(1)});
    f.asks("cpus:1;mem:1GiB", 1);
    s.settle();
    for (const Offer& offer : std::vector<Offer>(f.offers)) {
      if (offer.agent.str() != second.name) continue;
      f.accepts({offer}, {TestScheduler::spec("t1", "cpus:1;mem:1GiB")});
    }
    s.advance(seconds(1));
  }
  ASSERT_TRUE(second.has(f.id, "t1"));
  second.updates(f.id, "t1", TaskState::kRunning);
  restart_both();
  // The acknowledgement of the refusal was lost.
  proto::AgentTask& told = first.tasks[{f.id, TaskId("t1")}] = refused;
  told.state = TaskState::kRefused;
  told.sequence = 1;
  told.unacknowledged = {{.task = TaskId("t1"), .state = TaskState::kRefused, .sequence = 1}};
  first.registers();
  second.registers();
  f.sends(proto::Reconcile{});
  EXPECT_EQ(f.told(), Lines{"t1 running"});
  EXPECT_TRUE(second.take<proto::KillTask>().empty());
}

// The same for a framework that does not remember tasks: the agent with the old refusal returns
// first.
TEST(OldRefusals, DoNotStandInTheWayOfALaterLaunchOfTheId) {
  for (const bool is_launched_again : {false, true}) {
    SCOPED_TRACE(is_launched_again);
    MasterScenario s;
    TestAgent& a = s.registered_agent("a1", "cpus:1;mem:1GiB");
    TestScheduler& f = s.subscribed("f");
    f.asks("cpus:1;mem:1GiB", 1);
    s.settle();
    const proto::Labels labels = {{"shard", "7"}};
    proto::TaskSpec spec = TestScheduler::spec("t1", "cpus:1;mem:1GiB");
    spec.labels = labels;
    f.accepts(f.offers, {spec});
    const proto::AgentTask launched = a.tasks.begin()->second;
    if (is_launched_again) {
      a.updates(f.id, "t1", TaskState::kRefused, TaskReason::kAgentFull);
      EXPECT_EQ(f.told(), Lines{"t1 refused agent_full"});
    }
    // The acknowledgement, if there was one, does not reach the agent.
    proto::AgentTask& told = a.tasks[{f.id, TaskId("t1")}] = launched;
    told.state = TaskState::kRefused;
    told.sequence = 1;
    told.unacknowledged = {{.task = TaskId("t1"),
                            .agent = AgentId("a1"),
                            .state = TaskState::kRefused,
                            .reason = TaskReason::kAgentFull,
                            .sequence = 1}};
    TestAgent& b = s.agent("a2", "cpus:1;mem:1GiB");
    if (is_launched_again) {
      a.lose();
      b.registers();
      f.asks("cpus:1;mem:1GiB", 1);
      s.settle();
      f.accepts(f.offers, {spec});
      ASSERT_TRUE(b.has(f.id, "t1"));
      b.updates(f.id, "t1", TaskState::kRunning);
      f.told();
    }
    s.restart_master();
    f.subscribes();
    f.sends(proto::Reconcile{.tasks = {TaskId("t1")}});
    f.sends(proto::Reconcile{});
    a.registers();
    if (is_launched_again) {
      EXPECT_EQ(f.told(), Lines{}) << "another agent may bring it";
      b.registers();
      EXPECT_TRUE(b.take<proto::KillTask>().empty());
      for (const std::string& line : f.told()) EXPECT_EQ(line, "t1 running");
      EXPECT_EQ(s.task(f.id, "t1")->state, TaskState::kRunning);
    } else {
      const std::vector<proto::Update> updates = f.take<proto::Update>();
      ASSERT_FALSE(updates.empty());
      EXPECT_EQ(updates[0].status.state, TaskState::kRefused);
      EXPECT_EQ(updates[0].status.reason, TaskReason::kAgentFull);
      EXPECT_EQ(updates[0].status.labels, labels);
    }
    EXPECT_FALSE(a.has(f.id, "t1")) << "it may forget it";
  }
}

TEST_F(Remembered, NeedsAFailoverTimeoutAndIsNotChangedLater) {
  TestScheduler& brief = s.scheduler("brief");
  brief.subscribe.remembers_tasks = true;
  brief.subscribe.failover_timeout = Duration();
  brief.subscribes();
  EXPECT_EQ(brief.take_one<proto::ErrorMessage>().code, ErrorCode::kInvalidArgument);

  f.lose();
  f.subscribe.remembers_tasks = false;
  f.subscribes();
  EXPECT_EQ(f.take_one<proto::ErrorMessage>().code, ErrorCode::kInvalidArgument);
}

TEST_F(Remembered, AFullStoreRefusesTheLaunchAndSaysWhatToErase) {
  for (size_t i = 0; i < kStoreKeysPerFrameworkMax; i += kStoreOperationsMax) {
    std::vector<proto::StoreOperation> puts;
    for (size_t k = i; k < std::min(i + kStoreOperationsMax, kStoreKeysPerFrameworkMax); ++k) {
      puts.push_back({.kind = proto::StoreOperation::Kind::kPut, .key = text("k", k)});
    }
    f.stores(std::move(puts));
  }
  launch("t1");
  const proto::TaskStatus refused = f.take<proto::Update>().back().status;
  EXPECT_EQ(refused.reason, TaskReason::kTaskInvalid);
  EXPECT_THAT(refused.message, testing::HasSubstr("erase the entries tasks/"));
}

TEST(RememberedEntry, ReadsBackAsItWasAndTakesNothingElseForFree) {
  const FrameworkStore store{
      .entries = {{"tasks/a", {.value = remembered_value({AgentId("a1"), 7, 9})}},
                  {"tasks/b", {.value = remembered_value({AgentId("a1"), 7, 9, TaskState::kGone})}},
                  {"tasks/c", {.value = "what the author wrote"}},
                  {"tasks/d", {.value = "launched a1 7"}},
                  {"tasks/e", {.value = ""}}},
      .bytes = 0};
  const auto a = find_remembered(store, TaskId("a"));
  ASSERT_TRUE(a);
  EXPECT_EQ(a->agent, AgentId("a1"));
  EXPECT_EQ(a->admission, 7u);
  EXPECT_EQ(a->memory, 9u);
  EXPECT_FALSE(a->end);
  EXPECT_EQ(find_remembered(store, TaskId("b"))->end, TaskState::kGone);
  for (const char* wrong : {"c", "d", "e"}) {
    EXPECT_EQ(find_remembered(store, TaskId(wrong))->end, TaskState::kLost) << wrong;
  }
  EXPECT_FALSE(find_remembered(store, TaskId("f")));
}

}  // namespace
}  // namespace proffer::master::remembered_test
