// Three hundred clusters and all seeds that ever failed; each runs through its faults to its end.

#include "tests/support/seeds.h"

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "common/check.h"
#include "sim/simulation.h"

namespace proffer::sim::seeds_test {
namespace {

// Seeds for each of the ten cases; a tenth of them with slow sanitizers.
constexpr uint64_t kSeeds = kIsSanitized ? 3 : 30;

std::string story_of(const SimOptions& options, const SimReport& report) {
  std::ostringstream out;
  for (const std::string& fault : report.faults) out << "  " << fault << '\n';
  for (const std::string& event : report.last_events) out << "  " << event << '\n';
  for (const Violation& violation : report.violations) out << violation.what << '\n';
  out << "reproduce it: " << replay_command(report.options) << " --trace\n"
      << "shrink it: " << replay_command(options) << " --shrink";
  return out.str();
}

// A failing CHECK of a core ends the process, so the message must name the run.
// For clang the attribute is a part of the type that glog wants, and [[noreturn]] is not.
std::string running;
__attribute__((noreturn)) void tell_and_abort() {
  std::cerr << "a CHECK failed; reproduce it: " << running << " --trace\n"
            << "shrink it: " << running << " --shrink" << std::endl;
  std::abort();
}

void expect_well(const SimOptions& options) {
  running = replay_command(options);
  google::InstallFailureFunction(&tell_and_abort);
  const SimReport report = simulate(options);
  EXPECT_TRUE(report.ok()) << story_of(options, report);
}

class Disasters : public testing::TestWithParam<uint64_t> {};

TEST_P(Disasters, ClustersComeThroughThem) {
  const uint64_t first = 1'001 + GetParam() * 30;
  for (uint64_t seed = first; seed < first + kSeeds; ++seed) {
    expect_well({.seed = seed});
    if (HasFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, Disasters, testing::Range<uint64_t>(0, 10));

TEST(Seeds, ThoseThatEverFailedFailNoMore) {
  std::ifstream file(std::string(PROFFER_SOURCE_DIR) + "/tests/sim/seeds.txt");
  ASSERT_TRUE(file) << "tests/sim/seeds.txt cannot be read";
  int seeds = 0;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    // Builds without sanitizers check the laws; some seeds take minutes with them, so only a part
    // runs.
    if (++seeds % 5 != 0 && kIsSanitized) continue;
    std::istringstream words(line);
    SimOptions options;
    std::string faults;
    std::string skipped;
    words >> options.seed >> options.workload >> options.agents >> options.tasks_max >> faults >>
        skipped;
    ASSERT_TRUE(words) << line;
    if (options.workload == "-") options.workload.clear();
    if (faults != "-") {
      const Result<FaultKinds> kinds = parse_fault_kinds(faults);
      ASSERT_TRUE(kinds.has_value()) << line;
      options.faults = *kinds;
    }
    if (skipped != "-") {
      const Result<std::set<uint64_t>> numbers = parse_numbers(skipped);
      ASSERT_TRUE(numbers.has_value()) << line;
      options.skip_faults = *numbers;
    }
    SCOPED_TRACE(line);
    expect_well(options);
  }
  EXPECT_GT(seeds, 0);
}

// The laws of the journal check that each framework begins every command once.
TEST(Seeds, AuthorsWhoRememberNothingRunEachCommandOnce) {
  const uint64_t seeds = kIsSanitized ? 20 : seeds_of_a_workload();
  for (uint64_t seed = 1; seed <= seeds; ++seed) {
    expect_well({.seed = seed, .workload = "once"});
    if (HasFailure()) return;
  }
}

// Three masters share a registry, and one of them leads.
TEST(Seeds, SeveralMastersLeadOneAfterTheOther) {
  constexpr uint64_t kMasters = kIsSanitized ? 10 : 200;
  for (uint64_t seed = 1; seed <= kMasters; ++seed) {
    expect_well({.seed = seed, .workload = "masters"});
    if (HasFailure()) return;
  }
}

// Lying agents gain nothing that they were not given to run, and other peers are not affected.
TEST(Seeds, LiarsGetNothingAndNobodyNotices) {
  const uint64_t seeds = kIsSanitized ? 5 : 40;
  for (const char* workload : {"", "masters", "service", "once"}) {
    for (uint64_t seed = 1; seed <= seeds; ++seed) {
      expect_well({.seed = seed, .workload = workload, .liars = true});
      if (HasFailure()) return;
    }
  }
}

// Counts replaced leaders, so that the test cannot pass without any.
TEST(Seeds, LeadersThatStopOrAreCutOffAreReplaced) {
  for (const FaultKind kind : {FaultKind::kLeaderPaused, FaultKind::kSessionExpires}) {
    int replaced = 0;
    for (uint64_t seed = 1; seed <= 10; ++seed) {
      std::ostringstream trace;
      const SimReport report = simulate({.seed = seed,
                                         .workload = "masters",
                                         .agents = 3,
                                         .faults = FaultKinds{kind},
                                         .trace = &trace});
      EXPECT_TRUE(report.ok()) << story_of(report.options, report);
      const std::string story = trace.str();
      replaced += story.find("session expires") != std::string::npos &&
                          story.find("master begins leader=2") != std::string::npos
                      ? 1
                      : 0;
    }
    EXPECT_GE(replaced, 5) << to_text(kind);
  }
}

TEST(Seeds, EveryWorkloadEndsWhenNothingGoesWrong) {
  for (const std::string_view workload : kWorkloads) {
    expect_well(
        {.seed = 7, .workload = std::string(workload), .agents = 3, .faults = FaultKinds()});
  }
}

// Each kind of fault alone, so that no other fault hides its effect. Under sanitizers, each with
// only one workload.
TEST(Seeds, EveryKindOfFaultAloneIsComeThrough) {
  int kinds = 0;
  for (const FaultKindRow& row : kFaultKinds) {
    const bool is_even = ++kinds % 2 == 0;
    for (const char* workload : {"mixed", "masters"}) {
      if (kIsSanitized && is_even == (std::string_view(workload) == "mixed")) continue;
      expect_well({.seed = 11, .workload = workload, .agents = 3, .faults = FaultKinds{row.kind}});
    }
  }
}

// Agents that cannot start executors stop taking tasks, and later take them again. Counted, so that
// the test cannot pass without any.
TEST(Seeds, QuarantineBeginsAndEnds) {
  int begun = 0;
  int ended = 0;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    std::ostringstream trace;
    const SimReport report = simulate({.seed = seed,
                                       .workload = "mixed",
                                       .agents = 3,
                                       .faults = FaultKinds{FaultKind::kStartsFail},
                                       .trace = &trace});
    EXPECT_TRUE(report.ok()) << story_of(report.options, report);
    const std::string story = trace.str();
    begun += story.find("executors cannot be started here") != std::string::npos ? 1 : 0;
    ended += story.find("agent takes tasks again") != std::string::npos ? 1 : 0;
  }
  EXPECT_GE(begun, 5);
  EXPECT_EQ(ended, begun);
}

}  // namespace
}  // namespace proffer::sim::seeds_test
