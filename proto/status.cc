#include "proto/status.h"

#include "common/check.h"

namespace proffer::proto {

std::string_view to_text(FrameworkState state) {
  switch (state) {
    case FrameworkState::kConnected:
      return "connected";
    case FrameworkState::kDisconnected:
      return "disconnected";
  }
  LOG(FATAL) << "framework state " << static_cast<int>(state);
  return {};
}

std::optional<FrameworkState> parse_framework_state(std::string_view text) {
  for (const FrameworkState state : {FrameworkState::kConnected, FrameworkState::kDisconnected}) {
    if (to_text(state) == text) return state;
  }
  return std::nullopt;
}

}  // namespace proffer::proto
