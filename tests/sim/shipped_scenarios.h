#pragma once

// Runs scenarios of examples/scenarios, and small ones that a test contains.

#include <fstream>
#include <map>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

#include "sim/report.h"
#include "sim/scenario_reader.h"
#include "sim/scenario_run.h"

namespace proffer::sim {

// Resources from text, in milli-units.
inline ResourceVector amounts(const std::string& text) {
  return parse_quota(text).value().amounts({});
}

// `options` of the master, in addition to the scenario's.
inline proto::SimulateReport simulate_text(const std::string& yaml,
                                           const std::map<std::string, std::string>& options = {},
                                           const NaiveRules& naive = {}) {
  Result<Scenario> scenario = parse_scenario(yaml);
  if (!scenario) {
    ADD_FAILURE() << scenario.error().message() << "\nin\n" << yaml;
    return {};
  }
  for (const auto& [name, value] : options) scenario->options[name] = value;
  proto::SimulateReport report = ScenarioRun(*scenario, nullptr, naive).run();
  EXPECT_EQ(report.violations, std::vector<std::string>()) << yaml;
  return report;
}

// The path of a file in examples/scenarios.
inline std::string shipped_file(const std::string& name) {
  std::ifstream file(std::string(PROFFER_SOURCE_DIR) + "/examples/scenarios/" + name);
  EXPECT_TRUE(file.good()) << name;
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

inline std::string shipped_scenario(const std::string& name) {
  return shipped_file(name + ".yaml");
}

inline proto::SimulateReport simulate_shipped(
    const std::string& name, const std::map<std::string, std::string>& options = {},
    const NaiveRules& naive = {}) {
  return simulate_text(shipped_scenario(name), options, naive);
}

}  // namespace proffer::sim
