// The JSON for people and scripts: golden rows, round trips, and hostile documents, which do no
// harm.

#include "proto/json/json.h"

#include <gtest/gtest.h>

#include "common/prng.h"

namespace proffer::proto::json_test {
namespace {

AgentRow agent_row() {
  return {.agent = AgentId("a1"),
          .state = AgentState::kDisconnected,
          .attributes = {{"disk", "ssd"}, {"rack", "r1"}},
          .total = {.amounts = ResourceVector::of(4000, 8192000, 1024500, 2000),
                    .gpus = {{0, 1000}, {1, 1000}},
                    .ports = PortSet({{31000, 31099}, {32000, 32000}})},
          .allocated = ResourceVector::of(1500, 512000, 0, 250),
          .offered = ResourceVector::of(1, 0),
          .free = ResourceVector::of(2499, 7680000, 1024500, 1750),
          .http_address = "127.0.0.1:5081",
          .tasks = 3,
          .registered_at = Time::from_nanos(1'700'000'000'125'000'000),
          .held_back = true};
}

FrameworkRow framework_row() {
  return {.framework = FrameworkId("wc-1-2"),
          .name = "wc",
          .role = RoleName("eng/ads"),
          .user = "ada",
          .mode = OfferMode::kOpen,
          .allocated = ResourceVector::of(1000, 0),
          .dominant_share_millionths = 333'333,
          .tasks = 1,
          .suppressed = true,
          .failover_timeout = milliseconds(10'500),
          .asks = {{.ask = AskName("map"),
                    .shape = ResourceVector::of(500, 100000),
                    .wanted = 7,
                    .offered = 2,
                    .could_ever_fit = false,
                    .claimed = AgentId("a2")},
                   {.ask = AskName("reduce")}},
          .subscribed_at = Time::from_nanos(1'000'000'000)};
}

TaskRow task_row() {
  return {.framework = FrameworkId("wc-1-2"),
          .task = TaskId("map-1"),
          .agent = AgentId("a1"),
          .state = TaskState::kFailed,
          .reason = TaskReason::kCommandExited,
          .message = "exit code 3",
          .command = "exit 3",
          .user = "ada",
          .labels = {{"note", "half \"done\""}, {"shard", "7"}},
          .resources = {.amounts = ResourceVector::of(500, 100000, 0, 250),
                        .gpus = {{1, 250}},
                        .ports = PortSet({{31000, 31000}})},
          .ports = {{"http", 31000}},
          .exit_code = 3,
          .http_address = "127.0.0.1:5081",
          .launched_at = Time::from_nanos(5'000'000'000),
          .changed_at = Time::from_nanos(6'250'000'000)};
}

TEST(Json, OfAgents) {
  EXPECT_EQ(agents_json({agent_row()}),
            R"({"agents":[{"agent":"a1","state":"disconnected",)"
            R"("attributes":{"disk":"ssd","rack":"r1"},)"
            R"("total":{"cpus":4,"mem":8192,"disk":1024.5,"gpus":2,)"
            R"("gpu_devices":[{"index":0,"amount":1},{"index":1,"amount":1}],)"
            R"("ports":"[31000-31099,32000]"},)"
            R"("allocated":{"cpus":1.5,"mem":512,"disk":0,"gpus":0.25},)"
            R"("offered":{"cpus":0.001,"mem":0,"disk":0,"gpus":0},)"
            R"("free":{"cpus":2.499,"mem":7680,"disk":1024.5,"gpus":1.75},)"
            R"("http_address":"127.0.0.1:5081","tasks":3,"registered_at_s":1700000000.125,)"
            R"("held_back":true}]})");
  EXPECT_EQ(agents_json({}), R"({"agents":[]})");
}

TEST(Json, OfFrameworks) {
  EXPECT_EQ(
      frameworks_json({framework_row()}),
      R"({"frameworks":[{"framework":"wc-1-2","name":"wc","role":"eng/ads","user":"ada",)"
      R"("state":"connected","mode":"open",)"
      R"("allocated":{"cpus":1,"mem":0,"disk":0,"gpus":0},)"
      R"("offered":{"cpus":0,"mem":0,"disk":0,"gpus":0},)"
      R"("dominant_share_millionths":333333,"lag_s":0,"lag_max_s":0,"tasks":1,"suppressed":true,)"
      R"("failover_timeout_s":10.5,)"
      R"("asks":[{"ask":"map","shape":{"cpus":0.5,"mem":100,"disk":0,"gpus":0},"wanted":7,)"
      R"("offered":2,"could_ever_fit":false,"claimed":"a2","lag_s":0},)"
      R"({"ask":"reduce","shape":{"cpus":0,"mem":0,"disk":0,"gpus":0},"wanted":0,"offered":0,)"
      R"("could_ever_fit":true,"lag_s":0}],"subscribed_at_s":1}]})");
}

TEST(Json, OfTasks) {
  EXPECT_EQ(tasks_json({task_row()}),
            R"({"tasks":[{"framework":"wc-1-2","task":"map-1","agent":"a1","state":"failed",)"
            R"("reason":"command_exited","message":"exit code 3","command":"exit 3","user":"ada",)"
            R"("labels":{"note":"half \"done\"","shard":"7"},)"
            R"("resources":{"cpus":0.5,"mem":100,"disk":0,"gpus":0.25,)"
            R"("gpu_devices":[{"index":1,"amount":0.25}],"ports":"[31000]"},)"
            R"("ports":{"http":31000},"exit_code":3,"http_address":"127.0.0.1:5081",)"
            R"("launched_at_s":5,"changed_at_s":6.25}]})");
}

TEST(Json, OfRolesAndOffers) {
  EXPECT_EQ(roles_json({{.role = RoleName("ads"),
                         .weight = 2500,
                         .allocated = ResourceVector::of(1000, 0),
                         .dominant_share_millionths = 5}}),
            R"({"roles":[{"role":"ads","weight":2.5,)"
            R"("allocated":{"cpus":1,"mem":0,"disk":0,"gpus":0},)"
            R"("offered":{"cpus":0,"mem":0,"disk":0,"gpus":0},"dominant_share_millionths":5,)"
            R"("guarantee":{},"limit":{},"entitlement":{"cpus":0,"mem":0,"disk":0,"gpus":0},)"
            R"("borrowed":{"cpus":0,"mem":0,"disk":0,"gpus":0},"guarantee_met":true,)"
            R"("place_share_millionths":0,"lag_s":0,"lag_max_s":0,"frameworks":0}]})");
  EXPECT_EQ(offers_json({{.offer = OfferId(18'000'000'000'000'000'000u),
                          .framework = FrameworkId("f"),
                          .agent = AgentId("a"),
                          .resources = {.amounts = ResourceVector::of(1000, 1000)},
                          .made = Time::from_nanos(500'000'000),
                          .expires = Time::from_nanos(1'500'000'000)}}),
            R"({"offers":[{"offer":18000000000000000000,"framework":"f","agent":"a",)"
            R"("resources":{"cpus":1,"mem":1,"disk":0,"gpus":0},"made_s":0.5,"expires_s":1.5}]})");
}

TEST(Json, OfErrorsHasAHintOnlyIfThereIsOne) {
  EXPECT_EQ(error_json(Error::not_found("no task 'x'").with_hint("try proffer tasks")),
            R"({"error":{"code":"not_found","message":"no task 'x'","hint":"try proffer tasks"}})");
  EXPECT_EQ(error_json(Error::timeout("late")), R"({"error":{"code":"timeout","message":"late"}})");
}

TEST(Json, OfFilesAndAgentStatus) {
  EXPECT_EQ(files_json({{.name = "stdout", .size = 12}, {.name = "tmp", .directory = true}}),
            R"({"files":[{"name":"stdout","size":12,"directory":false},)"
            R"({"name":"tmp","size":0,"directory":true}]})");
  EXPECT_EQ(agent_status_json({.agent = AgentId("a"),
                               .registered = true,
                               .leader = LeaderEpoch(3),
                               .tasks = 2,
                               .updates_unacknowledged = 1,
                               .executors = {{.framework = FrameworkId("f"),
                                              .executor = ExecutorId("e"),
                                              .pid = 77,
                                              .tasks = 2}}}),
            R"({"agent":"a","registered":true,"leader":3,)"
            R"("total":{"cpus":0,"mem":0,"disk":0,"gpus":0},)"
            R"("used":{"cpus":0,"mem":0,"disk":0,"gpus":0},"tasks":2,"updates_unacknowledged":1,)"
            R"("executors":[{"framework":"f","executor":"e","pid":77,"tasks":2,)"
            R"("fetching":false}]})");
}

template <class Row, class Print, class Parse>
void expect_round_trip(const std::vector<Row>& rows, const Print& print, const Parse& parse) {
  const auto parsed = parse(print(rows));
  ASSERT_TRUE(parsed) << parsed.error().message();
  EXPECT_EQ(*parsed, rows) << print(rows);
}

TEST(Json, RowsReadBackAsTheyWere) {
  expect_round_trip(std::vector<AgentRow>{agent_row(), {}}, agents_json, parse_agents);
  expect_round_trip(std::vector<FrameworkRow>{framework_row(), {}}, frameworks_json,
                    parse_frameworks);
  TaskRow signalled = task_row();
  signalled.healthy = false;
  signalled.exit_code.reset();
  signalled.signal = 9;
  expect_round_trip(std::vector<TaskRow>{task_row(), signalled, {}}, tasks_json, parse_tasks);
  expect_round_trip(std::vector<RoleRow>{{.role = RoleName("a/b"), .weight = 1}, {}}, roles_json,
                    parse_roles);
  expect_round_trip(
      std::vector<OfferRow>{{.offer = OfferId(~uint64_t{0}), .agent = AgentId("a")}, {}},
      offers_json, parse_offers);
  expect_round_trip(std::vector<FileRow>{{.name = "a b\n\"ü", .size = int64_t{1} << 62}},
                    files_json, parse_files);

  MasterStatus status{.leader = LeaderEpoch(5),
                      .started_at = Time::from_nanos(1'700'000'000'001'000'000),
                      .now = Time::from_nanos(1'700'000'000'999'000'000),
                      .total = ResourceVector::of(1, 2, 3, 4),
                      .allocated = ResourceVector::of(5, 6, 7, 8),
                      .offered = ResourceVector::of(9, 10, 11, 12)};
  int64_t count = 0;
  for (int64_t* field :
       {&status.agents_connected, &status.agents_disconnected, &status.agents_unreachable,
        &status.agents_gone, &status.agents_awaited, &status.agents_held_back,
        &status.agents_lost_max, &status.frameworks_connected, &status.frameworks_disconnected,
        &status.tasks_staging, &status.tasks_running, &status.tasks_killing,
        &status.tasks_unreachable, &status.tasks_ended, &status.offers}) {
    *field = ++count;  // all different, so that no two can be confused
  }
  status.agents_lost_period = seconds(77);
  status.agents_lost_next = Time::from_nanos(78'000'000'000);
  status.brake_lifted_until = Time::from_nanos(79'000'000'000);
  status.masters = {{.name = "m1:5050", .role = MasterRole::kLeads, .last = LeaderEpoch(5)}};
  const Result<MasterStatus> read = parse_status(status_json(status));
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(*read, status);

  const AgentStatus agent{.agent = AgentId("a"),
                          .registered = true,
                          .leader = LeaderEpoch(1),
                          .total = agent_row().total,
                          .used = ResourceVector::of(1, 2, 3, 4),
                          .tasks = 5,
                          .updates_unacknowledged = 6,
                          .trouble = "its disk is full",
                          .executors = {{.framework = FrameworkId("f"), .pid = 7, .tasks = 8}}};
  const Result<AgentStatus> back = parse_agent_status(agent_status_json(agent));
  ASSERT_TRUE(back) << back.error().message();
  EXPECT_EQ(*back, agent);
}

// Amounts pass through a double, and must not change by a milli-unit.
TEST(Json, AmountsAndTimesAreExact) {
  Prng prng(1);
  for (int i = 0; i < 4'000; ++i) {
    const int shift = static_cast<int>(prng.below(50));
    MasterStatus status;
    status.total = ResourceVector::of(prng.between(0, kAmountMax >> shift), kAmountMax - i,
                                      prng.between(0, 1000), -prng.between(0, kAmountMax >> shift));
    status.now =
        Time::from_nanos(prng.between(0, Time::far_future().nanos() / 1'000'000) * 1'000'000);
    const Result<MasterStatus> read = parse_status(status_json(status));
    ASSERT_TRUE(read) << read.error().message() << status_json(status);
    ASSERT_EQ(*read, status) << status_json(status);
  }
  EXPECT_NE(status_json({.total = ResourceVector::of(kAmountMax, 0)}).find("1125899906842.624"),
            std::string::npos);
}

TEST(Json, OfCallsReadsBack) {
  const TaskQuery query{.prefix = "wc/map", .ended = true, .after = "wc/map-7", .limit = 20};
  const Result<TaskQuery> read = parse_task_query(task_query_json(query));
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(*read, query);
  for (const std::string_view empty : {"", " ", "{}"}) {
    const Result<TaskQuery> all = parse_task_query(empty);
    ASSERT_TRUE(all) << all.error().message();
    EXPECT_EQ(*all, TaskQuery{});
  }
  for (const KillCall& call :
       {KillCall{.task = "wc/map-1"}, KillCall{.task = "x", .grace = Duration()},
        KillCall{.task = "x", .grace = milliseconds(1500)},
        KillCall{.framework = "web", .grace = Duration()}}) {
    const Result<KillCall> back = parse_kill_call(kill_call_json(call));
    ASSERT_TRUE(back) << back.error().message();
    EXPECT_EQ(*back, call);
  }
}

TEST(Json, OfATeardownReadsBack) {
  const TeardownCall call{.framework = "web-1-1"};
  const Result<TeardownCall> back = parse_teardown_call(teardown_call_json(call));
  ASSERT_TRUE(back) << back.error().message();
  EXPECT_EQ(*back, call);
  for (const std::string_view wrong : {"", "{}", R"({"framework":1})", R"({"frame":"a"})"}) {
    EXPECT_FALSE(parse_teardown_call(wrong)) << wrong;
  }
}

TEST(Json, OfOperatorsCallsReadsBack) {
  const RoleSetCall all{.role = RoleName("eng/ads"),
                        .weight = 2'500,
                        .guarantee = *parse_quota("cpus:10;mem:1GiB"),
                        .limit = *parse_quota("cpus:20;gpus:0"),
                        .users = {{"ada", "bob"}}};
  for (const RoleSetCall& call : {all, RoleSetCall{.role = RoleName("a"), .guarantee = Quota()},
                                  RoleSetCall{.role = RoleName("a"), .unset = true}}) {
    const Result<RoleSetCall> back = parse_role_set_call(role_set_call_json(call));
    ASSERT_TRUE(back) << back.error().message();
    EXPECT_EQ(*back, call);
  }
  for (const DrainCall& call : {DrainCall{.agent = AgentId("a1")},
                                DrainCall{.agent = AgentId("a1"), .grace = minutes(5)}}) {
    const Result<DrainCall> back = parse_drain_call(drain_call_json(call));
    ASSERT_TRUE(back) << back.error().message();
    EXPECT_EQ(*back, call);
  }
  const AgentGoneCall gone{.agent = AgentId("a1")};
  EXPECT_EQ(parse_agent_gone_call(agent_gone_call_json(gone)).value(), gone);
  EXPECT_FALSE(parse_agent_gone_call("{}"));
  EXPECT_FALSE(parse_agent_gone_call(R"({"agent":"a b"})"));
  for (const BrakeLiftCall& call : {BrakeLiftCall{}, BrakeLiftCall{.span = minutes(3)}}) {
    EXPECT_EQ(parse_brake_lift_call(brake_lift_call_json(call)).value(), call);
  }
  EXPECT_FALSE(parse_brake_lift_call(R"({"for_s":-1})"));
  const ReserveCall reserve{.agent = AgentId("a1"),
                            .role = RoleName("eng"),
                            .amounts = *parse_shape("cpus:1.5;mem:1GiB")};
  const Result<ReserveCall> back = parse_reserve_call(reserve_call_json(reserve));
  ASSERT_TRUE(back) << back.error().message();
  EXPECT_EQ(*back, reserve);

  const auto refusal = [](const auto& parsed) {
    return parsed ? std::string("accepted") : parsed.error().message();
  };
  EXPECT_EQ(refusal(parse_role_set_call("{}")), "role: is missing");
  EXPECT_EQ(refusal(parse_role_set_call(R"({"role":"a//b"})")).find("role: a role must be"), 0u);
  EXPECT_EQ(refusal(parse_role_set_call(R"({"role":"a","limit":"cups:1"})")).find("limit: "), 0u);
  EXPECT_NE(refusal(parse_role_set_call(R"({"role":"a","wieght":1})")).find("unknown member"),
            std::string::npos);
  EXPECT_EQ(refusal(parse_drain_call(R"({"agent":"a b"})")).find("agent: "), 0u);
  EXPECT_TRUE(parse_reserve_call(R"({"agent":"a","role":"r"})")->amounts.is_zero());
  EXPECT_EQ(refusal(parse_reserve_call(R"({"agent":"a","role":"r","resources":"ports:[1-2]"})"))
                .find("resources: "),
            0u);
}

TEST(Json, OfRolesAndAgentsTellsQuotaReservationsAndDraining) {
  const RoleRow role{.role = RoleName("eng/ads"),
                     .weight = 2'000,
                     .guarantee = *parse_quota("cpus:10"),
                     .limit = *parse_quota("cpus:20;gpus:0"),
                     .entitlement = *parse_shape("cpus:8"),
                     .borrowed = *parse_shape("cpus:2"),
                     .guarantee_met = false,
                     .place_share_millionths = 123,
                     .lag = milliseconds(1'500),
                     .lag_most = seconds(90),
                     .frameworks = 3};
  const Result<std::vector<RoleRow>> roles = parse_roles(roles_json({role}));
  ASSERT_TRUE(roles) << roles.error().message();
  EXPECT_EQ(roles->at(0), role);
  const AgentRow agent{
      .agent = AgentId("a1"),
      .reserved = {{.role = RoleName("eng"), .amounts = *parse_shape("cpus:1"), .dynamic = true}},
      .drained_by = Time::from_nanos(5'000'000'000)};
  const Result<std::vector<AgentRow>> agents = parse_agents(agents_json({agent}));
  ASSERT_TRUE(agents) << agents.error().message();
  EXPECT_EQ(agents->at(0), agent);
}

TEST(Json, RefusesWrongCallsAndSaysWhatIsWrong) {
  struct Row {
    std::string_view json;
    std::string_view says;
  };
  const Row queries[] = {
      {R"({"limit":0})", "limit: must be a whole number from 1 to 1000"},
      {R"({"limit":1001})", "limit: must be a whole number from 1 to 1000"},
      {R"({"limit":1.5})", "limit: must be a whole number"},
      {R"({"limit":"5"})", "limit: must be a whole number"},
      {R"({"limit":18446744073709551615})", "limit: must be a whole number"},
      {R"({"ended":1})", "ended: must be true or false"},
      {R"({"prefix":["a"]})", "prefix: must be a text"},
      {R"({"prefix":null})", "prefix: must be a text"},
      {R"({"perfix":"a"})", "unknown member 'perfix'; known are prefix, ended, after, limit"},
      {R"([])", "JSON must be an object"},
      {R"("a")", "JSON must be an object"},
      {R"({"prefix":"a"} x)", "not JSON, at byte 16"},
      {R"({"prefix":)", "not JSON"},
      {R"({'prefix':'a'})", "not JSON"},
      {R"({"limit":1e999})", "too large"},
      {R"({"limit":NaN})", "not JSON"},
      {R"({"prefix":"a","prefix":"b"})", "JSON names the member 'prefix' twice"},
      {"{\"prefix\":\"\xFF\"}", "not JSON"},
      {"{\"prefix\":\"\xC0\x80\"}", "not JSON"},
  };
  for (const Row& row : queries) {
    const Result<TaskQuery> query = parse_task_query(row.json);
    ASSERT_FALSE(query) << row.json;
    EXPECT_EQ(query.error().code(), ErrorCode::kInvalidArgument);
    EXPECT_NE(query.error().message().find(row.says), std::string::npos)
        << row.json << ": " << query.error().message();
  }
  const Row kills[] = {
      {"", "task: is missing"},
      {R"({"grace_s":1})", "task: is missing"},
      {R"({"task":"t","grace_s":-1})", "grace_s: must be a number from 0"},
      {R"({"task":"t","grace_s":1e300})", "grace_s: must be a number from 0"},
      {R"({"task":"t","grace":1})", "unknown member 'grace'"},
  };
  for (const Row& row : kills) {
    const Result<KillCall> kill = parse_kill_call(row.json);
    ASSERT_FALSE(kill) << row.json;
    EXPECT_NE(kill.error().message().find(row.says), std::string::npos)
        << row.json << ": " << kill.error().message();
  }
}

TEST(Json, RefusesWrongRowsAndSaysWhere) {
  struct Row {
    std::string_view json;
    std::string_view says;
  };
  const Row rows[] = {
      {R"({})", "tasks: is missing"},
      {R"({"tasks":{}})", "tasks: must be a list"},
      {R"({"tasks":[1]})", "tasks[0]: must be an object"},
      {R"({"tasks":[{},{"state":"sleeping"}]})", "tasks[1].state: unknown word 'sleeping'"},
      {R"({"tasks":[{"state":5}]})", "tasks[0].state: must be a text"},
      {R"({"tasks":[{"ports":{"http":0}}]})", "tasks[0].ports.http: must be a whole number"},
      {R"({"tasks":[{"exit_code":2147483648}]})", "tasks[0].exit_code: must be"},
      {R"({"tasks":[{"resources":{"cpus":"1"}}]})", "tasks[0].resources.cpus: must be a number"},
      {R"({"tasks":[{"resources":{"cpus":1e13}}]})", "tasks[0].resources.cpus: must be a number"},
      {R"({"tasks":[{"resources":{"ports":"[0]"}}]})", "tasks[0].resources.ports: ports must be"},
      {R"({"tasks":[{"launched_at_s":-1}]})", "tasks[0].launched_at_s: must be a number"},
  };
  for (const Row& row : rows) {
    const Result<std::vector<TaskRow>> tasks = parse_tasks(row.json);
    ASSERT_FALSE(tasks) << row.json;
    EXPECT_EQ(tasks.error().message().find(row.says), 0u)
        << row.json << ": " << tasks.error().message();
  }
}

TEST(Json, IgnoresMembersThatANewerMasterTells) {
  const Result<std::vector<TaskRow>> tasks =
      parse_tasks(R"({"tasks":[{"task":"t","mood":{"good":[1,2,{"x":null}]}}],"more":true})");
  ASSERT_TRUE(tasks) << tasks.error().message();
  EXPECT_EQ((*tasks)[0].task, TaskId("t"));
}

TEST(Json, RefusesDocumentsThatAreTooDeepOrTooLong) {
  const auto nested = [](int depth) {
    std::string out;
    for (int i = 0; i < depth; ++i) out += R"({"a":)";
    out += "1";
    for (int i = 0; i < depth; ++i) out += "}";
    return out;
  };
  EXPECT_TRUE(parse_status(nested(kJsonDepthMax)));
  EXPECT_FALSE(parse_status(nested(kJsonDepthMax + 2)));
  for (const std::string& hostile :
       {nested(100'000), std::string(100'000, '['), std::string(100'000, '{'),
        "{\"a\":" + std::string(300'000, '[') + std::string(300'000, ']') + "}",
        std::string(kJsonBytesMax + 1, ' ')}) {
    const Result<MasterStatus> status = parse_status(hostile);
    ASSERT_FALSE(status);
    EXPECT_LT(status.error().message().size(), 500u);
  }
}

TEST(Json, ManyMembersAreReadQuickly) {  // not in quadratic time
  std::string wide = "{";
  for (int i = 0; i < 50'000; ++i) wide += "\"m" + std::to_string(i) + "\":1,";
  wide += "\"tasks\":[]}";
  EXPECT_TRUE(parse_tasks(wide));
}

TEST(Json, ReplacesInvalidUtf8) {
  TaskRow row;
  row.message = "a\xFF\xC0z";
  const std::string json = tasks_json({row});
  EXPECT_NE(json.find("a\xEF\xBF\xBD\xEF\xBF\xBDz"), std::string::npos) << json;
  EXPECT_TRUE(parse_tasks(json));
  EXPECT_NE(json_line({{"text", std::string("\0\x1F\"\\", 4)}}).find(R"(\u0000\u001f\"\\)"),
            std::string::npos);
}

// Rows are printed directly, lines by nlohmann: both must agree.
TEST(Json, RowsAndLinesPrintNumbersAndTextsAlike) {
  const auto number_of = [](int64_t milli) {
    const std::string line = json_line({{"cpus", MilliNumber{milli}}});
    return line.substr(1, line.size() - 2);
  };
  for (const int64_t milli : {0, 1, 10, 100, 999, 1'000, 1'001, 1'010, 1'100, 12'345, 100'000}) {
    for (const int64_t sign : {1, -1}) {
      const std::string json = status_json({.total = ResourceVector::of(sign * milli, 0)});
      EXPECT_NE(json.find(number_of(sign * milli) + ",\"mem\":0,"), std::string::npos)
          << sign * milli << " " << json;
    }
  }
  const std::string texts[] = {"",           "plain ~ text",       "quote \" and \\ and /",
                               "\n\t\r\b\f", "\x01\x1F\x7F",       "\xC3\xA9\xE2\x82\xAC",
                               "\xFFz\xC3",  std::string("\0z", 2)};
  for (const std::string& each : texts) {
    TaskRow row;
    row.message = each;
    const std::string line = json_line({{"message", each}});
    EXPECT_NE(tasks_json({row}).find(line.substr(1, line.size() - 2)), std::string::npos) << line;
  }
}

TEST(Json, LinesKeepTheOrderAndTheTypesOfTheirMembers) {
  const std::string line = json_line({{"event", "task_ended"},
                                      {"attempt", int64_t{-2}},
                                      {"ok", true},
                                      {"took_s", MilliNumber{1250}},
                                      {"args", std::vector<std::string>{"a", "b"}}});
  EXPECT_EQ(line,
            R"({"event":"task_ended","attempt":-2,"ok":true,"took_s":1.25,"args":["a","b"]})");
  const auto read = parse_json_line(line);
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_EQ(*read,
            (std::map<std::string, JsonValue>{{"event", "task_ended"},
                                              {"attempt", int64_t{-2}},
                                              {"ok", true},
                                              {"took_s", MilliNumber{1250}},
                                              {"args", std::vector<std::string>{"a", "b"}}}));
  EXPECT_FALSE(parse_json_line(R"({"a":{}})"));
  EXPECT_FALSE(parse_json_line(R"({"a":[1]})"));
}

}  // namespace
}  // namespace proffer::proto::json_test
