// Sessions with the master and with executors: registration, heartbeats, epochs, refusals.

#include "tests/slave/agent_scenario.h"

namespace proffer::agent::session_test {
namespace {

using proto::TaskState;
using scenario::AgentScenario;
using scenario::command_task;
using scenario::kBatch;
using Lines = std::vector<std::string>;

TEST(Session, RegistersWithWhatItHas) {
  AgentScenario s("cpus:4;mem:1024;gpus:2;ports:[31000-31009]");
  s.tick();
  EXPECT_TRUE(s.synced);  // its identity survives a reboot
  s.connect();
  const std::vector<proto::RegisterAgent> registers = s.told_master<proto::RegisterAgent>();
  ASSERT_EQ(registers.size(), 1u);
  EXPECT_EQ(registers[0].agent, AgentId("a1"));
  EXPECT_EQ(registers[0].secret, s.options.fresh_secret);
  EXPECT_EQ(registers[0].tasks_follow, 0u);
  ASSERT_EQ(registers[0].slices.size(), 1u);
  EXPECT_EQ(registers[0].slices[0].resources.gpus.size(), 2u);
  EXPECT_TRUE(registers[0].slices[0].resources.ports.empty());
  EXPECT_EQ(registers[0].ports.size(), 10);
  EXPECT_FALSE(s.core->status().registered);
  s.welcome();
  EXPECT_TRUE(s.core->status().registered);
}

TEST(Session, KeepsItsSecretOverRestarts) {
  AgentScenario s;
  s.registered();
  s.options.fresh_secret = Secret("ffffffffffffffffffffffffffffffff");
  s.crash_and_restart();
  s.tick();
  s.connect();
  EXPECT_EQ(s.told_master<proto::RegisterAgent>().at(0).secret.str(),
            "00112233445566778899aabbccddeeff");
}

TEST(Session, TellsItsTasksAndWhatIsNotAcknowledgedAtEachRegistration) {
  AgentScenario s;
  s.registered();
  const PeerId peer = s.running("t1");
  s.running("t2");
  s.acknowledge("t2", 1);
  s.step(MasterDisconnected{});
  s.tell(peer, "t1", TaskState::kFinished, 2);
  s.updates();
  s.connect();
  EXPECT_EQ(s.told_master<proto::RegisterAgent>().at(0).tasks_follow, 1u);
  const std::vector<proto::RegisterTasks> parts = s.told_master<proto::RegisterTasks>();
  ASSERT_EQ(parts.size(), 1u);
  ASSERT_EQ(parts[0].tasks.size(), 2u);
  EXPECT_EQ(parts[0].tasks[0].unacknowledged.size(), 2u);
  EXPECT_EQ(parts[0].tasks[0].state, TaskState::kFinished);
  EXPECT_TRUE(parts[0].tasks[1].unacknowledged.empty());
  EXPECT_EQ(parts[0].tasks[1].state, TaskState::kRunning);
  EXPECT_EQ(parts[0].tasks[1].sequence, 1u);
}

TEST(Session, ManyTasksRegisterInParts) {
  AgentScenario s("cpus:1000;mem:100000");
  s.registered();
  for (int i = 0; i < 400; ++i) s.run(command_task("t" + std::to_string(i), "cpus:0.001"));
  s.connect();
  const uint32_t announced = s.told_master<proto::RegisterAgent>().at(0).tasks_follow;
  const std::vector<proto::RegisterTasks> parts = s.told_master<proto::RegisterTasks>();
  EXPECT_GT(parts.size(), 1u);
  EXPECT_EQ(parts.size(), announced);
  size_t tasks = 0;
  for (const proto::RegisterTasks& part : parts) tasks += part.tasks.size();
  EXPECT_EQ(tasks, 400u);
}

TEST(Session, WhatHappensWhileItRegistersIsToldAfterwards) {
  AgentScenario s;
  s.registered();
  const PeerId peer = s.running("t1");
  s.connect();
  s.updates();
  s.tell(peer, "t1", TaskState::kFinished, 2);
  EXPECT_TRUE(s.updates().empty());
  s.welcome();
  EXPECT_EQ(s.updates(), (Lines{"t1 2 finished none"}));
}

TEST(Session, BeatsWhenIdleAndBeginsAnewWhenTheMasterIsSilent) {
  AgentScenario s;
  s.registered();
  s.pass(seconds(29));
  EXPECT_EQ(s.told_master<proto::Heartbeat>().size(), 5u);
  EXPECT_TRUE(s.take<ResetMaster>().empty());
  s.pass(seconds(1));
  EXPECT_EQ(s.take<ResetMaster>().size(), 1u);
  EXPECT_FALSE(s.core->status().registered);
}

TEST(Session, AnyMessageOfTheMasterIsASignOfLife) {
  AgentScenario s;
  s.registered();
  for (int i = 0; i < 4; ++i) {
    s.pass(seconds(20));
    s.from_master(proto::Heartbeat{});
  }
  EXPECT_TRUE(s.take<ResetMaster>().empty());
}

TEST(Session, AGapEndsItAndADuplicateDoesNot) {
  AgentScenario s;
  s.registered();
  const proto::Envelope frame = s.master.stamp(s.leader, proto::Heartbeat{});
  s.step(MasterFrame{frame, {}});
  s.step(MasterFrame{frame, {}});
  EXPECT_TRUE(s.take<ResetMaster>().empty());
  s.master.stamp(s.leader, proto::Heartbeat{});  // this frame is lost
  s.from_master(proto::Heartbeat{});
  EXPECT_EQ(s.take<ResetMaster>().size(), 1u);
  s.from_master(command_task("t1"));  // a frame for the old connection
  EXPECT_TRUE(s.take<StartExecutor>().empty());
}

TEST(Session, RefusesADeposedMasterAlsoAfterARestart) {
  AgentScenario s;
  s.registered();
  s.leader = LeaderEpoch(9);
  s.synced = false;
  s.from_master(proto::Heartbeat{});
  EXPECT_TRUE(s.synced);
  s.crash_and_restart();
  s.tick();
  s.connect();
  s.leader = LeaderEpoch(8);
  s.welcome();
  EXPECT_EQ(s.take<ResetMaster>().size(), 1u);
  EXPECT_FALSE(s.core->status().registered);
  ASSERT_NE(s.traced<OlderMasterRefused>(), nullptr);
  EXPECT_EQ(s.traced<OlderMasterRefused>()->leader, LeaderEpoch(8));
}

TEST(Session, SaysWhoseTasksItHasAlsoAfterARestart) {
  const ClusterId cluster(std::string(32, 'a'));
  AgentScenario s;
  const auto registers = [&] {
    s.tick();
    s.connect();
    s.pass(kExecutorReregisterTimeout);  // the timeout of an executor that does not return
    if (!s.take<KillExecutor>().empty()) s.is_gone("t1");
    const std::vector<proto::RegisterAgent> told = s.told_master<proto::RegisterAgent>();
    const ClusterId said = told.empty() ? ClusterId("nothing") : told.back().cluster;
    s.from_master(proto::AgentRegistered{.agent = AgentId("a1"), .cluster = cluster});
    return said;
  };
  EXPECT_EQ(registers(), ClusterId());
  s.crash_and_restart();
  EXPECT_EQ(registers(), ClusterId()) << "it has nothing to lose, and may go anywhere";
  s.running("t1");
  s.crash_and_restart();
  EXPECT_EQ(registers(), cluster);
}

TEST(Session, AMasterThatRefusesItTeachesItNoEpoch) {
  AgentScenario s;
  s.registered();
  s.running("t1");
  s.connect();
  const LeaderEpoch ours = s.leader;
  s.leader = LeaderEpoch(ours.value() + 5);
  s.from_master(proto::ErrorMessage{.message = "of another cluster", .ends_session = true});
  s.connect();
  s.leader = ours;
  s.welcome();
  EXPECT_TRUE(s.core->status().registered);
}

TEST(Session, ANewAgentThatIsRefusedForGoodEndsAndSaysWhy) {
  AgentScenario s;
  s.tick();
  s.connect();
  s.from_master(proto::ErrorMessage{
      .message = "the name is taken", .hint = "give --name", .ends_session = true, .retry = false});
  const std::vector<Exit> exits = s.take<Exit>();
  ASSERT_EQ(exits.size(), 1u);
  EXPECT_NE(exits[0].reason.find("the name is taken"), std::string::npos);
  EXPECT_FALSE(s.core->next_deadline());
}

// The message says what to correct, and quotes the values.
TEST(Session, ARefusalIsWholeInTheLog) {
  AgentScenario s;
  const std::string why = "agent 'a1' lacks " + std::string(1'000, 'x') + "; take another name";
  s.tick();
  s.connect();
  s.from_master(proto::ErrorMessage{
      .message = why, .hint = "'proffer keys' lists names", .ends_session = true, .retry = false});
  const auto* refusal = s.traced<MasterRefuses>();
  ASSERT_NE(refusal, nullptr);
  EXPECT_EQ(to_text(TraceEvent(*refusal)),
            "the master refuses this agent; correct what it says message=\"" + why +
                "\" hint=\"'proffer keys' lists names\"");
}

// Otherwise a master could write lines of its own into the agent's log.
TEST(Session, AnErrorOfTheMasterIsOneLineOfTheLog) {
  AgentScenario s;
  s.registered();
  s.from_master(proto::ErrorMessage{.message = "slow down\nagent stops agent=a1", .hint = "wait"});
  const auto* error = s.traced<MasterSentError>();
  ASSERT_NE(error, nullptr);
  EXPECT_EQ(to_text(TraceEvent(*error)),
            R"(error from the master message="slow down\nagent stops agent=a1" hint="wait")");
}

TEST(Session, AnAgentWithTasksThatIsRefusedKeepsThemAndTriesAgainSlowly) {
  AgentScenario s;
  s.registered();
  s.running("t1");
  s.connect();
  s.from_master(proto::ErrorMessage{.message = "removed", .ends_session = true, .retry = false});
  EXPECT_TRUE(s.take<Exit>().empty());
  EXPECT_EQ(s.take<ResetMaster>().size(), 1u);
  s.told_master<proto::RegisterAgent>();
  s.connect();
  EXPECT_TRUE(s.told_master<proto::RegisterAgent>().empty());
  s.pass(seconds(2));
  EXPECT_EQ(s.told_master<proto::RegisterAgent>().size(), 1u);
}

TEST(Session, AnAgentThatIsRefusedAgainAndAgainTriesLessAndLessOften) {
  AgentScenario s;
  s.registered();
  s.running("t1");
  const auto wait = [&] {
    s.told_master<proto::RegisterAgent>();
    s.connect();
    s.told_master<proto::RegisterAgent>();
    s.from_master(proto::ErrorMessage{.message = "removed", .ends_session = true, .retry = false});
    s.connect();
    const Time refused = s.now;
    while (s.told_master<proto::RegisterAgent>().empty()) s.pass(milliseconds(500));
    return s.now - refused;
  };
  std::vector<Duration> waits;
  for (int i = 0; i < 10; ++i) waits.push_back(wait());
  EXPECT_LE(waits[0], seconds(2));
  EXPECT_GT(waits[3], waits[0]);
  EXPECT_GE(waits[8], minutes(1));
  EXPECT_LE(waits[9], minutes(2) + seconds(1));
  // The agent was registered in between.
  s.registered();
  s.connect();
  EXPECT_LE(wait(), seconds(3));
}

TEST(Session, AMessageThatAMasterMayNotSendEndsIt) {
  AgentScenario s;
  s.registered();
  s.from_master(proto::Subscribe{});
  EXPECT_EQ(s.take<ResetMaster>().size(), 1u);
}

TEST(Session, AMessageThatIsNotKnownIsIgnored) {
  AgentScenario s;
  s.registered();
  s.from_master(proto::Unknown{77});
  EXPECT_TRUE(s.take<ResetMaster>().empty());
  EXPECT_TRUE(s.core->status().registered);
}

// --- executors ---------------------------------------------------------------------------------

TEST(ExecutorSession, NeedsTheTokenThatCameWithItsStart) {
  AgentScenario s;
  s.registered();
  s.run(command_task("t1"));
  s.take<StartExecutor>();
  const PeerId peer(77);
  s.from_executor(peer, proto::ExecutorHello{kBatch, ExecutorId("t1"),
                                             Secret("0123456789abcdef0123456789abcdef")});
  const auto errors = s.told_executors<proto::ErrorMessage>();
  ASSERT_EQ(errors.size(), 1u);
  EXPECT_TRUE(errors[0].ends_session);
  EXPECT_FALSE(errors[0].retry);
  EXPECT_EQ(s.take<DropExecutorPeer>().size(), 1u);
  EXPECT_TRUE(s.told_executors<proto::RunTask>().empty());
}

TEST(ExecutorSession, AnythingBeforeHelloIsRefused) {
  AgentScenario s;
  s.registered();
  s.from_executor(PeerId(5), proto::Heartbeat{});
  EXPECT_EQ(s.told_executors<proto::ErrorMessage>().size(), 1u);
  EXPECT_EQ(s.take<DropExecutorPeer>().size(), 1u);
}

TEST(ExecutorSession, MayOnlySayWhatExecutorsSay) {
  for (const proto::Message& message :
       {proto::Message(proto::Subscribe{}), proto::Message(proto::RunTask{}),
        proto::Message(proto::ExecutorUpdate{{.task = TaskId("t1"), .state = TaskState::kLost}}),
        proto::Message(proto::ExecutorUpdate{
            {.task = TaskId("other"), .state = TaskState::kRunning, .sequence = 1}})}) {
    AgentScenario s;
    s.registered();
    const PeerId peer = s.running("t1");
    s.running("other");
    s.from_executor(peer, message);
    EXPECT_EQ(s.told_executors<proto::ErrorMessage>().size(), 1u);
    EXPECT_EQ(s.take<DropExecutorPeer>().size(), 1u);
  }
}

TEST(ExecutorSession, IsTakenUpAgainAndToldAllOnceMore) {
  AgentScenario s;
  s.registered();
  const PeerId peer = s.running("t1");
  s.kill("t1", seconds(3));
  s.told_executors<proto::RunTask>();
  s.told_executors<proto::KillTask>();
  s.step(ExecutorPeerLost{peer});
  s.hello_again("t1");
  EXPECT_EQ(s.told_executors<proto::RunTask>().size(), 1u);
  const auto kills = s.told_executors<proto::KillTask>();
  ASSERT_EQ(kills.size(), 1u);
  EXPECT_EQ(kills[0].grace, seconds(3));
}

TEST(ExecutorSession, ASilentExecutorLosesItsConnectionAndThenItsTasks) {
  AgentScenario s;
  s.registered();
  s.running("t1");
  s.updates();
  s.pass_with_master(seconds(29));
  EXPECT_TRUE(s.take<DropExecutorPeer>().empty());
  s.pass_with_master(seconds(2));
  EXPECT_EQ(s.take<DropExecutorPeer>().size(), 1u);
  s.pass_with_master(seconds(61));
  EXPECT_EQ(s.updates(), (Lines{"t1 2 failed executor_timeout"}));
}

TEST(ExecutorSession, MessagesPassBothWays) {
  AgentScenario s;
  s.registered();
  const PeerId peer = s.running("t1");
  s.from_master(proto::FrameworkMessage{
      .framework = kBatch, .agent = AgentId("a1"), .executor = ExecutorId("t1"), .data = "down"});
  EXPECT_EQ(s.told_executors<proto::FrameworkMessage>().at(0).data, "down");
  s.from_executor(peer,
                  proto::FrameworkMessage{.framework = FrameworkId("somebody-else"), .data = "up"});
  const auto up = s.told_master<proto::FrameworkMessage>();
  ASSERT_EQ(up.size(), 1u);
  EXPECT_EQ(up[0].framework, kBatch);
  EXPECT_EQ(up[0].executor, ExecutorId("t1"));
  EXPECT_TRUE(up[0].to_scheduler);
}

// The labels of all tasks in a registration.
std::vector<proto::Labels> labels_registered(AgentScenario& s) {
  std::vector<proto::Labels> told;
  for (const proto::RegisterTasks& part : s.told_master<proto::RegisterTasks>()) {
    for (const proto::AgentTask& task : part.tasks) told.push_back(task.labels);
  }
  return told;
}

TEST(Labels, AreToldOnceForEachTaskOfARegistration) {
  const proto::Labels labels = {{"shard", "7"}};
  AgentScenario s;
  s.registered();
  proto::RunTask run = command_task("t1");
  run.spec.labels = labels;
  s.run(run);
  s.connect();  // no update has been sent yet
  EXPECT_EQ(labels_registered(s), std::vector{labels});
  s.welcome();

  const PeerId peer = s.hello("t1");
  s.tell(peer, "t1", TaskState::kRunning, 1);
  s.tell(peer, "t1", TaskState::kRunning, 2);
  for (const proto::Update& update : s.told_master<proto::Update>()) {
    EXPECT_EQ(update.status.labels, proto::Labels()) << "the master adds them";
  }
  s.connect();
  EXPECT_EQ(labels_registered(s), std::vector{labels});
  s.welcome();

  s.acknowledge("t1", 2);
  s.connect();
  EXPECT_EQ(labels_registered(s), std::vector{labels});
  s.welcome();
  s.crash_and_restart();
  s.tick();
  s.connect();
  s.comes_back("t1");
  EXPECT_EQ(labels_registered(s), std::vector{labels});
}

// The agent was declared gone, or a copy of its work directory continued elsewhere.
proto::ErrorMessage ends_all() {
  return {.code = ErrorCode::kFailedPrecondition,
          .message = "agent 'a1' was declared gone",
          .hint = "begin anew",
          .ends_session = true,
          .retry = false,
          .ends_tasks = true};
}

TEST(Ended, ByItsMasterKillsWhatItRunsAndEndsWithTheMastersWords) {
  AgentScenario s;
  s.registered();
  s.running("t1");
  s.crash_and_restart();
  s.tick();
  s.hello("t1");
  s.connect();
  s.from_master(ends_all());
  EXPECT_EQ(s.take<ResetMaster>().size(), 1u);
  EXPECT_TRUE(s.take<Exit>().empty());
  s.connect();
  EXPECT_TRUE(s.told_master<proto::RegisterAgent>().size() <= 1u) << "it registers no more";
  s.pass(seconds(6));
  EXPECT_EQ(s.take<KillExecutor>().size(), 1u);
  s.exits("t1");
  const std::vector<Exit> exits = s.take<Exit>();
  ASSERT_EQ(exits.size(), 1u);
  EXPECT_EQ(exits[0].reason,
            "the master ends this agent: agent 'a1' was declared gone; begin anew");
}

// The tasks have ended without acknowledgements: the agent is refused again, and ends at once.
TEST(Ended, AgainWithNothingLeftToRun) {
  AgentScenario s;
  s.tick();
  s.connect();
  s.from_master(ends_all());
  EXPECT_EQ(s.take<Exit>().size(), 1u);
  EXPECT_TRUE(s.take<KillExecutor>().empty());
}

TEST(Ended, NotByAMasterOfAnOlderEpoch) {
  AgentScenario s;
  s.leader = LeaderEpoch(9);
  s.registered();
  s.running("t1");
  s.connect();
  s.leader = LeaderEpoch(8);
  s.from_master(ends_all());
  s.pass(minutes(1));
  EXPECT_TRUE(s.take<KillExecutor>().empty());
  EXPECT_TRUE(s.take<Exit>().empty());
}

TEST(Session, SaysWhichBootOfWhichMachineItIsOf) {
  AgentScenario s;
  const auto boot = [&] {
    s.tick();
    s.connect();
    const std::vector<proto::RegisterAgent> told = s.told_master<proto::RegisterAgent>();
    return told.empty() ? 0 : told.back().boot;
  };
  const uint64_t first = boot();
  EXPECT_NE(first, 0u);
  s.crash_and_restart();
  EXPECT_EQ(boot(), first);
  s.options.boot_id = "boot-2";
  s.crash_and_restart();
  EXPECT_NE(boot(), first);
}

}  // namespace
}  // namespace proffer::agent::session_test
