#pragma once

// Why a peer's session ended, for all kinds of servers.

#include <cstdint>
#include <string_view>

namespace proffer {

enum class PeerLoss : uint8_t {
  kDisconnected,  // the connection is gone: closed, killed, or network error
  kOverflow,      // it read too slowly: its outgoing queue was full
  kMalformed,     // it sent bytes that are not one frame
};
std::string_view to_text(PeerLoss loss);

}  // namespace proffer
