// A table that `proffer simulate` adds to a scenario. The first line selects its kind: tasks (CSV),
// or nodes or pods (of the openb trace).

#include <string>

#include "common/check.h"
#include "sim/scenario_reader.h"
#include "sim/scenario_writer.h"
#include "sim/trace_reader.h"
#include "tests/fuzz/laws.h"

namespace proffer::fuzz {
namespace trace_fuzz {
namespace {

Result<void> add(std::string_view what, std::string_view table, sim::Scenario& scenario) {
  if (what == "nodes") return sim::add_openb_nodes(table, scenario);
  if (what == "pods") return sim::add_openb_pods(table, scenario);
  return sim::add_csv_tasks(table, scenario);
}

}  // namespace
}  // namespace trace_fuzz

void fuzz_trace(Input input) {
  const auto [what, table] = first_line(text_of(input));
  sim::Scenario scenario;
  scenario.agents.push_back(
      {.name = "a", .resources = {.amounts = ResourceVector::of(1'000, 1'000)}});
  if (Result<void> ok = trace_fuzz::add(what, table, scenario); !ok) return check_told(ok.error());
  if (Result<void> ok = sim::check_scenario(scenario); !ok) return check_told(ok.error());
  const std::string printed = sim::to_yaml(scenario);
  if (printed.size() > sim::kScenarioBytesMax) return;
  const Result<sim::Scenario> again = sim::parse_scenario(printed);
  CHECK(again) << again.error().message() << " in " << printed;
  CHECK(*again == scenario) << printed;
}

}  // namespace proffer::fuzz
