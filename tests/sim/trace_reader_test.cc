// Tables of work and machines as scenarios, and messages about mistakes. The openb tables here have
// the format of the real ones, which are not in this repository.

#include "sim/trace_reader.h"

#include <gtest/gtest.h>

#include "common/text.h"
#include "sim/scenario_reader.h"
#include "sim/scenario_run.h"
#include "sim/scenario_writer.h"
#include "tests/sim/shipped_scenarios.h"

namespace proffer::sim::trace_reader_test {
namespace {

constexpr std::string_view kTasks =
    "arrive_s,framework,role,cpus,mem_mib,duration_s,count\n"
    "60,nightly,,0.25,512,7.5,100\n"
    "0,web,prod/web,2,4096,forever,3\r\n"
    "\n"
    "30,nightly,,0.25,512,60,2\n"
    "30,nightly,,1,512,60,\n";

constexpr std::string_view kNodes =
    "sn,cpu_milli,memory_mib,gpu,model\n"
    "node-0,32000,262144,0,\n"
    "node-1,96000,393216,2,V100M32\n"
    "node-2,64000,262144,2,T4\n";

constexpr std::string_view kPods =
    "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,"
    "deletion_time,scheduled_time\n"
    "pod-0,12000,16384,1,1000,T4|V100M32,LS,Running,0,1000,10\n"
    "pod-1,6000,12288,1,460,,BE,Failed,20,20,20\n"
    "pod-2,6000,12288,1,460,,BE,Pending,5,105,\n"
    "pod-3,4000,15258,2,1000,V100M32,Burstable,Succeeded,40,100,40\n"
    "pod-4,4000,15258,0,0,,Guaranteed,Running,40,100,40\n";

Scenario with_an_agent() {
  Scenario scenario;
  scenario.agents.push_back(
      {.name = "a", .count = 4, .resources = {.amounts = ResourceVector::of(32'000, 65'536'000)}});
  return scenario;
}

TEST(CsvTasks, LinesOfOneShapeAreWavesOfOneEntry) {
  Scenario scenario = with_an_agent();
  const Result<void> added = add_csv_tasks(kTasks, scenario);
  ASSERT_TRUE(added.has_value()) << added.error().message();
  ASSERT_EQ(scenario.frameworks.size(), 2u);
  const ScenarioFramework& nightly = scenario.frameworks[0];
  EXPECT_EQ(nightly.name, "nightly");
  EXPECT_EQ(nightly.role, RoleName("default"));
  ASSERT_EQ(nightly.tasks.size(), 2u);
  EXPECT_EQ(nightly.tasks[0].resources, ResourceVector::of(250, 512'000));
  EXPECT_EQ(nightly.tasks[0].count, 102);
  EXPECT_EQ(nightly.tasks[0].waves,
            (std::vector<ScenarioWave>{{2, seconds(30), seconds(60), 0},
                                       {100, seconds(60), milliseconds(7'500), 2}}));
  EXPECT_EQ(nightly.tasks[0].arrival(1), seconds(30));
  EXPECT_EQ(nightly.tasks[0].arrival(2), seconds(60));
  EXPECT_EQ(nightly.tasks[0].arrival(101), seconds(60));
  EXPECT_EQ(nightly.tasks[1].count, 1);
  const ScenarioFramework& web = scenario.frameworks[1];
  EXPECT_EQ(web.role, RoleName("prod/web"));
  EXPECT_EQ(web.tasks[0].waves, (std::vector<ScenarioWave>{{3, Duration(), std::nullopt, 0}}));
  EXPECT_TRUE(check_scenario(scenario).has_value());
}

TEST(CsvTasks, PrintedAsYamlTheyReadBackEqual) {
  Scenario scenario = with_an_agent();
  ASSERT_TRUE(add_csv_tasks(kTasks, scenario).has_value());
  const Result<Scenario> again = parse_scenario(to_yaml(scenario));
  ASSERT_TRUE(again.has_value()) << again.error().message();
  EXPECT_EQ(*again, scenario) << to_yaml(scenario);
}

TEST(CsvTasks, EachTaskRunsWhenItsLineSaysAndForSoLong) {
  Scenario scenario = with_an_agent();
  ASSERT_TRUE(add_csv_tasks("arrive_s,framework,cpus,mem_mib,duration_s,count\n"
                            "100,f,1,16,50,2\n"
                            "10,f,1,16,20,\n",
                            scenario)
                  .has_value());
  scenario.report_at = {seconds(11), seconds(31), seconds(101), seconds(149)};
  const proto::SimulateReport report = ScenarioRun(scenario).run();
  EXPECT_TRUE(report.violations.empty());
  ASSERT_EQ(report.snapshots.size(), 4u);
  const auto running = [&](size_t i) { return report.snapshots[i].frameworks.at("f").running; };
  EXPECT_EQ(running(0), 1);
  EXPECT_EQ(running(1), 0);
  EXPECT_EQ(running(2), 2);
  EXPECT_EQ(running(3), 2);
  EXPECT_EQ(report.end.frameworks.at("f").finished, 3);
  EXPECT_LT(report.end.at, seconds(151));
}

// The promises in the first lines of examples/scenarios/night_machines.yaml.
TEST(CsvTasks, ANightOfAShopItsReportsAndItsBackup) {
  Result<Scenario> scenario = parse_scenario_part(shipped_scenario("night_machines"));
  ASSERT_TRUE(scenario.has_value()) << scenario.error().message();
  const Result<void> added = add_csv_tasks(shipped_file("night_work.csv"), *scenario);
  ASSERT_TRUE(added.has_value()) << added.error().message();
  const proto::SimulateReport report = ScenarioRun(*scenario).run();
  EXPECT_TRUE(report.violations.empty());
  EXPECT_EQ(report.end.frameworks.at("shop").finished, 8);
  EXPECT_EQ(report.end.frameworks.at("reports").finished, 500);
  EXPECT_EQ(report.end.frameworks.at("backup").finished, 200);
  EXPECT_LT(report.end.frameworks.at("shop").wait_max, minutes(1));
  EXPECT_GT(report.end.frameworks.at("backup").wait_max, minutes(5));
}

// Without `until`, a scenario with one entry ends after a day; a trace of a week lasts a week.
TEST(CsvTasks, TheScenarioLastsUntilTheTableIsDone) {
  Scenario scenario = with_an_agent();
  ASSERT_TRUE(
      add_csv_tasks("arrive_s,framework,cpus,mem_mib,duration_s\n604800,f,1,16,50\n", scenario)
          .has_value());
  EXPECT_EQ(default_until(scenario), seconds(604'850) + hours(24));
  EXPECT_EQ(ScenarioRun(scenario).run().end.frameworks.at("f").finished, 1);
}

TEST(CsvTasks, MistakesAreToldWithLineColumnAndValue) {
  constexpr std::string_view kHead = "arrive_s,framework,role,cpus,mem_mib,duration_s,count\n";
  const std::pair<std::string_view, std::string_view> rows[] = {
      {"0,a,,1,16,60", "line 2: there are 6 values, but the first line names 7"},
      {"x,a,,1,16,60,1", "line 2: arrive_s: an amount must be a number"},
      {"-1,a,,1,16,60,1", "not '-1'"},
      {"0,a,,1.2345,16,60,1", "line 2: cpus: an amount must be a number"},
      {"0,a,,1,lots,60,1", "not 'lots'"},
      {"0,a,,0,0,60,1", "line 2: a task must take some resources"},
      {"0,a,,1,16,0,1", "line 2: duration_s: must be above zero, or forever"},
      {"0,a,,1,16,99999999999,1", "line 2: duration_s: must be at most"},
      {"0,a,,1,16,60,0", "line 2: count"},
      {"0,a,b//c,1,16,60,1", "line 2: role"},
      {"0,a b,,1,16,60,1", "line 2: framework must be"},
      {"0,a,r,1,16,60,1\n0,a,s,1,16,60,1", "line 3: framework 'a' is in role 'r' above"},
      {"0,\"a,b\",,1,16,60,1", "line 2: values must not have quotes"},
  };
  for (const auto& [row, told] : rows) {
    Scenario scenario = with_an_agent();
    const Result<void> added = add_csv_tasks(text(kHead, row), scenario);
    ASSERT_FALSE(added.has_value()) << row;
    EXPECT_NE(added.error().message().find(told), std::string::npos)
        << row << ": " << added.error().message();
  }
}

TEST(CsvTasks, TheFirstLineNamesTheColumns) {
  const std::pair<std::string_view, std::string_view> tables[] = {
      {"", "no line names the columns"},
      {"0,a,,1,16,60,1\n", "line 1: unknown column '0'"},
      {"arrive_s,framwork,cpus,mem_mib,duration_s\n", "did you mean framework?"},
      {"arrive_s,framework,cpus,mem_mib\n", "line 1: there is no column 'duration_s'"},
      {"arrive_s,framework,cpus,mem_mib,cpus\n", "line 1: two columns are named 'cpus'"},
  };
  for (const auto& [table, told] : tables) {
    Scenario scenario = with_an_agent();
    const Result<void> added = add_csv_tasks(table, scenario);
    ASSERT_FALSE(added.has_value()) << table;
    EXPECT_NE(added.error().message().find(told), std::string::npos) << added.error().message();
  }
}

TEST(CsvTasks, MoreShapesThanAFrameworkMayAskForAreToldWithWhatToDo) {
  std::string table = "arrive_s,framework,cpus,mem_mib,duration_s\n";
  for (size_t i = 0; i <= kScenarioTaskGroupsMax; ++i) table += text("0,a,1,", i + 1, ",60\n");
  Scenario scenario = with_an_agent();
  const Result<void> added = add_csv_tasks(table, scenario);
  ASSERT_FALSE(added.has_value());
  const std::string told =
      text("line ", kScenarioTaskGroupsMax + 2, ": framework 'a' has more than ",
           kScenarioTaskGroupsMax, " different shapes");
  EXPECT_NE(added.error().message().find(told), std::string::npos) << added.error().message();
  EXPECT_FALSE(added.error().hint().empty());
}

TEST(Openb, NodesAreAgentsWithTheirModelAsAnAttribute) {
  Scenario scenario;
  const Result<void> added = add_openb_nodes(kNodes, scenario);
  ASSERT_TRUE(added.has_value()) << added.error().message();
  ASSERT_EQ(scenario.agents.size(), 3u);
  EXPECT_EQ(scenario.agents[0].resources.amounts, ResourceVector::of(32'000, 262'144'000));
  EXPECT_TRUE(scenario.agents[0].attributes.empty());
  EXPECT_EQ(scenario.agents[1].name, "node-1");
  EXPECT_EQ(to_text(scenario.agents[1].resources), "cpus:96;mem:393216;gpus:2");
  EXPECT_EQ(scenario.agents[1].resources.gpus.size(), 2u);
  EXPECT_EQ(scenario.agents[1].attributes.at("model"), "V100M32");
}

TEST(Openb, PodsAreTasksOfTheirClassOfService) {
  Scenario scenario;
  ASSERT_TRUE(add_openb_nodes(kNodes, scenario).has_value());
  const Result<void> added = add_openb_pods(kPods, scenario);
  ASSERT_TRUE(added.has_value()) << added.error().message();
  ASSERT_TRUE(check_scenario(scenario).has_value());
  ASSERT_EQ(scenario.frameworks.size(), 4u);
  const ScenarioFramework& sensitive = scenario.frameworks[0];
  EXPECT_EQ(sensitive.name, "latency-sensitive");
  EXPECT_EQ(sensitive.tasks[0].resources, ResourceVector::of(12'000, 16'384'000, 0, 1'000));
  EXPECT_EQ(to_text(sensitive.tasks[0].ask.constraints.at(0)), "model in [T4, V100M32]");
  EXPECT_EQ(sensitive.tasks[0].ask.band, Band::kProduction);
  // Wanted from its creation, with the duration from its scheduling to its end.
  EXPECT_EQ(sensitive.tasks[0].waves,
            (std::vector<ScenarioWave>{{1, Duration(), seconds(990), 0}}));
  const ScenarioFramework& best_effort = scenario.frameworks[1];
  EXPECT_EQ(best_effort.tasks[0].resources[ResourceKind::kGpus], 460);
  // A task that was never scheduled has its duration from its creation; one that ended at once
  // takes a second.
  EXPECT_EQ(best_effort.tasks[0].waves,
            (std::vector<ScenarioWave>{{1, seconds(5), seconds(100), 0},
                                       {1, seconds(20), seconds(1), 1}}));
  const proto::SimulateReport report = ScenarioRun(scenario).run();
  EXPECT_TRUE(report.violations.empty());
  EXPECT_EQ(report.end.frameworks.at("latency-sensitive").finished, 1);
  EXPECT_EQ(report.end.frameworks.at("best-effort").finished, 2);
  EXPECT_EQ(report.end.frameworks.at("burstable").finished, 1);
  EXPECT_EQ(report.end.frameworks.at("guaranteed").finished, 1);
}

TEST(Openb, MistakesAreToldWithLineColumnAndValue) {
  constexpr std::string_view kNodesHead = "sn,cpu_milli,memory_mib,gpu,model\n";
  constexpr std::string_view kPodsHead =
      "cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,creation_time,deletion_time\n";
  const std::pair<std::string_view, std::string_view> nodes[] = {
      {"n,32000,many,0,", "line 2: memory_mib"},
      {"n,-1,1,0,", "line 2: cpu_milli"},
      {"n,1,1,65,T4", "line 2: gpu"},
      {"n m,1,1,0,", "line 2: sn must be"},
      {"n,0,0,0,", "line 2: node 'n' has no resources"},
  };
  for (const auto& [row, told] : nodes) {
    Scenario scenario;
    const Result<void> added = add_openb_nodes(text(kNodesHead, row), scenario);
    ASSERT_FALSE(added.has_value()) << row;
    EXPECT_NE(added.error().message().find(told), std::string::npos) << added.error().message();
  }
  const std::pair<std::string_view, std::string_view> pods[] = {
      {"1,1,1,0,,LS,0,1", "line 2: gpu_milli"},
      {"1,1,2,500,,LS,0,1", "line 2: gpu_milli must be 1000 where num_gpu is 2, not 500"},
      {"1,1,0,0,,ls,0,1", "line 2: qos must be LS, BE, Burstable or Guaranteed, not 'ls'"},
      {"1,1,0,0,,LS,,1", "line 2: creation_time"},
      {"1,1,0,0,,LS,0,soon", "line 2: deletion_time: an amount"},
  };
  for (const auto& [row, told] : pods) {
    Scenario scenario;
    const Result<void> added = add_openb_pods(text(kPodsHead, row), scenario);
    ASSERT_FALSE(added.has_value()) << row;
    EXPECT_NE(added.error().message().find(told), std::string::npos) << added.error().message();
  }
}

}  // namespace
}  // namespace proffer::sim::trace_reader_test
