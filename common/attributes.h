#pragma once

// The attributes of an agent, and the constraints of asks on them.

#include <iosfwd>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "common/ids.h"
#include "common/result.h"

namespace proffer {

// "rack:r1;disk:ssd". Names are valid names; values are text without ';', at most 128 bytes.
using Attributes = std::map<std::string, std::string>;

// Errors: kInvalidArgument names the part: no colon, a wrong name, a name given twice, `host`
// (which is the agent's name and cannot be set), more than kAttributesMax.
Result<Attributes> parse_attributes(std::string_view text);
std::string to_text(const Attributes& attributes);
// The rules that parse_attributes enforces on each, for attributes that come from peers.
Result<void> check_attribute(std::string_view name, std::string_view value);

// One condition on an agent. The attribute `host` is the agent's name.
struct Constraint {
  enum class Operator : uint8_t { kEquals, kNotEquals, kIn, kNotIn, kMatches, kExists };
  std::string attribute = {};
  Operator op = Operator::kEquals;
  std::vector<std::string> values = {};  // one for ==, != and =~; some for in; none for exists

  auto operator<=>(const Constraint&) const = default;
  bool operator==(const Constraint&) const = default;
};

// "rack == r1", "zone != z3", "disk in [ssd, nvme]", "disk not in [hdd]", "host =~ big-.*" (RE2,
// fully anchored), "gpu exists". A missing attribute meets only != and not in. Errors:
// kInvalidArgument names the fault and the known operators. The expression of =~ is checked by
// ConstraintMatcher::compile.
Result<Constraint> parse_constraint(std::string_view text);
std::string to_text(const Constraint& constraint);
std::ostream& operator<<(std::ostream& out, const Constraint& constraint);
// The rules that parse_constraint enforces, for constraints that come from peers.
Result<void> check_constraint(const Constraint& constraint);

}  // namespace proffer
