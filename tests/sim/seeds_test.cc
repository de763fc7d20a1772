// Fifty clusters and all seeds that ever failed, each through its disasters to its end.

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

#include "common/check.h"
#include "sim/simulation.h"

namespace proffer::sim::seeds_test {
namespace {

std::string story_of(const SimOptions& options, const SimReport& report) {
  std::ostringstream out;
  for (const std::string& fault : report.faults) out << "  " << fault << '\n';
  for (const std::string& event : report.last_events) out << "  " << event << '\n';
  for (const Violation& violation : report.violations) out << violation.what << '\n';
  out << "see it again: " << replay_command(options);
  return out.str();
}

// A CHECK of a core ends the process: it must be said which run that was.
std::string running;
[[noreturn]] void tell_and_abort() {
  std::cerr << "a CHECK failed; see it again: " << running << std::endl;
  std::abort();
}

void expect_well(const SimOptions& options) {
  running = replay_command(options);
  google::InstallFailureFunction(&tell_and_abort);
  const SimReport report = simulate(options);
  EXPECT_TRUE(report.ok()) << story_of(options, report);
}

TEST(Seeds, FiftyClustersComeThroughTheirDisasters) {
  for (uint64_t seed = 1'001; seed <= 1'050; ++seed) {
    expect_well({.seed = seed});
    if (HasFailure()) return;
  }
}

TEST(Seeds, ThoseThatEverFailedFailNoMore) {
  std::ifstream file(std::string(PROFFER_SOURCE_DIR) + "/tests/sim/seeds.txt");
  ASSERT_TRUE(file) << "tests/sim/seeds.txt cannot be read";
  int seeds = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream words(line);
    SimOptions options;
    words >> options.seed >> options.workload >> options.agents;
    ASSERT_TRUE(words) << line;
    if (options.workload == "-") options.workload.clear();
    SCOPED_TRACE(line);
    expect_well(options);
    ++seeds;
  }
  EXPECT_GT(seeds, 0);
}

TEST(Seeds, EveryWorkloadEndsWhenNothingGoesWrong) {
  for (const std::string_view workload : kWorkloads) {
    expect_well({.seed = 7, .workload = std::string(workload), .agents = 3, .faults = false});
  }
}

}  // namespace
}  // namespace proffer::sim::seeds_test
