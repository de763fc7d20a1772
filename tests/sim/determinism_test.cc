// A seed always gives the same run.

#include <set>
#include <sstream>

#include <gtest/gtest.h>

#include "sim/simulation.h"

namespace proffer::sim::determinism_test {
namespace {

TEST(Determinism, TheSameSeedDoesTheSame) {
  for (const std::string_view workload : kWorkloads) {
    const SimOptions options{.seed = 42, .workload = std::string(workload), .agents = 3};
    const SimReport first = simulate(options);
    const SimReport second = simulate(options);
    EXPECT_EQ(first.hash, second.hash) << workload;
    EXPECT_EQ(first.steps, second.steps) << workload;
    EXPECT_EQ(first.events, second.events) << workload;
    EXPECT_EQ(first.last_events, second.last_events) << workload;
  }
}

// The drawn faults can be given explicitly, with the same result: replay commands rely on this.
TEST(Determinism, WhatWasDrawnCanBeSaid) {
  for (uint64_t seed = 20; seed < 26; ++seed) {
    const SimReport first = simulate({.seed = seed});
    const SimReport again = simulate(first.options);
    EXPECT_EQ(first.hash, again.hash) << replay_command(first.options);
    EXPECT_EQ(to_text(*first.options.faults), to_text(*again.options.faults));
  }
}

TEST(Determinism, WhoWatchesChangesNothing) {
  std::ostringstream seen;
  SimOptions options{.seed = 5, .workload = "kills", .agents = 2};
  const SimReport alone = simulate(options);
  options.trace = &seen;
  const SimReport watched = simulate(options);
  EXPECT_EQ(alone.hash, watched.hash);
  EXPECT_FALSE(seen.str().empty());
}

TEST(Determinism, DifferentSeedsDoDifferentThings) {
  std::set<uint64_t> hashes;
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    hashes.insert(simulate({.seed = seed, .workload = "many_small", .agents = 2}).hash);
  }
  EXPECT_EQ(hashes.size(), 5u);
}

TEST(Determinism, TheReplayCommandNamesWhatWasChosen) {
  EXPECT_EQ(replay_command({.seed = 9}), "proffer-sim --seed 9");
  EXPECT_EQ(replay_command({.seed = 9, .workload = "batch", .agents = 4, .faults = FaultKinds()}),
            "proffer-sim --seed 9 --workload batch --agents 4 --faults none");
  EXPECT_EQ(replay_command({.seed = 9,
                            .faults = FaultKinds{FaultKind::kClog, FaultKind::kLost},
                            .skip_faults = {3, 7, 8, 9},
                            .tasks_max = 2}),
            "proffer-sim --seed 9 --tasks 2 --faults lost,clog --skip-faults 3,7-9");
}

}  // namespace
}  // namespace proffer::sim::determinism_test
