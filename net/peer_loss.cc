#include "net/peer_loss.h"

namespace proffer {

std::string_view to_text(PeerLoss loss) {
  switch (loss) {
    case PeerLoss::kDisconnected:
      return "disconnected";
    case PeerLoss::kOverflow:
      return "overflow";
    case PeerLoss::kMalformed:
      return "malformed";
  }
  return "unknown";
}

}  // namespace proffer
