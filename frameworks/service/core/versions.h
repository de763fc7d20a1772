#pragma once

// The earlier versions of an app: the task of each, and the result of the update to it. A version
// is identified by its content. To apply earlier content is to go back to its version: its
// instances stay.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/limits.h"
#include "frameworks/service/core/app.h"

namespace proffer::service {

// The most versions of an app besides its present one. The one that was applied longest ago is
// forgotten first.
inline constexpr size_t kVersionsKept = 10;
// The most bytes of the specs of one app's versions, and of those of all apps together.
inline constexpr size_t kVersionBytesMax = 12 * 1024;
inline constexpr size_t kAllVersionsBytesMax = kStoreBytesPerFrameworkMax / 3;

struct Version {
  AppSpec spec = {};
  Time applied_at = {};         // the last time
  std::string applied_by = {};  // a user; empty: unknown
  bool was_ready = false;       // at one time all its instances were ready
  std::string failed = {};      // why an update to it was given up, if it was
  bool operator==(const Version&) const = default;
};
using Versions = std::map<uint64_t, Version>;

// The version with this content.
std::optional<uint64_t> find_version(const Versions& versions, const AppSpec& spec);
// The target of a rollback without a version: the version applied last among those that were ready,
// else among all.
std::optional<uint64_t> version_before(const Versions& versions);
size_t bytes_of(const Versions& versions);  // of their specs
// Forgets versions beyond the bounds, except `pinned`.
void trim(Versions& versions, uint64_t pinned, size_t bytes_max = kVersionBytesMax);

// One key of app files with different values, in the form of an app file; empty if there is none.
struct Difference {
  std::string key = {};
  std::string before = {};
  std::string after = {};
  bool operator==(const Difference&) const = default;
};
// Sorted by key. Of long values only the differing part is shown; environments are compared by
// variable.
std::vector<Difference> differences(const AppSpec& before, const AppSpec& after);

}  // namespace proffer::service
