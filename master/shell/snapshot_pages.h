#pragma once

// Snapshots of the live cluster for the call "snapshot": the first page is of the core as it is
// now, those that follow are of the same moment, whatever has happened since.

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "common/result.h"
#include "common/time.h"
#include "master/core/master.h"
#include "master/shell/routes.h"

namespace proffer::master {

// Callers that read a long one at the same time; the oldest has to begin again.
inline constexpr size_t kSnapshotsKept = 4;
// From one page to the next.
inline constexpr Duration kSnapshotKept = seconds(60);

class SnapshotPages {
 public:
  // `arguments` as of proto::live_snapshot_call_json. Errors: kInvalidArgument for the arguments;
  // kNotFound, the snapshot is not kept any more, with what to do.
  Result<Page> page(const Master& core, std::string_view arguments, Time now);

 private:
  struct Kept {
    uint64_t number = 0;
    Time used = {};
    std::vector<std::string> pages = {};
  };
  Page page_of(Kept& kept, size_t index, Time now);

  std::deque<Kept> kept_;  // oldest first
  uint64_t taken_ = 0;
};

}  // namespace proffer::master
