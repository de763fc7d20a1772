#pragma once

// The versions of an app that it had before: what tasks see of each, and how it went. A version is
// its content. To apply content of before is to go back to its version: its instances stay.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/limits.h"
#include "frameworks/service/core/app.h"

namespace proffer::service {

// Of each app, beside its present version; the one that was applied longest ago is forgotten first.
inline constexpr size_t kVersionsKept = 10;
// Of the specs of all of them, and of those of all apps together.
inline constexpr size_t kVersionBytesMax = 12 * 1024;
inline constexpr size_t kAllVersionsBytesMax = kStoreBytesPerFrameworkMax / 3;

struct Version {
  AppSpec spec = {};
  Time applied_at = {};         // last
  std::string applied_by = {};  // a user; empty: nobody knows
  bool was_ready = false;       // all instances of it, at one time
  std::string failed = {};      // why an update to it was given up, if it was
  bool operator==(const Version&) const = default;
};
using Versions = std::map<uint64_t, Version>;

// The version with this content.
std::optional<uint64_t> find_version(const Versions& versions, const AppSpec& spec);
// The version to go back to when nobody says which: the one applied last of those that were ready,
// else of all.
std::optional<uint64_t> version_before(const Versions& versions);
size_t bytes_of(const Versions& versions);  // of their specs
// Forgets what is beyond the bounds, but never `pinned`.
void trim(Versions& versions, uint64_t pinned, size_t bytes_max = kVersionBytesMax);

// One key of app files whose value differs, as in an app file; empty where there is none.
struct Difference {
  std::string key = {};
  std::string before = {};
  std::string after = {};
  bool operator==(const Difference&) const = default;
};
// By key. Of long values the part that differs is shown; environments are told by variable.
std::vector<Difference> differences(const AppSpec& before, const AppSpec& after);

}  // namespace proffer::service
