#pragma once

// Beginning of the reason of an ask that no agent could ever run because of its constraints, as
// opposed to its size or a limit (proto::AskReport::Row::why).

#include <string_view>

namespace proffer {

inline constexpr std::string_view kNoAgentMeets = "no agent meets ";

}  // namespace proffer
