#pragma once

// When asks of a live cluster will probably start: the scenario of the cluster runs a number of
// times through the production cores, each time with durations drawn from the remembered ones
// (ADR 0135). Nothing new is asked for in it.

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
  // Of all runs together; each ends earlier when all that is asked for has started.
  int64_t starts_max = 200'000;
  // Asked after each run: false, and no further one begins.
  std::function<bool()> may_go_on = {};
};

// The same request and options give the same forecast, unless `may_go_on` says otherwise. Errors:
// kFailedPrecondition, there is no agent; kInvalidArgument, it cannot be simulated;
// kResourceExhausted, fewer than `runs_least` were possible; kInternal, a run broke an invariant.
Result<proto::Forecast> forecast(const proto::ForecastRequest& request,
                                 const ForecastOptions& options = {});

// A duration of a task that has run for `since`, given how long others ran, sorted: it is as likely
// to end between any two of those that are longer, and beyond the longest, as if it were one more
// of them. Beyond, it ends later than after t with probability longest / t, at most ten times as
// long.
Duration draw_one_more(const std::vector<Duration>& ran, Duration since, uint64_t chance);

}  // namespace proffer::sim
