#pragma once

// The problems of a cluster, as the master sees them, one row for each. Each kind of condition is
// also an alert, Proffer<kind> in packaging/prometheus, and has a runbook of its name
// (docs/runbooks).

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "common/time.h"

namespace proffer::proto {

enum class Severity : uint8_t {
  kCritical,  // work is lost or stands still, or soon will
  kWarning,   // work waits, or a promise is not kept
};
std::string_view to_text(Severity severity);
std::optional<Severity> parse_severity(std::string_view text);

struct ConditionRow {
  std::string condition = {};  // the kind: "AgentLost"
  Severity severity = Severity::kWarning;
  std::string object = {};   // its object: an agent's name, a role …
  std::string message = {};  // for people
  Time since = {};           // when this leader first saw it
  std::string command = {};  // the command that shows more
  bool operator==(const ConditionRow&) const = default;
};

}  // namespace proffer::proto
