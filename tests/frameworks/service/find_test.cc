// Instances get the servers of the apps in `find`, as of the time when the instance starts.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/frameworks/service/service_scenario.h"

namespace proffer::service::find_test {
namespace {

using ::testing::HasSubstr;

AppSpec with_port(AppSpec spec) {
  spec.ports = {"http"};
  return spec;
}
AppSpec app_that_finds(std::vector<std::string> find) {
  AppSpec spec = ServiceScenario::app(1, "web");
  spec.find = std::move(find);
  return spec;
}

// The environment of the only instance of `web`.
proto::Environment environment(const ServiceScenario& s) {
  const auto ids = s.tasks_of("web");
  EXPECT_EQ(ids.size(), 1u);
  return ids.empty() ? proto::Environment() : s.tasks().at(ids[0]).spec.environment;
}

TEST(Find, AnInstanceIsToldTheServersThatAreReadyWhenItStarts) {
  ServiceScenario s;
  s.agent("a1", 1);
  s.agent("a2", 1);
  s.apply(with_port(ServiceScenario::app(2, "db")));
  s.advance(seconds(5));
  s.agent("a3", 2);
  AppSpec web = app_that_finds({"db", "web"});
  web.env = {{"A", "b"}};
  s.apply(web);
  s.settle();
  const proto::Environment env = environment(s);
  EXPECT_EQ(env.at("PROFFER_SERVICE_DB"), "host-a1:31000,host-a2:31000");
  EXPECT_EQ(env.at("PROFFER_SERVICE_DB_HTTP"), env.at("PROFFER_SERVICE_DB"));
  EXPECT_EQ(env.at("PROFFER_SERVICE_WEB"), "");
  EXPECT_EQ(env.at("A"), "b");

  // Later changes do not affect a running instance; its successor gets the current servers.
  s.crash(s.tasks_on("a1").at(0));
  s.agent("a1", 0);
  s.advance(seconds(5));
  EXPECT_EQ(environment(s), env);
  s.start();
  s.advance(seconds(5));
  s.crash(s.tasks_of("web").at(0));
  s.advance(seconds(5));
  EXPECT_EQ(environment(s).at("PROFFER_SERVICE_DB"), "host-a3:31000,host-a2:31000");
}

TEST(Find, TheAppsOwnVariablesAreNotReplaced) {
  ServiceScenario s;
  s.agent("a1", 3);
  AppSpec web = app_that_finds({"db"});
  web.env["PROFFER_SERVICE_DB"] = "mine:1";
  s.apply_all({web, with_port(ServiceScenario::app(1, "db"))});
  s.settle();
  EXPECT_EQ(environment(s).at("PROFFER_SERVICE_DB"), "mine:1");
}

TEST(Find, AnAppThatIsNotThereIsRefusedAndOneThatIsGoneHasNoServers) {
  ServiceScenario s;
  s.agent("a1", 3);
  EXPECT_EQ(s.apply(app_that_finds({"db"})), "error: find: there is no app 'db'");
  s.apply_all({app_that_finds({"db"}), with_port(ServiceScenario::app(1, "db"))});
  s.settle();
  s.stop("db");
  s.advance(seconds(5));
  s.crash(s.tasks_of("web").at(0));
  s.advance(seconds(5));
  EXPECT_EQ(environment(s).at("PROFFER_SERVICE_DB"), "");
  EXPECT_EQ(environment(s).count("PROFFER_SERVICE_DB_HTTP"), 0u);
}

TEST(Find, OfManyServersEachInstanceIsToldSixtyFourOthers) {
  ServiceScenario s;
  s.agent("a1", 100);
  s.apply(with_port(ServiceScenario::app(70, "db")));
  s.advance(seconds(5));
  AppSpec web = app_that_finds({"db"});
  web.instances = 2;
  s.apply(web);
  s.settle();
  std::set<std::string> told;
  for (const std::string& id : s.tasks_of("web")) {
    const std::string value = s.tasks().at(id).spec.environment.at("PROFFER_SERVICE_DB");
    EXPECT_EQ(std::count(value.begin(), value.end(), ','), 63);
    told.insert(value);
  }
  EXPECT_EQ(told.size(), 1u);  // all have the same address here
}

TEST(Find, ToFindAnotherAppIsAnotherVersion) {
  ServiceScenario s;
  s.agent("a1", 5);
  s.apply_all({app_that_finds({}), with_port(ServiceScenario::app(1, "db"))});
  s.advance(seconds(5));
  EXPECT_EQ(s.apply(app_that_finds({"db"})), "updated to version 2");
  s.advance(seconds(5));
  EXPECT_THAT(environment(s).at("PROFFER_SERVICE_DB"), HasSubstr("host-a1:"));
  EXPECT_EQ(s.request(Rollback{"web"}), "rolled back to version 1");
  s.advance(seconds(5));
  EXPECT_EQ(environment(s).count("PROFFER_SERVICE_DB"), 0u);
}

}  // namespace
}  // namespace proffer::service::find_test
