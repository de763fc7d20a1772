// The HTTP API of a running master: reads give the commands' JSON, writes work, and the OpenAPI
// file describes the answers.

#include <map>
#include <memory>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "common/text.h"
#include "tests/integration/processes.h"
#include "tests/support/shell_blocks.h"

namespace proffer::test::http_api_test {
namespace {

using nlohmann::json;
using testing::Contains;
using testing::HasSubstr;

struct Answer {
  int status = 0;
  std::string head = {};
  std::string body = {};
  std::string header(const std::string& name) const {
    const size_t at = head.find("\r\n" + name + ": ");
    if (at == head.npos) return {};
    const size_t begin = at + name.size() + 4;
    return head.substr(begin, head.find("\r\n", begin) - begin);
  }
};

Answer answer_of(const std::string& bytes) {
  const size_t split_at = bytes.find("\r\n\r\n");
  if (!bytes.starts_with("HTTP/1.1 ") || split_at == bytes.npos) return {};
  return {.status = std::stoi(bytes.substr(9, 3)),
          .head = bytes.substr(0, split_at + 2),
          .body = bytes.substr(split_at + 4)};
}

class HttpApi : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    cluster_ = new Cluster({.more = {"--http-port=0"}, .service = true, .batch = true});
  }
  static void TearDownTestSuite() {
    delete cluster_;
    cluster_ = nullptr;
  }

  static Answer ask(const std::string& verb, const std::string& target,
                    const std::string& headers = "", const std::string& body = "",
                    const std::string& place = "") {
    const std::string length = text("Content-Length: ", body.size(), "\r\n");
    return answer_of(
        ask_http(place.empty() ? cluster_->http() : place,
                 text(verb, " ", target, " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n",
                      headers, verb == "GET" ? "" : length, "\r\n", body)));
  }
  static Answer get(const std::string& target, const std::string& headers = "") {
    return ask("GET", target, headers);
  }
  static Answer post(const std::string& target, const std::string& body,
                     const std::string& headers = "") {
    return ask("POST", target, "Content-Type: application/json\r\n" + headers, body);
  }
  static json said(const Words& words) {
    Words all = words;
    all.push_back("--json");
    const Exit done = cluster_->proffer(all);
    EXPECT_EQ(done.code, 0) << testing::PrintToString(words) << done.err;
    return json::parse(done.out, nullptr, false);
  }
  static std::string reserved(const std::string& role) {
    const json agents = said({"agents"});
    for (const json& agent : agents.at("agents")) {
      if (!agent.contains("reserved")) continue;
      for (const json& part : agent.at("reserved")) {
        if (part.at("role") == role) return part.at("amounts").at("cpus").dump();
      }
    }
    return "none";
  }

  static Cluster* cluster_;
};

Cluster* HttpApi::cluster_ = nullptr;

json described() {
  return json::parse(read_file(std::string(PROFFER_SOURCE_DIR) + "/docs/openapi.json"));
}

// The time of the answer differs.
json at_rest(json value) {
  value.erase("now_s");
  return value;
}

// --- reads ---------------------------------------------------------------------------------------

