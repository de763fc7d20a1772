#pragma once

// A reducer's share of all map outputs, from the agents' file servers.

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
  std::vector<std::string> addresses = {};  // as of TaskResult::http_address
  OwnAgent own = {};
  std::vector<MapOutput> maps = {};
  std::string directory = {};  // exists; gets one file for each map with something for us
  // A connection that brings nothing for so long is given up, and tried again.
  std::chrono::milliseconds silence_max{10'000};
  // Called by several threads, one at a time: outputs of so many maps are here.
  std::function<void(int64_t maps)> on_fetched = {};
};

struct Fetched {
  std::vector<Run> runs = {};  // in order of the maps; none for an empty share
  int64_t records = 0;
  int64_t bytes = 0;
  std::vector<MapAttempt> missing = {};  // could not be had, after retries; in order
  std::string why = {};                  // of the first of them
  std::optional<Error> error = {};       // of this host: its disk, say
};

// Four at a time, verified by checksums, held on disk. What breaks goes on behind the last block
// that was right; after three tries, with back-off, that bring no further block it is given up. An
// agent that cannot be connected to is not tried again and again for each of its maps; nor is one
// that stands still: two tries of `silence_max`, and nothing came from it meanwhile. Ends early
// when `stopped`.
Fetched fetch_share(const FetchPlan& plan, const std::atomic<bool>& stopped);

}  // namespace proffer::batch
