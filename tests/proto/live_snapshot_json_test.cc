// A live cluster in pages of JSON: it is read back unchanged, for any number of pages.

#include "proto/json/live_snapshot_json.h"

#include <gtest/gtest.h>

#include "common/attributes.h"
#include "common/limits.h"
#include "common/text.h"

namespace proffer::proto::live_snapshot_json_test {
namespace {

LiveSnapshot read_all(const std::vector<std::string>& pages) {
  LiveSnapshot all;
  for (const std::string& page : pages) {
    const Result<void> read = parse_live_snapshot_page(page, all);
    EXPECT_TRUE(read) << read.error().message() << "\n" << page.substr(0, 500);
  }
  return all;
}

Ask ask_with_everything() {
  return {.name = AskName("train"),
          .shape = parse_shape("cpus:1.5;mem:512;gpus:0.5").value(),
          .count = 8,
          .constraints = {parse_constraint("rack in [r1, r2]").value(),
                          parse_constraint("host =~ big-.*").value()},
          .ports = 2,
          .priority = -7,
          .role = RoleName("eng/ads"),
          .spread = "rack",
          .max_per = {{"host", 2}, {"rack", 5}},
          .prefer = {.hosts = {"big-0"}, .racks = {"r1"}, .wait = seconds(10)},
          .gang = 4,
          .band = Band::kProduction,
          .borrow = false,
          .revocable_ok = true,
          .expiry = minutes(5),
          .duration = seconds(90)};
}

LiveSnapshot cluster() {
  LiveSnapshot all{.taken = Time() + seconds(1'000),
                   .options = {{"reclaim", "fair_share"}, {"revoke_grace", "10s"}}};
  all.agents.push_back(
      {.agent = AgentId("big-0"),
       .state = AgentState::kDisconnected,
       .attributes = {{"rack", "r1"}, {"disk", "a \"fast\" one"}},
       .total = parse_agent_resources("cpus:9;mem:18GiB;gpus:2;ports:[31000-31009]").value(),
       .reserved = {{RoleName("eng/ads"), parse_shape("cpus:1").value()}},
       .drains_for = milliseconds(1'500)});
  all.roles.push_back({RoleName("eng"),
                       {.weight = 2'500,
                        .guarantee = parse_quota("cpus:4;gpus:0").value(),
                        .limit = parse_quota("cpus:8").value()}});
  all.frameworks.push_back({.framework = FrameworkId("web-1-1"),
                            .name = "web",
                            .role = RoleName("eng"),
                            .mode = OfferMode::kOpen,
                            .connected = false,
                            .suppressed = true});
  all.asks.push_back({FrameworkId("web-1-1"), ask_with_everything()});
  all.tasks.push_back({.framework = FrameworkId("web-1-1"),
                       .task = TaskId("t-1"),
                       .agent = AgentId("big-0"),
                       .ask = AskName("train"),
                       .role = RoleName("eng/ads"),
                       .shape = parse_shape("cpus:1").value(),
                       .priority = 3,
                       .band = Band::kFree,
                       .gang = (uint64_t{7} << 40) + 1,
                       .estimated = true,
                       .ending = true,
                       .since = milliseconds(12'345),
                       .ports = {80, 31'000}});
  return all;
}

TEST(LiveSnapshotJson, ReadsBackWhatWasWritten) {
  const std::vector<std::string> pages = live_snapshot_pages(cluster());
  EXPECT_EQ(pages.size(), 1u);
  EXPECT_EQ(read_all(pages), cluster());
}

TEST(LiveSnapshotJson, AnEmptyClusterIsOnePage) {
  EXPECT_EQ(live_snapshot_pages({}).size(), 1u);
  EXPECT_EQ(read_all(live_snapshot_pages({})), LiveSnapshot());
}

TEST(LiveSnapshotJson, ManyRowsTakeSeveralPagesEachWithinAReply) {
  LiveSnapshot many = cluster();
  const LiveTask one = many.tasks.front();
  for (int i = 0; i < 3'500; ++i) {
    many.tasks.push_back(one);
    many.tasks.back().task = TaskId(text("t-", i, std::string(100, 'x')));
  }
  LiveAsk wide = many.asks.front();
  wide.ask.constraints.assign(
      20, Constraint{.attribute = "rack",
                     .op = Constraint::Operator::kIn,
                     .values = std::vector<std::string>(10, std::string(1'000, 'v'))});
  for (int i = 0; i < 10; ++i) many.asks.push_back(wide);
  const std::vector<std::string> pages = live_snapshot_pages(many);
  EXPECT_GE(pages.size(), 5u);
  for (const std::string& page : pages) EXPECT_LE(page.size(), kJsonBytesMax);
  EXPECT_EQ(read_all(pages), many);
}

TEST(LiveSnapshotJson, WrongPagesAreRefusedWithWhatIsWrong) {
  const auto refusal = [](const std::string& json) {
    LiveSnapshot into;
    const Result<void> read = parse_live_snapshot_page(json, into);
    return read ? std::string("nothing") : read.error().message();
  };
  EXPECT_NE(refusal("[]").find("object"), std::string::npos);
  EXPECT_NE(refusal(R"({"agents":[{"agent":"a","resources":"cpux:1"}]})").find("cpux"),
            std::string::npos);
  EXPECT_NE(refusal(R"({"tasks":[{"task":"t"}]})").find("shape"), std::string::npos);
  EXPECT_NE(refusal(R"({"asks":[{"shape":"cpus:1","constraints":["rack ~ r"]}]})").find("rack ~ r"),
            std::string::npos);
  EXPECT_NE(refusal(R"({"tasks":[{"shape":"cpus:1","gang":"x"}]})").find("gang"),
            std::string::npos);
}

}  // namespace
}  // namespace proffer::proto::live_snapshot_json_test
