// HTTP requests converted to calls of the route table, without a master.

#include "master/shell/http_routes.h"

#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/text.h"
#include "master/shell/openapi.h"
#include "proto/json/arguments.h"
#include "proto/json/json.h"
#include "tests/golden/golden.h"

namespace proffer::master {
namespace {

using testing::HasSubstr;

HttpRequest get(std::string path, HttpHeaders query = {}, HttpHeaders headers = {}) {
  return {.method = "GET",
          .path = std::move(path),
          .query = std::move(query),
          .headers = std::move(headers)};
}

HttpRequest post(std::string path, std::string body, std::string type = "application/json") {
  return {.method = "POST",
          .path = std::move(path),
          .headers = {{"content-type", std::move(type)}},
          .body = std::move(body)};
}

// The status of the refusal; 0 if the call is accepted.
int status_of(const HttpRequest& request) {
  const auto found = http_call(request);
  const auto* reply = std::get_if<HttpReply>(&found);
  return reply == nullptr ? 0 : reply->status;
}

std::string refusal_of(const HttpRequest& request) {
  const auto found = http_call(request);
  const auto* reply = std::get_if<HttpReply>(&found);
  return reply == nullptr ? "" : reply->body;
}

HttpCall call_of(const HttpRequest& request) {
  auto found = http_call(request);
  EXPECT_TRUE(std::holds_alternative<HttpCall>(found)) << std::get<HttpReply>(found).body;
  return std::get<HttpCall>(std::move(found));
}

TEST(Routes, HaveOneNameAndOnePathEachAndHelpForEachArgument) {
  std::set<std::string_view> methods;
  std::set<std::string_view> paths;
  for (const Route& route : routes()) {
    EXPECT_TRUE(route.method.empty() || methods.insert(route.method).second) << route.method;
    EXPECT_TRUE(route.path.empty() || paths.insert(route.path).second) << route.path;
    for (const proto::JsonShape& argument : route.arguments().members) {
      const bool is_of_masters =
          route.serves == Serves::kStandBy || route.serves == Serves::kFollow;
      const bool is_internal = is_of_masters || argument.is_hidden;
      EXPECT_TRUE(is_internal || !argument.about.empty()) << route.about << ": " << argument.name;
    }
    if (!route.page.empty()) {
      EXPECT_NE(route.arguments().find(route.page), nullptr) << route.method;
    }
  }
}

TEST(Routes, AreAllInTheDescriptionOfTheProtocol) {
  std::ifstream file(std::string(PROFFER_SOURCE_DIR) + "/docs/PROTOCOL.md");
  std::stringstream page;
  page << file.rdbuf();
  for (const Route& route : routes()) {
    if (route.method.empty()) continue;
    EXPECT_THAT(page.str(), HasSubstr(text('`', route.method, '`')));
  }
}

TEST(Routes, UnknownMethodIsToldWithAllMethodsAndTheNearest) {
  const Error error = unknown_method("framworks");
  EXPECT_EQ(error.code(), ErrorCode::kNotFound);
  EXPECT_THAT(error.message(), HasSubstr("unknown method 'framworks'; known are status, agents,"));
  EXPECT_THAT(error.message(), HasSubstr("secret_remove"));
  EXPECT_THAT(error.hint(), HasSubstr("did you mean 'frameworks'?"));
  EXPECT_EQ(find_route("framworks"), nullptr);
  EXPECT_EQ(find_route(""), nullptr);
  EXPECT_EQ(find_route("kill")->path, "kill");
}

TEST(HttpRoutes, RefusalsHaveTheirStatus) {
  struct Row {
    HttpRequest request;
    int status;
    const char* says;
  };
  const HttpHeaders etag = {{"if-none-match", "\"1\""}};
  const Row rows[] = {
      {get("/v1/agents"), 0, ""},
      {get("/v1/agents", {{"prefix", "a"}, {"limit", "5"}, {"after", "b"}}), 0, ""},
      {get("/v1/agent"), 404, "did you mean /v1/agents?"},
      {get("/v1"), 404, "/v1/frameworks/{framework}/requests"},
      {get("/"), 404, "/metrics"},
      {get("/v1/agents/"), 404, ""},
      {get("/v1/join"), 404, ""},
      {get("/v1/standby"), 404, ""},
      {get("/v1/frameworks/batch/requests"), 405, "takes POST, not GET"},
      {post("/v1/frameworks//requests", "{}"), 404, ""},
      {post("/v1/frameworks/a/b/requests", "{}"), 404, ""},
      {get("/v1/kill"), 405, "takes POST, not GET"},
      {post("/v1/agents", "{}"), 405, "takes GET, HEAD, not POST"},
      {post("/v1/kill", "{}"), 0, ""},
      {post("/v1/kill", "{}", "Application/JSON; charset=utf-8"), 0, ""},
      {post("/v1/kill", "{}", "text/plain"), 415, "must be application/json, not 'text/plain'"},
      {post("/v1/kill", "{}", ""), 415, "the Content-Type is missing"},
      {post("/v1/kill", "{}", "application/octet-stream"), 415, ""},
      {post("/v1/frameworks/batch/requests", "x", "application/octet-stream"), 0, ""},
      {post("/v1/frameworks/batch/requests", "x", "application/x-www-form-urlencoded"), 415, ""},
      {get("/v1/agents", {{"perfix", "a"}}), 400, "did you mean 'prefix'?"},
      {get("/v1/agents", {{"ended", "1"}}), 400, "known are prefix, after, limit"},
      {get("/v1/status", {{"limit", "1"}}), 400, "unknown argument 'limit'"},
      {get("/v1/agents", {{"limit", "many"}}), 400, "limit: must be a number, not 'many'"},
      {get("/v1/agents", {{"limit", "-1"}}), 400, "limit: must be a number, not '-1'"},
      {get("/v1/agents", {{"limit", "1"}, {"limit", "2"}}), 400, "limit: is given twice"},
      {get("/v1/tasks", {{"ended", "maybe"}}), 400, "must be true or false, not 'maybe'"},
      {get("/v1/tasks", {{"wait", "30s"}}), 400, "needs the header If-None-Match"},
      {get("/v1/tasks", {{"wait", "30s"}}, etag), 0, ""},
      {get("/v1/tasks", {{"wait", "2m"}}, etag), 400, "must be from 0s to 1m, not '2m'"},
      {get("/v1/tasks", {{"wait", "soon"}}, etag), 400, "wait: "},
      {get("/v1/status", {{"wait", "30s"}}, etag), 400, "unknown argument 'wait'"},
  };
  for (const Row& row : rows) {
    const std::string what = text(row.request.method, " ", row.request.path);
    EXPECT_EQ(status_of(row.request), row.status) << what << refusal_of(row.request);
    EXPECT_THAT(refusal_of(row.request), HasSubstr(row.says)) << what;
  }
  HttpRequest with_query = post("/v1/kill", "{}");
  with_query.query = {{"task", "a/b"}};
  EXPECT_EQ(status_of(with_query), 400);
  EXPECT_THAT(refusal_of(with_query), HasSubstr("members of the body"));
}

TEST(HttpRoutes, VerbsOfAPathAreInAllow) {
  const auto found = http_call(post("/v1/agents", "{}"));
  EXPECT_THAT(std::get<HttpReply>(found).headers,
              testing::Contains(std::pair<std::string, std::string>("Allow", "GET, HEAD")));
  EXPECT_EQ(verbs_of("/v1/kill"), "POST");
  EXPECT_EQ(verbs_of("/v1/roles"), "GET, HEAD");
  EXPECT_EQ(verbs_of("/v1/frameworks/x/requests"), "POST");
}

TEST(HttpRoutes, QueryAndBodyAreTheArgumentsOfTheCall) {
  const HttpCall tasks =
      call_of(get("/v1/tasks", {{"prefix", "web/"}, {"ended", ""}, {"limit", "7"}}));
  EXPECT_EQ(*proto::parse_task_query(tasks.arguments),
            (proto::TaskQuery{.prefix = "web/", .ended = true, .limit = 7}));
  const HttpCall servers = call_of(
      get("/v1/services", {{"app", "web,api"}, {"app", "db"}, {"wait", "30s"}, {"version", "v"}}));
  EXPECT_EQ(*proto::parse_servers_query(servers.arguments),
            (proto::ServersQuery{.apps = {"web", "api", "db"}, .seen = "v", .wait = seconds(30)}));
  HttpRequest request = post("/v1/frameworks/batch/requests", "{\"verb\":\"list\"}");
  request.query = {{"timeout_s", "2.5"}, {"role", "ads/x"}};
  const HttpCall asked = call_of(request);
  EXPECT_EQ(asked.framework, "batch");
  EXPECT_EQ(*proto::parse_request_options(asked.arguments),
            (proto::RequestOptions{.timeout = milliseconds(2'500), .role = RoleName("ads/x")}));
  EXPECT_EQ(call_of(post("/v1/drain", R"({"agent":"a1"})")).arguments, R"({"agent":"a1"})");
  const HttpCall waiting =
      call_of(get("/v1/agents", {{"wait", "5s"}}, {{"if-none-match", "\"1\""}}));
  EXPECT_EQ(waiting.wait, seconds(5));
  EXPECT_EQ(waiting.arguments, "{}");
}

// The maximum wait is that of the servers call.
TEST(HttpRoutes, ServersAreWaitedForAMinuteAtMost) {
  const HttpCall call = call_of(get("/v1/services", {{"wait", "2m"}}));
  const auto query = proto::parse_servers_query(call.arguments);
  ASSERT_FALSE(query);
  EXPECT_THAT(query.error().message(), HasSubstr("wait: must be from 0s to 1m, not 2m"));
}

// The known members of a body come from its parser, so both always agree.
TEST(Arguments, UnknownMembersOfABodyAreRefusedWithTheNearest) {
  for (const Route& route : routes()) {
    if (route.change == nullptr) continue;
    const auto event = route.change(R"({"agnet":"a1"})", 1, nullptr);
    ASSERT_FALSE(event) << route.method;
    EXPECT_THAT(event.error().message(), HasSubstr("unknown member 'agnet'")) << route.method;
    if (route.arguments().find("agent") != nullptr) {
      EXPECT_THAT(event.error().hint(), HasSubstr("did you mean 'agent'?")) << route.method;
    }
  }
}

TEST(OpenApi, DescribesEachRouteAndIsUpToDate) {
  const std::string file = openapi();
  for (const Route& route : routes()) {
    if (route.path.empty()) continue;
    EXPECT_THAT(file, HasSubstr(text("\"/v1/", route.path, "\": {"))) << route.path;
  }
  EXPECT_THAT(who_may(*find_route("drain")), HasSubstr("operators"));
  EXPECT_THAT(who_may(*find_route("kill")), HasSubstr("'OWNER'"));
  EXPECT_EQ(who_may(*find_route("secret_set")), "every user may");
  EXPECT_EQ(who_may(*find_route("status")), "");
  test::expect_golden("docs/openapi.json", file);
}

}  // namespace
}  // namespace proffer::master
