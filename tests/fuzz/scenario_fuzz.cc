// A scenario of `proffer simulate`, which `proffer snapshot` also prints; small ones are simulated.

#include <algorithm>
#include <string>

#include "common/check.h"
#include "sim/scenario_reader.h"
#include "sim/scenario_run.h"
#include "sim/scenario_writer.h"
#include "tests/fuzz/laws.h"

namespace proffer::fuzz {
namespace scenario_fuzz {
namespace {

constexpr int64_t kAgentsMax = 8;
constexpr int64_t kTasksMax = 60;
constexpr size_t kReportsMax = 3;
constexpr Duration kUntilMax = minutes(5);

bool is_small(const sim::Scenario& scenario) {
  int64_t agents = 0;
  int64_t tasks = 0;
  for (const sim::ScenarioAgent& agent : scenario.agents) agents += agent.count;
  for (const sim::ScenarioFramework& framework : scenario.frameworks) {
    for (const sim::ScenarioTasks& of : framework.tasks) tasks += of.count;
  }
  return agents <= kAgentsMax && tasks <= kTasksMax;
}

// No cluster, even a strange one, breaks an invariant.
void happens(sim::Scenario scenario) {
  scenario.until = std::min(scenario.until.value_or(kUntilMax), kUntilMax);
  if (scenario.report_at.size() > kReportsMax) scenario.report_at.resize(kReportsMax);
  const proto::SimulateReport report = sim::ScenarioRun(scenario).run();
  CHECK(report.violations.empty()) << report.violations.front() << " in\n" << to_yaml(scenario);
}

}  // namespace
}  // namespace scenario_fuzz

void fuzz_scenario(Input input) {
  const Result<sim::Scenario> scenario = sim::parse_scenario(text_of(input));
  if (!scenario) return check_refused_document(scenario.error());
  CHECK(sim::check_scenario(*scenario));
  const std::string printed = sim::to_yaml(*scenario);
  const Result<sim::Scenario> again = sim::parse_scenario(printed);
  CHECK(again) << again.error().message() << " in " << printed;
  CHECK(*again == *scenario) << printed;
  if (scenario_fuzz::is_small(*scenario)) scenario_fuzz::happens(*scenario);
}

}  // namespace proffer::fuzz