TEST_F(HttpApi, EachReadAnswersWhatTheCommandPrints) {
  const std::unique_ptr<Process> task =
      cluster_->start({"run", "--name", "held", "--", "exec sleep 1000"});
  ASSERT_TRUE(eventually([] { return cluster_->running_tasks("held") == 1; })) << task->err();
  ASSERT_EQ(cluster_->proffer({"run", "--", "true"}).code, 0);
  ASSERT_EQ(cluster_->proffer({"role", "set", "ads/batch", "--weight", "2.5"}).code, 0);
  const std::string name = said({"tasks"}).at("tasks").at(0).at("framework");
  const std::string one =
      name + "/" + said({"tasks"}).at("tasks").at(0).at("task").get<std::string>();
  const std::multimap<std::string, std::pair<std::string, Words>> reads = {
      {"status", {"", {"status"}}},
      {"agents", {"", {"agents"}}},
      {"frameworks", {"", {"frameworks"}}},
      {"roles", {"", {"role", "list"}}},
      {"tasks", {"", {"tasks"}}},
      {"tasks", {"?ended=1", {"tasks", "--all"}}},
      {"tasks", {"?prefix=" + one, {"tasks", one}}},
      {"offers", {"", {"offers"}}},
      {"pending", {"", {"tasks", "--pending"}}},
      {"explain", {"?framework=" + name, {"explain", "framework", name}}},
      {"explain", {"?role=ads/batch", {"explain", "role", "ads/batch"}}},
      {"explain", {"?task=" + one, {"explain", "task", one}}},
      {"blame", {"?framework=" + name, {"blame", "framework", name}}},
      {"blame", {"?role=ads/batch", {"blame", "role", "ads/batch"}}},
      {"blame", {"?task=" + one, {"blame", "task", one}}},
      {"keys", {"", {"keys", "list"}}},
      {"secrets", {"", {"secret", "list"}}},
      {"history", {"?limit=100", {"history"}}},
      {"services", {"", {"service", "servers"}}},
  };
  // Excluded: events, which continue while they are read; masters, which `proffer status` does not
  // print for a single master; snapshot, which is of one moment and becomes YAML; file_access,
  // which is for other machines.
  std::set<std::string> others = {"masters", "snapshot", "file_access", "events"};
  const json api = described();
  for (const auto& [path, operations] : api.at("paths").items()) {
    const std::string method = path.substr(4);
    if (!operations.contains("get") || others.erase(method) == 1) continue;
    EXPECT_EQ(reads.count(method) > 0, true) << path << " is compared with no command";
  }
  EXPECT_TRUE(others.empty()) << "no longer described";
  for (const auto& [method, read] : reads) {
    const auto& [query, words] = read;
    EXPECT_TRUE(eventually(
        [&] {
          const Answer answer = get("/v1/" + method + query);
          return answer.status == 200 &&
                 at_rest(json::parse(answer.body, nullptr, false)) == at_rest(said(words));
        },
        Seconds(10)))
        << get("/v1/" + method + query).body << "\n"
        << said(words);
  }
  const json masters = json::parse(get("/v1/masters").body);
  EXPECT_EQ(masters.at("masters").at(0).at("role"), "leads") << masters;
  task->kill(SIGINT);
  task->wait();
}

TEST_F(HttpApi, PagesFollowOneAnother) {
  for (const char* role : {"p/a", "p/b", "p/c"}) {
    ASSERT_EQ(cluster_->proffer({"role", "set", role, "--weight", "2"}).code, 0);
  }
  std::vector<std::string> seen;
  std::string after;
  do {
    const json page = json::parse(get("/v1/roles?prefix=p/&limit=2&after=" + after).body);
    for (const json& row : page.at("roles")) {
      seen.push_back(row.at("role"));
      EXPECT_EQ(row.at("lag_s"), 0);
      EXPECT_EQ(row.at("lag_max_s"), 0);
    }
    after = page.value("next", "");
  } while (!after.empty());
  EXPECT_EQ(seen, (std::vector<std::string>{"p/a", "p/b", "p/c"}));
}

TEST_F(HttpApi, AnAnswerThatIsTheSameIsNotSentAgainAndMayBeWaitedFor) {
  Answer first;
  std::string known;
  // Wait until the tasks of earlier cases have ended.
  ASSERT_TRUE(eventually([&] {
    first = get("/v1/agents");
    known = "If-None-Match: " + first.header("ETag") + "\r\n";
    return get("/v1/agents?wait=50ms", known).status == 304;
  }));
  EXPECT_EQ(get("/v1/agents", known).status, 304);
  EXPECT_EQ(get("/v1/agents", known).body, "");
  EXPECT_EQ(get("/v1/agents?wait=30s", "If-None-Match: \"old\"\r\n").status, 200);
  EXPECT_EQ(get("/v1/agents?wait=30s").status, 400);

  Process waiting({"curl", "-s", "--unix-socket", cluster_->http(), "-H",
                   "If-None-Match: " + first.header("ETag"),
                   "http://localhost/v1/agents?wait=60s"});
  EXPECT_EQ(post("/v1/drain", R"({"agent":"agent-1"})").status, 200);
  EXPECT_THAT(waiting.wait(Seconds(30)).out, HasSubstr("drained_by_s"));
  EXPECT_EQ(post("/v1/undrain", R"({"agent":"agent-1"})").status, 200);
}

