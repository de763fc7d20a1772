#pragma once

// What the agent tells proffer-fetch to do: in its environment, which nobody but the user of the
// task may read (a command line may be read by all).

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/result.h"

namespace proffer::fetcher {

// In the sandbox, while files are fetched: what is not complete, and what the agent takes into its
// cache.
inline constexpr const char* kWorkFolder = ".fetch";
// In there: why it failed, for the agent.
inline constexpr const char* kErrorFile = "error";

struct Item {
  std::string uri = {};
  std::string sha256 = {};  // empty: any
  std::string name = {};    // of the file; of a folder for an archive; empty: the sandbox itself
  bool executable = false;
  bool extract = false;
  // Its name in the cache, and in the work folder afterwards; empty: it is not cached.
  std::string key = {};
  bool operator==(const Item&) const = default;
};

struct Plan {
  std::vector<Item> items = {};
  std::string cache = {};    // the folder of cached files; empty: there is none
  int64_t bytes_max = 0;     // of all that is fetched and unpacked
  int64_t disk_reserve = 0;  // bytes that must stay free on the disk
  int32_t agent = 0;         // its pid: nothing is fetched for an agent that is gone
  bool operator==(const Plan&) const = default;
};

// Two users that name the same content share it only if both could fetch it: the key has the sum
// and the place that it comes from.
std::string cache_key(std::string_view sha256, std::string_view uri);

// As variables, "NAME=value". Errors: kInvalidArgument, a text has a control character.
Result<std::vector<std::string>> encode_plan(const Plan& plan);
// From such variables among others. Errors: kInvalidArgument.
Result<Plan> decode_plan(const std::vector<std::string_view>& environment);

}  // namespace proffer::fetcher
