// Messages between `proffer service` and its scheduler, and the output of an attached run.

#include "frameworks/service/shell/requests.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "frameworks/service/core/records.h"
#include "frameworks/service/core/trace.h"
#include "frameworks/service/shell/story.h"
#include "proto/json/service_json.h"

namespace proffer::service::requests_test {
namespace {

using ::testing::HasSubstr;

TEST(Requests, BecomeChangesAndPictures) {
  const auto apply = parse_request(
      proto::service_call_json({.verb = "apply", .file = "name: web\ncommand: \"a\\nb\"\n"}));
  ASSERT_TRUE(apply) << apply.error().message();
  EXPECT_EQ(std::get<Apply>(std::get<Change>(*apply)).specs.at(0).command, "a\nb");
  EXPECT_EQ(app_of(std::get<Change>(*apply)), "web");

  const auto scale =
      parse_request(proto::service_call_json({.verb = "scale", .app = "web", .instances = 0}));
  ASSERT_TRUE(scale);
  EXPECT_EQ(std::get<Scale>(std::get<Change>(*scale)).instances, 0);
  const auto stop = parse_request(proto::service_call_json({.verb = "stop", .app = "web"}));
  ASSERT_TRUE(stop);
  EXPECT_EQ(app_of(std::get<Change>(*stop)), "web");
  const auto list = parse_request(proto::service_call_json({.verb = "list"}));
  ASSERT_TRUE(list);
  EXPECT_TRUE(std::holds_alternative<ListApps>(std::get<Picture>(*list)));
  const auto show =
      parse_request(proto::service_call_json({.verb = "status", .app = "web", .after = "t"}));
  ASSERT_TRUE(show);
  EXPECT_EQ(std::get<ShowApp>(std::get<Picture>(*show)).after, "t");
  const auto back =
      parse_request(proto::service_call_json({.verb = "rollback", .app = "web", .version = 3}));
  ASSERT_TRUE(back);
  EXPECT_EQ(std::get<Rollback>(std::get<Change>(*back)).version, 3U);
  const auto plan =
      parse_request(proto::service_call_json({.verb = "plan", .file = "name: web\ncommand: x\n"}));
  ASSERT_TRUE(plan) << plan.error().message();
  EXPECT_EQ(app_of(std::get<Preview>(std::get<Picture>(*plan)).change), "web");
  for (const char* verb : {"pause", "resume"}) {
    const auto one = parse_request(proto::service_call_json({.verb = verb, .app = "web"}));
    ASSERT_TRUE(one);
    EXPECT_EQ(app_of(std::get<Change>(*one)), "web");
  }
}

TEST(Requests, ThatMeanNothingAreRefusedWithReasons) {
  const std::pair<const char*, const char*> rows[] = {
      {"", "JSON"},
      {"{}", "verb"},
      {R"({"verb":"start"})",
       "known are apply, figures, history, list, pause, plan, resume, rollback, scale, servers, "
       "status and "
       "stop"},
      {R"({"verb":"servers","wait_s":61})", "1m"},
      {R"({"verb":"scale","count":3})", "count"},
      {R"({"verb":"scale","instances":-1})", "instances"},
      {R"({"verb":"apply","file":"name: a b\ncommand: x"})", "'a b'"},
  };
  for (const auto& [data, says] : rows) {
    const auto asked = parse_request(data);
    ASSERT_FALSE(asked) << data;
    EXPECT_EQ(asked.error().code(), ErrorCode::kInvalidArgument);
    EXPECT_THAT(asked.error().message(), HasSubstr(says)) << data;
  }
}

TEST(Json, TellsRowsWithoutLoss) {
  const proto::ServiceAppRow app{.app = "web",
                                 .version = 3,
                                 .state = "updating",
                                 .instances = 5,
                                 .ready = 4,
                                 .outdated = 2,
                                 .live = 6,
                                 .why = "waits"};
  const proto::ServiceAppsPage list{.apps = {app, {}}, .next = "web"};
  const auto apps = proto::parse_service_apps(proto::service_apps_json(list));
  ASSERT_TRUE(apps) << apps.error().message();
  EXPECT_EQ(*apps, list);
  const proto::ServersPage servers{.version = "l.7",
                                   .servers = {{.app = "web",
                                                .task = TaskId("web.3.0-a"),
                                                .agent = AgentId("a1"),
                                                .slot = 7,
                                                .host = "h1",
                                                .ports = {{"http", 31'000}}},
                                               {}},
                                   .unknown = {"wep"},
                                   .next = "x"};
  const auto same = proto::parse_servers(proto::servers_json(servers));
  ASSERT_TRUE(same) << same.error().message();
  EXPECT_EQ(*same, servers);
  proto::ServiceStatusPage page{.app = app, .next = "x"};
  page.instances.push_back({.task = TaskId("web.3.0-a"),
                            .agent = AgentId("a1"),
                            .host = "h1",
                            .slot = 7,
                            .version = 3,
                            .state = "running",
                            .ready = true,
                            .healthy = true,
                            .ports = {{"http", 31'000}},
                            .launched_at = Time::from_nanos(1'500'000'000)});
  page.instances.push_back({});
  const auto again = proto::parse_service_status(proto::service_status_json(page));
  ASSERT_TRUE(again) << again.error().message();
  EXPECT_EQ(*again, page);
  EXPECT_FALSE(proto::parse_service_status(R"({"instances":[{"ports":{"a":0}}]})"));
}

TEST(Pages, OfAStatusCarryAllInstances) {
  AppSpec spec;
  spec.name = "web";
  spec.command = "x";
  spec.instances = 2'000;
  Entries entries = {{app_key(spec.name), encode(AppRecord{.spec = spec})}};
  std::map<BlockName, InstanceBlock> blocks;
  for (int64_t slot = 0; slot < spec.instances; ++slot) {
    const BlockName block{.app = "web", .number = slot / kSlotsPerBlock};
    blocks[block][to_task_id({"web", 1, slot, "u"})] = {.agent = AgentId("a1")};
  }
  for (const auto& [name, block] : blocks) entries[block_key(name)] = encode(block);
  const Service service({.has_store = true, .life = "l"}, entries);
  std::set<std::string> seen;
  std::string after;
  for (int pages = 0; pages < 10; ++pages) {
    const auto page = service.status_of("web", after);
    ASSERT_TRUE(page);
    EXPECT_LT(proto::service_status_json(*page).size(), kRelayedBytesMax);
    for (const auto& row : page->instances) EXPECT_TRUE(seen.insert(row.task.str()).second);
    after = page->next;
    if (after.empty()) break;
  }
  EXPECT_EQ(seen.size(), 2'000u);
  EXPECT_FALSE(service.status_of("web", "")->next.empty());
  EXPECT_FALSE(show(service, ShowApp{"wep", ""}, Time(), {}));
}

TEST(Pages, TellWhyAnAppIsNotWellToItsOwnerOnly) {
  AppSpec spec;
  spec.name = "web";
  spec.command = "x";
  spec.ports = {"http"};
  spec.scale = ScalePolicy{
      .source = LoadSource::kHttp, .target = 1'000, .port = "http", .path = "/load?token=secret"};
  Service service(
      {.has_store = true, .serves_users = true, .life = "l"},
      {{app_key(spec.name), encode(AppRecord{.spec = spec, .stopping = true, .owner = "ada"})},
       {block_key({.app = "web"}),
        encode(InstanceBlock{{to_task_id({"web", 1, 0, "u"}), {.agent = AgentId("a1")}}})}});
  proto::TaskStatus status{.task = to_task_id({"web", 1, 0, "u"}),
                           .agent = AgentId("a1"),
                           .state = proto::TaskState::kRunning};
  status.ready = false;
  status.message = "does not listen";
  ServiceOutbox out;
  service.handle(sdk::Notification(status), Time(), out);
  const std::string why = "1 instance has not ended yet";
  for (const auto& [by, sees] : {std::pair(Caller{.user = "ada"}, true),
                                 std::pair(Caller{.user = "root", .is_operator = true}, true),
                                 std::pair(Caller{.user = "bob"}, false)}) {
    const Result<std::string> instances = show(service, ShowApp{"web", ""}, Time(), by);
    ASSERT_TRUE(instances);
    EXPECT_EQ(instances->find("does not listen") != std::string::npos, sees) << *instances;
    for (const Result<std::string>& shown :
         {show(service, ListApps{}, Time(), by), show(service, ShowApp{"web", ""}, Time(), by)}) {
      ASSERT_TRUE(shown);
      EXPECT_THAT(*shown, HasSubstr(R"("owner":"ada")"));
      EXPECT_EQ(shown->find(why) != std::string::npos, sees) << by.user << *shown;
      EXPECT_EQ(shown->find("token=secret") != std::string::npos, sees) << by.user << *shown;
    }
  }
}

TEST(Story, IsToldInLines) {
  const InstanceEnded ended{.instance = TaskId("web.1.0-a"),
                            .agent = AgentId("agent-1"),
                            .reason = "exit code 1\x1b[2J",
                            .again_in = seconds(2),
                            .was_wanted = true};
  EXPECT_THAT(story_line(ended), HasSubstr("web.1.0-a ended on agent-1: exit code 1"));
  EXPECT_THAT(story_line(ended), HasSubstr("; again in 2s"));
  EXPECT_EQ(story_line(ended).find('\x1b'), std::string::npos);
  EXPECT_THAT(story_json(ended), HasSubstr(R"("event":"instance_ended")"));
  const InstanceChanged ready{.instance = TaskId("web.1.0-a"),
                              .agent = AgentId("agent-1"),
                              .to = InstanceChanged::To::kReady,
                              .reason = "",
                              .ports = {{"admin", 31001}, {"http", 31000}}};
  EXPECT_EQ(story_line(ready), "web.1.0-a ready on agent-1, admin:31001 http:31000");
  EXPECT_THAT(story_json(ready), HasSubstr(R"("port":"admin:31001 http:31000")"));
  EXPECT_EQ(story_line(InstanceKilled{TaskId("web.1.0-a"), KillReason::kScaledDown}),
            "web.1.0-a killed: scaled down");
  // Control characters of the last failure are also escaped in an app's event line.
  EXPECT_EQ(story_line(AppRolledBack{"web", 2, "it failed\x1b[2J"}),
            R"(app rolled back app=web version=2 reason="it failed\x1b[2J")");
  EXPECT_EQ(app_line({.app = "web", .instances = 3, .ready = 2, .why = "it waits"}),
            "web: 2 of 3 ready; it waits");
}

}  // namespace
}  // namespace proffer::service::requests_test
