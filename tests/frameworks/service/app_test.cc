#include "frameworks/service/core/app.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/prng.h"
#include "common/text.h"
#include "frameworks/service/core/plan.h"
#include "frameworks/service/core/ports.h"
#include "frameworks/service/core/records.h"
#include "proto/task_group.h"

namespace proffer::service::app_test {
namespace {

using ::testing::HasSubstr;

AppSpec full() {
  AppSpec app;
  app.name = "web";
  app.instances = 3;
  app.command = "serve";
  app.env = {{"A", "1"}, {"B", ""}};
  app.fetch = {{.uri = "https://host/a", .sha256 = std::string(64, 'a'), .is_executable = true},
               {.uri = "file:///b.zip", .is_extracted = true, .is_cached = false}};
  app.ports = {"http", "admin"};
  app.constraints = {Constraint{"disk", Constraint::Operator::kIn, {"ssd", "nvme"}},
                     Constraint{"gpu", Constraint::Operator::kExists, {}}};
  app.health = proto::HealthCheck{
      .kind = proto::HealthCheck::Kind::kHttp, .port = "http", .path = "/ok", .failures = 2};
  app.spread = "rack";
  app.max_per = {{.attribute = "host", .count = 2}, {.attribute = "rack", .count = 5}};
  app.update = {.max_unavailable = 2,
                .max_surge = 1,
                .canary = 1,
                .healthy_for = seconds(3),
                .progress_deadline = minutes(2),
                .rolls_back = false};
  app.after = {"db", "queue"};
  app.find = {"cache", "db"};
  app.with = {"cache", "db"};
  app.apart_from = {"noise"};
  app.files = {{"a.conf", "port ~{PORT_http}\n"}, {"b", ""}};
  app.static_ports = {{"admin", 8080}};
  app.secrets = {{.name = "db", .variable = "DB"}, {.name = "tls", .file = "tls.key"}};
  app.init = {"migrate", "warm"};
  app.sidecars = {{"log", "ship"}, {"proxy", "envoy"}};
  app.scale = ScalePolicy{.min = 2,
                          .max = 9,
                          .source = LoadSource::kHttp,
                          .target = 12'500,
                          .port = "http",
                          .path = "/load",
                          .up_after = seconds(7),
                          .down_after = minutes(2),
                          .is_dry_run = true};
  app.drain_delay = seconds(4);
  app.kill_grace = milliseconds(1'500);
  app.kill_signal = 2;
  return app;
}

TEST(CheckApp, SaysWhichValueIsWrong) {
  EXPECT_TRUE(check_app(full()));
  const std::pair<void (*)(AppSpec&), const char*> rows[] = {
      {[](AppSpec& app) { app.name = "a b"; }, "name"},
      {[](AppSpec& app) { app.name = std::string(65, 'a'); }, "at most 64 bytes"},
      {[](AppSpec& app) { app.instances = -1; }, "from 0 to 10000, not -1"},
      {[](AppSpec& app) { app.instances = 10'001; }, "from 0 to 10000"},
      {[](AppSpec& app) { app.command.clear(); }, "command"},
      {[](AppSpec& app) { app.resources = {}; }, "more than zero"},
      {[](AppSpec& app) { app.env["A=B"] = "1"; }, "'A=B'"},
      {[](AppSpec& app) { app.ports = {"a-b"}; }, "'a-b'"},
      {[](AppSpec& app) {
         app.ports = {"http", "http"};
       },
       "given twice"},
      {[](AppSpec& app) { app.fetch[0].uri = "ftp://host/a"; }, "fetch: "},
      {[](AppSpec& app) { app.health->port = "htpt"; }, "'htpt'"},
      {[](AppSpec& app) { app.health->failures = 0; }, "failures"},
      {[](AppSpec& app) { app.spread = "a b"; }, "spread"},
      {[](AppSpec& app) { app.max_per[0].count = 0; }, "max_per: host must be from 1"},
      {[](AppSpec& app) { app.max_per[1].attribute = "host"; }, "without duplicates"},
      {[](AppSpec& app) { app.update = {.max_unavailable = 0}; },
       "max_unavailable and max_surge must not both be 0"},
      {[](AppSpec& app) { app.update.max_unavailable = -1; },
       "max_unavailable must be from 0 to 10000, not -1"},
      {[](AppSpec& app) { app.update.canary = 10'001; }, "canary must be from 0 to 10000"},
      {[](AppSpec& app) { app.update.healthy_for = hours(25); }, "healthy_for must be from 0 to"},
      {[](AppSpec& app) {
         app.update.healthy_for = minutes(10);
         app.update.progress_deadline = minutes(10);
       },
       "progress_deadline must be longer than healthy_for"},
      {[](AppSpec& app) { app.kill_grace = hours(25); }, "kill_grace"},
      {[](AppSpec& app) { app.after = {"web"}; }, "app 'web' waits for itself"},
      {[](AppSpec& app) {
         app.after = {"b", "a"};
       },
       "sorted"},
      {[](AppSpec& app) { app.after = {"a b"}; }, "after"},
      {[](AppSpec& app) { app.after.assign(17, "a"); }, "after names 17 apps; at most 16"},
      {[](AppSpec& app) { app.find.assign(9, "a"); }, "find names 9 apps; at most 8"},
      {[](AppSpec& app) { app.with.assign(9, "a"); }, "with names 9 apps; at most 8"},
      {[](AppSpec& app) { app.apart_from = {"web"}; }, "apart_from names the app itself"},
      {[](AppSpec& app) { app.apart_from = {"db"}; }, "with and apart_from both name app 'db'"},
      {[](AppSpec& app) {
         app.find = {"a", "a-b"};
       },
       "have the same names: PROFFER_SERVICE_A_B"},
      {[](AppSpec& app) {
         app.files.clear();
         app.env["A"] = std::string(120 * 1024, 'x');
       },
       "find may need 16384"},
      {[](AppSpec& app) {
         app.files = {{"a/b", ""}};
       },
       "files: "},
      {[](AppSpec& app) { app.files["b"] = "~{PORT http}"; },
       "files: 'b': ~{ must be followed by the name of a variable and }, not by 'PORT http'"},
      {[](AppSpec& app) { app.files["b"] = "x ~{PORT"; }, "not by 'PORT'"},
      {[](AppSpec& app) { app.files["b"] = std::string(33'000, 'x'); }, "at most 32768"},
      {[](AppSpec& app) { app.files["b"] = std::string(20'000, '\''); }, "80"},
      {[](AppSpec& app) { app.env["PROFFER_FILES"] = ""; }, "need the variable PROFFER_FILES"},
      {[](AppSpec& app) {
         for (int i = 0; i < 17; ++i) app.files[text("f", i)] = "";
       },
       "at most 16 are allowed"},
      {[](AppSpec& app) { app.init[1] = ""; }, "a command in init is empty"},
      {[](AppSpec& app) { app.init.assign(17, "x"); }, "17 init steps; at most 16"},
      {[](AppSpec& app) { app.sidecars["a b"] = "x"; }, "the name of sidecar must be"},
      {[](AppSpec& app) { app.sidecars["log"] = ""; }, "sidecar 'log' must have a command line"},
      {[](AppSpec& app) { app.sidecars["log"] = std::string(33'000, 'x'); }, "at most 32768"},
      {[](AppSpec& app) { app.env["PROFFER_GROUP"] = "1"; },
       "must not set the variable PROFFER_GROUP"},
      {[](AppSpec& app) {
         app.command = std::string(kCommandBytesMax, 'x');
         app.files.clear();
       },
       "with init steps or sidecars, the command may have at most"},
      {[](AppSpec& app) { app.ready.emplace(); }, "exclude each other"},
      {[](AppSpec& app) {
         app.health.reset();
         app.ready = proto::Readiness{.ports = {"nowhere"}};
       },
       "one of the task's port names, not 'nowhere'"},
      {[](AppSpec& app) { app.constraints[0].values.clear(); }, "constraints"},
  };
  for (const auto& [change, says] : rows) {
    AppSpec app = full();
    change(app);
    const Result<void> checked = check_app(app);
    ASSERT_FALSE(checked) << says;
    EXPECT_THAT(checked.error().message(), HasSubstr(says));
  }
}

TEST(SameTask, LooksAtWhatATaskSees) {
  AppSpec other = full();
  other.instances = 7;
  other.update.max_unavailable = 1;
  other.spread = "host";
  other.after.clear();
  other.scale.reset();
  EXPECT_TRUE(same_task(full(), other));
  const std::vector<void (*)(AppSpec&)> changes = {
      [](AppSpec& app) { app.command = "other"; },
      [](AppSpec& app) { app.resources = ResourceVector::of(1, 1); },
      [](AppSpec& app) { app.env.clear(); },
      [](AppSpec& app) { app.fetch.clear(); },
      [](AppSpec& app) { app.find.clear(); },
      [](AppSpec& app) { app.files["b"] = "c"; },
      [](AppSpec& app) { app.init.pop_back(); },
      [](AppSpec& app) { app.sidecars["log"] = "other"; },
      [](AppSpec& app) { app.ports.push_back("more"); },
      [](AppSpec& app) { app.constraints.clear(); },
      [](AppSpec& app) { app.max_per.clear(); },
      [](AppSpec& app) { app.health.reset(); },
      [](AppSpec& app) { app.ready.emplace(); },
      [](AppSpec& app) { app.kill_grace = seconds(9); }};
  for (const auto change : changes) {
    AppSpec changed = full();
    change(changed);
    EXPECT_FALSE(same_task(full(), changed));
  }
}

TEST(Files, AreWrittenByTheShellOfTheCommand) {
  AppSpec app = full();
  app.init.clear();
  app.sidecars.clear();
  app.files = {{"a.conf", "it's ~{PORT_http}, ~~{X} ~ and ~{A}"}, {"b", ""}};
  const proto::TaskSpec task = make_task(app, {.app = "web", .version = 1, .unique = "u"});
  EXPECT_EQ(task.command, "eval \"$PROFFER_FILES\"\nserve");
  EXPECT_EQ(
      task.environment.at("PROFFER_FILES"),
      "printf %s 'it'\\''s ' \"${PORT_http?is not set, and a file of the app has it}\" "
      "', ~{X} ~ and ' \"${A?is not set, and a file of the app has it}\" >'a.conf' || exit 1\n"
      "printf %s '' >'b' || exit 1\nunset PROFFER_FILES\n");
  EXPECT_EQ(task.environment.at("A"), "1");
}

TEST(Group, TravelsAsTheDataOfTheTask) {
  const proto::TaskSpec task = make_task(full(), {.app = "web", .version = 1, .unique = "u"});
  const auto group = proto::decode_task_group(task.data);
  ASSERT_TRUE(group) << group.error().message();
  // The first step writes the files, so that all steps have them.
  EXPECT_EQ(**group,
            (proto::TaskGroup{.init = {{"1", "eval \"$PROFFER_FILES\"\nmigrate"}, {"2", "warm"}},
                              .sidecars = {{"log", "ship"}, {"proxy", "envoy"}}}));
  EXPECT_EQ(task.command, text(proto::kGroupCommand, "serve"));
  EXPECT_EQ(task.environment.count("PROFFER_FILES"), 1u);
}

TEST(Group, WritesItsFilesBeforeItsSidecarsBegin) {
  AppSpec app = full();
  app.init.clear();
  const proto::TaskSpec task = make_task(app, {.app = "web", .version = 1, .unique = "u"});
  const auto group = proto::decode_task_group(task.data);
  ASSERT_TRUE(group) << group.error().message();
  EXPECT_EQ((*group)->init,
            (std::vector<proto::GroupCommand>{{"files", "eval \"$PROFFER_FILES\"\n"}}));
  app.sidecars.clear();
  EXPECT_EQ(make_task(app, {.app = "web", .version = 1, .unique = "u"}).data, "");
}

TEST(Ask, OfADaemonIsForOneInstanceOnEachAgent) {
  AppSpec app = full();
  app.daemon = true;
  EXPECT_EQ(make_ask(app, 1, 3).spread, "");
  EXPECT_EQ(make_ask(app, 1, 3).max_per, (std::vector<MaxPer>{{.attribute = "host", .count = 1}}));
  app.constraints.assign(kConstraintsMax, app.constraints[0]);
  EXPECT_THAT(check_app(app).error().message(), HasSubstr("constraints has 32; at most 30"));
}

TEST(Constraints, LeaveRoomForTheOneOfApps) {
  AppSpec app = full();
  app.with.clear();
  app.constraints.assign(kConstraintsMax, app.constraints[0]);
  EXPECT_TRUE(check_app(app));
  app.with = {"db"};
  EXPECT_THAT(check_app(app).error().message(), HasSubstr("constraints has 32; at most 31"));
}

TEST(Ask, SpreadsOverAgentsUnlessTheAppSaysOtherwise) {
  AppSpec app = full();
  app.spread = AppSpec().spread;
  EXPECT_EQ(make_ask(app, 1, 3).spread, "host");
  EXPECT_EQ(make_ask(app, 1, 3).max_per, app.max_per);
  app.spread.clear();
  EXPECT_EQ(make_ask(app, 1, 3).spread, "");
}

TEST(Records, OfEarlierVersionsAreRead) {
  AppSpec spec;
  spec.name = "x";
  spec.command = "y";
  const std::string today = encode(AppRecord{.spec = spec});
  const std::string sixth = "0;0;0;0;600000000000;1;0;0;0;0;1;0;0;0;";
  const std::string seventh = "0;0;0;0;0;";
  const std::string eighth = "0;0;";
  const std::string ninth = "0;0;0;0;0;";
  for (const auto& [version, of_its_time] :
       {std::pair("1", "4;host0;0;15;0;0;" + sixth + seventh),
        std::pair("2", "0;15;0;0;" + sixth + seventh), std::pair("3", "0;0;" + sixth + seventh),
        std::pair("4", "0;" + sixth + seventh), std::pair("5", sixth + seventh),
        std::pair("6", seventh), std::pair("7", std::string()), std::pair("8", std::string())}) {
    const std::string behind =
        of_its_time + (version == std::string_view("8") ? "" : eighth) + ninth;
    std::string old = today;
    old.replace(3, 1, version);
    ASSERT_TRUE(old.ends_with(behind)) << old;
    old.resize(old.size() - behind.size());
    const auto record = decode_app(old);
    ASSERT_TRUE(record) << record.error().message();
    EXPECT_EQ(record->spec, spec);
    EXPECT_EQ(record->owner, "");
  }
  const InstanceRecord instance{.agent = AgentId("a1"), .ports = {{"http", 31'000}}};
  const auto first = decode_instance("ins1 2;a10;0;0;1;4;http31000;");
  ASSERT_TRUE(first) << first.error().message();
  EXPECT_EQ(*first, instance);
  InstanceRecord ready = instance;
  ready.told_ready = true;
  const auto second = decode_instance("ins2 2;a10;0;0;1;4;http31000;2;");
  ASSERT_TRUE(second) << second.error().message();
  EXPECT_EQ(*second, ready);
}

TEST(Asks, NamePortsByNumberInOrder) {
  AppSpec app = full();
  app.static_ports = {{"admin", 8080}, {"http", 80}};
  const Ask ask = make_ask(app, 3, 2);
  EXPECT_EQ(ask.ports, 2);
  EXPECT_EQ(ask.static_ports, (std::vector<uint16_t>{80, 8080}));
  const proto::TaskSpec task = make_task(app, {.app = "web", .version = 3});
  EXPECT_EQ(task.static_ports, app.static_ports);
  EXPECT_EQ(task.secrets, app.secrets);
}

TEST(TaskId, ParsesBackToItsParts) {
  for (const char* app : {"web", "web.1", "a-b.c", "1.2.3-4"}) {
    const InstanceId id{.app = app, .version = 12, .slot = 345, .unique = "life7n9"};
    EXPECT_EQ(parse_task_id(to_task_id(id)), id) << app;
  }
  for (const char* wrong : {"", "web", "web.1", "web.1.2", "web.1.2-", "web.x.2-a", "web.01.2-a",
                            ".1.2-a", "web.1.-1-a", "web.1.99999-a", "-a", "1.2-a"}) {
    EXPECT_EQ(parse_task_id(TaskId(wrong)), std::nullopt) << wrong;
  }
}

TEST(Records, DecodeToWhatWasEncoded) {
  AppSpec plain;
  plain.name = "x";
  plain.command = "y";
  AppSpec ready = plain;
  ready.ports = {"a", "b"};
  ready.ready = proto::Readiness{.ports = {"b", "a"}, .after = seconds(3)};
  AppSpec daemon = plain;
  daemon.daemon = true;
  for (const AppSpec& spec : {full(), plain, ready, daemon}) {
    const AppRecord record{.spec = spec,
                           .version = 7,
                           .stopping = true,
                           .owner = "ada",
                           .applied_at = Time::from_nanos(8),
                           .applied_by = "bob",
                           .was_ready = true,
                           .failed = "it; did",
                           .last_version = 9,
                           .ready_version = 6,
                           .hold = Hold{.slots = 2, .is_canary = true},
                           .rolled_back = "version 9",
                           .waits = !spec.after.empty()};
    const auto again = decode_app(encode(record));
    ASSERT_TRUE(again) << again.error().message();
    EXPECT_EQ(*again, record);
  }
  AppSpec before = full();
  before.after.clear();  // not part of a version
  const Versions versions = {
      {3, {.spec = before, .failed = "exit code 1"}},
      {12,
       {.spec = ready, .applied_at = Time::from_nanos(7), .applied_by = "ada", .was_ready = true}}};
  const auto same = decode_versions(encode(versions));
  ASSERT_TRUE(same) << same.error().message();
  EXPECT_EQ(*same, versions);
  InstanceBlock block;
  EXPECT_EQ(*decode_block("web", encode(block)), block);
  InstanceRecord record{.agent = AgentId("a1"), .launched_at = Time::from_nanos(5)};
  for (const std::optional<bool> healthy :
       {std::optional<bool>(), std::optional(true), std::optional(false)}) {
    record.healthy = healthy;
    record.told_ready = healthy;
    record.has_health_check = healthy.has_value();
    record.host = healthy ? "[::1]" : "";
    record.ports["p" + std::to_string(record.ports.size())] = 65'535;
    block[to_task_id({"web", 3, static_cast<int64_t>(block.size()), "l1n2"})] = record;
    const auto again = decode_block("web", encode(block));
    ASSERT_TRUE(again) << again.error().message();
    EXPECT_EQ(*again, block);
  }
}

TEST(Records, OfEarlierVersionsOfAnAppAreRead) {
  Versions versions = {{3, {.spec = full(), .applied_by = "ada"}}};
  versions[3].spec.after.clear();
  versions[3].spec.find.clear();
  versions[3].spec.files.clear();
  versions[3].spec.static_ports.clear();
  versions[3].spec.secrets.clear();
  versions[3].spec.init.clear();
  versions[3].spec.sidecars.clear();
  versions[3].spec.scale.reset();
  versions[3].spec.with.clear();
  versions[3].spec.apart_from.clear();
  const std::string today = encode(versions);
  // find, daemon and files; ports by number and secrets; init steps, sidecars, neighbours and
  // scale; the time and the user of its apply.
  const std::string newest = "0;0;0;0;0;0;0;0;0;0;0;3;ada";
  const size_t at = today.find(newest);
  ASSERT_NE(at, std::string::npos) << today;
  for (const auto& [version, keeps] :
       {std::pair("3", size_t{10}), std::pair("2", size_t{6}), std::pair("1", size_t{0})}) {
    std::string old = today;
    old.replace(at + keeps, 20 - keeps, "").replace(3, 1, version);
    const auto read = decode_versions(old);
    ASSERT_TRUE(read) << read.error().message() << old;
    EXPECT_EQ(*read, versions);
  }
}

// The loader requests only as many blocks as fit into one answer.
TEST(Records, OfAFullBlockAreWithinItsBytes) {
  InstanceBlock block;
  InstanceRecord record{.launched_at = Time::from_nanos(std::numeric_limits<int64_t>::max()),
                        .has_health_check = true,
                        .healthy = true,
                        .told_ready = true};
  for (size_t port = 0; port < kPortNamesMax; ++port) {
    record.ports[text(std::string(kPortNameBytesMax - 2, 'p'), port)] = 65'535;
  }
  for (size_t i = 0; i < kInstancesPerBlockMax; ++i) {
    record.agent = AgentId(text(std::string(kNameBytesMax - 2, 'a'), i));
    record.host = text(std::string(kAddressBytesMax - 2, 'h'), i);
    block[to_task_id({"web", 1'000'000, 9'999, text("12345678n", 1'000'000 + i)})] = record;
  }
  EXPECT_LT(encode(block).size(), kBlockBytesMax);
}

TEST(Records, OfMostInstancesAreShort) {
  InstanceBlock block;
  for (int64_t slot = 0; slot < kSlotsPerBlock; ++slot) {
    block[to_task_id({"web", 12, 9'984 + slot, text("8f2c01aan", 10'000 + slot)})] = {
        .agent = AgentId(text("agent-", slot)),
        .host = text("10.0.0.", slot),
        .launched_at = Time::from_nanos(1'795'000'000'000'000'000),
        .ports = {{"http", 31'000}},
        .told_ready = true};
  }
  EXPECT_LT(encode(block).size(), kSlotsPerBlock * kInstanceBytes * 3 / 2);
}

TEST(Records, KeysOfBlocksAreReadBack) {
  const BlockName name{.app = "web.1", .number = 12};
  EXPECT_EQ(parse_block_key(block_key(name)), name);
  for (const char* wrong :
       {"", "blocks/", "blocks/web", "blocks/web/", "blocks/web/x", "blocks/web/-1",
        "instances/web/1", "blocks/web/99999999999999999999"}) {
    EXPECT_FALSE(parse_block_key(wrong)) << wrong;
  }
}

TEST(Records, RefuseEveryOtherText) {
  const std::string app = encode(AppRecord{.spec = full()});
  const std::string instance = encode(InstanceBlock{
      {to_task_id({"web", 1, 0, "u"}), {.agent = AgentId("a1"), .ports = {{"h", 80}}}},
      {to_task_id({"web", 1, 1, "u"}), {.agent = AgentId("a2"), .host = "a1"}}});
  for (size_t size = 0; size < app.size(); ++size) EXPECT_FALSE(decode_app(app.substr(0, size)));
  for (size_t size = 0; size < instance.size(); ++size) {
    EXPECT_FALSE(decode_block("web", instance.substr(0, size)));
  }
  const std::string versions = encode(Versions{{1, {.spec = full()}}, {2, {.spec = full()}}});
  for (size_t size = 0; size < versions.size(); ++size) {
    EXPECT_FALSE(decode_versions(versions.substr(0, size)));
  }
  EXPECT_FALSE(decode_app(app + "0;"));
  EXPECT_FALSE(decode_app(instance));
  EXPECT_FALSE(decode_block("web", app));
  EXPECT_FALSE(decode_instance(instance));
  Prng prng(7);
  for (int i = 0; i < 20'000; ++i) {
    std::string changed = i % 2 == 0 ? app : instance;
    changed[prng.below(changed.size())] = static_cast<char>(prng.below(256));
    if (const auto again = decode_app(changed)) {
      EXPECT_EQ(encode(*again), changed);
    }
    if (const auto again = decode_block("web", changed)) {
      EXPECT_EQ(encode(*again), changed);
    }
  }
}

TEST(ToldPorts, AreReadFromTheUpdatesData) {
  using Ports = std::map<std::string, uint16_t>;
  const std::pair<const char*, Ports> rows[] = {
      {R"({"ports":{"http":31000}})", {{"http", 31'000}}},
      {R"({ "ports" : { "http" : 31000 , "a_b" : 1 } , "x": 1 })", {{"http", 31'000}, {"a_b", 1}}},
      {R"({"x":{},"ports":{"http":65535}})", {{"http", 65'535}}},
      {"", {}},
      {"{}", {}},
      {R"({"ports":{}})", {}},
      {R"({"ports":{"http":65536}})", {}},
      {R"({"ports":{"http":0}})", {}},
      {R"({"ports":{"http":-1}})", {}},
      {R"({"ports":{"http":31000)", {}},
      {R"({"ports":{"ht\"tp":31000}})", {}},
      {R"({"ports":[31000]})", {}},
      {"\"ports\"", {}},
  };
  for (const auto& [data, ports] : rows) EXPECT_EQ(parse_told_ports(data), ports) << data;
}

TEST(Backoff, DoublesFromASecondToAMinute) {
  const std::pair<int32_t, int64_t> rows[] = {{1, 1},  {2, 2},  {3, 4},         {6, 32},
                                              {7, 60}, {8, 60}, {1'000'000, 60}};
  for (const auto& [failures, wait] : rows) EXPECT_EQ(backoff(failures), seconds(wait)) << failures;
}

}  // namespace
}  // namespace proffer::service::app_test
