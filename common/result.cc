#include "common/result.h"

#include <array>

namespace proffer {
namespace {

constexpr std::array<std::string_view, kErrorCodeCount> kNames = {
    "invalid_argument",   "not_found",   "already_exists",    "failed_precondition",
    "resource_exhausted", "unavailable", "timeout",           "corruption",
    "unsupported",        "internal",    "permission_denied",
};

}  // namespace

std::string_view to_text(ErrorCode code) { return kNames.at(static_cast<size_t>(code)); }

std::optional<ErrorCode> parse_error_code(std::string_view text) {
  for (size_t i = 0; i < kNames.size(); ++i) {
    if (kNames[i] == text) return static_cast<ErrorCode>(i);
  }
  return std::nullopt;
}

}  // namespace proffer
