#pragma once

// How often is a start earlier than its forecast? A simulated cluster lives for some hours. At
// random times a forecast is made as a master does: from a snapshot, with the durations of tasks
// that have ended by then, corrected by the results of earlier forecasts. Forecasts do not change
// the cluster, so a single simulation is enough for masters that are asked often and for others
// that are asked seldom.
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
  kWaves,    // jobs of equal roles; durations of tasks have a heavy tail
  kWeights,  // roles with weights 3 and 1; frameworks come and go
  kGangs,    // gangs, short tasks and a service that never ends
};
inline constexpr std::array kWorkloads = {Workload::kWaves, Workload::kWeights, Workload::kGangs};
std::string_view to_text(Workload workload);

struct TrialOptions {
  uint64_t seed = 1;
  Duration lasts = hours(4);
  int64_t size = 100;  // percent of the agents and of the work
  // The mean interval between forecasts. A master that is asked less often gets, for example, every
  // second one.
  Duration asked_every = seconds(30);
  std::vector<int64_t> each = {1, 3, 10};
  int64_t runs = 20;  // per forecast
};

// The results of one master.
struct Told {
  Duration asked_every = {};
  proto::EtaFigures starts = {};  // with the forecasts that users see
  proto::EtaFigures first = {};   // the part of these in the first third, while the master learns
  // Medians over all forecasts: p90 minus p50, and p90 divided by the actual wait, in thousandths.
  Duration spread = {};
  int64_t p90_of_wait = 0;
};

struct Trial {
  std::vector<Told> told = {};  // by TrialOptions::each
  proto::EtaFigures raw = {};   // uncorrected, for the next task of each ask only
  int64_t forecasts = 0;
  int64_t asks = 0;     // asks in all forecasts
  int64_t without = 0;  // asks without a p90
};

Trial run_trial(Workload workload, const TrialOptions& options);

}  // namespace proffer::eta_trial
