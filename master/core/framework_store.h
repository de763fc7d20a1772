#pragma once

// The stores of all frameworks: their entries in the registry and their sizes. Only Registry::apply
// changes them.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "proto/messages.h"
#include "proto/records.h"

namespace proffer::master {

struct StoreEntry {
  std::string value = {};
  uint64_t version = 0;
};

struct FrameworkStore {
  std::map<std::string, StoreEntry> entries = {};
  size_t bytes = 0;  // of keys and values
};

class FrameworkStores {
 public:
  // Puts or erases the entry. A store without entries is forgotten.
  void apply(const proto::StoreRecord& record, bool erase);

  // For a framework that has put nothing, an empty store.
  const FrameworkStore& of(const FrameworkId& framework) const;
  const std::map<FrameworkId, FrameworkStore>& all() const { return stores_; }
  size_t entries() const { return entries_; }
  size_t bytes() const { return bytes_; }
  // The highest version of all entries.
  uint64_t highest_version() const;

 private:
  std::map<FrameworkId, FrameworkStore> stores_;
  size_t entries_ = 0;  // of all stores
  size_t bytes_ = 0;
};

// The result of a request, if it is allowed. Nothing is changed yet.
struct StorePlan {
  std::vector<proto::StoreResult::Outcome> outcomes = {};
  std::vector<proto::RegistryWrite> writes = {};  // one for each changed entry
  uint64_t version = 0;                           // the last version that is used after it
};

// Decides a request of the framework. `version` is the last one used in any store; puts take the
// next ones. Errors: kFailedPrecondition: an entry has another version than expected;
// kResourceExhausted: the quota of the framework or of all stores, or the answer is too large.
// O(operations * log entries + listed entries).
Result<StorePlan> plan_store(const proto::StoreRequest& request, const FrameworkId& framework,
                             const FrameworkStores& stores, uint64_t version);

// Whether the framework's store may grow to these entries and bytes. A store that does not grow
// always may. Errors: kResourceExhausted: its quota or that of all stores together.
Result<void> check_quota(const FrameworkId& framework, const FrameworkStores& stores,
                         size_t entries_then, size_t bytes_then);

}  // namespace proffer::master
