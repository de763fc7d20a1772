#pragma once

// The arguments of proffer-fetch, in its environment, which only the user of the task can read (a
// command line is readable by all).

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/result.h"

namespace proffer::fetcher {

// A folder in the sandbox during a fetch: incomplete files, and files for the agent's cache.
inline constexpr const char* kWorkFolder = ".fetch";
// A file in it with the error, for the agent.
inline constexpr const char* kErrorFile = "error";

struct Item {
  std::string uri = {};
  std::string sha256 = {};  // empty: any
  std::string name = {};  // of the file, or of the folder of an archive; empty: the sandbox itself
  bool executable = false;
  bool extract = false;
  // Its name in the cache, and in the work folder afterwards; empty: not cached.
  std::string key = {};
  bool operator==(const Item&) const = default;
};

struct Plan {
  std::vector<Item> items = {};
  std::string cache = {};    // the folder of cached files; empty: there is none
  int64_t bytes_max = 0;     // limit on all fetched and unpacked bytes
  int64_t disk_reserve = 0;  // bytes that must stay free on the disk
  int32_t agent = 0;         // pid of the agent: the fetch stops if it has ended
  bool operator==(const Plan&) const = default;
};

// The key contains the sum and the URI: two users share a file only if both could fetch it from
// there.
std::string cache_key(std::string_view sha256, std::string_view uri);

// As variables "NAME=value". Errors: kInvalidArgument: a text has a control character.
Result<std::vector<std::string>> encode_plan(const Plan& plan);
// Reads these variables; others are ignored. Errors: kInvalidArgument.
Result<Plan> decode_plan(const std::vector<std::string_view>& environment);

}  // namespace proffer::fetcher
