#pragma once

// The proxy between a scheduler and its master. It passes frames on unchanged, decodes them, and
// for some items delays or holds them, drops a connection, or loses acknowledgements. It never
// invents frames: a scheduler receives an update twice only if a master sent it twice.

#include <cstddef>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "net/address.h"
#include "net/dealer.h"
#include "net/loop.h"
#include "net/router.h"
#include "proto/codec/codec.h"

namespace proffer::cli {

class ConformanceProxy {
 public:
  enum class To : uint8_t { kMaster, kScheduler };
  // Called after a frame was passed on. Frames that cannot be decoded are passed on without a call.
  using Seen = std::function<void(To, const proto::Message&)>;

  // Errors: kFailedPrecondition, kUnavailable.
  static Result<std::unique_ptr<ConformanceProxy>> start(Loop& loop, const Address& master,
                                                         Seen seen);
  ConformanceProxy(const ConformanceProxy&) = delete;
  ConformanceProxy& operator=(const ConformanceProxy&) = delete;

  // The address at which the scheduler finds its master.
  std::string address() const { return "127.0.0.1:" + std::to_string(router_->port()); }

  // --- faults ------------------------------------------------------------------------------------
  // After the first frame for which `matches` is true, all later frames wait, both ways, until
  // go_on(). None: never.
  using Matches = std::function<bool(To, const proto::Message&)>;
  void hold_after(Matches matches) { hold_after_ = std::move(matches); }
  bool is_holding() const { return holding_; }
  void go_on();
  // From the first Offers on, the master's frames wait until it has rescinded one of these offers.
  void hold_offers_until_rescinded();
  bool rescinded() const { return rescinded_; }
  // The next acknowledgement is lost, and all later frames of the scheduler, until the connection
  // is cut.
  void lose_acknowledgement() { losing_ = true; }
  size_t lost() const { return lost_; }
  // Cuts all connections at both ends; waiting frames are lost. Each end makes a new connection.
  void cut();
  // From now on each frame is delayed by this time, both ways.
  void delay(Duration delay) { delay_ = delay; }

 private:
  struct Frame {
    Time due = {};
    std::vector<std::byte> bytes = {};
  };
  struct Link {
    std::unique_ptr<Dealer> dealer = {};
    bool connected = false;
    std::deque<Frame> up = {};  // waiting for the connection, held, or not yet due
    std::deque<Frame> down = {};
  };

  ConformanceProxy(Loop& loop, const Address& master, Seen seen);
  void on_scheduler_frame(PeerId peer, std::span<const std::byte> frame);
  void on_master_frame(PeerId peer, std::span<const std::byte> frame);
  void send_up(PeerId peer, std::span<const std::byte> frame);
  void send_down(PeerId peer, std::span<const std::byte> frame);
  void look(To to, const proto::Message& message);
  Frame frame_of(std::span<const std::byte> bytes) const;
  // True if the first of these may leave now. If it is only not due yet, sets the timer for it.
  bool may_leave(const std::deque<Frame>& frames);
  void flush();
  void lose(PeerId peer);

  Loop& loop_;
  Address master_;
  Seen seen_;
  std::unique_ptr<Router> router_;
  std::map<PeerId, Link> links_;
  Matches hold_after_;
  bool holding_ = false;
  enum class Offers : uint8_t { kPass, kWatch, kHold };
  Offers offers_ = Offers::kPass;
  bool rescinded_ = false;
  bool losing_ = false;
  size_t lost_ = 0;
  uint64_t seeds_ = 0;
  Duration delay_ = {};
  Timer timer_;  // for the first frame that is due
  std::optional<Time> timer_due_;
};

}  // namespace proffer::cli
