#pragma once

// The source of a file of a task, and its name in the task's sandbox.

#include <cstdint>
#include <string>
#include <string_view>

#include "common/result.h"

namespace proffer {

struct FetchUri {
  enum class Scheme : uint8_t { kFile, kHttp, kHttps };
  Scheme scheme = Scheme::kFile;
  std::string path = {};         // for file://, absolute and decoded
  bool has_credentials = false;  // user:password@ before the host
  std::string name = {};         // the last part of the path, decoded; empty: there is none
  bool operator==(const FetchUri&) const = default;
};

// "file:///path", "http://host…" or "https://host…". Characters that are not printable ASCII must
// be written as %XX. Errors: kInvalidArgument.
Result<FetchUri> parse_fetch_uri(std::string_view uri);
// The form for people: without user and password.
std::string shown_uri(std::string_view uri);

// One name in the sandbox that the agent does not need for itself. Errors: kInvalidArgument.
Result<void> check_fetched_name(std::string_view name);
// 64 lower-case hexadecimal digits. Errors: kInvalidArgument.
Result<void> check_sha256(std::string_view sum);

}  // namespace proffer
