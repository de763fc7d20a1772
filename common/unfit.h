#pragma once

// How the words of an ask begin that no agent could ever run because of its constraints, and not of
// its size or a limit (proto::AskReport::Row::why).

#include <string_view>

namespace proffer {

inline constexpr std::string_view kNoAgentMeets = "no agent meets ";

}  // namespace proffer
