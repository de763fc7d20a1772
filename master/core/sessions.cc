#include "master/core/sessions.h"

namespace proffer::master {

Peer* Sessions::find(PeerId peer) {
  const auto found = peers_.find(peer);
  return found == peers_.end() ? nullptr : &found->second;
}

const Peer* Sessions::find(PeerId peer) const {
  const auto found = peers_.find(peer);
  return found == peers_.end() ? nullptr : &found->second;
}

Peer* Sessions::open(PeerId peer, Time now) {
  if (peers_.size() >= kPeersMax) return nullptr;
  Peer& opened = peers_[peer];
  opened.id = peer;
  opened.heard_at = now;
  opened.said_at = now;
  return &opened;
}

void Sessions::close(PeerId peer) {
  peers_.erase(peer);
  if (!closed_.insert(peer).second) return;
  closed_order_.push_back(peer);
  if (closed_order_.size() <= kClosedKept) return;
  closed_.erase(closed_order_.front());
  closed_order_.pop_front();
}

}  // namespace proffer::master
