#pragma once

// Snapshots of the live cluster for the call "snapshot": the first page takes a snapshot of the
// core, and the following pages show the same snapshot.

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

// The number of callers that can read long snapshots at the same time; the caller with the oldest
// one must begin again.
inline constexpr size_t kSnapshotsKept = 4;
// The time allowed between two pages.
inline constexpr Duration kSnapshotKept = seconds(60);

class SnapshotPages {
 public:
  // `arguments` as of proto::live_snapshot_call_json. Errors: kInvalidArgument for the arguments;
  // kNotFound: the snapshot has expired, with a hint.
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
