#include "frameworks/service/shell/app_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/prng.h"
#include "common/text.h"

namespace proffer::service::app_file_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string error_of(const std::string& yaml) {
  const Result<AppSpec> app = parse_app_file(yaml);
  return app ? "" : app.error().message();
}
// An app with the two required keys.
std::string error_with(const std::string& rest) {
  return error_of("name: web\ncommand: x\n" + rest);
}

TEST(AppFile, SaysAllOfAnApp) {
  const Result<AppSpec> app = parse_app_file(R"(
name: web
instances: 3
command: "exec python3 -m http.server $PORT_http --bind 127.0.0.1"
resources: "cpus:0.2;mem:64"
env: {GREETING: hello, NUMBER: 010}
fetch: ["https://host/a?b,executable", "file:///x.zip,extract"]
ports: [http]
constraints: ["disk == ssd"]
spread: rack
max_per: {rack: 2, host: 1}
health: {http: {port: http, path: /ok}, interval: 1s, timeout: 500ms, grace: 5s, failures: 2}
update: {max_unavailable: 2, max_surge: 1, canary: 3, healthy_for: 5s,
         progress_deadline: 1m, rollback: false}
drain_delay: 3s
kill_grace: 1.5s
kill_signal: SIGINT
find: [redis, db]
files:
  nginx.conf: |
    listen ~{PORT_http};
    # it's so
  empty: ""
)");
  ASSERT_TRUE(app) << app.error().message();
  EXPECT_EQ(app->name, "web");
  EXPECT_EQ(app->instances, 3);
  EXPECT_EQ(app->command, "exec python3 -m http.server $PORT_http --bind 127.0.0.1");
  EXPECT_EQ(app->resources, ResourceVector::of(200, 64'000));
  EXPECT_EQ(app->env.at("GREETING"), "hello");
  EXPECT_EQ(app->env.at("NUMBER"), "010");  // exactly as written
  ASSERT_EQ(app->fetch.size(), 2u);
  EXPECT_EQ(app->fetch[0].uri, "https://host/a?b");
  EXPECT_TRUE(app->fetch[0].is_executable && app->fetch[1].is_extracted);
  EXPECT_THAT(app->ports, ElementsAre("http"));
  ASSERT_EQ(app->constraints.size(), 1u);
  EXPECT_EQ(to_text(app->constraints[0]), "disk == ssd");
  EXPECT_EQ(app->spread, "rack");
  EXPECT_EQ(app->max_per, (std::vector<MaxPer>{{.attribute = "host", .count = 1},
                                               {.attribute = "rack", .count = 2}}));
  ASSERT_TRUE(app->health);
  EXPECT_EQ(app->health->kind, proto::HealthCheck::Kind::kHttp);
  EXPECT_EQ(app->health->path, "/ok");
  EXPECT_EQ(app->health->timeout, milliseconds(500));
  EXPECT_EQ(app->health->failures, 2);
  EXPECT_EQ(app->update, (UpdatePolicy{.max_unavailable = 2,
                                       .max_surge = 1,
                                       .canary = 3,
                                       .healthy_for = seconds(5),
                                       .progress_deadline = minutes(1),
                                       .rolls_back = false}));
  EXPECT_EQ(app->drain_delay, seconds(3));
  EXPECT_EQ(app->kill_grace, milliseconds(1'500));
  EXPECT_EQ(app->kill_signal, 2);
  EXPECT_THAT(app->find, ElementsAre("db", "redis"));
  EXPECT_EQ(app->files.at("nginx.conf"), "listen ~{PORT_http};\n# it's so\n");
  EXPECT_EQ(app->files.at("empty"), "");
}

TEST(AppFile, NeedsANameAndACommandOnly) {
  const Result<AppSpec> app = parse_app_file("{\"name\": \"web\", \"command\": \"serve\"}");
  ASSERT_TRUE(app) << app.error().message();
  EXPECT_EQ(app->instances, 1);
  EXPECT_EQ(app->resources, *parse_shape(kDefaultResources));
  EXPECT_FALSE(app->health);
  EXPECT_EQ(app->spread, "host");
  EXPECT_TRUE(app->max_per.empty());
  EXPECT_EQ(parse_app_file("name: x\ncommand: y\nspread: none\n")->spread, "");
  EXPECT_EQ(error_of("command: x\n"), "the app file has no name");
  EXPECT_EQ(error_of("name: x\n"), "the app file has no command");
}

TEST(AppFile, ChecksHealthByTcpAndByCommandToo) {
  const auto tcp = parse_app_file("name: a\ncommand: x\nports: [p]\nhealth: {tcp: {port: p}}\n");
  ASSERT_TRUE(tcp) << tcp.error().message();
  EXPECT_EQ(tcp->health->kind, proto::HealthCheck::Kind::kTcp);
  const auto command = parse_app_file("name: a\ncommand: x\nhealth: {command: test -e up}\n");
  ASSERT_TRUE(command) << command.error().message();
  EXPECT_EQ(command->health->command, "test -e up");
}

TEST(AppFile, SaysWhenAnInstanceIsReady) {
  const std::string begin = "name: a\ncommand: x\nports: [p, q]\n";
  EXPECT_EQ(parse_app_file(begin)->ready, std::nullopt);
  EXPECT_EQ(parse_app_file(begin + "ready: {after: 5s}\n")->ready,
            (proto::Readiness{.after = seconds(5)}));
  EXPECT_EQ(parse_app_file(begin + "ready: {ports: [q], after: 1s}\n")->ready,
            (proto::Readiness{.ports = {"q"}, .after = seconds(1)}));
  EXPECT_THAT(error_of(begin + "ready: {}\n"), HasSubstr("line 4: ready must have after, ports"));
  EXPECT_THAT(error_of(begin + "ready: {ports: [r]}\n"),
              HasSubstr("one of the task's port names, not 'r'"));
  EXPECT_THAT(error_of(begin + "ready: {after: 1s}\nhealth: {tcp: {port: p}}\n"),
              HasSubstr("health and ready exclude each other"));
}

TEST(AppFile, SaysWhichLineIsWrongAndWhatIsAllowed) {
  const std::pair<const char*, const char*> rows[] = {
      {"instance: 3\n", "line 3: unknown key 'instance' in an app file; did you mean 'instances'?"},
      {"instances: many\n", "line 3: instances"},
      {"max_per: {host: 0}\n", "line 3: max_per: host must be"},
      {"spread: a b\n", "spread"},
      {"instances: 10001\n", "from 0 to 10000"},
      {"instances: [1]\n", "line 3: the value of 'instances' must be one text or number"},
      {"resources: cpu:1\n", "line 3: resources: "},
      {"env: [A]\n", "line 3: env must be a table of KEY: value"},
      {"env: {A: 1, A: 2}\n", "line 3: key 'A' is given twice"},
      {"ports: {a: b}\n", "line 3: the value of 'ports' must be a list"},
      {"ports: [http, 80]\n", "line 3: ports has the number 80 without a name"},
      {"ports: [{http: 80, admin: 81}]\n", "line 3: ports: an entry with a number has one name"},
      {"ports: [{http: 0}]\n", "line 3: ports.http must be"},
      {"ports: [{http: 65536}]\n", "line 3: ports.http must be"},
      {"ports: [{a: 80}, {b: 80}]\n", "must have different numbers, not both 80"},
      {"secrets: [db]\n", "line 3: secrets must be a table"},
      {"secrets: {db: {env: A, as: B}}\n", "line 3: unknown key 'as'"},
      {"secrets: {db: {}}\n", "as a variable (env), as a file (file)"},
      {"secrets: {db: {env: 1A}}\n", "'1A'"},
      {"secrets: {db: {file: a/b}}\n", "'a/b'"},
      {"secrets: {db: {env: A}}\nenv: {A: b}\n", "secret 'db' and env both set"},
      {"ports: [a-b]\n", "a port's name must be 1 to 64 of A-Z a-z 0-9 _, not 'a-b'"},
      {"constraints: [disk is ssd]\n", "line 3: constraints: "},
      {"constraints: ['disk =~ (']\n", "line 3: constraints: "},
      {"health: {interval: 1s}\n", "line 3: health must have one of http, tcp and command, not 0"},
      {"health: {command: x, tcp: {port: p}}\n", "one of http, tcp and command, not 2"},
      {"health: {tcp: {port: p, path: /}}\n", "line 3: unknown key 'path'"},
      {"health: {tcp: {port: p}}\n", "'p'"},
      {"health: {command: x, interval: soon}\n", "line 3: interval: "},
      {"health: {command: x, failures: 0}\n", "line 3: failures"},
      {"update: {max_unavailable: -1}\n", "line 3: max_unavailable"},
      {"update: {max_unavailable: 0}\n", "max_unavailable and max_surge must not both be 0"},
      {"update: {rollback: maybe}\n", "line 3: rollback: must be true or false, not 'maybe'"},
      {"update: {surge: 1}\n", "line 3: unknown key 'surge'"},
      {"kill_signal: SIGKILL\n", "line 3: kill_signal: "},
      {"fetch: ftp://host/x\n", "line 3: fetch: "},
      {"fetch:\n- https://host/x\n- https://host/y,sha256=5f\n", "line 5: fetch: "},
      {"init: {a: b}\n", "line 3: the value of 'init' must be a text or a list"},
      {"init: [x, '']\n", "line 3: a command in init is empty"},
      {"sidecars: [x]\n", "line 3: sidecars must be a table"},
      {"env: {A: b}\nsidecars: {a: ''}\n", "line 4: sidecar 'a' must have a command line"},
      {"scale: {max: 3}\n", "line 3: scale must have one of cpu, memory and http, not 0"},
      {"scale: {cpu: 60%, memory: 70%}\n", "one of cpu, memory and http, not 2"},
      {"scale: {max: 3, cpu: 60}\n", "line 3: cpu: must be from 1% to 1000% of the"},
      {"scale: {max: 3, cpu: 0%}\n", "line 3: cpu: must be from 1% to 1000% of the"},
      {"scale: {min: 4, max: 3, cpu: 60%}\n", "line 3: scale: min and max must be from 1 to"},
      {"scale: {max: 3, cpu: 60%, up_after: 2h}\n", "scale: up_after must be from 0 to 1h"},
      {"scale: {max: 3, http: {port: p, path: /, target: 5}}\n",
       "line 3: scale: port must be one of the app's, not 'p'"},
      {"ports: [p]\nscale: {max: 3, http: {port: p, path: x, target: 5}}\n",
       "line 4: scale: path must begin with /"},
      {"ports: [p]\nscale: {max: 3, http: {port: p, path: /}}\n", "the target must be from"},
      {"daemon: true\nscale: {max: 3, cpu: 60%}\n", "a daemon has one instance on each agent"},
      {"kill_grace: 2d\n", "kill_grace must be from 0 to 1d"},
      {"kill_grace: -1s\n", "line 3: kill_grace: "},
      {"name: b\n", "line 3: key 'name' is given twice"},
      {"---\nname: b\ncommand: y\n",
       "line 4: app 'b' begins, but an attached run takes one app only"},
      {"daemon: true\ninstances: 3\n",
       "line 4: instances: a daemon has one instance on each agent"},
      {"max_per: {host: 1}\ndaemon: true\n", "line 3: max_per: a daemon has one"},
      {"daemon: 1\n", "line 3: daemon: must be true or false, not '1'"},
      {"files: {a: '~{'}\n", "line 3: files: 'a': ~{ must be followed by"},
      {"files: [a]\n", "line 3: files must be a table of KEY: value"},
      {"after: [a, b, a]\n", "line 3: after names app 'a' twice"},
      {"instances: 3\nafter: web\n", "line 4: after: app 'web' waits for itself"},
      {"env: {'A=B': x}\n", "line 3: env: "},
  };
  for (const auto& [yaml, says] : rows) EXPECT_THAT(error_with(yaml), HasSubstr(says)) << yaml;
  EXPECT_EQ(error_of(""), "the app file is empty");
  EXPECT_EQ(error_of("- a\n"), "line 1: an app file must be a table of KEY: value, not a list");
  EXPECT_THAT(error_of("name: {\n"), StartsWith("line "));
  EXPECT_THAT(error_of(std::string(kAppFileBytesMax + 1, ' ')), HasSubstr("are allowed"));
}

TEST(AppFile, ThatIsCutOffIsRefused) {
  const std::string says = "line 2: a quote begins here and never ends";
  for (const char* file : {"name: web\ncommand: \"exec foo\n", "name: web\ncommand: 'exec foo\n",
                           "name: web\ncommand: 'exec foo\ninstances: 3\n\n  \n"}) {
    EXPECT_EQ(error_of(file), says) << file;
  }
  EXPECT_NE(error_of("name: web\ncommand: \"exec foo"), "");
  // A file that ends with blank lines is complete.
  for (const char* file :
       {"name: web\ncommand: \"exec foo\"\n\n \n", "name: web\ncommand: |\n  a\n\n",
        "command: x # it's\nname: web # \"\n"}) {
    EXPECT_EQ(error_of(file), "") << file;
  }
  EXPECT_EQ(parse_app_file("name: web\ncommand: |+\n  a\n\n")->command, "a\n\n");
}

TEST(AppFile, HasAnAppInEachDocument) {
  const Result<AppFile> file = parse_apps(
      "# two apps\n---\nname: db\ncommand: x\n---\n\n---\nname: web\ncommand: y\n"
      "after: [queue, db]\n---\n");
  ASSERT_TRUE(file) << file.error().message();
  ASSERT_EQ(file->apps.size(), 2u);
  EXPECT_EQ(file->apps[0].name, "db");
  EXPECT_THAT(file->apps[1].after, ElementsAre("db", "queue"));
  EXPECT_THAT(file->lines, ElementsAre(3, 8));
}

TEST(AppFile, NamesTheAppTheKeyAndTheLineOfAnError) {
  const std::string first = "name: db\ncommand: x\n---\n";
  const std::pair<std::string, const char*> rows[] = {
      {"name: web\ncommand: y\ninstances: many\n", "app 'web' (line 4): line 6: instances"},
      {"name: web\nenv: {'A=B': x}\ncommand: y\n", "app 'web' (line 4): line 5: env: "},
      {"comand: y\nname: web\n", "app 'web' (line 4): line 4: unknown key 'comand'"},
      {"name: web\n", "app 'web' (line 4): the app file has no command"},
      {"command: y\n", "the app that begins in line 4: the app file has no name"},
      {"name: db\ncommand: y\n",
       "line 4: app 'db' is in the file twice; the first one begins in line 1"},
      {"name: web\ncommand: 'y\n", "line 5: a quote begins here and never ends"},
  };
  for (const auto& [rest, says] : rows) {
    const Result<AppFile> file = parse_apps(first + rest);
    ASSERT_FALSE(file) << rest;
    EXPECT_THAT(file.error().message(), StartsWith(says));
  }
  std::string many;
  for (size_t i = 0; i <= kAppsPerFileMax; ++i) many += text("name: a", i, "\ncommand: x\n---\n");
  EXPECT_EQ(parse_apps(many).error().message(),
            "line 300: document 101 begins; an app file has at most 100");
}

TEST(AppFile, SaysThatAnAppIsADaemon) {
  EXPECT_TRUE(parse_app_file("name: a\ncommand: x\ndaemon: true\n")->daemon);
  EXPECT_FALSE(parse_app_file("name: a\ncommand: x\ndaemon: false\ninstances: 2\n")->daemon);
}

TEST(AppFile, PortsMayHaveNumbers) {
  const Result<AppSpec> app = parse_app_file("name: a\ncommand: x\nports: [http, {admin: 8080}]\n");
  ASSERT_TRUE(app) << app.error().message();
  EXPECT_THAT(app->ports, ElementsAre("http", "admin"));
  EXPECT_EQ(app->static_ports, (std::map<std::string, uint16_t>{{"admin", 8080}}));
  const auto one = parse_app_file("name: a\ncommand: x\nports: http\n");
  ASSERT_TRUE(one) << one.error().message();
  EXPECT_THAT(one->ports, ElementsAre("http"));
}

TEST(AppFile, SecretsHaveAPlace) {
  const Result<AppSpec> app = parse_app_file(
      "name: a\ncommand: x\nsecrets:\n  tls: {file: tls.key}\n  db: {env: DB, file: db.txt}\n");
  ASSERT_TRUE(app) << app.error().message();
  EXPECT_EQ(app->secrets,
            (std::vector<proto::SecretUse>{{.name = "db", .variable = "DB", .file = "db.txt"},
                                           {.name = "tls", .variable = "", .file = "tls.key"}}));
}

TEST(AppFile, HasStepsInOrderAndSidecarsByName) {
  const Result<AppSpec> app =
      parse_app_file("name: a\ncommand: x\ninit: [two, one]\nsidecars: {z: ship, b: proxy}\n");
  ASSERT_TRUE(app) << app.error().message();
  EXPECT_THAT(app->init, ElementsAre("two", "one"));
  EXPECT_EQ(app->sidecars, (std::map<std::string, std::string>{{"b", "proxy"}, {"z", "ship"}}));
  const auto one = parse_app_file("name: a\ncommand: x\ninit: ./migrate\n");
  ASSERT_TRUE(one) << one.error().message();
  EXPECT_THAT(one->init, ElementsAre("./migrate"));
}

TEST(AppFile, SaysByWhatLoadItIsScaled) {
  const Result<AppSpec> cpu = parse_app_file(
      "name: a\ncommand: x\nscale: {min: 2, max: 9, cpu: 60%, up_after: 5s, dry_run: true}\n");
  ASSERT_TRUE(cpu) << cpu.error().message();
  EXPECT_EQ(cpu->scale, (ScalePolicy{.min = 2,
                                     .max = 9,
                                     .source = LoadSource::kCpu,
                                     .target = 600,
                                     .up_after = seconds(5),
                                     .is_dry_run = true}));
  EXPECT_EQ(cpu->instances, 2);
  const Result<AppSpec> http = parse_app_file(
      "name: a\ncommand: x\nports: [p]\ninstances: 50\n"
      "scale: {max: 4, http: {port: p, path: /load, target: 12.5}}\n");
  ASSERT_TRUE(http) << http.error().message();
  EXPECT_EQ(
      http->scale,
      (ScalePolicy{
          .max = 4, .source = LoadSource::kHttp, .target = 12'500, .port = "p", .path = "/load"}));
  EXPECT_EQ(http->instances, 4);
}

TEST(AppFile, HintsAtTheKeysThatThereAre) {
  const Result<AppSpec> app = parse_app_file("name: web\ncomand: x\n");
  ASSERT_FALSE(app);
  EXPECT_THAT(app.error().hint(), HasSubstr("name, instances, command, resources"));
}

TEST(AppFile, SaysWhatAKeyOfAnotherSystemIsHere) {
  const std::pair<const char*, const char*> rows[] = {
      {"uris: [https://host/a]\n", "fetch: [URI]"},
      {"cpus: 1\n", "resources: "},
      {"healthChecks: []\n", "health: "},
  };
  for (const auto& [line, here] : rows) {
    const Result<AppSpec> app = parse_app_file(text("name: web\ncommand: x\n", line));
    ASSERT_FALSE(app) << line;
    EXPECT_THAT(app.error().message(), HasSubstr("line 3: unknown key"));
    EXPECT_THAT(app.error().hint(), HasSubstr(here));
  }
}

TEST(AppFile, SurvivesGarbage) {
  const std::string seed =
      "name: web\ncommand: x\nhealth: {http: {port: a, path: /}, grace: 1s}\nports: [a]\n";
  Prng prng(11);
  for (int i = 0; i < 3'000; ++i) {
    std::string text = seed;
    for (int change = 0; change < 3; ++change) {
      text[prng.below(text.size())] = static_cast<char>(prng.below(256));
    }
    const Result<AppSpec> app = parse_app_file(text);
    if (app) {
      EXPECT_TRUE(check_app(*app));
    } else {
      // Each line is an error of its own; no text of the file adds one.
      const std::string& message = app.error().message();
      for (size_t at = message.find('\n'); at != message.npos; at = message.find('\n', at + 1)) {
        const std::string_view next = std::string_view(message).substr(at + 1);
        EXPECT_TRUE(next.starts_with("line ") || next.starts_with("and ")) << message;
      }
    }
  }
}

}  // namespace
}  // namespace proffer::service::app_file_test