// --- writes --------------------------------------------------------------------------------------

TEST_F(HttpApi, ChangesWhatTheCommandsChange) {
  EXPECT_EQ(post("/v1/role_set", R"({"role":"eng","weight":3,"limit":"cpus:2"})").body, "{}");
  const json roles = said({"role", "list", "eng"});
  EXPECT_EQ(at_rest(json::parse(get("/v1/roles?prefix=eng").body)).at("roles").at(0).at("weight"),
            3)
      << roles;
  EXPECT_EQ(post("/v1/role_set", R"({"role":"eng","unset":true})").status, 200);

  EXPECT_EQ(post("/v1/secret_set", R"({"name":"db","value_hex":"6162"})").status, 200);
  EXPECT_EQ(said({"secret", "list"}).at("secrets").at(0).at("name"), "db");
  EXPECT_EQ(post("/v1/secret_remove", R"({"name":"db"})").status, 200);
  EXPECT_EQ(post("/v1/secret_remove", R"({"name":"db"})").status, 404);

  const std::unique_ptr<Process> task =
      cluster_->start({"run", "--name", "victim", "--", "exec sleep 1000"});
  ASSERT_TRUE(eventually([] { return cluster_->running_tasks("victim") == 1; })) << task->err();
  EXPECT_EQ(post("/v1/kill", R"({"task":"victim","grace_s":0.5})").body, "{}");
  EXPECT_NE(task->wait().code, 0);

  const json answer = json::parse(post("/v1/role_set", R"({"role":"a","weight":0})").body);
  EXPECT_EQ(answer.at("error").at("code"), "invalid_argument");
  EXPECT_THAT(answer.at("error").at("message"), HasSubstr("must be between 0.001 and 1000"));
  EXPECT_EQ(post("/v1/drain", "{").status, 400);
  EXPECT_EQ(post("/v1/drain", "").status, 400);
  EXPECT_EQ(post("/v1/drain", R"({"agent":"none"})").status, 404);
}

TEST_F(HttpApi, AWriteWithTheSameKeyIsDoneOnce) {
  const std::string part = R"({"agent":"agent-1","role":"r","resources":"cpus:0.5"})";
  const std::string key = "Idempotency-Key: once-1\r\n";
  EXPECT_EQ(post("/v1/reserve", part, key).status, 200);
  EXPECT_EQ(post("/v1/reserve", part, key).status, 200);
  EXPECT_EQ(reserved("r"), "0.5");
  EXPECT_EQ(post("/v1/reserve", part).status, 200);
  EXPECT_EQ(reserved("r"), "1");
  const Answer other = post("/v1/unreserve", part, key);
  EXPECT_EQ(other.status, 400);
  EXPECT_THAT(other.body, HasSubstr("was used for another request"));
  EXPECT_EQ(post("/v1/unreserve", R"({"agent":"agent-1","role":"r"})").status, 200);
  EXPECT_EQ(reserved("r"), "none");
}

TEST_F(HttpApi, RequestsTravelToSchedulersAndBack) {
  const Answer listed = post("/v1/frameworks/batch/requests?timeout_s=10", R"({"verb":"list"})");
  EXPECT_EQ(listed.status, 200) << listed.body;
  EXPECT_EQ(listed.header("Content-Type"), "application/json");
  EXPECT_TRUE(json::parse(listed.body).contains("jobs")) << listed.body;
  const Answer apps = post("/v1/frameworks/service/requests", R"({"verb":"list"})");
  EXPECT_TRUE(json::parse(apps.body).contains("apps")) << apps.body;
  EXPECT_EQ(post("/v1/frameworks/none/requests", "{}").status, 404);
  EXPECT_EQ(post("/v1/frameworks/batch/requests?timeout_s=4000", "{}").status, 400);
  EXPECT_EQ(post("/v1/frameworks/batch/requests?timeout=4", "{}").status, 400);
  const Answer refused = post("/v1/frameworks/batch/requests", R"({"verb":"dance"})");
  EXPECT_EQ(refused.status, 400) << refused.body;
}

