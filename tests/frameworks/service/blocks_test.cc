// Many instances and many apps: their records, and how their asks share a framework's limits.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/frameworks/service/service_scenario.h"

namespace proffer::service::blocks_test {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

// An earlier version stored each instance by itself. These records are found, and are moved into
// blocks.
TEST(Store, InstancesOfASchedulerOfBeforeMoveIntoBlocks) {
  ServiceScenario s;
  s.agent("a1", 3);
  s.apply(ServiceScenario::app(3));
  s.advance(seconds(5));
  const std::vector<std::string> tasks = s.tasks_of("web");
  for (const std::string& task : tasks) {
    const std::string agent = s.tasks().at(task).agent.str();
    s.put_into_store("instances/" + task, text("ins1 ", agent.size(), ';', agent, "0;0;0;0;"));
  }
  s.erase_from_store(block_key({.app = "web"}));
  s.start();
  s.advance(minutes(1));
  EXPECT_EQ(s.tasks_of("web"), tasks);
  EXPECT_EQ(s.row().ready, 3);
  EXPECT_EQ(s.store().count(block_key({.app = "web"})), 1u);
  for (const auto& [key, value] : s.store()) EXPECT_FALSE(key.starts_with("instances/")) << key;
}

// The instances of its slots may become unreachable again and again.
TEST(Store, AFullBlockLaunchesNothingUntilAnInstanceHasEnded) {
  ServiceScenario s;
  s.apply(ServiceScenario::app(16));
  std::vector<std::string> names;
  for (int i = 0; i < 6; ++i) {
    names.push_back(text("a", i));
    s.agent(names.back(), 16);
    s.advance(minutes(2));
    if (i < 4) s.unreachable(names.back());
  }
  EXPECT_THAT(s.tasks_of("web"), SizeIs(kInstancesPerBlockMax));
  EXPECT_EQ(s.row().ready, 0);
  EXPECT_THAT(s.row().why, HasSubstr("64 earlier instances of this block of slots have not ended"));
  s.gone(names[0]);
  s.advance(minutes(2));
  EXPECT_EQ(s.row().ready, 16);
}

// Asks that fit nowhere do not keep the others from their turn.
TEST(Asks, BeyondThoseThatAFrameworkMayDeclareTakeTurns) {
  Service core({.has_store = false, .life = "l"});
  Time now = Time() + seconds(1'000);
  std::vector<Ask> declared;
  const auto handle = [&](const ServiceEvent& event) {
    ServiceOutbox out;
    core.handle(event, now, out);
    for (const sdk::Command& command : out.commands) {
      if (const auto* asks = std::get_if<proto::DeclareAsks>(&command)) declared = asks->asks;
    }
  };
  const auto rest = [&] {
    while (core.next_deadline() && *core.next_deadline() <= now) handle(Tick{});
  };
  handle(sdk::Notification(proto::Subscribed{.framework = FrameworkId("service-1-1")}));
  constexpr size_t kApps = kAsksMax + 44;
  for (size_t i = 0; i < kApps; ++i) {
    handle(Request{i + 1, Apply{{ServiceScenario::app(1, text("app", 1'000 + i))}}, {}});
  }
  std::set<AskName> all;
  for (int turn = 0; turn < 3; ++turn) {
    now = now + seconds(10);
    rest();
    EXPECT_THAT(declared, SizeIs(kAsksMax));
    for (const Ask& ask : declared) all.insert(ask.name);
  }
  EXPECT_THAT(all, SizeIs(kApps));
}

// A plan takes time per instance: thousands of events must not cause thousands of plans.
TEST(Plans, OfALargeAppAreForManyEventsAtOnce) {
  ServiceScenario s;
  s.agent("a1", 300);
  s.apply(ServiceScenario::app(260));
  s.advance(seconds(5));
  EXPECT_EQ(s.row().ready, 260);
  const std::vector<std::string> tasks = s.tasks_of("web");
  s.crash(tasks[0]);
  s.tick();
  s.crash(tasks[1]);
  ASSERT_TRUE(s.core().next_deadline());
  EXPECT_GT(*s.core().next_deadline(), s.now());
  EXPECT_LT(*s.core().next_deadline(), s.now() + milliseconds(10));
  s.advance(minutes(1));
  EXPECT_EQ(s.row().ready, 260);
}

}  // namespace
}  // namespace proffer::service::blocks_test
