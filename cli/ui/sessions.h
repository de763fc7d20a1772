#pragma once

// The browsers that may send requests (ADR 0131). A link has a key that works once and for a short
// time. The key is exchanged for the token of a session, which lasts as long as the process. Pure.

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "common/result.h"
#include "common/time.h"

namespace proffer::cli {

inline constexpr Duration kLinkAgeMax = minutes(10);
inline constexpr size_t kUiSessionsMax = 8;

class UiSessions {
 public:
  // The key of the next link. The previous one becomes invalid.
  void offer(std::string key, Time now);
  // Exchanges the key for `token`. Errors: kPermissionDenied: the key is not that of the link, was
  // used, or is too old; kResourceExhausted: kUiSessionsMax sessions have begun.
  Result<void> begin(std::string_view key, std::string token, Time now);
  bool is_known(std::string_view token) const;

 private:
  std::string key_ = {};  // empty: no key is valid
  Time offered_ = {};
  std::vector<std::string> tokens_ = {};
};

// Takes the same time wherever they differ.
bool is_same_key(std::string_view a, std::string_view b);

}  // namespace proffer::cli
