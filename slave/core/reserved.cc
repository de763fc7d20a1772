#include "slave/core/reserved.h"

#include "common/roles.h"
#include "common/text.h"

namespace proffer::agent {

Result<ReservedByRole> parse_reserved(std::string_view whole) {
  ReservedByRole reserved;
  if (trimmed(whole).empty()) return reserved;
  for (const std::string_view part : split(whole, ',')) {
    const size_t equals = part.find('=');
    if (equals == std::string_view::npos) {
      return Error::invalid_argument(
          text("reservations must be ROLE=RESOURCES separated by ',', as in "
               "ads=cpus:1;mem:1GiB,batch=cpus:2, not ",
               quoted(part)));
    }
    Result<RoleName> role = parse_role(trimmed(part.substr(0, equals)));
    if (!role) return std::move(role).error();
    const Result<ResourceVector> amounts = parse_shape(part.substr(equals + 1));
    if (!amounts) return Error(amounts.error()).in(text("role ", quoted(role->str())));
    if (!reserved.emplace(*role, *amounts).second) {
      return Error::invalid_argument(text("role ", quoted(role->str()), " is named twice"));
    }
  }
  if (reserved.size() >= kSlicesMax) {
    return Error::invalid_argument(
        text("at most ", kSlicesMax - 1, " roles can be named, not ", reserved.size()));
  }
  return reserved;
}

Result<std::vector<Slice>> to_slices(const Resources& total, const ReservedByRole& reserved) {
  Resources rest{.amounts = total.amounts, .gpus = total.gpus};
  std::vector<Slice> slices;
  for (const auto& [role, amounts] : reserved) {
    if (!fits(amounts, rest)) {
      return Error::invalid_argument(text("of ", quoted(to_text(total)), " only ",
                                          quoted(to_text(rest)), " is left, not ", to_text(amounts),
                                          " for role ", quoted(role.str())));
    }
    slices.push_back({.resources = carve(amounts, rest), .reserved_for = role});
    rest -= slices.back().resources;
  }
  if (!rest.is_zero() || slices.empty()) slices.push_back({.resources = rest});
  return slices;
}

}  // namespace proffer::agent
