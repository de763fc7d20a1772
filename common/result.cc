#include "common/result.h"

#include <array>
#include <cstdlib>
#include <ostream>

#include "common/check.h"
#include "common/printable.h"

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

Error Error::with_hint(std::string_view hint) && {
  hint_ = printable_lines(hint);
  return std::move(*this);
}

namespace detail {

void end_without_value(const Error& error) {
  LOG(FATAL) << "a Result without a value was used: " << error;
  std::abort();
}

}  // namespace detail

std::ostream& operator<<(std::ostream& out, const Error& error) {
  out << error.message();
  if (!error.hint().empty()) out << " (" << error.hint() << ")";
  return out;
}

std::ostream& operator<<(std::ostream& out, const Violation& violation) {
  return out << violation.what;
}

std::ostream& operator<<(std::ostream& out, ErrorCode code) { return out << to_text(code); }

}  // namespace proffer
