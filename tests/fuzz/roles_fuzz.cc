// Role names, and their weights as people write them.

#include "common/limits.h"
#include "common/roles.h"
#include "common/text.h"
#include "tests/fuzz/laws.h"

namespace proffer::fuzz {

void fuzz_roles(Input input) {
  const std::string_view whole = text_of(input);
  const Result<RoleName> role = parse_role(whole);
  if (!role) {
    check_told(role.error());
  } else {
    CHECK_EQ(role->str(), whole);
    CHECK(is_readable(whole) && whole.size() <= kRoleBytesMax);
    CHECK(whole.front() != '/' && whole.back() != '/' && whole.find("//") == whole.npos) << whole;
    CHECK(text("/", whole, "/").find("/../") == std::string::npos) << whole;
  }

  const Result<RoleWeights> weights = parse_role_weights(whole);
  if (!weights) return check_told(weights.error());
  std::string printed;
  for (const auto& [name, weight] : *weights) {
    CHECK(parse_role(name.str()) && weight >= kWeightMin && weight <= kWeightMax);
    if (!printed.empty()) printed += ',';
    printed += text(name.str(), '=', print_milli(weight));
  }
  const Result<RoleWeights> again = parse_role_weights(printed);
  CHECK(again && *again == *weights) << printed;
}

}  // namespace proffer::fuzz
