#include "common/roles.h"

#include "common/limits.h"
#include "common/text.h"

namespace proffer {

Result<RoleName> parse_role(std::string_view whole) {
  if (is_valid_path(whole, kRoleBytesMax)) return RoleName(std::string(whole));
  return Error::invalid_argument(
      text("a role must be names of A-Z a-z 0-9 . _ - joined by '/', at most ", kRoleBytesMax,
           " bytes, as in ads/batch, not ", quoted(whole)));
}

Result<RoleWeights> parse_role_weights(std::string_view whole) {
  RoleWeights weights;
  if (trimmed(whole).empty()) return weights;
  for (const std::string_view part : split(whole, ',')) {
    const size_t equals = part.find('=');
    if (equals == std::string_view::npos) {
      return Error::invalid_argument(
          text("weights must be ROLE=WEIGHT separated by ',', as in ads=2,batch=0.5, not ",
               quoted(part)));
    }
    const std::string_view name = trimmed(part.substr(0, equals));
    const std::string_view amount = trimmed(part.substr(equals + 1));
    Result<RoleName> role = parse_role(name);
    if (!role) return std::move(role).error();
    const Result<int64_t> weight = parse_milli(amount);
    if (!weight || *weight < kWeightMin || *weight > kWeightMax) {
      return Error::invalid_argument(text("weight of role ", quoted(name), " must be between ",
                                          print_milli(kWeightMin), " and ", print_milli(kWeightMax),
                                          ", not ", quoted(amount)));
    }
    if (!weights.emplace(*std::move(role), *weight).second) {
      return Error::invalid_argument(text("role ", quoted(name), " is given two weights"));
    }
  }
  return weights;
}

}  // namespace proffer
