// Texts of role names, weights and quotas, and tables of them.

#include "common/check.h"
#include "common/limits.h"
#include "common/roles.h"
#include "common/text.h"
#include "tests/fuzz/laws.h"

namespace proffer::fuzz {

namespace {

// A quota such as "cpus:1;mem:2" parses back from its printed form, and a table with it is accepted
// or refused.
void check_quota(std::string_view whole) {
  const Result<Quota> quota = parse_quota(whole);
  if (!quota) return check_told(quota.error());
  const Result<Quota> again = parse_quota(to_text(*quota));
  CHECK(again && *again == *quota) << to_text(*quota);
  for (const ResourceKind kind : kResourceKinds) {
    CHECK((*quota)[kind].value_or(0) >= 0 && (*quota)[kind].value_or(0) <= kAmountMax);
  }
  CHECK(quota->contains(quota->amounts(ResourceVector())));
  const RoleTable table = {{RoleName("eng"), {.guarantee = *quota, .limit = *quota}},
                           {RoleName("eng/ads"), {.guarantee = *quota}}};
  CHECK(check_roles(table)) << to_text(*quota);
}

}  // namespace

void fuzz_roles(Input input) {
  const std::string_view whole = text_of(input);
  check_quota(whole);
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
