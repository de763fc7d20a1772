// Daemons: one instance on each agent, as agents come and go.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/frameworks/service/service_scenario.h"

namespace proffer::service::daemon_test {
namespace {

using State = proto::TaskState;
using Reason = proto::TaskReason;
using ::testing::HasSubstr;
using ::testing::SizeIs;

AppSpec daemon_app() {
  AppSpec spec = ServiceScenario::app(1, "each");
  spec.daemon = true;
  return spec;
}

// Ready instances on three agents.
struct Each : ServiceScenario {
  explicit Each(const AppSpec& spec = daemon_app()) {
    for (const char* name : {"a1", "a2", "a3"}) agent(name, 3);
    EXPECT_EQ(apply(spec), "created");
    advance(seconds(5));
    expect_one_on({"a1", "a2", "a3"});
  }
  void expect_one_on(const std::vector<std::string>& agents) {
    for (const std::string& name : agents) EXPECT_THAT(tasks_on(name), SizeIs(1)) << name;
    EXPECT_THAT(tasks_of("each"), SizeIs(agents.size()));
    EXPECT_EQ(row("each").ready, static_cast<int64_t>(agents.size()));
    EXPECT_EQ(row("each").instances, static_cast<int64_t>(agents.size()));
    EXPECT_EQ(row("each").state, "running") << row("each").why;
  }
};

TEST(Daemon, HasOneInstanceOnEachAgent) { Each s; }

// Its new instances must run beside db, and may not do so on two agents.
TEST(Daemon, LeavesAgentsThatANewVersionCannotRunOn) {
  AppSpec spec = daemon_app();
  spec.update.max_unavailable = 0;
  spec.update.max_surge = 1;
  Each s(spec);
  s.apply(ServiceScenario::app(1, "db"));
  s.advance(seconds(5));
  const std::string beside = s.tasks().at(s.tasks_of("db").at(0)).agent.str();
  spec.with = {"db"};
  s.apply(spec);
  s.advance(minutes(1));
  EXPECT_THAT(s.tasks_of("each", 2), SizeIs(1));
  EXPECT_EQ(s.row("each").ready, 3);

  // The instances stay until the master has reported for a while that no agent fits.
  const auto report = [&](bool fits) {
    s.notify(proto::AskReport{.rows = {{.ask = AskName("each.2"),
                                        .could_ever_fit = fits,
                                        .why = "no agent meets 'host in [a9]'"}}});
  };
  report(false);
  s.advance(seconds(4));
  report(true);
  s.advance(seconds(4));
  report(false);
  s.advance(seconds(4));
  EXPECT_EQ(s.row("each").ready, 3);
  s.advance(seconds(10));
  EXPECT_THAT(s.tasks_on(beside), SizeIs(2));
  EXPECT_THAT(s.tasks_of("each"), SizeIs(1));
  EXPECT_EQ(s.row("each").state, "running") << s.row("each").why;
}

TEST(Daemon, IsNotThereUntilNoFurtherAgentIsOffered) {
  ServiceScenario s;
  s.apply(daemon_app());
  s.settle();
  EXPECT_EQ(s.row("each").state, "starting");
  EXPECT_EQ(s.row("each").why, "looking for more agents");
  s.agent("a1", 1);
  s.advance(seconds(2));
  EXPECT_EQ(s.row("each").state, "starting");
  s.advance(seconds(2));
  EXPECT_EQ(s.row("each").state, "running");
  EXPECT_EQ(s.row("each").ready, 1);
}

TEST(Daemon, WithoutAnAgentSaysWhy) {
  ServiceScenario s;
  s.apply(daemon_app());
  s.advance(seconds(10));
  EXPECT_EQ(s.row("each").instances, 0);
  EXPECT_EQ(s.row("each").why, "no agent has room for it and meets its constraints");
}

TEST(Daemon, FollowsAgentsThatComeAndGo) {
  Each s;
  s.agent("a4", 3);
  s.advance(seconds(5));
  s.expect_one_on({"a1", "a2", "a3", "a4"});
  s.gone("a2");
  s.advance(seconds(1));
  s.expect_one_on({"a1", "a3", "a4"});
  // The instance leaves a drained agent; after the drain, the agent gets an instance again.
  const std::string drained = s.tasks_on("a1").at(0);
  s.drain("a1", seconds(60));
  s.advance(seconds(10));
  EXPECT_EQ(s.row("each").ready, 3);
  EXPECT_THAT(s.tasks_of("each"), SizeIs(3));
  s.end(drained, State::kKilled, Reason::kDrained);
  s.advance(seconds(1));
  s.expect_one_on({"a3", "a4"});
  s.agent("a1", 3);
  s.advance(seconds(5));
  s.expect_one_on({"a1", "a3", "a4"});
}

TEST(Daemon, WaitsForAnAgentThatIsUnreachable) {
  Each s;
  const std::string away = s.tasks_on("a2").at(0);
  s.unreachable("a2");
  s.advance(minutes(5));
  EXPECT_THAT(s.tasks_of("each"), SizeIs(3));
  EXPECT_EQ(s.row("each").ready, 2);
  EXPECT_EQ(s.row("each").instances, 3);
  // An update of the other instances does not wait for it.
  AppSpec better = daemon_app();
  better.command = "serve better";
  s.apply(better);
  s.advance(minutes(1));
  EXPECT_THAT(s.tasks_of("each", 2), SizeIs(2));
  EXPECT_EQ(s.row("each").failed, "");
  s.returns("a2");
  s.advance(minutes(1));
  s.expect_one_on({"a1", "a2", "a3"});
  EXPECT_EQ(s.tasks().count(away), 0u);
}

TEST(Daemon, AFailedInstanceStartsAgainOnItsAgentAfterAWhile) {
  Each s;
  std::string id = s.tasks_on("a2").at(0);
  for (const int64_t wait : {1, 2, 4}) {
    s.crash(id);
    s.tick();
    EXPECT_THAT(s.tasks_of("each"), SizeIs(2));
    s.advance(seconds(wait) - milliseconds(1));
    EXPECT_THAT(s.tasks_on("a2"), SizeIs(0));
    EXPECT_THAT(s.row("each").why, HasSubstr("exit code 1"));
    s.advance(milliseconds(1));
    ASSERT_THAT(s.tasks_on("a2"), SizeIs(1));
    id = s.tasks_on("a2").at(0);
  }
  s.expect_one_on({"a1", "a2", "a3"});
}

TEST(Daemon, AnAgentWithoutRoomForItIsGivenUpAndTriedLater) {
  Each s;
  s.agent("a2", 0);
  s.crash(s.tasks_on("a2").at(0));
  s.advance(seconds(20));
  EXPECT_EQ(s.row("each").instances, 3);
  s.advance(seconds(20));
  s.expect_one_on({"a1", "a3"});
  s.agent("a2", 1);
  s.advance(seconds(5));
  s.expect_one_on({"a1", "a2", "a3"});
}

TEST(Daemon, IsUpdatedOneAgentAfterTheOther) {
  Each s;
  AppSpec better = daemon_app();
  better.command = "serve better";
  s.start_tasks(false);
  EXPECT_EQ(s.apply(better), "updated to version 2");
  s.advance(seconds(5));
  EXPECT_THAT(s.tasks_of("each", 1), SizeIs(2));
  EXPECT_THAT(s.tasks_of("each", 2), SizeIs(1));
  s.start_tasks(true);
  s.advance(minutes(1));
  s.expect_one_on({"a1", "a2", "a3"});
  EXPECT_THAT(s.tasks_of("each", 2), SizeIs(3));
}

TEST(Daemon, MaySurgeBesideTheInstanceOfItsAgent) {
  Each s;
  AppSpec better = daemon_app();
  better.command = "serve better";
  better.update = {.max_unavailable = 0, .max_surge = 1};
  s.start_tasks(false);
  s.apply(better);
  s.advance(seconds(5));
  ASSERT_THAT(s.tasks_of("each", 2), SizeIs(1));
  EXPECT_THAT(s.tasks_on(s.tasks().at(s.tasks_of("each", 2).at(0)).agent.str()), SizeIs(2));
  s.start_tasks(true);
  s.advance(minutes(1));
  s.expect_one_on({"a1", "a2", "a3"});
}

// A version that is too large for all agents ends no instance: the old instances stay until it is
// rolled back.
TEST(Daemon, StaysWhereItIsWhileTheNextVersionFitsNowhere) {
  AppSpec spec = daemon_app();
  spec.update = {.max_unavailable = 0, .max_surge = 1};
  ServiceScenario s;
  for (const char* name : {"a1", "a2", "a3"}) s.agent(name, 1);  // no room for a second instance
  s.apply(spec);
  s.advance(seconds(5));
  spec.command = "serve what is large";
  s.apply(spec);
  for (int i = 0; i < 10; ++i) {
    s.notify(proto::AskReport{.rows = {{.ask = AskName("each.2"),
                                        .could_ever_fit = false,
                                        .why = "no agent is large enough: cpus:64"}}});
    s.advance(seconds(10));
  }
  EXPECT_THAT(s.tasks_of("each", 1), SizeIs(3));
  EXPECT_EQ(s.row("each").ready, 3);
}

TEST(Daemon, IsFoundAgainByTheNextScheduler) {
  Each s;
  const std::vector<std::string> before = s.tasks_of("each");
  s.start();
  s.advance(minutes(1));
  EXPECT_EQ(s.tasks_of("each"), before);
  s.agent("a4", 1);
  s.crash(s.tasks_on("a1").at(0));
  s.advance(seconds(5));
  s.expect_one_on({"a1", "a2", "a3", "a4"});
}

TEST(Daemon, EndsOnAllAgentsAndAsksForNoMore) {
  Each s;
  s.stop("each");
  s.advance(seconds(5));
  EXPECT_THAT(s.tasks_of("each"), SizeIs(0));
  EXPECT_EQ(s.row("each").app, "");
  EXPECT_THAT(s.asks(), SizeIs(0));
}

TEST(Daemon, IsNeitherScaledNorMadeAnotherApp) {
  Each s;
  EXPECT_THAT(s.scale("each", 5), HasSubstr("app 'each' is a daemon"));
  EXPECT_THAT(s.apply(ServiceScenario::app(2, "each")),
              HasSubstr("is a daemon, and cannot become"));
  s.apply(ServiceScenario::app(1, "web"));
  AppSpec web = ServiceScenario::app(1, "web");
  web.daemon = true;
  EXPECT_THAT(s.apply(web), HasSubstr("is not a daemon, and cannot become one"));
}

TEST(Daemon, OfManyAgentsHasOneOnEach) {
  ServiceScenario s;
  for (int i = 0; i < 100; ++i) s.agent("a" + std::to_string(i), 2);
  s.apply(daemon_app());
  s.advance(seconds(5));
  EXPECT_EQ(s.row("each").ready, 100);
  AppSpec better = daemon_app();
  better.command = "serve better";
  better.update.max_unavailable = 100;
  s.apply(better);
  s.advance(seconds(60));
  EXPECT_EQ(s.row("each").ready, 100);
  EXPECT_THAT(s.tasks_of("each", 2), SizeIs(100));
}

}  // namespace
}  // namespace proffer::service::daemon_test
