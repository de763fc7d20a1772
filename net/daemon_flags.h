#pragma once

// Common functions for flags of daemons: they parse values, and exit with an error if one is wrong.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "common/result.h"
#include "common/time.h"

namespace proffer {

// Prints "error: …" and "  hint: …" to standard error and ends the process with `status`.
[[noreturn]] void exit_with(const Error& error, int status);

// Returns the value, or exits with status 2 (usage) and the flag's name.
template <class T>
T flag_value(std::string_view flag, Result<T> parsed) {
  if (!parsed) exit_with(std::move(parsed).error().in("--" + std::string(flag)), 2);
  return *std::move(parsed);
}

// The id of the group, none for an empty name; exits with status 2 if it is unknown.
std::optional<uint32_t> flag_group(std::string_view flag, const std::string& name);
// A duration of at least kIntervalMin; otherwise exits with status 2.
Duration flag_duration(std::string_view flag, std::string_view text);
// A port from 0 (any free port) to 65535; otherwise exits with status 2.
uint16_t flag_port(std::string_view flag, int64_t port);

}  // namespace proffer
