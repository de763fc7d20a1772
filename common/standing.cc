#include "common/standing.h"

#include <array>

#include "common/check.h"
#include "common/text.h"

namespace proffer {
namespace {

constexpr std::array<std::string_view, kRoleHindranceCount> kRoleHindranceNames = {
    "no_offers", "tasks_unknown", "limit", "guarantees", "entitlement",
    "coming",    "set_aside",     "lent",  "owed",       "too_little",
};

std::string left_of(const HeldAsks& held) {
  if (!held.kind) return "";
  return text(": it takes ", print_milli(held.wanted), " ", to_text(*held.kind), ", ",
              print_milli(held.left), " are left");
}

}  // namespace

std::string_view to_text(RoleHindrance why) {
  const auto at = static_cast<size_t>(why);
  CHECK_LT(at, kRoleHindranceCount);
  return kRoleHindranceNames[at];
}

std::optional<RoleHindrance> parse_role_hindrance(std::string_view text) {
  for (size_t i = 0; i < kRoleHindranceCount; ++i) {
    if (kRoleHindranceNames[i] == text) return static_cast<RoleHindrance>(i);
  }
  return std::nullopt;
}

std::string to_text(const HeldAsks& held) {
  const std::string role = text("role ", quoted(held.role.str()));
  switch (held.why) {
    case RoleHindrance::kNoOffers:
      return "their framework is not connected, or has suppressed offers";
    case RoleHindrance::kTasksUnknown:
      return text(role, " has a limit, and not all agents that may run its tasks are back");
    case RoleHindrance::kLimit:
      return text("the limit of ", role, left_of(held),
                  holders_text(held.rivals, "; room is kept for "));
    case RoleHindrance::kGuarantees:
      return text("what is free is held for the guarantees of other roles", left_of(held));
    case RoleHindrance::kEntitlement:
      return text(role, " has what it is entitled to, and they may not borrow", left_of(held),
                  holders_text(held.rivals, "; the rest is used or wanted by "));
    case RoleHindrance::kComing:
      return "tasks of others have been told to end for them";
    case RoleHindrance::kSetAside:
      return "agents are set aside for them until they fit";
    case RoleHindrance::kLent:
      return text("others have borrowed what the role is entitled to",
                  held.back.empty() ? "" : text("; it does not come back now: ", held.back));
    case RoleHindrance::kOwed:
      return text("what becomes free is held for ", owed_text(held.rivals));
    case RoleHindrance::kTooLittle:
      return "nothing that is free fits";
  }
  LOG(FATAL) << "role hindrance " << static_cast<int>(held.why);
  return {};
}

}  // namespace proffer
