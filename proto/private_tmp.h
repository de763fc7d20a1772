#pragma once

// A /tmp of its own for a task (docs/adr/0174).

#include <string>
#include <string_view>

#include "proto/messages.h"

namespace proffer::proto {

// The variable of a task's environment that asks for it. Its value is kPrivateTmp, and the command
// sees it.
inline constexpr std::string_view kPrivateTmpVariable = "PROFFER_PRIVATE_TMP";
inline constexpr std::string_view kPrivateTmp = "1";

inline bool wants_private_tmp(const Environment& environment) {
  const auto found = environment.find(std::string(kPrivateTmpVariable));
  return found != environment.end() && found->second == kPrivateTmp;
}

}  // namespace proffer::proto