TEST_F(HttpApi, TheCommandsOfItsPageWorkAsWritten) {
  const std::string page = read_file(std::string(PROFFER_SOURCE_DIR) + "/docs/concepts/http.md");
  const std::string place = "/run/proffer/master-http.sock";
  std::string script = "set -e\n";
  size_t commands = 0;
  for (std::string line : commands_between(page, "## Reading", "read nor write here")) {
    if (const size_t at = line.find(place); at != line.npos) {
      line.replace(at, place.size(), cluster_->http());
    }
    script += line + "\necho\n";
    ++commands;
  }
  EXPECT_GE(commands, 12u);
  const Exit done =
      run({"bash", "-c", script},
          {{"DIR", cluster_->dir()}, {"PORT", cluster_->told_by("master", "http_port")}});
  EXPECT_EQ(done.code, 0) << done.err;
  EXPECT_THAT(done.out, testing::Not(HasSubstr("\"error\""))) << script;
  EXPECT_THAT(done.out, testing::ContainsRegex("\n(200|304)\n"));
  EXPECT_THAT(done.out, HasSubstr("{\"jobs\":"));
  const json api = described();
  for (const auto& [path, operations] : api.at("paths").items()) {
    const std::string shown = path.find('{') == path.npos ? path : "/v1/frameworks/NAME/requests";
    EXPECT_THAT(page, HasSubstr("`" + shown + "`")) << "is not on the page";
  }
}

// --- refused callers -----------------------------------------------------------------------------

TEST_F(HttpApi, AtThePortTheTokenMayWriteAndNothingElse) {
  const std::string port = cluster_->told_by("master", "http_port");
  const std::string token(trimmed(read_file(cluster_->dir() + "/master/http_token")));
  const std::string type = "Content-Type: application/json\r\n";
  const std::string bearer = "Authorization: Bearer " + token + "\r\n";
  const std::string body = R"({"role":"port","weight":2})";
  const auto write = [&](const std::string& headers) {
    return ask("POST", "/v1/role_set", headers, body, port);
  };
  const Answer stranger = write(type);
  EXPECT_EQ(stranger.status, 401);
  EXPECT_EQ(json::parse(stranger.body).at("error").at("code"), "permission_denied");
  EXPECT_EQ(write(type + "Authorization: Bearer x\r\n").status, 401);
  EXPECT_EQ(write(type + bearer + "Origin: http://evil.example\r\n").status, 403);
  EXPECT_EQ(write(bearer).status, 415);
  EXPECT_EQ(write(bearer + "Content-Type: application/x-www-form-urlencoded\r\n").status, 415);
  EXPECT_THAT(get("/v1/roles?prefix=port").body, testing::Not(HasSubstr("\"port\"")));
  EXPECT_EQ(write(type + bearer).status, 200);
  EXPECT_THAT(get("/v1/roles?prefix=port").body, HasSubstr("\"port\""));
}

// --- the OpenAPI file ----------------------------------------------------------------------------

// The part of `value` that the schema does not describe; empty if there is none.
std::string undescribed(const json& value, const json& schema, const std::string& where) {
  if (schema.empty()) return {};
  if (schema.contains("anyOf")) {
    std::string why;
    for (const json& one : schema.at("anyOf")) {
      const std::string wrong = undescribed(value, one, where);
      if (wrong.empty()) return {};
      why += wrong + "; ";
    }
    return why;
  }
  const std::string type = schema.at("type");
  const bool fits = type == "string"    ? value.is_string()
                    : type == "boolean" ? value.is_boolean()
                    : type == "integer" ? value.is_number_integer()
                    : type == "number"  ? value.is_number()
                    : type == "array"   ? value.is_array()
                                        : value.is_object();
  if (!fits) return where + " is no " + type;
  if (type == "integer" && value.get<int64_t>() < schema.value("minimum", INT64_MIN)) {
    return where + " is below its minimum";
  }
  if (type == "array") {
    for (const json& one : value) {
      const std::string wrong = undescribed(one, schema.at("items"), where + "[]");
      if (!wrong.empty()) return wrong;
    }
  }
  if (type != "object") return {};
  for (const json& name : schema.value("required", json::array())) {
    if (!value.contains(name)) return where + " lacks " + name.get<std::string>();
  }
  for (const auto& [name, member] : value.items()) {
    const std::string inner = where + "." + name;
    const json properties = schema.value("properties", json::object());
    const bool is_known = properties.contains(name);
    if (!is_known && !schema.contains("additionalProperties")) return inner + " is not described";
    const json& of_it = is_known ? properties.at(name) : schema.at("additionalProperties");
    const std::string wrong = undescribed(member, of_it, inner);
    if (!wrong.empty()) return wrong;
  }
  return {};
}

