#pragma once

// Estimates when asks of a live cluster will start: the scenario of the cluster runs a number of
// times through the production cores, each time with durations drawn from the remembered ones (ADR
// 0135). No new asks arrive in it.

#include <cstdint>
#include <functional>

#include "common/result.h"
#include "proto/forecast.h"

namespace proffer::sim {

struct ForecastOptions {
  int64_t runs = 20;
  int64_t runs_least = 5;
  uint64_t seed = 1;
  Duration reaches = hours(24);
  // The most starts of all runs together. A run ends earlier when all asked tasks have started.
  int64_t starts_max = 200'000;
  // Called after each run; false: no further run begins.
  std::function<bool()> may_go_on = {};
};

// The same request and options give the same forecast, unless `may_go_on` ends it. Errors:
// kFailedPrecondition: there is no agent; kInvalidArgument: it cannot be simulated;
// kResourceExhausted: fewer than `runs_least` were possible; kInternal: a run broke an invariant.
Result<proto::Forecast> forecast(const proto::ForecastRequest& request,
                                 const ForecastOptions& options = {});

// Draws a duration for a task that has run for `since`, from the sorted durations of others. The
// task is equally likely to end between any two of those that are longer, and beyond the longest,
// as if it were one more of them. Beyond the longest, it ends later than after t with probability
// longest / t, at most ten times as long.
Duration draw_one_more(const std::vector<Duration>& ran, Duration since, uint64_t chance);

}  // namespace proffer::sim
