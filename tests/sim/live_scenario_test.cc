// A master's snapshot of a live cluster becomes a scenario that parses again, and whose simulation
// starts from the same state.

#include "sim/live_scenario.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "proto/json/live_snapshot_json.h"
#include "sim/scenario_writer.h"
#include "tests/sim/shipped_scenarios.h"

namespace proffer::sim::live_scenario_test {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::SizeIs;
using Report = proto::SimulateReport;

const ScenarioFramework& framework_of(const Scenario& scenario, const std::string& name) {
  for (const ScenarioFramework& one : scenario.frameworks) {
    if (one.name == name) return one;
  }
  ADD_FAILURE() << "no framework " << name << " in\n" << to_yaml(scenario);
  static const ScenarioFramework kNone;
  return kNone;
}

// The scenario until `at`, as the master's snapshot, encoded and decoded like a live one.
struct Live {
  proto::LiveSnapshot snapshot = {};
  std::vector<proto::RoleRow> roles = {};
  std::vector<proto::FrameworkRow> frameworks = {};
  std::map<AgentId, ResourceVector> allocated = {};
};
Live live_at(Scenario scenario, Duration at) {
  scenario.until = at;
  std::erase_if(scenario.report_at, [&](Duration when) { return when > at; });
  ScenarioRun run(scenario);
  EXPECT_EQ(run.run().violations, std::vector<std::string>());
  Live live;
  for (const std::string& page :
       proto::live_snapshot_pages(run.master().live_snapshot(run.world().now()))) {
    EXPECT_TRUE(proto::parse_live_snapshot_page(page, live.snapshot));
  }
  live.roles = run.master().roles();
  live.frameworks = run.master().frameworks();
  for (const proto::AgentRow& row : run.master().agents())
    live.allocated[row.agent] = row.allocated;
  return live;
}
Live live_at(const std::string& yaml, Duration at) {
  return live_at(parse_scenario(yaml).value(), at);
}

// The scenario, parsed from its text, which must be equal.
LiveScenario scenario_from(const proto::LiveSnapshot& snapshot) {
  Result<LiveScenario> made = scenario_of(snapshot);
  if (!made) {
    ADD_FAILURE() << made.error().message();
    return {};
  }
  const std::string yaml = to_yaml(*made);
  const Result<Scenario> read = parse_scenario(yaml);
  EXPECT_TRUE(read) << read.error().message() << "\nin\n" << yaml;
  if (read) {
    EXPECT_EQ(*read, made->scenario) << yaml;
  }
  return *std::move(made);
}

// The simulation's allocations at 0s equal the live ones: by role, framework and agent.
void expect_same_shares(const Live& live, Scenario scenario) {
  scenario.until = Duration();
  ScenarioRun again(scenario);
  EXPECT_EQ(again.run().violations, std::vector<std::string>());
  std::map<RoleName, proto::RoleRow> roles;
  for (const proto::RoleRow& row : again.master().roles()) roles[row.role] = row;
  for (const proto::RoleRow& row : live.roles) {
    if (row.allocated.is_zero() && !roles.contains(row.role)) continue;  // its frameworks have left
    const proto::RoleRow& now = roles[row.role];
    EXPECT_EQ(to_text(now.allocated), to_text(row.allocated)) << row.role.str();
    EXPECT_EQ(now.weight, row.weight) << row.role.str();
    EXPECT_EQ(now.guarantee, row.guarantee) << row.role.str();
    EXPECT_EQ(now.limit, row.limit) << row.role.str();
  }
  std::map<std::string, ResourceVector> frameworks;
  for (const proto::FrameworkRow& row : again.master().frameworks()) {
    frameworks[row.name] = row.allocated;
  }
  for (const proto::FrameworkRow& row : live.frameworks) {
    EXPECT_EQ(to_text(frameworks[row.name]), to_text(row.allocated)) << row.name;
  }
  for (const proto::AgentRow& row : again.master().agents()) {
    EXPECT_EQ(to_text(row.allocated), to_text(live.allocated.at(row.agent))) << row.agent.str();
  }
}

TEST(LiveScenario, OfAnyShippedScenarioGoesOnWhereTheLiveOneStood) {
  size_t tasks = 0;
  for (const std::string name :
       {"drf_paper", "borrow_and_return", "gangs", "gpu_island", "hoarder", "drain_a_rack"}) {
    for (const Duration at : {seconds(5), seconds(75), seconds(215), seconds(400)}) {
      SCOPED_TRACE(name + " at " + proffer::to_text(at));
      Scenario scenario = parse_scenario(shipped_scenario(name)).value();
      // Outstanding offers are not tasks.
      const Live live = live_at(scenario, at + milliseconds(500));
      expect_same_shares(live, scenario_from(live.snapshot).scenario);
      tasks += live.snapshot.tasks.size();
    }
  }
  EXPECT_GT(tasks, 200u);
}

constexpr std::string_view kEverything = R"(
options: {reclaim: fair_share, revoke_grace: 7s}
agents:
  - {name: a, count: 2, resources: "cpus:4;mem:4GiB;ports:[31000-31009]", attributes: {rack: r1}}
  - {name: b, resources: "cpus:4;mem:4GiB", attributes: {rack: r2}, reserved: {eng: "cpus:1"}}
  - {name: c, resources: "cpus:2;mem:2GiB", drains: 15s, drain_grace: 60s}
roles: [{name: eng, weight: 2, guarantee: "cpus:3", limit: "cpus:9"}]
frameworks:
  - name: A
    role: eng
    tasks:
      - name: t
        count: 40
        resources: "cpus:1;mem:512"
        duration: forever
        constraints: ["rack != r9"]
        spread: rack
        max_per: {host: 3}
        prefer: {hosts: [a-0], wait: 5s}
        priority: 3
        band: production
        borrow: false
      - {name: below, role: eng/ads, count: 1, resources: "cpus:0.5", duration: forever}
      - {name: g, count: 4, resources: "cpus:0.5", duration: forever, gang: 2, revocable_ok: true}
  - name: B
    role: ops
    takes: open
    tasks: [{name: o, count: 2, resources: "cpus:1", duration: forever}]
)";

