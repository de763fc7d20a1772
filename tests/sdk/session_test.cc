// Sessions: how a driver finds its master, keeps the connection, loses it and reconnects.

#include "tests/sdk/driver_world.h"

namespace proffer::sdk::session_test {
namespace {

using Story = std::vector<std::string>;

TEST(Session, BeginsWithTheSecretAloneAndSavesTheIdThatTheMasterGives) {
  DriverWorld w;
  w.connect();
  const auto subscribes = w.sent<proto::Subscribe>();
  ASSERT_EQ(subscribes.size(), 1u);
  EXPECT_TRUE(subscribes[0].framework.empty());
  EXPECT_EQ(subscribes[0].secret, DriverWorld::options().secret);
  EXPECT_FALSE(w.driver.subscribed());

  w.hear_subscribed();

  EXPECT_TRUE(w.driver.subscribed());
  EXPECT_EQ(w.driver.framework(), FrameworkId("f-1"));
  ASSERT_EQ(w.saved.size(), 1u);
  EXPECT_EQ(w.saved[0].framework, FrameworkId("f-1"));
  EXPECT_EQ(w.saved[0].secret, DriverWorld::options().secret);
  EXPECT_EQ(w.told<proto::Subscribed>().size(), 1u);
}

TEST(Session, AConnectionLostBeforeTheAnswerIsRepeatedWithTheSameSecret) {
  DriverWorld w;
  w.connect();
  w.disconnect();
  w.connect();
  const auto subscribes = w.sent<proto::Subscribe>();
  ASSERT_EQ(subscribes.size(), 2u);
  EXPECT_EQ(subscribes[0], subscribes[1]);
  EXPECT_TRUE(w.told<Disconnected>().empty());  // there was no session to lose
}

TEST(Session, ComesBackWithItsIdAfterTheConnectionIsLost) {
  DriverWorld w;
  w.subscribe();
  w.forget();
  w.disconnect();
  EXPECT_EQ(w.told<Disconnected>().size(), 1u);
  EXPECT_FALSE(w.driver.subscribed());
  w.disconnect();
  EXPECT_TRUE(w.told<Disconnected>().empty());  // reported once

  w.subscribe(true);

  const auto subscribes = w.sent<proto::Subscribe>();
  ASSERT_EQ(subscribes.size(), 1u);
  EXPECT_EQ(subscribes[0].framework, FrameworkId("f-1"));
  EXPECT_TRUE(w.driver.subscribed());
}

TEST(Session, ANewProcessWithASessionFileAsksForAllTasksOfItsFormerLife) {
  DriverOptions options = DriverWorld::options();
  options.framework = FrameworkId("f-1");
  DriverWorld w(options);
  w.subscribe(true);

  EXPECT_EQ(w.sent<proto::Subscribe>().at(0).framework, FrameworkId("f-1"));
  EXPECT_EQ(w.sent<proto::Reconcile>(), std::vector<proto::Reconcile>{{}});
  // The restarted driver remembers no declines, so it clears the filters.
  EXPECT_EQ(w.sent<proto::Revive>().size(), 1u);

  w.hear_update(status_of("old-1", proto::TaskState::kRunning, 0));
  EXPECT_EQ(w.states_told(), Story{"old-1 running"});
  EXPECT_EQ(w.driver.live_tasks(), std::vector<TaskId>{TaskId("old-1")});
}

// The answers to a reconciliation may be lost with the connection (sim seed 23).
TEST(Session, AsksAgainForWhatWasNotAnswered) {
  DriverWorld w;
  w.subscribe();
  w.want(proto::Reconcile{.tasks = {TaskId("old-1"), TaskId("old-2")}});
  w.hear_update(status_of("old-1", proto::TaskState::kLost, 0));
  w.forget();
  w.reconnect();
  EXPECT_EQ(w.sent<proto::Reconcile>(), (std::vector<proto::Reconcile>{{{TaskId("old-2")}}}));
  w.hear_update(status_of("old-2", proto::TaskState::kLost, 0));
  w.forget();
  w.reconnect();
  EXPECT_TRUE(w.sent<proto::Reconcile>().empty());
}

TEST(Session, SaysWhatMayHaveBeenLostInOneOrderAfterEachReconnect) {
  DriverWorld w;
  w.want(proto::DeclareAsks{.asks = {ask_of("web", 3)}});
  w.subscribe();
  w.launch("t1", 1);
  w.want(proto::KillTask{.task = TaskId("t1")});
  w.want(proto::Suppress{});
  w.disconnect();
  w.forget();

  w.subscribe(true);

  EXPECT_EQ(w.story(),
            (Story{">subscribe", ">suppress", ">declare_asks", ">reconcile", ">kill_task"}));
  EXPECT_EQ(w.sent<proto::Reconcile>().at(0).tasks, std::vector<TaskId>{TaskId("t1")});
}

TEST(Session, ReviveWantedWhileAwayIsSaidOnce) {
  DriverWorld w;
  w.subscribe();
  w.want(proto::Suppress{});
  w.disconnect();
  w.want(proto::Revive{});
  w.forget();
  w.subscribe(true);
  EXPECT_EQ(w.sent<proto::Revive>().size(), 1u);
  w.reconnect();
  EXPECT_TRUE(w.sent<proto::Revive>().empty());
  EXPECT_TRUE(w.sent<proto::Suppress>().empty());
}

TEST(Session, HeartbeatsOnlyWhenThereIsNothingElseToSay) {
  DriverWorld w;
  w.subscribe();
  w.forget();
  w.advance(seconds(4));
  EXPECT_TRUE(w.sent<proto::Heartbeat>().empty());
  w.want(proto::Revive{});
  w.advance(seconds(4));
  EXPECT_TRUE(w.sent<proto::Heartbeat>().empty());
  w.advance(seconds(1));
  EXPECT_EQ(w.sent<proto::Heartbeat>().size(), 1u);
}

TEST(Session, AMasterThatSpeaksIsNeverLeft) {
  DriverWorld w;
  w.subscribe();
  for (int i = 0; i < 20; ++i) {
    w.advance(seconds(29));
    w.hear(proto::Heartbeat{});
  }
  EXPECT_EQ(w.resets, 0);
  EXPECT_TRUE(w.driver.subscribed());
}

TEST(Session, ASilentMasterIsLeftWhenItsTimeoutHasPassed) {
  DriverWorld w;
  w.subscribe();
  w.advance(seconds(30) - milliseconds(1));
  EXPECT_EQ(w.resets, 0);
  w.advance(milliseconds(1));
  EXPECT_EQ(w.resets, 1);
  EXPECT_EQ(w.told<Disconnected>().size(), 1u);
  EXPECT_FALSE(w.driver.next_deadline());  // it waits only for a connection
}

TEST(Session, AMasterThatNeverAnswersSubscribeIsLeftToo) {
  DriverWorld w;
  w.connect();
  w.advance(seconds(30));
  EXPECT_EQ(w.resets, 1);
}

TEST(Session, ALostFrameEndsTheConnectionAndARepeatedOneIsDropped) {
  DriverWorld w;
  w.connect();
  proto::Channel master;
  w.step(MasterFrame{master.stamp(LeaderEpoch(1), proto::Subscribed{.framework = FrameworkId("f"),
                                                                    .heartbeat = seconds(5),
                                                                    .timeout = seconds(30)})});
  const proto::Envelope first = master.stamp(LeaderEpoch(1), proto::Offers{{offer_of(1)}});
  w.step(MasterFrame{first});
  w.step(MasterFrame{first});
  EXPECT_EQ(w.told<proto::Offers>().size(), 1u);
  EXPECT_EQ(w.resets, 0);

  master.stamp(LeaderEpoch(1), proto::Heartbeat{});  // this frame is lost
  w.step(MasterFrame{master.stamp(LeaderEpoch(1), proto::Offers{{offer_of(2)}})});

  EXPECT_EQ(w.resets, 1);
  EXPECT_TRUE(w.told<proto::Offers>().empty());
  EXPECT_EQ(w.told<Disconnected>().size(), 1u);
}

TEST(Session, FramesOfAConnectionThatWasGivenUpMeanNothing) {
  DriverWorld w;
  w.subscribe();
  w.advance(seconds(30));
  w.forget();
  w.hear_offers({1});
  w.hear_update(status_of("t1", proto::TaskState::kRunning, 1));
  EXPECT_TRUE(w.story().empty());
}

TEST(Session, CarriesTheHighestLeaderEpochThatItHasSeen) {
  DriverWorld w;
  w.subscribe();
  DriverOutbox out;
  w.driver.handle(CommandGiven{proto::Revive{}}, w.now, out);
  ASSERT_EQ(out.actions.size(), 1u);
  EXPECT_EQ(std::get<SendToMaster>(out.actions[0]).envelope.leader, LeaderEpoch(1));
}

// A master that lost its registry would refuse the framework as unknown, and a deposed one would
// offer resources that it no longer controls.
TEST(Session, AMasterOfAnOlderEpochIsNotBelieved) {
  DriverWorld w;
  w.subscribe();
  const auto connects_to = [&](uint64_t epoch, proto::Message message) {
    w.disconnect();
    w.connect();
    w.forget();
    proto::Channel master;
    w.step(MasterFrame{master.stamp(LeaderEpoch(epoch), std::move(message))});
  };
  const proto::Message subscribed = proto::Subscribed{
      .framework = FrameworkId("f-1"), .heartbeat = seconds(5), .timeout = seconds(30)};
  connects_to(3, subscribed);
  EXPECT_EQ(w.resets, 0);

  connects_to(2, proto::ErrorMessage{.code = ErrorCode::kNotFound, .message = "no framework"});
  EXPECT_EQ(w.resets, 1);
  EXPECT_FALSE(w.is_done);
  connects_to(2, subscribed);
  EXPECT_EQ(w.resets, 1);
  ASSERT_NE(w.traced<OlderMasterRefused>(), nullptr);
  EXPECT_EQ(w.traced<OlderMasterRefused>()->leader, LeaderEpoch(2));

  connects_to(3, subscribed);
  EXPECT_EQ(w.resets, 0);
}

TEST(Session, AFrameworkThatComesBackSaysOfWhichClusterItIs) {
  const ClusterId cluster(std::string(32, 'a'));
  DriverWorld w;
  w.connect();
  EXPECT_EQ(w.sent<proto::Subscribe>().at(0).cluster, ClusterId());
  w.hear(proto::Subscribed{.framework = FrameworkId("f-1"), .cluster = cluster});
  w.disconnect();
  w.connect();
  EXPECT_EQ(w.sent<proto::Subscribe>().at(0).cluster, cluster);
  // A master of another cluster, with a later epoch than ours.
  proto::Channel other;
  w.disconnect();
  w.connect();
  w.forget();
  w.step(MasterFrame{other.stamp(
      LeaderEpoch(7), proto::ErrorMessage{.message = "another cluster", .ends_session = true})});
  EXPECT_EQ(w.resets, 1);
  EXPECT_FALSE(w.is_done);
  w.forget();
  w.disconnect();
  w.subscribe(true);
  EXPECT_EQ(w.resets, 0);
}

TEST(Errors, ARefusalForGoodEndsTheDriver) {
  DriverWorld w;
  w.connect();
  w.hear(proto::ErrorMessage{.code = ErrorCode::kInvalidArgument,
                             .message = "role 'a//b' is wrong",
                             .hint = "name another",
                             .ends_session = true,
                             .retry = false});
  const auto refused = w.told<Refused>();
  ASSERT_EQ(refused.size(), 1u);
  EXPECT_EQ(refused[0].error,
            Error::invalid_argument("role 'a//b' is wrong").with_hint("name another"));
  EXPECT_TRUE(w.is_done);
  const auto* traced = w.traced<MasterSentError>();
  ASSERT_NE(traced, nullptr);
  EXPECT_TRUE(traced->is_final);
  EXPECT_EQ(to_text(TraceEvent(*traced)),
            R"(refused by the master code=invalid_argument message="role 'a//b' is wrong")");
  w.connect();
  w.want(proto::Teardown{});
  EXPECT_FALSE(w.driver.next_deadline());
}

TEST(Errors, AForgottenSessionFileIsRefusedWithTheFileInTheHint) {
  DriverOptions options = DriverWorld::options();
  options.framework = FrameworkId("f-1");
  options.session_file = "my.session";
  DriverWorld w(options);
  w.connect();
  w.hear(proto::ErrorMessage{.code = ErrorCode::kNotFound,
                             .message = "framework 'f-1' is not known",
                             .ends_session = true,
                             .retry = false});
  const auto refused = w.told<Refused>();
  ASSERT_EQ(refused.size(), 1u);
  EXPECT_EQ(refused[0].error.message(), "framework 'f-1' is not known");
  // The session may belong to another cluster, where the framework is alive: the hint must not say
  // to remove the file.
  const std::string hint = refused[0].error.hint();
  EXPECT_NE(hint.find("another with --master or $PROFFER_MASTER"), std::string::npos) << hint;
  EXPECT_NE(hint.find("another session file than 'my.session'"), std::string::npos) << hint;
  EXPECT_EQ(hint.find("remove"), std::string::npos) << hint;
}

TEST(Errors, AFrameworkThatWasAwayTooLongHearsHowLongThatIs) {
  DriverOptions options = DriverWorld::options();
  options.failover_timeout = seconds(10);
  DriverWorld w(options);
  w.subscribe();
  w.disconnect();
  w.connect();
  w.hear(proto::ErrorMessage{.code = ErrorCode::kNotFound,
                             .message = "there is no framework 'f-1'",
                             .ends_session = true,
                             .retry = false});
  const auto refused = w.told<Refused>();
  ASSERT_EQ(refused.size(), 1u);
  EXPECT_NE(refused[0].error.hint().find("failover timeout of 10s"), std::string::npos);
}

TEST(Errors, TheOlderOfTwoSessionsOfAnIdStops) {
  DriverWorld w;
  w.subscribe();
  w.hear(proto::ErrorMessage{.code = ErrorCode::kFailedPrecondition,
                             .message = "a newer session took over",
                             .ends_session = true,
                             .retry = false});
  EXPECT_EQ(w.told<Refused>().size(), 1u);
  EXPECT_TRUE(w.is_done);
}

TEST(Errors, OneThatANewSessionCanMendLeadsToOne) {
  DriverWorld w;
  w.subscribe();
  w.hear(proto::ErrorMessage{.message = "the frame was malformed", .ends_session = true});
  EXPECT_EQ(w.resets, 1);
  EXPECT_EQ(w.told<Disconnected>().at(0).reason, "the frame was malformed");
}

TEST(Errors, OneAboutAMessageEndsNothing) {
  DriverWorld w;
  w.subscribe();
  w.hear(proto::ErrorMessage{.message = "too many filters"});
  EXPECT_EQ(w.resets, 0);
  EXPECT_TRUE(w.driver.subscribed());
}

TEST(Errors, AMessageThatNoMasterSendsEndsTheConnection) {
  DriverWorld w;
  w.subscribe();
  w.hear(proto::RunTask{});
  EXPECT_EQ(w.resets, 1);
}

TEST(Errors, AMessageOfANewerMasterIsIgnored) {
  DriverWorld w;
  w.subscribe();
  w.hear(proto::Unknown{.tag = 99});
  EXPECT_EQ(w.resets, 0);
}

TEST(Errors, AMasterThatMakesItAnotherFrameworkIsNotBelieved) {
  DriverWorld w;
  w.subscribe();
  w.disconnect();
  w.connect();
  w.hear(proto::Subscribed{.framework = FrameworkId("somebody-else")});
  EXPECT_EQ(w.resets, 1);
  EXPECT_EQ(w.driver.framework(), FrameworkId("f-1"));
}

// The master's answer to a teardown.
proto::ErrorMessage torn_down() {
  return {.code = ErrorCode::kNotFound, .ends_session = true, .retry = false};
}

TEST(Teardown, IsDoneWhenTheMasterHasAnswered) {
  DriverWorld w;
  w.subscribe();
  w.launch("t1", 1);
  w.forget();
  w.want(proto::Teardown{});
  w.hear_offers({2});
  w.hear_update(status_of("t1", proto::TaskState::kKilled, 2));
  EXPECT_EQ(w.story(), Story{">teardown"});  // the author gets no more updates
  w.hear(torn_down());
  EXPECT_EQ(w.story(), Story{"done"});
  EXPECT_FALSE(w.driver.next_deadline());
  w.disconnect();
  w.connect();
  EXPECT_TRUE(w.story().empty());
}

// Otherwise the tasks of an abandoned framework would run for its failover timeout (sim seed 81).
TEST(Teardown, IsSaidAgainWhenTheConnectionWasLostBeforeTheAnswer) {
  DriverWorld w;
  w.subscribe();
  w.want(proto::Teardown{});
  w.disconnect();
  w.forget();
  w.subscribe(true);
  EXPECT_EQ(w.story(), (Story{">subscribe", ">teardown"}));
  w.disconnect();
  w.connect();
  w.hear(torn_down());  // the master had done it, only its answer was lost
  EXPECT_TRUE(w.is_done);
  EXPECT_TRUE(w.told<Refused>().empty());
}

TEST(Teardown, WithoutAnAnswerIsGivenUpAfterTenSeconds) {
  DriverWorld w;
  w.subscribe();
  w.want(proto::Teardown{});
  w.advance(seconds(10) - milliseconds(1));
  EXPECT_FALSE(w.is_done);
  w.advance(milliseconds(1));
  EXPECT_TRUE(w.is_done);
}

TEST(Teardown, OfAFrameworkThatNoMasterEverHeardOfIsDoneAtOnce) {
  DriverWorld w;
  w.want(proto::Teardown{});
  EXPECT_EQ(w.story(), Story{"done"});
}

TEST(Teardown, WhileAwayWaitsForTheNextSession) {
  DriverWorld w;
  w.subscribe();
  w.launch("t1", 1);
  w.disconnect();
  w.want(proto::Teardown{});
  EXPECT_FALSE(w.is_done);
  w.forget();
  w.advance(seconds(5));

  w.subscribe(true);

  EXPECT_EQ(w.story(), (Story{">subscribe", ">teardown"}));
  EXPECT_TRUE(w.told<proto::Subscribed>().empty());
  w.hear(torn_down());
  EXPECT_TRUE(w.is_done);
}

TEST(Teardown, WhileAwayGivesUpAfterTenSeconds) {
  DriverWorld w;
  w.subscribe();
  w.disconnect();
  w.want(proto::Teardown{});
  w.advance(seconds(10) - milliseconds(1));
  EXPECT_FALSE(w.is_done);
  w.advance(milliseconds(1));
  EXPECT_TRUE(w.is_done);
  EXPECT_TRUE(w.sent<proto::Teardown>().empty());
}

TEST(Teardown, OfAFrameworkThatIsForgottenIsNoRefusal) {
  DriverWorld w;
  w.subscribe();
  w.disconnect();
  w.want(proto::Teardown{});
  w.connect();
  w.hear(proto::ErrorMessage{.code = ErrorCode::kNotFound, .ends_session = true, .retry = false});
  EXPECT_TRUE(w.is_done);
  EXPECT_TRUE(w.told<Refused>().empty());
}

// --- versions -----------------------------------------------------------------------------------

TEST(Session, SpeaksToAMasterOfTheVersionBeforeInItsVersion) {
  DriverWorld w;
  w.connect();
  EXPECT_EQ(w.last_version, proto::kProtocolVersion);
  proto::Channel old(proto::kProtocolVersionMin);  // it cannot read the frame
  w.step(MasterFrame{old.stamp(LeaderEpoch(1), proto::ErrorMessage{.code = ErrorCode::kUnsupported,
                                                                   .message = "protocol version",
                                                                   .ends_session = true})});
  EXPECT_EQ(w.resets, 1);
  w.disconnect();

  w.connect();
  EXPECT_EQ(w.last_version, proto::kProtocolVersionMin);
  proto::Channel served(proto::kProtocolVersionMin);
  w.step(MasterFrame{served.stamp(LeaderEpoch(1), proto::Subscribed{.framework = FrameworkId("f"),
                                                                    .heartbeat = seconds(5),
                                                                    .timeout = seconds(30)})});
  EXPECT_TRUE(w.driver.subscribed());
  EXPECT_EQ(w.last_version, proto::kProtocolVersionMin);

  w.disconnect();  // the master may have been upgraded meanwhile
  w.connect();
  EXPECT_EQ(w.last_version, proto::kProtocolVersion);
}

// The content of live_tasks(), and when it is complete.
struct Knowledge : testing::Test {
  static DriverOptions second_life() {
    DriverOptions options = DriverWorld::options();
    options.framework = FrameworkId("f-1");
    return options;
  }
  static size_t told(DriverWorld& w) { return w.told<AllTasksKnown>().size(); }
};

TEST_F(Knowledge, OfANewFrameworkIsCompleteAtOnce) {
  DriverWorld w;
  EXPECT_FALSE(w.driver.all_tasks_known());
  w.subscribe();
  EXPECT_EQ(told(w), 1u);
  EXPECT_TRUE(w.driver.all_tasks_known());
  w.disconnect();
  EXPECT_FALSE(w.driver.all_tasks_known());
}

TEST_F(Knowledge, OfALaterLifeIsCompleteWhenTheMasterHasAnswered) {
  DriverWorld w(second_life());
  w.subscribe(true);
  w.hear_update(status_of("old-1", proto::TaskState::kRunning, 0));
  EXPECT_EQ(told(w), 0u);
  w.hear(proto::Reconciled{});
  EXPECT_EQ(told(w), 1u);
  w.hear(proto::Reconciled{});
  EXPECT_EQ(told(w), 0u) << "once in a session";
}

TEST_F(Knowledge, WaitsForTheAgentsOfARestartedMaster) {
  DriverWorld w(second_life());
  w.subscribe(true);
  w.hear(proto::Reconciled{.missing_agents = 2});
  EXPECT_EQ(told(w), 0u);
  w.hear_update(status_of("old-1", proto::TaskState::kRunning, 0));
  w.hear(proto::Reconciled{.missing_agents = 0});
  EXPECT_EQ(told(w), 1u);
}

TEST_F(Knowledge, IsOfOneSessionOnly) {
  DriverWorld w(second_life());
  w.subscribe(true);
  w.hear(proto::Reconciled{});
  EXPECT_EQ(told(w), 1u);
  w.reconnect();
  EXPECT_EQ(told(w), 0u);
  EXPECT_FALSE(w.driver.all_tasks_known());
  w.hear(proto::Reconciled{});
  EXPECT_EQ(told(w), 1u);
}

// The master drops some of many questions that wait for agents.
TEST_F(Knowledge, AsksAgainForWhatWasNotAnsweredWhenNoAgentIsMissing) {
  DriverWorld w;
  w.subscribe();
  w.launch("t1", 1);
  w.forget();
  w.reconnect();
  w.hear(proto::Reconciled{.missing_agents = 1});
  w.forget();
  w.hear(proto::Reconciled{});
  const std::vector<proto::Reconcile> asked = w.sent<proto::Reconcile>();
  ASSERT_EQ(asked.size(), 1u);
  EXPECT_EQ(asked[0].tasks, std::vector<TaskId>{TaskId("t1")});
  // The call names the agent of its launch, which confirms the task to a master that does not know
  // it.
  EXPECT_EQ(asked[0].agents, std::vector<AgentId>{AgentId("a1")});
  EXPECT_EQ(told(w), 0u);
  w.hear_update(status_of("t1", proto::TaskState::kLost, 0, proto::UpdateSource::kMaster));
  w.hear(proto::Reconciled{});
  EXPECT_EQ(told(w), 1u);
  EXPECT_TRUE(w.sent<proto::Reconcile>().empty());
}

// Found by the simulator (once, seed 4870).
TEST_F(Knowledge, AnAnswerThatIsOlderThanTheLaunchDoesNotEndIt) {
  DriverWorld w;
  w.subscribe();
  w.want(proto::Reconcile{.tasks = {TaskId("t1")}});
  w.hear_offers({1});
  w.want(accept_of({1}, {task_of("t1")}));
  w.hear_update(status_of("t1", proto::TaskState::kRefused, 0, proto::UpdateSource::kMaster));
  EXPECT_EQ(w.driver.live_tasks(), std::vector<TaskId>{TaskId("t1")});
}

// Found by the simulator (once, seed 1480): each launch starts an agent's sequence numbers again.
TEST_F(Knowledge, UpdatesOfALaunchAfterARefusalByItsAgentAreNews) {
  DriverWorld w;
  w.subscribe();
  w.hear_offers({1});
  w.want(accept_of({1}, {task_of("t1")}));
  w.hear_update(status_of("t1", proto::TaskState::kRefused, 1));
  w.launch("t1", 2);
  EXPECT_EQ(w.states_told(), (Story{"t1 refused", "t1 running"}));
}

}  // namespace
}  // namespace proffer::sdk::session_test
