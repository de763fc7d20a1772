#include "common/standing.h"

#include <array>

#include "common/amount_text.h"
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
  return text(": it takes ", named_amount(*held.kind, held.wanted), ", ",
              amount_text(*held.kind, held.left), " are left");
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
      return text("free resources are held for the guarantees of other roles", left_of(held));
    case RoleHindrance::kEntitlement:
      return text(role, " has reached its entitlement, and the asks may not borrow", left_of(held),
                  holders_text(held.rivals, "; the rest is used or wanted by "));
    case RoleHindrance::kComing:
      return "tasks of others are being preempted for these asks";
    case RoleHindrance::kSetAside:
      return "agents are claimed for these asks until they fit";
    case RoleHindrance::kLent:
      return text("others have borrowed the entitlement of the role",
                  held.back.empty() ? "" : text("; it cannot be reclaimed now: ", held.back));
    case RoleHindrance::kOwed:
      return text("resources that become free are held for ", owed_text(held.rivals));
    case RoleHindrance::kTooLittle:
      return "no free resources fit";
  }
  LOG(FATAL) << "role hindrance " << static_cast<int>(held.why);
  return {};
}

}  // namespace proffer
