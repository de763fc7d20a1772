#pragma once

// Fetches a reducer's share of all map outputs from the agents' file servers.

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "common/result.h"
#include "frameworks/batch/core/work.h"
#include "frameworks/batch/executor/sort.h"
#include "frameworks/batch/executor/sources.h"

namespace proffer::batch {

struct FetchPlan {
  std::string framework = {};
  JobId job = {};
  uint32_t partition = 0;
  std::vector<std::string> addresses = {};  // as in TaskResult::http_address
  OwnAgent own = {};
  std::vector<MapOutput> maps = {};
  std::string directory = {};  // must exist; gets one file for each map with data for us
  // A connection without data for this time is closed, and retried.
  std::chrono::milliseconds silence_max{10'000};
  // Called by several threads, one at a time: the outputs of this many maps are fetched.
  std::function<void(int64_t maps)> on_fetched = {};
};

struct Fetched {
  std::vector<Run> runs = {};  // in order of the maps; none for an empty share
  int64_t records = 0;
  int64_t bytes = 0;
  std::vector<MapAttempt> missing = {};  // could not be fetched, after retries; in order
  std::string why = {};                  // reason for the first of these
  std::optional<Error> error = {};       // an error of this host, for example its disk
};

// Fetches four at a time, verifies checksums, and stores the data on disk. A broken connection is
// continued after the last valid block. After three tries, with back-off, without a further block
// the output is given up. An agent that cannot be connected to is not retried for each of its maps;
// nor is an agent that has stopped: two tries of `silence_max` without data from it. Ends early
// when `stopped`.
Fetched fetch_share(const FetchPlan& plan, const std::atomic<bool>& stopped);

}  // namespace proffer::batch
