#include "proto/status.h"

#include "common/check.h"

namespace proffer::proto {

std::string host_of(std::string_view http_address, std::string_view https_address) {
  const std::string_view address = https_address.empty() ? http_address : https_address;
  if (address.starts_with('/')) return "127.0.0.1";
  return std::string(address.substr(0, address.rfind(':')));
}

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
