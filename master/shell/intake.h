#pragma once

// Between the sockets and the master. While there are few frames, each is handled at once. If there
// are more than one turn of the loop can handle, users take turns (master/shell/inbox.h). The
// waiting frames of a user are bounded; further frames are shed.

#include <cstddef>
#include <functional>
#include <span>
#include <string>

#include "common/ids.h"
#include "common/principal.h"
#include "common/time.h"
#include "master/shell/inbox.h"
#include "master/shell/loop_times.h"
#include "net/loop.h"
#include "net/received_frame.h"

namespace proffer::master {

// Under load, a turn of the loop reads ahead for this long, and then handles frames for this long.
// It is short because a launch takes several turns; a single frame may take longer.
inline constexpr Duration kReadTimeMax = microseconds(400);
inline constexpr Duration kServeTimeMax = microseconds(400);

class Intake final : public Pump {
 public:
  struct Handlers {
    // Returns the number of tasks that were launched or changed their state.
    std::function<size_t(PeerId, std::span<const std::byte>)> on_frame = {};
    std::function<void(PeerId, PeerLoss)> on_lost = {};
    // Called if there is no room for the frame: too many frames of this user, or of this
    // connection, wait. False: the frame is kept anyway (only possible for a full connection).
    std::function<bool(PeerId, std::span<const std::byte>, bool is_user_full)> on_shed = {};
    // The user of a peer; each user has a queue. nullptr: unidentified.
    std::function<PrincipalPtr(PeerId)> principal_of = {};
    // Too many frames of the user wait, most of them of this connection: its session ends.
    std::function<void(PeerId, const std::string& user)> on_flood = {};
    // Users whose frames may be shed (master/core/policy.h) are paced as a whole, of the others
    // each connection, but no agent and no other master. What is not paced is not shed either: if
    // there is no room for its frame, reading stops until there is.
    std::function<Pace(PeerId, const Principal*)> pace_of = {};
    // The name of a connected peer in `proffer status`; empty: it is never named (LoopTimes).
    LoopTimes::NameOf name_of = {};
    // While it returns false, frames wait in the queues. Each turn of the loop calls it. When its
    // result becomes true, the owner must cause a turn.
    std::function<bool()> may_serve = {};
  };

  Intake(Loop& loop, Handlers handlers);
  ~Intake() override;
  Intake(const Intake&) = delete;
  Intake& operator=(const Intake&) = delete;

  void receive(PeerId peer, ReceivedFrame frame);
  void lost(PeerId peer, PeerLoss loss);
  // False: too many frames wait, so no more may be read.
  bool may_read() const;

  void pump() override;
  bool is_pending() override;

  const Inbox& inbox() const { return inbox_; }
  LoopTimes& times() { return times_; }

 private:
  Inbox::Effort serve(const Inbox::Item& item, Time begun);
  bool make_room(const Inbox::Item& item, std::span<const std::byte> frame, Time now);
  void end_turn();

  Loop& loop_;
  Handlers handlers_;
  Inbox inbox_;
  LoopTimes times_;
  Duration at_once_ = {};     // time spent in this turn on frames that did not wait
  std::string holding_ = {};  // a user without room that may not be shed: reading has stopped
  TurnHook turn_ends_;
  Timer pause_ends_;
};

}  // namespace proffer::master
