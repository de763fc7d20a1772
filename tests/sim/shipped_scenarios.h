#pragma once

// Scenarios of examples/scenarios, run; and small ones written in a test.

#include <fstream>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

#include "sim/report.h"
#include "sim/scenario_reader.h"
#include "sim/scenario_run.h"

namespace proffer::sim {

// Resources of text, milli.
inline ResourceVector amounts(const std::string& text) {
  return parse_quota(text).value().amounts({});
}

inline proto::SimulateReport simulate_text(const std::string& yaml) {
  const Result<Scenario> scenario = parse_scenario(yaml);
  if (!scenario) {
    ADD_FAILURE() << scenario.error().message() << "\nin\n" << yaml;
    return {};
  }
  proto::SimulateReport report = ScenarioRun(*scenario).run();
  EXPECT_EQ(report.violations, std::vector<std::string>()) << yaml;
  return report;
}

// A file of examples/scenarios.
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

inline proto::SimulateReport simulate_shipped(const std::string& name) {
  return simulate_text(shipped_scenario(name));
}

}  // namespace proffer::sim