TEST(LiveScenario, SaysWhatRunsAndWhatIsWanted) {
  const LiveScenario live = scenario_from(live_at(std::string(kEverything), seconds(20)).snapshot);
  const Scenario& scenario = live.scenario;
  EXPECT_EQ(scenario.until, kLiveUntil);
  EXPECT_EQ(scenario.options.at("reclaim"), "fair_share");
  EXPECT_EQ(scenario.options.at("revoke_grace"), "7s");
  ASSERT_EQ(scenario.agents.size(), 4u);
  EXPECT_EQ(scenario.agents[0].name, "a-0");
  EXPECT_EQ(proffer::to_text(scenario.agents[0].resources), "cpus:4;mem:4096;ports:[31000-31009]");
  EXPECT_EQ(scenario.agents[2].attributes, (Attributes{{"rack", "r2"}}));
  EXPECT_EQ(proffer::to_text(scenario.agents[2].reserved.at(RoleName("eng"))), "cpus:1");
  EXPECT_EQ(scenario.agents[3].drains, Duration());
  EXPECT_EQ(scenario.agents[3].drain_grace, seconds(55));
  EXPECT_EQ(proffer::to_text(scenario.roles.at(RoleName("eng")).limit), "cpus:9");
  const ScenarioFramework& a = framework_of(scenario, "A");
  ASSERT_THAT(a.tasks, SizeIs(3));
  const ScenarioFramework original = parse_scenario(kEverything).value().frameworks[0];
  for (const ScenarioTasks& tasks : a.tasks) {
    const auto same =
        std::find_if(original.tasks.begin(), original.tasks.end(),
                     [&](const ScenarioTasks& one) { return one.name == tasks.name; });
    ASSERT_NE(same, original.tasks.end()) << tasks.name;
    EXPECT_EQ(tasks.count, same->count) << tasks.name;
    EXPECT_EQ(tasks.resources, same->resources) << tasks.name;
    EXPECT_EQ(tasks.duration, std::nullopt) << tasks.name;
    // An ask without waiting tasks is known only by its running tasks.
    if (tasks.running_count() < tasks.count) {
      EXPECT_EQ(tasks.ask, same->ask) << tasks.name;
    }
    EXPECT_EQ(tasks.ask.role, same->ask.role) << tasks.name;
    EXPECT_EQ(tasks.ask.gang, same->ask.gang) << tasks.name;
    EXPECT_GT(tasks.running_count(), 0) << tasks.name;
    for (const ScenarioRunning& one : tasks.running) {
      EXPECT_GE(one.since, seconds(10));
      EXPECT_LE(one.since, seconds(20));
    }
  }
  EXPECT_EQ(framework_of(scenario, "B").takes, Takes::kOpen);
  EXPECT_EQ(framework_of(scenario, "B").tasks.front().running_count(), 2);
}

