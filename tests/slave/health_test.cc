// Health reports of executors: kept, sent in order, and known after restarts of any peer.

#include "common/text.h"
#include "tests/slave/agent_scenario.h"

namespace proffer::agent::health_test {
namespace {

using proto::TaskState;
using scenario::AgentScenario;
using Lines = std::vector<std::string>;

std::string line_of(const proto::TaskStatus& status) {
  const std::string_view health = !status.healthy ? "" : *status.healthy ? " well" : " ill";
  return text(status.sequence, " ", to_text(status.state), health);
}

Lines updates(AgentScenario& s) {
  Lines lines;
  for (const proto::Update& update : s.told_master<proto::Update>()) {
    lines.push_back(line_of(update.status));
  }
  return lines;
}

// The updates in the registration of the only task.
Lines registered(AgentScenario& s) {
  Lines lines;
  for (const proto::RegisterTasks& part : s.told_master<proto::RegisterTasks>()) {
    for (const proto::AgentTask& task : part.tasks) {
      for (const proto::TaskStatus& status : task.unacknowledged) lines.push_back(line_of(status));
    }
  }
  return lines;
}

void tell_health(AgentScenario& s, PeerId peer, bool healthy, uint64_t sequence) {
  s.from_executor(peer, proto::ExecutorUpdate{{.task = TaskId("t1"),
                                               .state = TaskState::kRunning,
                                               .sequence = sequence,
                                               .message = healthy ? "" : "connection refused",
                                               .healthy = healthy}});
}

TEST(Health, IsToldAsItChangesWhileTheTaskRuns) {
  AgentScenario s;
  s.registered();
  const PeerId peer = s.running("t1");
  tell_health(s, peer, true, 2);
  tell_health(s, peer, false, 3);
  tell_health(s, peer, false, 3);  // a repetition
  const std::vector<proto::Update> told = s.told_master<proto::Update>();
  ASSERT_EQ(told.size(), 3u);
  EXPECT_EQ(line_of(told[0].status), "1 running");
  EXPECT_EQ(line_of(told[1].status), "2 running well");
  EXPECT_EQ(line_of(told[2].status), "3 running ill");
  EXPECT_EQ(told[2].status.message, "connection refused");
  // Other updates of the running task keep its health; its end has none.
  s.tell(peer, "t1", TaskState::kRunning, 4);
  s.tell(peer, "t1", TaskState::kFinished, 5);
  EXPECT_EQ(updates(s), (Lines{"4 running ill", "5 finished"}));
}

// Reports of readiness are treated in the same way, independently of health.
TEST(Ready, IsToldKeptAndToldAgain) {
  AgentScenario s;
  s.registered();
  const PeerId peer = s.running("t1");
  const auto tell = [&](std::optional<bool> ready, std::optional<bool> healthy, uint64_t sequence) {
    s.from_executor(peer, proto::ExecutorUpdate{{.task = TaskId("t1"),
                                                 .state = TaskState::kRunning,
                                                 .sequence = sequence,
                                                 .healthy = healthy,
                                                 .ready = ready}});
    return s.told_master<proto::Update>().back().status;
  };
  EXPECT_EQ(tell(false, {}, 2).ready, false);
  EXPECT_EQ(tell({}, true, 3).ready, false);
  EXPECT_EQ(tell(true, {}, 4).healthy, true);
  s.acknowledge("t1", 4);
  s.connect();
  const auto parts = s.told_master<proto::RegisterTasks>();
  ASSERT_EQ(parts.size(), 1u);
  ASSERT_EQ(parts[0].tasks.size(), 1u);
  ASSERT_EQ(parts[0].tasks[0].unacknowledged.size(), 1u);
  EXPECT_EQ(parts[0].tasks[0].unacknowledged[0].ready, true);
  EXPECT_EQ(parts[0].tasks[0].unacknowledged[0].healthy, true);
}

TEST(Health, ThatWasAcknowledgedIsToldAMasterThatMayHaveForgotten) {
  AgentScenario s;
  s.registered();
  const PeerId peer = s.running("t1");
  s.acknowledge("t1", 1);
  s.connect();
  EXPECT_EQ(registered(s), Lines{});  // there was no check yet
  s.welcome();
  tell_health(s, peer, false, 2);
  s.connect();
  EXPECT_EQ(registered(s), Lines{"2 running ill"});
  s.welcome();
  s.acknowledge("t1", 2);
  s.connect();
  EXPECT_EQ(registered(s), Lines{"2 running ill"});
  s.welcome();
  s.acknowledge("t1", 2);  // as a master does that adopted the task
  EXPECT_EQ(updates(s), (Lines{"1 running", "2 running ill"}));
}

TEST(Health, OutlivesTheAgentAndIsToldOnce) {
  AgentScenario s;
  s.registered();
  tell_health(s, s.running("t1"), true, 2);
  s.acknowledge("t1", 2);
  updates(s);
  for (const bool compact : {false, true}) {
    s.restart(compact ? s.core->snapshot() : AgentSnapshot{s.log});
    s.tick();
    s.connect();
    const PeerId peer = s.comes_back("t1");
    EXPECT_EQ(registered(s), Lines{"2 running well"});
    s.welcome();
    tell_health(s, peer, true, 2);  // its acknowledgement was lost
    EXPECT_EQ(updates(s), Lines{});
    EXPECT_EQ(s.told_executors<proto::Acknowledge>().size(), 1u);
  }
}

TEST(Health, ThatChangesWhileNobodyAcknowledgesEndsAsItIs) {
  AgentScenario s;
  s.registered();
  const PeerId peer = s.running("t1");
  uint64_t sequence = 1;
  const auto flap = [&](uint64_t times) {
    for (const uint64_t end = sequence + times; sequence < end;) {
      const bool healthy = sequence % 2 == 0;
      tell_health(s, peer, healthy, ++sequence);
    }
  };
  flap(400);
  tell_health(s, peer, false, ++sequence);
  const size_t told = updates(s).size();
  EXPECT_LT(told, kUpdatesPerTaskMax);
  // Held-back updates are not acknowledged to the executor, so it would repeat them.
  uint64_t acknowledged = 0;
  for (const auto& answer : s.told_executors<proto::Acknowledge>()) acknowledged = answer.sequence;
  EXPECT_LT(acknowledged, sequence);
  s.acknowledge("t1", 1);
  EXPECT_EQ(updates(s), Lines{text(told + 1, " running ill")});
  EXPECT_EQ(s.told_executors<proto::Acknowledge>().back().sequence, sequence);

  // The same if the agent is killed meanwhile.
  tell_health(s, peer, true, ++sequence);
  EXPECT_EQ(updates(s), Lines{});
  s.crash_and_restart();
  s.tick();
  s.connect();
  const PeerId again = s.comes_back("t1");
  s.welcome();
  tell_health(s, again, true, sequence);
  EXPECT_EQ(updates(s), Lines{});
  s.acknowledge("t1", 2);
  EXPECT_EQ(updates(s), Lines{text(told + 2, " running well")});
}

TEST(Health, HeldBackIsForgottenWithTheTask) {
  AgentScenario s;
  s.registered();
  const PeerId peer = s.running("t1");
  for (uint64_t i = 2; i < 200; ++i) tell_health(s, peer, i % 2 == 0, i);
  s.tell(peer, "t1", TaskState::kFinished, 200);
  updates(s);
  s.acknowledge("t1", kUpdatesPerTaskMax);
  EXPECT_EQ(updates(s), Lines{});
}

}  // namespace
}  // namespace proffer::agent::health_test
