// Apps that run beside other apps, or apart from them.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/frameworks/service/service_scenario.h"

namespace proffer::service::neighbours_test {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

struct Neighbours : ServiceScenario {
  explicit Neighbours(bool serves_users = false) : ServiceScenario(true, serves_users) {
    for (const char* name : {"a1", "a2", "a3"}) agent(name, 10);
  }
  static AppSpec beside(int64_t instances, std::vector<std::string> with) {
    AppSpec spec = app(instances, "web");
    spec.with = std::move(with);
    return spec;
  }
  static AppSpec apart(int64_t instances, std::vector<std::string> from) {
    AppSpec spec = app(instances, "web");
    spec.apart_from = std::move(from);
    return spec;
  }
  std::set<std::string> agents_of(const std::string& name) const {
    std::set<std::string> agents;
    for (const std::string& id : tasks_of(name)) agents.insert(tasks().at(id).agent.str());
    return agents;
  }
};

TEST(With, InstancesAreLaunchedOnlyWhereTheOtherAppHasOne) {
  Neighbours s;
  s.apply(ServiceScenario::app(2, "db"));
  s.advance(seconds(5));
  EXPECT_EQ(s.apply(Neighbours::beside(6, {"db"})), "created");
  s.advance(seconds(5));
  EXPECT_THAT(s.tasks_of("web"), SizeIs(6));
  EXPECT_EQ(s.agents_of("web"), s.agents_of("db"));
}

TEST(With, NothingIsAskedForUntilTheOtherAppRuns) {
  Neighbours s;
  s.apply(ServiceScenario::app(0, "db"));
  s.apply(Neighbours::beside(2, {"db"}));
  s.advance(seconds(5));
  EXPECT_THAT(s.tasks_of("web"), IsEmpty());
  EXPECT_THAT(s.asks(), IsEmpty());
  EXPECT_THAT(s.row().why, HasSubstr("no agent has an instance of db, beside which it must run"));
  s.scale("db", 1);
  s.advance(seconds(5));
  EXPECT_THAT(s.tasks_of("web"), SizeIs(2));
  EXPECT_EQ(s.row().state, "running");
}

TEST(With, NeedsAllOfTheAppsOnOneAgent) {
  Neighbours s;
  s.apply(ServiceScenario::app(3, "db"));
  s.apply(ServiceScenario::app(1, "cache"));
  s.advance(seconds(5));
  s.apply(Neighbours::beside(4, {"cache", "db"}));
  s.advance(seconds(5));
  EXPECT_THAT(s.tasks_of("web"), SizeIs(4));
  EXPECT_EQ(s.agents_of("web"), s.agents_of("cache"));
}

TEST(With, WhatRunsStaysWhenItsNeighbourLeaves) {
  Neighbours s;
  s.apply(ServiceScenario::app(1, "db"));
  s.advance(seconds(5));
  s.apply(Neighbours::beside(2, {"db"}));
  s.advance(seconds(5));
  s.stop("db");
  s.advance(minutes(1));
  EXPECT_EQ(s.row().ready, 2);
}

TEST(With, ChainsAndUnknownAppsAreRefused) {
  Neighbours s;
  EXPECT_THAT(s.apply(Neighbours::beside(1, {"db"})), HasSubstr("there is no app 'db'"));
  s.apply(ServiceScenario::app(1, "db"));
  s.apply(Neighbours::beside(1, {"db"}));
  AppSpec third = ServiceScenario::app(1, "third");
  third.with = {"web"};
  EXPECT_THAT(s.apply(third), HasSubstr("app 'web' runs beside other apps itself"));
  AppSpec db = ServiceScenario::app(1, "db");
  db.with = {"web"};
  EXPECT_THAT(s.apply(db), HasSubstr("runs beside other apps itself"));
}

TEST(ApartFrom, HoldsForBothApps) {
  Neighbours s;
  s.apply(ServiceScenario::app(2, "noise"));
  s.advance(seconds(5));
  s.apply(Neighbours::apart(6, {"noise"}));
  s.advance(seconds(5));
  EXPECT_THAT(s.tasks_of("web"), SizeIs(6));
  EXPECT_THAT(s.agents_of("web"), SizeIs(1));
  EXPECT_EQ(s.agents_of("noise").count(*s.agents_of("web").begin()), 0u);
  // The rule also holds for later instances of the other app, which has no rule itself, even if
  // there is no other room.
  for (const char* agent : {"a1", "a2", "a3"}) {
    if (s.agents_of("web").count(agent) == 0) s.agent(agent, 2);
  }
  s.scale("noise", 8);
  s.advance(seconds(30));
  EXPECT_THAT(s.tasks_of("noise"), SizeIs(4));
  EXPECT_EQ(s.agents_of("noise").count(*s.agents_of("web").begin()), 0u);
  s.stop("web");
  s.advance(seconds(30));
  EXPECT_THAT(s.tasks_of("noise"), SizeIs(8));
}

TEST(ApartFrom, AnUnknownAppIsRefused) {
  Neighbours s;
  EXPECT_THAT(s.apply(Neighbours::apart(1, {"noise"})),
              HasSubstr("apart_from: there is no app 'noise'"));
  EXPECT_THAT(s.apply_all({ServiceScenario::app(1, "db"), Neighbours::apart(1, {"noise"})}),
              HasSubstr("app 'web' (line 11): apart_from: there is no app 'noise'"));
  EXPECT_THAT(s.core().status(), IsEmpty());
}

TEST(Plan, SaysBesideWhichAppsInstancesAreLaunchedAndAsksThere) {
  Neighbours s;
  s.apply(ServiceScenario::app(2, "db"));
  s.apply(ServiceScenario::app(0, "empty"));
  s.advance(seconds(5));
  const auto plan = [&](const AppSpec& spec) {
    const auto plans = s.core().preview(Apply{.specs = {spec}}, s.now(), {});
    return plans ? plans->at(0) : proto::ServicePlan{.result = plans.error().message()};
  };
  const auto hosts = [&](const proto::ServicePlan& made) {
    const std::vector<Constraint>& all = made.wants.at(0).ask.constraints;
    return all.empty() ? "" : to_text(all.back());
  };
  std::string on;
  for (const std::string& agent : s.agents_of("db")) on += (on.empty() ? "" : ", ") + agent;

  const proto::ServicePlan beside = plan(Neighbours::beside(2, {"db"}));
  EXPECT_THAT(beside.steps,
              testing::ElementsAre("launch on agents with an instance of db only: 2 agents now",
                                   "launch 2 instances"));
  EXPECT_EQ(hosts(beside), "host in [" + on + "]");
  const proto::ServicePlan apart = plan(Neighbours::apart(2, {"db"}));
  EXPECT_THAT(apart.steps,
              testing::ElementsAre("launch only on agents without an instance of an app "
                                   "that it runs apart from: 2 agents now",
                                   "launch 2 instances"));
  EXPECT_EQ(hosts(apart), "host not in [" + on + "]");
  const proto::ServicePlan alone = plan(Neighbours::beside(2, {"empty"}));
  EXPECT_THAT(alone.steps, testing::ElementsAre("wait until an agent has an instance of empty",
                                                "launch 2 instances"));
  EXPECT_THAT(alone.wants, IsEmpty());
  EXPECT_THAT(plan(ServiceScenario::app(2)).steps, testing::ElementsAre("launch 2 instances"));
}

// An offer may be older than the other app's instance.
TEST(ApartFrom, AnOfferOfAnAgentThatIsNoLongerAllowedIsDeclined) {
  Neighbours s;
  s.apply(ServiceScenario::app(3, "noise"));
  s.apply(Neighbours::apart(3, {"noise"}));
  for (int i = 0; i < 20; ++i) {
    s.tick();
    s.offer_once();
  }
  s.advance(seconds(30));
  for (const std::string& agent : s.agents_of("web")) {
    EXPECT_EQ(s.agents_of("noise").count(agent), 0u) << agent;
  }
}

// Another user's daemon that runs apart from an app does not keep the app off all agents.
TEST(Owners, AreNotHinderedByWhatAppsOfOthersRunApartFrom) {
  const Caller ada{.user = "ada"};
  const Caller bob{.user = "bob"};
  Neighbours s(true);
  AppSpec daemon = ServiceScenario::app(1, "daemon");
  daemon.daemon = true;
  s.apply(ServiceScenario::app(0), ada);
  daemon.apart_from = {"web"};
  EXPECT_EQ(s.apply(daemon, bob), "created");
  s.advance(seconds(5));
  EXPECT_THAT(s.agents_of("daemon"), SizeIs(3));
  s.request(Scale{"web", 3}, ada);
  s.advance(seconds(5));
  EXPECT_EQ(s.row().ready, 3);
  // The app with the rule still follows its own rule.
  AppSpec late = ServiceScenario::app(3, "late");
  late.apart_from = {"web"};
  EXPECT_EQ(s.apply(late, bob), "created");
  s.advance(seconds(30));
  EXPECT_THAT(s.tasks_of("late"), IsEmpty());
}

TEST(Owners, AreNotHinderedByWhatAppsOfOthersRunBeside) {
  const Caller ada{.user = "ada"};
  const Caller bob{.user = "bob"};
  Neighbours s(true);
  s.apply(ServiceScenario::app(1, "db"), ada);
  s.apply(ServiceScenario::app(1), ada);
  AppSpec third = ServiceScenario::app(2, "third");
  third.with = {"web"};
  EXPECT_EQ(s.apply(third, bob), "created");
  EXPECT_THAT(s.apply(Neighbours::beside(1, {"db"}), ada), HasSubstr("updated to version 2"));
  s.advance(minutes(1));
  EXPECT_EQ(s.row("third").ready, 2);
  EXPECT_EQ(s.agents_of("third"), s.agents_of("web"));
  // The app's owner counts, also if an operator applies its file.
  AppSpec db = ServiceScenario::app(1, "db");
  db.with = {"web"};
  EXPECT_THAT(s.apply(db, {.user = "root", .is_operator = true}),
              HasSubstr("runs beside other apps itself"));
}

}  // namespace
}  // namespace proffer::service::neighbours_test
