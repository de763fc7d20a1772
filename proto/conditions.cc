#include "proto/conditions.h"

namespace proffer::proto {

std::string_view to_text(Severity severity) {
  return severity == Severity::kCritical ? "critical" : "warning";
}

std::optional<Severity> parse_severity(std::string_view text) {
  if (text == "critical") return Severity::kCritical;
  if (text == "warning") return Severity::kWarning;
  return std::nullopt;
}

}  // namespace proffer::proto