TEST(LiveScenario, AnswersWhatAFrameworkMoreWouldTakeFromWhom) {
  // Train has borrowed the whole cluster. What happens if production wants half of it?
  const std::string yaml = R"(
agents: [{name: a, count: 2, resources: "cpus:4;mem:4GiB"}]
roles: [{name: production, guarantee: "cpus:4"}]
frameworks:
  - name: train
    role: research
    tasks: [{name: t, count: 9, resources: "cpus:1", duration: forever}]
)";
  LiveScenario live = scenario_from(live_at(yaml, seconds(60)).snapshot);
  const auto run = [](const Scenario& scenario) { return simulate_text(to_yaml(scenario)); };
  const Report before = run(live.scenario);
  EXPECT_TRUE(before.end.revoked.empty());
  ASSERT_THAT(before.end.waiting, SizeIs(1));
  EXPECT_EQ(before.end.waiting[0].tasks, (std::map<std::string, int64_t>{{"t", 1}}));
  EXPECT_THAT(before.end.waiting[0].why, HasSubstr("cpus:1"));
  live.scenario.frameworks.push_back(
      {.name = "web",
       .role = RoleName("production"),
       .tasks = {{.name = "w", .count = 4, .resources = amounts("cpus:1"), .duration = {}}}});
  const Report after = run(live.scenario);
  ASSERT_THAT(after.end.revoked, SizeIs(1));
  EXPECT_EQ(after.end.revoked[0], (Report::Revoked{.framework = "train",
                                                   .role = RoleName("research"),
                                                   .reason = RevokeReason::kReclaimed,
                                                   .beneficiary = RoleName("production"),
                                                   .told = 4,
                                                   .ended = 4}));
  ASSERT_THAT(after.end.waiting, SizeIs(1));
  EXPECT_EQ(after.end.waiting[0].framework, "train");
  EXPECT_EQ(after.end.waiting[0].tasks, (std::map<std::string, int64_t>{{"t", 5}}));
  EXPECT_EQ(after.end.frameworks.at("web").running, 4);
  const std::string tables = report_tables(after);
  EXPECT_THAT(tables, HasSubstr("fits         no: 5 tasks wait\nwaits        5 train/t: "));
  EXPECT_THAT(tables, HasSubstr("revoked      4 tasks of train (role research) for role "
                                "production: reclaimed\n"));
  // If there is room for all, no task is preempted.
  live.scenario.agents.push_back({.name = "new", .resources = live.scenario.agents[0].resources});
  live.scenario.agents.push_back({.name = "more", .resources = live.scenario.agents[0].resources});
  const Report roomy = run(live.scenario);
  EXPECT_THAT(report_tables(roomy), AllOf(HasSubstr("fits         yes: nothing waits\n"),
                                          HasSubstr("revoked      none\n")));
}

