#pragma once

// The content of a registry at one moment: of a directory, of ZooKeeper, or of a dump.

#include <cstdint>
#include <vector>

#include "store/store.h"

namespace proffer {

// Leaves room for the epoch to rise, and fits the seal.
inline constexpr int64_t kRegistryEpochMax = 100'000'000'000'000'000;

struct RegistryProgress {
  int64_t epoch = 0;
  int64_t commits = 0;  // of all epochs
  bool operator==(const RegistryProgress&) const = default;
};

struct RegistrySnapshot {
  int64_t schema = 0;  // of its database; 0: it is in ZooKeeper
  RegistryProgress progress = {};
  std::vector<StoreRecord> records = {};  // by table and key; values are never none
};

}  // namespace proffer
