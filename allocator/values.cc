// The names of the placement policies.

#include "allocator/values.h"

#include <iterator>
#include <string>

#include "common/text.h"

namespace proffer {
namespace {

constexpr std::string_view kPlacementNames[] = {"balanced",  "best_fit",    "spread",
                                                "worst_fit", "dot_product", "fgd"};

}  // namespace

std::string_view to_text(Placement placement) {
  return kPlacementNames[static_cast<size_t>(placement)];
}

std::string_view to_text(RescindReason reason) {
  switch (reason) {
    case RescindReason::kExpired:
      return "expired";
    case RescindReason::kAgentLost:
      return "agent_lost";
    case RescindReason::kFrameworkLost:
      return "framework_lost";
    case RescindReason::kAgentChanged:
      return "agent_changed";
    case RescindReason::kGangBroken:
      return "gang_broken";
    case RescindReason::kReclaimed:
      return "reclaimed";
    case RescindReason::kUnanswered:
      return "unanswered";
  }
  return "";
}

Result<Placement> parse_placement(std::string_view name, std::string_view value) {
  std::string all;
  for (size_t i = 0; i < std::size(kPlacementNames); ++i) {
    if (kPlacementNames[i] == value) return static_cast<Placement>(i);
    const bool is_last = i + 1 == std::size(kPlacementNames);
    all += text(i == 0 ? "" : is_last ? " or " : ", ", kPlacementNames[i]);
  }
  return Error::invalid_argument(text(name, " must be ", all, ", not ", quoted(value)));
}

}  // namespace proffer