// --- limits of scenarios -------------------------------------------------------------------------

proto::LiveSnapshot small() {
  proto::LiveSnapshot all;
  all.agents.push_back(
      {.agent = AgentId("a"), .total = parse_agent_resources("cpus:4;gpus:1").value()});
  return all;
}

proto::LiveTask running_task(const std::string& framework, const std::string& task) {
  return {.framework = FrameworkId(framework),
          .task = TaskId(task),
          .agent = AgentId("a"),
          .role = RoleName("r"),
          .shape = parse_shape("cpus:1").value()};
}

// A declared duration is kept until a task has run longer; "until somebody ends it" means for ever.
TEST(LiveScenario, DeclaredDurationsAreKept) {
  struct Row {
    Duration declared;
    Duration since;
    std::optional<Duration> duration;
    bool is_declared;
  };
  for (const Row& row : {Row{minutes(5), minutes(1), minutes(5), true},
                         Row{minutes(5), minutes(6), std::nullopt, false},
                         Row{kDurationMax, minutes(6), std::nullopt, true},
                         Row{Duration(), minutes(1), std::nullopt, false}}) {
    proto::LiveSnapshot live = small();
    live.frameworks.push_back(
        {.framework = FrameworkId("d-1-1"), .name = "d", .role = RoleName("r")});
    live.asks.push_back({FrameworkId("d-1-1"),
                         {.name = AskName("x"),
                          .shape = parse_shape("cpus:1").value(),
                          .count = 1,
                          .duration = row.declared}});
    proto::LiveTask task = running_task("d-1-1", "t");
    task.ask = AskName("x");
    task.since = row.since;
    live.tasks = {task};
    const LiveScenario made = scenario_from(live);
    EXPECT_TRUE(check_scenario(made.scenario).has_value());
    const ScenarioTasks& tasks = framework_of(made.scenario, "d").tasks.front();
    EXPECT_EQ(tasks.count, 2);
    EXPECT_EQ(tasks.duration, row.duration);
    EXPECT_EQ(tasks.declared_duration, row.is_declared);
  }
}

// One of four agents lacks the port, and on another one a task of another ask has it.
TEST(LiveScenario, AsksWithPortsByNumberCountTheAgentsWhereTheseAreFree) {
  proto::LiveSnapshot live;
  for (const char* name : {"a", "b", "c", "d"}) {
    const std::string ports = std::string(name) == "b" ? "[31000-31009]" : "[80-80,443-443]";
    live.agents.push_back(
        {.agent = AgentId(name), .total = parse_agent_resources("cpus:4;ports:" + ports).value()});
  }
  live.frameworks.push_back(
      {.framework = FrameworkId("s-1-1"), .name = "s", .role = RoleName("r")});
  live.frameworks.push_back(
      {.framework = FrameworkId("o-1-2"), .name = "o", .role = RoleName("r")});
  const Ask web{.name = AskName("web"),
                .shape = parse_shape("cpus:1").value(),
                .count = 3,
                .ports = 2,
                .static_ports = {80, 443}};
  live.asks.push_back({FrameworkId("s-1-1"), web});
  proto::LiveTask own = running_task("s-1-1", "web.1");
  own.ask = AskName("web");
  own.ports = {80, 443};
  proto::LiveTask other = running_task("o-1-2", "t");
  other.agent = AgentId("c");
  other.ports = {443};
  live.tasks = {own, other};
  const LiveScenario made = scenario_from(live);
  const ScenarioTasks& tasks = framework_of(made.scenario, "s").tasks.front();
  ASSERT_THAT(tasks.ask.constraints, SizeIs(1));
  EXPECT_EQ(to_text(tasks.ask.constraints[0]), "host in [a, d]");
  ASSERT_THAT(tasks.ask.max_per, SizeIs(1));
  EXPECT_EQ(tasks.ask.max_per[0].count, 1);
  EXPECT_TRUE(made.notes.empty());
  // Its own instance runs there, one more fits, and two do not fit.
  const Report report = simulate_text(to_yaml(made.scenario));
  ASSERT_THAT(report.end.waiting, SizeIs(1));
  EXPECT_EQ(report.end.waiting[0].tasks, (std::map<std::string, int64_t>{{"web", 2}}));
}

