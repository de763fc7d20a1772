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
    std::function<void(PeerId)> on_lost = {};
    // Called if there is no room for the frame: too many frames of this user, or of this
    // connection, wait. False: the frame is kept anyway (only possible for a full connection).
    std::function<bool(PeerId, std::span<const std::byte>, bool is_user_full)> on_shed = {};
    // The user of a peer; each user has a queue. nullptr: unidentified.
    std::function<PrincipalPtr(PeerId)> principal_of = {};
    // True: the user may be shed, and is paced. False: if there is no room for its frame, reading
    // stops until there is (master/core/policy.h).
    std::function<bool(const Principal*)> may_be_shed = {};
    // False: frames wait in the queues. It is asked in each turn of the loop, so a turn must follow
    // when it becomes true.
    std::function<bool()> may_serve = {};
  };

  Intake(Loop& loop, Handlers handlers);
  ~Intake() override;
  Intake(const Intake&) = delete;
  Intake& operator=(const Intake&) = delete;

  void receive(PeerId peer, ReceivedFrame frame);
  void lost(PeerId peer);
  // False: too many frames wait, so no more may be read.
  bool may_read() const;

  void pump() override;
  bool is_pending() override;

  const Inbox& inbox() const { return inbox_; }

 private:
  Inbox::Effort serve(PeerId peer, const ReceivedFrame& frame, Time begun);
  void end_turn();

  Loop& loop_;
  Handlers handlers_;
  Inbox inbox_;
  Duration at_once_ = {};     // time spent in this turn on frames that did not wait
  std::string holding_ = {};  // a user without room that may not be shed: reading has stopped
  TurnHook turn_ends_;
  Timer pause_ends_;
};

}  // namespace proffer::master
