#include "master/shell/intake.h"

#include <utility>

namespace proffer::master {
namespace {

// In each turn, frames of all users are served as they come for so long.
constexpr Duration kAtOnceMax = microseconds(100);
// A small frame lies in a buffer of libzmq's with others, which it would keep.
constexpr size_t kCopiedBytesMax = size_t{16} << 10;

}  // namespace

Intake::Intake(Loop& loop, Handlers handlers)
    : loop_(loop), handlers_(std::move(handlers)), turn_ends_(loop, [this] { at_once_ = {}; }) {
  loop_.add(this);
}

Intake::~Intake() { loop_.remove(this); }

void Intake::receive(PeerId peer, ReceivedFrame frame) {
  if (inbox_.empty() && at_once_ < kAtOnceMax && handlers_.may_serve()) {
    const Time begun = loop_.now();
    handlers_.on_frame(peer, frame);
    at_once_ = at_once_ + (loop_.now() - begun);
    return;
  }
  const PrincipalPtr by = handlers_.principal_of(peer);
  Inbox::Item item{.user = audit_name(by.get()), .peer = peer};
  if (!inbox_.has_room(item.user, frame.size())) {
    if (handlers_.may_be_shed(by.get())) {
      handlers_.on_shed(peer, frame, true);
      return;
    }
    holding_ = item.user;
  } else if (inbox_.waiting(peer) >= kCallsPerPeerMax && handlers_.on_shed(peer, frame, false)) {
    return;
  }
  const bool is_small = frame.size() <= kCopiedBytesMax;
  item.frame = is_small ? ReceivedFrame::copy_of(frame) : std::move(frame);
  inbox_.add(std::move(item));
}

void Intake::lost(PeerId peer) {
  if (inbox_.waiting(peer) == 0) return handlers_.on_lost(peer);
  inbox_.add({.user = audit_name(handlers_.principal_of(peer).get()), .peer = peer});
}

bool Intake::may_read() const {
  if (inbox_.bytes() >= kWaitingBytesMax) return false;
  return holding_.empty() || inbox_.has_room(holding_, kFrameBytesMax);
}

void Intake::pump() {
  const Time begun = loop_.now();
  while (is_pending() && loop_.now() - begun < kServeTimeMax) serve_next();
}

void Intake::serve_next() {
  const Inbox::Item item = *inbox_.take();
  const Time begun = loop_.now();
  if (item.frame.size() == 0) {
    handlers_.on_lost(item.peer);
  } else {
    handlers_.on_frame(item.peer, item.frame);
  }
  inbox_.took(loop_.now() - begun);
}

}  // namespace proffer::master
