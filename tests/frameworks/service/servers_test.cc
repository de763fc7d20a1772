// The instances in service, as clients and proxies see them.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/frameworks/service/service_scenario.h"

namespace proffer::service::servers_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using State = proto::TaskState;

AppSpec web(int64_t instances) {
  AppSpec spec = ServiceScenario::app(instances);
  spec.ports = {"http"};
  return spec;
}

struct Running : ServiceScenario {
  explicit Running(const AppSpec& spec) {
    for (const char* name : {"a1", "a2", "a3"}) agent(name, 2);
    apply(spec);
    advance(seconds(5));
    EXPECT_EQ(row().ready, spec.instances);
  }
  // Starts a watch of these apps that waits; returns its number.
  uint64_t wait_for(std::vector<std::string> apps, const std::string& seen) {
    handle(Watch{.relay = ++asked_, .apps = std::move(apps), .seen = seen, .wait = minutes(1)});
    return asked_;
  }

 private:
  uint64_t asked_ = 0;
};

TEST(Servers, AreTheReadyInstancesWithTheirAddresses) {
  Running s(web(2));
  const proto::ServersPage page = s.servers({"web", "wep"});
  ASSERT_THAT(page.servers, SizeIs(2));
  for (const proto::ServerRow& row : page.servers) {
    EXPECT_EQ(row.app, "web");
    EXPECT_EQ(row.host, "host-" + row.agent.str());
    EXPECT_EQ(row.ports, (std::map<std::string, uint16_t>{{"http", 31'000}}));
  }
  EXPECT_THAT(page.unknown, ElementsAre("wep"));
  EXPECT_EQ(page.next, "");
}

TEST(Servers, AWatchIsAnsweredWhenAServerOfItsAppsChanges) {
  Running s(web(2));
  s.apply(ServiceScenario::app(1, "api"));
  s.settle();
  const std::string seen = s.servers({"web"}).version;
  const uint64_t watch = s.wait_for({"web"}, seen);
  s.crash(s.tasks_of("api").front());  // not part of this watch
  s.tick();
  EXPECT_EQ(s.page(watch), std::nullopt);
  const std::string gone = s.tasks_of("web").front();
  s.crash(gone);
  s.tick();
  ASSERT_TRUE(s.page(watch));
  ASSERT_THAT(s.page(watch)->servers, SizeIs(1));
  EXPECT_NE(s.page(watch)->servers[0].task.str(), gone);
  EXPECT_NE(s.page(watch)->version, seen);
}

TEST(Servers, AWatchIsAnsweredAfterItsTimeWithTheSameVersion) {
  Running s(web(1));
  const std::string seen = s.servers({"web"}).version;
  const uint64_t watch = s.wait_for({"web"}, seen);
  s.advance(seconds(59));
  EXPECT_EQ(s.page(watch), std::nullopt);
  s.advance(seconds(1));
  ASSERT_TRUE(s.page(watch));
  EXPECT_EQ(s.page(watch)->version, seen);
}

// The version of the page is the highest number of a change, so a forgotten app must raise it too.
TEST(Servers, AnAppThatIsForgottenIsAChange) {
  Running s(web(1));
  s.apply(ServiceScenario::app(1, "api"));
  s.settle();
  s.stop("web");
  const std::string seen = s.servers({"api", "web"}).version;
  const uint64_t watch = s.wait_for({"api", "web"}, seen);
  s.advance(seconds(30));
  ASSERT_TRUE(s.page(watch));
  const proto::ServersPage now = s.servers({"api", "web"});
  EXPECT_THAT(now.unknown, ElementsAre("web"));
  EXPECT_THAT(now.servers, SizeIs(1));
  EXPECT_NE(now.version, seen);
}

TEST(Servers, MoreWatchesThanMayWaitAreAnsweredAtOnce) {
  Running s(web(1));
  const std::string seen = s.servers({"web"}).version;
  std::vector<uint64_t> watches;
  for (size_t i = 0; i <= kWatchersMax; ++i) watches.push_back(s.wait_for({"web"}, seen));
  for (size_t i = 0; i < kWatchersMax; ++i) EXPECT_FALSE(s.page(watches[i]));
  EXPECT_TRUE(s.page(watches.back()));
}

TEST(Servers, OneThatLeavesIsOutOfServiceBeforeItsSignal) {
  AppSpec spec = web(2);
  spec.drain_delay = seconds(10);
  Running s(spec);
  s.follow();
  s.scale("web", 1);
  s.tick();
  EXPECT_THAT(s.followed(), SizeIs(1));
  EXPECT_THAT(s.tasks_of("web"), SizeIs(2));
  for (const auto& [id, task] : s.tasks()) EXPECT_FALSE(task.kill_asked);
}

// A proxy that asks a scheduler just after its start does not lose its servers.
TEST(Servers, OfBeforeStayUntilTheClusterHasToldOfThem) {
  AppSpec spec = web(3);
  Running s(spec);
  s.says_ready(true);
  for (const std::string& id : s.tasks_of("web")) s.ready(id, true);
  s.ready(s.tasks_of("web").back(), false, "does not listen on port http (31000)");
  s.settle();
  const Entries kept = s.core().snapshot();
  Service next({.has_store = true, .life = "next"}, kept);
  ServiceOutbox out;
  next.handle(Watch{.relay = 1}, s.now(), out);
  ASSERT_THAT(out.servers, SizeIs(1));
  EXPECT_THAT(out.servers[0].page.servers, SizeIs(2));
  EXPECT_EQ(out.servers[0].page.servers[0].host, s.servers().servers[0].host);
}

TEST(Servers, AWatchBeforeTheAppsAreReadIsAnsweredWhenTheyAre) {
  Running s(web(1));
  s.hold_store(true);
  s.start();
  s.follow();
  EXPECT_THAT(s.followed(), IsEmpty());
  s.hold_store(false);
  s.settle();
  EXPECT_THAT(s.followed(), SizeIs(1));
}

TEST(Servers, OfManyInstancesGoIntoSeveralPages) {
  Entries entries = {{app_key("web"), encode(AppRecord{.spec = web(2'000)})}};
  std::map<BlockName, InstanceBlock> blocks;
  for (int64_t slot = 0; slot < 2'000; ++slot) {
    const BlockName block{.app = "web", .number = slot / kSlotsPerBlock};
    blocks[block][to_task_id({"web", 1, slot, "u"})] = {
        .agent = AgentId("a1"), .host = "h", .told_ready = true};
  }
  for (const auto& [name, block] : blocks) entries[block_key(name)] = encode(block);
  Service service({.has_store = true, .life = "l"}, entries);
  std::set<std::string> seen;
  std::string after;
  for (int pages = 1;; ++pages) {
    ServiceOutbox out;
    service.handle(Watch{.relay = 1, .after = after}, Time(), out);
    ASSERT_THAT(out.servers, SizeIs(1));
    for (const auto& row : out.servers[0].page.servers) seen.insert(row.task.str());
    after = out.servers[0].page.next;
    if (after.empty()) break;
    ASSERT_LT(pages, 10);
  }
  EXPECT_THAT(seen, SizeIs(2'000));
}

}  // namespace
}  // namespace proffer::service::servers_test
