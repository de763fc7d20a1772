#pragma once

// How often does a start lie below the time that was told for it? A simulated cluster lives for
// some hours. At random instants a forecast is made of it, as a master does: from a snapshot, with
// the durations of tasks that have ended by then, corrected by how earlier forecasts came true.
// What is told changes nothing in the cluster, so one life is enough for masters that are asked
// often and for others that are asked seldom.
//
//   Trial trial = run_trial(Workload::kWaves, {.seed = 1});
//
// bench/eta.cc prints the figures, tests/sim/eta_test.cc holds them to bounds.

#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "proto/forecast.h"

namespace proffer::eta_trial {

enum class Workload : uint8_t {
  kWaves,    // jobs of equal roles; how long tasks run has a heavy tail
  kWeights,  // roles of weights 3 and 1; frameworks come and go
  kGangs,    // gangs beside short tasks and a service that never ends
};
inline constexpr std::array kWorkloads = {Workload::kWaves, Workload::kWeights, Workload::kGangs};
std::string_view to_text(Workload workload);

struct TrialOptions {
  uint64_t seed = 1;
  Duration lasts = hours(4);
  int64_t size = 100;  // percent of the agents, and as much of the work
  // Forecasts are made so far apart, in the mean. Of masters that are asked more seldom, one has
  // each second forecast, say.
  Duration asked_every = seconds(30);
  std::vector<int64_t> each = {1, 3, 10};
  int64_t runs = 20;  // of each forecast
};

// Of one master.
struct Told {
  Duration asked_every = {};
  proto::EtaFigures starts = {};  // as people are told
  proto::EtaFigures first = {};   // of these, in the first third, in which the master learns
  // Medians of all of them: how far p90 is behind p50, and p90 of what it took, in thousandths.
  Duration spread = {};
  int64_t p90_of_wait = 0;
};

struct Trial {
  std::vector<Told> told = {};  // by TrialOptions::each
  proto::EtaFigures raw = {};   // as the runs say, of the next task of each ask only
  int64_t forecasts = 0;
  int64_t asks = 0;     // in them
  int64_t without = 0;  // of these, without a p90
};

Trial run_trial(Workload workload, const TrialOptions& options);

}  // namespace proffer::eta_trial
