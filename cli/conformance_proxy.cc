// A Router faces the scheduler, and each of its connections has a Dealer that faces the master.
// Frames are forwarded byte by byte.

#include "cli/conformance_proxy.h"

#include <utility>

#include "common/text.h"

namespace proffer::cli {

ConformanceProxy::ConformanceProxy(Loop& loop, const Address& master, Seen seen)
    : loop_(loop), master_(master), seen_(std::move(seen)), timer_(loop, [this] {
        timer_due_.reset();
        flush();
      }) {}

Result<std::unique_ptr<ConformanceProxy>> ConformanceProxy::start(Loop& loop, const Address& master,
                                                                  Seen seen) {
  std::unique_ptr<ConformanceProxy> proxy(new ConformanceProxy(loop, master, std::move(seen)));
  Result<std::unique_ptr<Router>> router =
      Router::bind(loop, "tcp://127.0.0.1:0",
                   {.on_frame =
                        [self = proxy.get()](PeerId peer, std::span<const std::byte> frame) {
                          self->on_scheduler_frame(peer, frame);
                        },
                    .on_lost = [self = proxy.get()](PeerId peer, PeerLoss) { self->lose(peer); }});
  if (!router) return router.error();
  proxy->router_ = *std::move(router);
  return proxy;
}

void ConformanceProxy::on_scheduler_frame(PeerId peer, std::span<const std::byte> frame) {
  Link& link = links_[peer];
  if (link.dealer == nullptr) {
    const auto lose_later = [this, peer](const std::string&) {
      loop_.defer([this, peer] {
        router_->drop(peer);
        lose(peer);
      });
    };
    link.dealer = std::make_unique<Dealer>(
        loop_,
        Dealer::Options{
            .endpoint = zmq_endpoint(master_), .keep_connected = false, .seed = ++seeds_},
        Dealer::Handlers{
            .on_connected =
                [this, peer] {
                  links_[peer].connected = true;
                  flush();
                },
            .on_frame = [this,
                         peer](std::span<const std::byte> bytes) { on_master_frame(peer, bytes); },
            .on_disconnected = lose_later,
            .on_failed = lose_later});
    link.dealer->connect();
  }
  link.up.push_back(frame_of(frame));
  flush();
}

void ConformanceProxy::on_master_frame(PeerId peer, std::span<const std::byte> frame) {
  Link& link = links_[peer];
  link.down.push_back(frame_of(frame));
  if (offers_ != Offers::kPass) {
    const Result<proto::Envelope> envelope = proto::decode(frame);
    if (envelope && std::holds_alternative<proto::Offers>(*envelope->message)) {
      offers_ = Offers::kHold;
    } else if (envelope && std::holds_alternative<proto::Rescind>(*envelope->message)) {
      offers_ = Offers::kPass;
      rescinded_ = true;
    }
  }
  flush();
}

ConformanceProxy::Frame ConformanceProxy::frame_of(std::span<const std::byte> bytes) const {
  return {.due = loop_.now() + delay_, .bytes = {bytes.begin(), bytes.end()}};
}

bool ConformanceProxy::may_leave(const std::deque<Frame>& frames) {
  if (holding_ || frames.empty()) return false;
  const Time due = frames.front().due;
  if (due <= loop_.now()) return true;
  if (!timer_due_ || due < *timer_due_) {
    timer_due_ = due;
    timer_.arm(due);
  }
  return false;
}

// Forwards frames in the order of their arrival, in each direction.
void ConformanceProxy::flush() {
  for (auto& [peer, link] : links_) {
    while (link.connected && may_leave(link.up)) {
      const Frame frame = std::move(link.up.front());
      link.up.pop_front();
      send_up(peer, frame.bytes);
    }
    while (offers_ != Offers::kHold && may_leave(link.down)) {
      const Frame frame = std::move(link.down.front());
      link.down.pop_front();
      send_down(peer, frame.bytes);
    }
  }
}

void ConformanceProxy::send_up(PeerId peer, std::span<const std::byte> frame) {
  const Result<proto::Envelope> envelope = proto::decode(frame);
  // Frames after a lost frame are lost too: the master would see the gap and refuse them.
  const bool is_lost =
      losing_ &&
      (lost_ > 0 || (envelope && std::holds_alternative<proto::Acknowledge>(*envelope->message)));
  if (is_lost) {
    ++lost_;
    return;
  }
  links_[peer].dealer->send(frame);
  if (envelope) look(To::kMaster, *envelope->message);
}

void ConformanceProxy::send_down(PeerId peer, std::span<const std::byte> frame) {
  router_->send(peer, frame);
  if (const Result<proto::Envelope> envelope = proto::decode(frame)) {
    look(To::kScheduler, *envelope->message);
  }
}

void ConformanceProxy::look(To to, const proto::Message& message) {
  seen_(to, message);
  if (hold_after_ && hold_after_(to, message)) {
    hold_after_ = nullptr;
    holding_ = true;
  }
}

void ConformanceProxy::go_on() {
  holding_ = false;
  flush();
}

void ConformanceProxy::hold_offers_until_rescinded() { offers_ = Offers::kWatch; }

void ConformanceProxy::cut() {
  losing_ = false;
  for (const auto& [peer, link] : links_) router_->drop(peer);
  links_.clear();
  go_on();
}

void ConformanceProxy::lose(PeerId peer) { links_.erase(peer); }

}  // namespace proffer::cli