TEST(LiveScenario, APortThatNoAgentHasFitsNowhere) {
  proto::LiveSnapshot live = small();
  live.frameworks.push_back(
      {.framework = FrameworkId("s-1-1"), .name = "s", .role = RoleName("r")});
  live.asks.push_back({FrameworkId("s-1-1"),
                       {.name = AskName("web"),
                        .shape = parse_shape("cpus:1").value(),
                        .count = 1,
                        .ports = 1,
                        .static_ports = {53}}});
  const LiveScenario made = scenario_from(live);
  EXPECT_EQ(to_text(framework_of(made.scenario, "s").tasks.front().ask.constraints.at(0)),
            "host in [no-agent-has-port-53]");
  EXPECT_THAT(simulate_text(to_yaml(made.scenario)).end.waiting, SizeIs(1));
}

TEST(LiveScenario, SaysWhatIsLeftOut) {
  proto::LiveSnapshot live = small();
  live.agents.push_back({.agent = AgentId("far"),
                         .state = proto::AgentState::kUnreachable,
                         .total = live.agents[0].total});
  live.agents.push_back({.agent = AgentId("shy"),
                         .state = proto::AgentState::kDisconnected,
                         .total = live.agents[0].total});
  live.frameworks.push_back({.framework = FrameworkId("o-1-1"),
                             .name = "o",
                             .role = RoleName("r"),
                             .mode = OfferMode::kOpen});
  live.frameworks.push_back(
      {.framework = FrameworkId("s-1-2"), .name = "s", .role = RoleName("r"), .suppressed = true});
  live.frameworks.push_back(
      {.framework = FrameworkId("w-1-3"), .name = "w", .role = RoleName("r"), .connected = false});
  live.asks.push_back({FrameworkId("s-1-2"),
                       {.name = AskName("x"),
                        .shape = parse_shape("cpus:1").value(),
                        .count = 3,
                        .ports = 1,
                        .expiry = seconds(9)}});
  proto::LiveTask large = running_task("o-1-1", "large");
  large.shape = parse_shape("cpus:5").value();
  proto::LiveTask lost = running_task("o-1-1", "lost");
  lost.agent = AgentId("far");
  live.tasks = {large, lost, running_task("o-1-1", "fine")};
  const LiveScenario made = scenario_from(live);
  EXPECT_THAT(made.notes, Contains(HasSubstr("they are unreachable: agents: far")));
  EXPECT_THAT(made.notes,
              Contains(HasSubstr("disconnected when the snapshot was taken: agents: shy")));
  EXPECT_THAT(made.notes, Contains(AllOf(HasSubstr("o-1-1/large"), Not(HasSubstr("lost")))));
  EXPECT_THAT(made.notes, Contains(HasSubstr("takes open offers and declares no asks: "
                                             "framework: o")));
  EXPECT_THAT(made.notes, Contains(HasSubstr("has suppressed offers: framework: s")));
  EXPECT_THAT(made.notes, Contains(HasSubstr("they are disconnected: frameworks: w")));
  EXPECT_THAT(made.notes, Contains(HasSubstr("without its ports: ask: s-1-2/x")));
  EXPECT_THAT(made.notes, Contains(HasSubstr("without its expiry: ask: s-1-2/x")));
  const std::string yaml = to_yaml(made);
  for (const std::string& note : made.notes) EXPECT_THAT(yaml, HasSubstr("# - " + note + "\n"));
  EXPECT_EQ(framework_of(made.scenario, "o").tasks.front().count, 1);
  EXPECT_THAT(framework_of(made.scenario, "s").tasks, SizeIs(0));
  EXPECT_THAT(made.scenario.frameworks, SizeIs(2));
}

