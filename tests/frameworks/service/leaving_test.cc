// How instances end: a ready instance is first removed from service, then gets its signal; a failed
// instance reports its last words.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/frameworks/service/service_scenario.h"

namespace proffer::service::leaving_test {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

struct Running : ServiceScenario {
  explicit Running(const AppSpec& spec) {
    for (const char* name : {"a1", "a2", "a3"}) agent(name, 2);
    apply(spec);
    advance(seconds(5));
    EXPECT_EQ(row().ready, spec.instances);
  }
};

TEST(Leave, AReadyInstanceIsNotReadyForAWhileBeforeItEnds) {
  AppSpec spec = ServiceScenario::app(3);
  spec.drain_delay = seconds(10);
  Running s(spec);
  s.scale("web", 1);
  s.advance(seconds(9));
  EXPECT_THAT(s.tasks_of("web"), SizeIs(3));
  EXPECT_EQ(s.row().ready, 1);
  int64_t leaving = 0;
  const auto page = s.core().status_of("web", "");
  for (const auto& row : page->instances) {
    leaving += row.state == "leaving";
    EXPECT_EQ(row.ready, row.state == "running");
  }
  EXPECT_EQ(leaving, 2);
  s.advance(seconds(2));
  EXPECT_THAT(s.tasks_of("web"), SizeIs(1));
  s.stop("web");
  s.advance(seconds(9));
  EXPECT_THAT(s.tasks_of("web"), SizeIs(1));
  s.advance(seconds(2));
  EXPECT_THAT(s.tasks_of("web"), SizeIs(0));
}

TEST(Leave, WhatIsNotReadyEndsAtOnce) {
  AppSpec spec = ServiceScenario::with_health(ServiceScenario::app(3));
  spec.drain_delay = hours(1);
  Running s(spec);
  const std::string sick = s.tasks_of("web").front();
  s.healthy(sick, false);
  s.advance(seconds(5));
  EXPECT_EQ(s.tasks().count(sick), 0u);
}

// An update continues when the last instance has left and its replacement is ready.
TEST(Leave, InAnUpdateOneAfterTheOther) {
  AppSpec spec = ServiceScenario::app(3);
  spec.drain_delay = seconds(10);
  Running s(spec);
  spec.command = "serve better";
  s.apply(spec);
  s.advance(seconds(9));
  EXPECT_EQ(s.row().ready, 2);
  EXPECT_THAT(s.tasks_of("web", 1), SizeIs(3));
  s.advance(seconds(60));
  EXPECT_THAT(s.tasks_of("web", 2), SizeIs(3));
}

// A restarted scheduler does not know the delay, and starts it again.
TEST(Leave, AlthoughTheSchedulerIsKilledMeanwhile) {
  AppSpec spec = ServiceScenario::app(3);
  spec.drain_delay = seconds(10);
  Running s(spec);
  s.scale("web", 1);
  s.advance(seconds(5));
  s.start();
  s.advance(seconds(30));
  EXPECT_THAT(s.tasks_of("web"), SizeIs(1));
  EXPECT_EQ(s.row().ready, 1);
}

// A program's output may contain a secret: it is shown, but not stored or traced.
TEST(Crash, ItsLastWordsAreShownAndNotKept) {
  ServiceScenario s;
  s.agent("a1", 1);
  s.apply(ServiceScenario::app(1));
  s.settle();
  s.end(s.tasks_of("web").front(), ServiceScenario::State::kFailed,
        ServiceScenario::Reason::kCommandExited, "exit code 1",
        "starts\ncannot bind: \x1b[2Jport 80\n\n");
  s.tick();
  EXPECT_THAT(s.row().why, HasSubstr("exit code 1; its last output: cannot bind: "));
  EXPECT_EQ(s.row().why.find('\x1b'), std::string::npos);
  for (const auto& [key, value] : s.core().snapshot()) {
    EXPECT_EQ(value.find("cannot bind"), std::string::npos) << key;
  }
  for (const std::string& line : s.traced()) {
    EXPECT_EQ(line.find("cannot bind"), std::string::npos) << line;
  }
  s.agent("a1", 0);
  s.agent("a1", 1);
  s.advance(minutes(1));
  EXPECT_EQ(s.row().ready, 1);
  EXPECT_EQ(s.row().why.find("cannot bind"), std::string::npos);
}

}  // namespace
}  // namespace proffer::service::leaving_test
