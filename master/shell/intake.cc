#include "master/shell/intake.h"

#include <utility>

namespace proffer::master {
namespace {

// The time per turn in which frames of all users are handled at once.
constexpr Duration kAtOnceMax = microseconds(100);
// A small frame shares a buffer of libzmq with others, and keeping the frame would keep the buffer.
constexpr size_t kCopiedBytesMax = size_t{16} << 10;

}  // namespace

Intake::Intake(Loop& loop, Handlers handlers)
    : loop_(loop),
      handlers_(std::move(handlers)),
      turn_ends_(loop, [this] { end_turn(); }),
      pause_ends_(loop, [] {}) {
  loop_.add(this);
}

Intake::~Intake() { loop_.remove(this); }

void Intake::receive(PeerId peer, ReceivedFrame frame) {
  const Time now = loop_.now();
  const PrincipalPtr by = handlers_.principal_of(peer);
  Inbox::Item item{.user = {}, .is_paced = handlers_.may_be_shed(by.get()), .peer = peer};
  const bool is_free = at_once_ < kAtOnceMax && inbox_.waiting(peer) == 0 &&
                       !inbox_.is_ready(now) && handlers_.may_serve();
  if (!is_free || item.is_paced) item.user = audit_name(by.get());
  if (is_free && (!item.is_paced || inbox_.may_serve(item.user, now))) {
    const Inbox::Effort effort = serve(peer, frame, now);
    at_once_ = at_once_ + effort.time;
    if (item.is_paced) inbox_.served(item.user, effort, now);
    return;
  }
  if (!inbox_.has_room(item.user, frame.size())) {
    if (item.is_paced) {
      handlers_.on_shed(peer, frame, true);
      return;
    }
    holding_ = item.user;
  } else if (inbox_.waiting(peer) >= kCallsPerPeerMax && handlers_.on_shed(peer, frame, false)) {
    return;
  }
  const bool is_small = frame.size() <= kCopiedBytesMax;
  item.frame = is_small ? ReceivedFrame::copy_of(frame) : std::move(frame);
  inbox_.add(std::move(item), now);
}

void Intake::lost(PeerId peer) {
  if (inbox_.waiting(peer) == 0) return handlers_.on_lost(peer);
  const PrincipalPtr by = handlers_.principal_of(peer);
  inbox_.add(
      {.user = audit_name(by.get()), .is_paced = handlers_.may_be_shed(by.get()), .peer = peer},
      loop_.now());
}

bool Intake::may_read() const {
  if (inbox_.bytes() >= kWaitingBytesMax) return false;
  return holding_.empty() || inbox_.has_room(holding_, kFrameBytesMax);
}

bool Intake::is_pending() { return inbox_.is_ready(loop_.now()) && handlers_.may_serve(); }

void Intake::pump() {
  const Time until = loop_.now() + kServeTimeMax;
  for (Time now = loop_.now(); now < until && handlers_.may_serve(); now = loop_.now()) {
    const std::optional<Inbox::Item> item = inbox_.take(now);
    if (!item) break;
    inbox_.took(serve(item->peer, item->frame, now), now);
  }
}

Inbox::Effort Intake::serve(PeerId peer, const ReceivedFrame& frame, Time begun) {
  size_t tasks = 0;
  if (frame.size() == 0) {
    handlers_.on_lost(peer);
  } else {
    tasks = handlers_.on_frame(peer, frame);
  }
  return {.time = loop_.now() - begun, .tasks = tasks, .bytes = frame.size()};
}

// The loop may sleep until a user may be served again.
void Intake::end_turn() {
  at_once_ = {};
  // A user that may already be served waits for the disk; a turn follows after that.
  if (inbox_.empty()) return;
  pause_ends_.arm(inbox_.is_ready(loop_.now()) ? std::nullopt : inbox_.next_at());
}

}  // namespace proffer::master