TEST_F(HttpApi, EachPathAnswersAsTheOpenApiFileDescribes) {
  const std::unique_ptr<Process> task = cluster_->start({"run", "--", "exec sleep 1000"});
  ASSERT_TRUE(eventually([] { return cluster_->running_tasks() == 1; })) << task->err();
  const std::string name = said({"tasks"}).at("tasks").at(0).at("framework");
  const json api = described();
  const std::map<std::string, std::string> needs = {
      {"/v1/explain", "?framework=" + name},
      {"/v1/blame", "?framework=" + name},
      {"/v1/file_access", "?agent=agent-1&framework=" + name},
  };
  const json error = api.at("components")
                         .at("responses")
                         .at("Error")
                         .at("content")
                         .at("application/json")
                         .at("schema");
  const auto expect_error = [&](const Answer& answer, int status, const std::string& what) {
    EXPECT_EQ(answer.status, status) << what << answer.body;
    const json body = json::parse(answer.body, nullptr, false);
    EXPECT_EQ(undescribed(body, error, "error"), "") << what << answer.body;
  };
  EXPECT_GE(api.at("paths").size(), 28u);
  for (const auto& [pattern, operations] : api.at("paths").items()) {
    std::string path = pattern;
    if (const size_t at = path.find("{framework}"); at != path.npos) path.replace(at, 11, "batch");
    ASSERT_EQ(operations.size(), 1u) << path;
    const bool reads = operations.contains("get");
    const json& operation = operations.at(reads ? "get" : "post");
    const std::string allow = reads ? "GET, HEAD" : "POST";
    const std::string wrong_verb = reads ? "POST" : "GET";
    for (const std::string& verb : {wrong_verb, std::string("PUT"), std::string("DELETE")}) {
      const Answer refused = ask(verb, path, "Content-Type: application/json\r\n", "{}");
      expect_error(refused, 405, verb + " " + path);
      EXPECT_EQ(refused.header("Allow"), allow) << path;
    }
    if (!reads) {
      expect_error(ask("POST", path, "Content-Type: text/plain\r\n", "{}"), 415, path);
      expect_error(post(path, std::string(256 * 1024 + 1, ' ')), 413, path);
      expect_error(post(path, R"({"nmae":1})"), 400, path);
      expect_error(post(path + "?nmae=1", "{}"), 400, path);
      continue;
    }
    expect_error(get(path + "?nmae=1"), 400, path);
    const auto need = needs.find(path);
    const Answer answer = get(path + (need == needs.end() ? "" : need->second));
    // The agent serves files only to this machine.
    if (path == "/v1/file_access") {
      expect_error(answer, 409, path);
      continue;
    }
    EXPECT_EQ(answer.status, 200) << path << answer.body;
    const json& schema =
        operation.at("responses").at("200").at("content").at("application/json").at("schema");
    EXPECT_EQ(undescribed(json::parse(answer.body, nullptr, false), schema, path), "");
  }
  for (const char* query : {"?role=ads", "?task=run"}) {
    const Answer answer = get(std::string("/v1/explain") + query);
    if (answer.status != 200) continue;
    const json& schema = api.at("paths").at("/v1/explain").at("get").at("responses").at("200");
    EXPECT_EQ(undescribed(json::parse(answer.body),
                          schema.at("content").at("application/json").at("schema"), query),
              "");
  }
  for (const char* path : {"/v1/agent", "/v1/", "/v1", "/", "/v1/join", "/v1/standby",
                           "/v1/key_rotate", "/v1/frameworks/batch", "/v1/agents/agent-1"}) {
    expect_error(get(path), 404, path);
    expect_error(post(path, "{}"), path[1] == 'v' && path[3] == '/' ? 404 : 405, path);
  }
  EXPECT_EQ(post("/healthz", "{}").status, 405);
  task->kill(SIGINT);
  task->wait();
}

}  // namespace
}  // namespace proffer::test::http_api_test