TEST(LiveScenario, FrameworksOfOneNameAreToldApartByTheirIds) {
  proto::LiveSnapshot live = small();
  for (const std::string id : {"run-1-1", "run-1-2"}) {
    live.frameworks.push_back({.framework = FrameworkId(id), .name = "run", .role = RoleName("r")});
  }
  live.frameworks.push_back(
      {.framework = FrameworkId("x-1-3"), .name = "run-1-2", .role = RoleName("r")});
  std::vector<std::string> names;
  for (const ScenarioFramework& one : scenario_from(live).scenario.frameworks) {
    names.push_back(one.name);
  }
  EXPECT_EQ(names, (std::vector<std::string>{"run-1-1", "run-1-2-2", "run-1-2"}));
}

TEST(LiveScenario, BrokenGangsRunOnOneByOneAndWholeOnesStayWhole) {
  proto::LiveSnapshot live = small();
  live.frameworks.push_back(
      {.framework = FrameworkId("g-1-1"), .name = "g", .role = RoleName("r")});
  live.asks.push_back(
      {FrameworkId("g-1-1"),
       {.name = AskName("pair"), .shape = parse_shape("cpus:1").value(), .count = 2, .gang = 2}});
  const auto add = [&](const std::string& name, uint64_t gang, bool ending) {
    proto::LiveTask task = running_task("g-1-1", name);
    task.ask = AskName("pair");
    task.gang = gang;
    task.ending = ending;
    live.tasks.push_back(task);
  };
  add("p-0", 1, false);
  add("p-2", 2, false);
  add("p-1", 1, false);
  add("p-3", 2, true);
  const LiveScenario made = scenario_from(live);
  const std::vector<ScenarioTasks>& tasks = framework_of(made.scenario, "g").tasks;
  ASSERT_THAT(tasks, SizeIs(3));
  EXPECT_EQ(tasks[0].name, "pair");
  EXPECT_EQ(tasks[0].ask.gang, 2);
  EXPECT_EQ(tasks[0].running_count(), 2);
  EXPECT_EQ(tasks[0].count, 4);
  EXPECT_EQ(tasks[1].name, "pair-2");
  EXPECT_EQ(tasks[1].ask.gang, 1);
  EXPECT_EQ(tasks[1].count, 1);
  EXPECT_EQ(tasks[2].duration, kKillGrace);
  EXPECT_THAT(made.notes, Contains(HasSubstr("1 task was being killed")));
}

TEST(LiveScenario, AnAskWithoutEndIsCutToWhatAllAgentsCouldRun) {
  proto::LiveSnapshot live = small();
  live.frameworks.push_back(
      {.framework = FrameworkId("m-1-1"), .name = "m", .role = RoleName("r")});
  live.asks.push_back(
      {FrameworkId("m-1-1"),
       {.name = AskName("any"), .shape = parse_shape("cpus:1").value(), .count = kAskCountMax}});
  const LiveScenario made = scenario_from(live);
  EXPECT_EQ(framework_of(made.scenario, "m").tasks.front().count, 100'000);
  EXPECT_THAT(made.notes, Contains(HasSubstr("reduced to as many tasks as all agents could "
                                             "run at once: ask: m/any")));
}

TEST(LiveScenario, WithoutAgentsThereIsNothingToSimulate) {
  const Result<LiveScenario> made = scenario_of({});
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code(), ErrorCode::kFailedPrecondition);
  EXPECT_THAT(made.error().message(), HasSubstr("no agent"));
}

}  // namespace
}  // namespace proffer::sim::live_scenario_test
