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
      times_(handlers_.name_of),
      turn_ends_(loop, [this] { end_turn(); }),
      pause_ends_(loop, [] {}) {
  loop_.add(this);
}

Intake::~Intake() { loop_.remove(this); }

void Intake::receive(PeerId peer, ReceivedFrame frame) {
  const Time now = loop_.now();
  const PrincipalPtr by = handlers_.principal_of(peer);
  Inbox::Item item{.user = {}, .pace = handlers_.pace_of(peer, by.get()), .peer = peer};
  const bool is_free = at_once_ < kAtOnceMax && inbox_.waiting(peer) == 0 &&
                       !inbox_.is_ready(now) && handlers_.may_serve();
  if (!is_free || item.pace == Pace::kUser) item.user = audit_name(by.get());
  if (is_free && inbox_.may_serve(item, now)) {
    item.frame = std::move(frame);
    const Inbox::Effort effort = serve(item, now);
    at_once_ = at_once_ + effort.time;
    inbox_.served(item, effort, now);
    return;
  }
  if (item.user.empty()) item.user = audit_name(by.get());
  if (!make_room(item, frame, now)) return;
  const bool is_small = frame.size() <= kCopiedBytesMax;
  item.frame = is_small ? ReceivedFrame::copy_of(frame) : std::move(frame);
  inbox_.add(std::move(item), now);
}

// False: the frame was shed. If too much of the user waits, the connection with most of it goes
// (Suter, Lakshman, Stiliadis and Choudhury, INFOCOM 1998: longest queue drop).
bool Intake::make_room(const Inbox::Item& item, std::span<const std::byte> frame, Time now) {
  if (inbox_.has_room(item.user, frame.size())) {
    return inbox_.waiting(item.peer) < kCallsPerPeerMax ||
           !handlers_.on_shed(item.peer, frame, false);
  }
  const bool may_shed =
      item.pace == Pace::kUser || (item.pace == Pace::kConnection && handlers_.may_serve());
  if (may_shed && inbox_.is_average(item.user, item.peer)) {
    handlers_.on_shed(item.peer, frame, true);
    return false;
  }
  // While the disk hangs, nothing is served, and too much waits of everything.
  if (const PeerId fullest = inbox_.fullest(item.user);
      fullest != PeerId() && (item.pace == Pace::kUser || handlers_.may_serve())) {
    inbox_.drop(item.user, fullest, now);
    handlers_.on_flood(fullest, item.user);
    if (inbox_.has_room(item.user, frame.size())) return true;
  }
  if (may_shed) {
    handlers_.on_shed(item.peer, frame, true);
    return false;
  }
  holding_ = item.user;
  return true;
}

void Intake::lost(PeerId peer, PeerLoss loss) {
  if (inbox_.waiting(peer) == 0) return handlers_.on_lost(peer, loss);
  const PrincipalPtr by = handlers_.principal_of(peer);
  inbox_.add({.user = audit_name(by.get()),
              .pace = handlers_.pace_of(peer, by.get()),
              .peer = peer,
              .loss = loss},
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
    inbox_.took(serve(*item, now), now);
  }
}

Inbox::Effort Intake::serve(const Inbox::Item& item, Time begun) {
  size_t tasks = 0;
  if (item.frame.size() == 0) {
    handlers_.on_lost(item.peer, item.loss);
  } else {
    tasks = handlers_.on_frame(item.peer, item.frame);
  }
  const Time now = loop_.now();
  const Inbox::Effort effort{.time = now - begun, .tasks = tasks, .bytes = item.frame.size()};
  times_.note(item.peer, effort, now);
  return effort;
}

// The loop may sleep until a user may be served again.
void Intake::end_turn() {
  at_once_ = {};
  // A user that may already be served waits for the disk; a turn follows after that.
  if (inbox_.empty()) return;
  pause_ends_.arm(inbox_.is_ready(loop_.now()) ? std::nullopt : inbox_.next_at());
}

}  // namespace proffer::master
