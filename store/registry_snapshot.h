#pragma once

// What a registry holds at one moment, wherever it lies: in a directory, in ZooKeeper, in a dump.

#include <cstdint>
#include <vector>

#include "store/store.h"

namespace proffer {

// So that the epoch has room to rise, and fits in what the seal says.
inline constexpr int64_t kRegistryEpochMax = 100'000'000'000'000'000;

struct RegistryProgress {
  int64_t epoch = 0;
  int64_t commits = 0;  // of all epochs
  bool operator==(const RegistryProgress&) const = default;
};

struct RegistrySnapshot {
  int64_t schema = 0;  // of its database; 0: it lies in ZooKeeper
  RegistryProgress progress = {};
  std::vector<StoreRecord> records = {};  // by table and key; values are never none
};

}  // namespace proffer
