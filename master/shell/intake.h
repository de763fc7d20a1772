#pragma once

// Between the sockets and the master: while there are few frames they are served as they come, and
// by their users' turns (master/shell/inbox.h) as soon as there are more than a turn of the loop
// can take. The frames that wait of one user are bounded; further ones are shed.

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

// A turn of the loop under load: so long it reads ahead, and so long it serves the messages read.
// Short, since a launch takes several turns; a single frame may take longer.
inline constexpr Duration kReadTimeMax = microseconds(400);
inline constexpr Duration kServeTimeMax = microseconds(400);

class Intake final : public Pump {
 public:
  struct Handlers {
    // Returns how many tasks were launched by it or changed their state.
    std::function<size_t(PeerId, std::span<const std::byte>)> on_frame = {};
    std::function<void(PeerId)> on_lost = {};
    // There is no room for it: too much of this user, or of this connection, waits already. False:
    // it is kept all the same (only asked for a connection).
    std::function<bool(PeerId, std::span<const std::byte>, bool is_user_full)> on_shed = {};
    // The user of a peer: each has a queue of its own. nullptr: a stranger.
    std::function<PrincipalPtr(PeerId)> principal_of = {};
    // Such users are paced, too. False: reading waits until there is room for it
    // (master/core/policy.h).
    std::function<bool(const Principal*)> may_be_shed = {};
    // False: frames wait in the queues. Each turn of the loop asks
    // again, so a turn must follow when it becomes true.
    std::function<bool()> may_serve = {};
  };

  Intake(Loop& loop, Handlers handlers);
  ~Intake() override;
  Intake(const Intake&) = delete;
  Intake& operator=(const Intake&) = delete;

  void receive(PeerId peer, ReceivedFrame frame);
  void lost(PeerId peer);
  // False while so much waits that nothing more may be read.
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
  Duration at_once_ = {};     // that frames of this turn took which did not wait
  std::string holding_ = {};  // a user that had no room and is not shed: reading waits
  TurnHook turn_ends_;
  Timer pause_ends_;
};

}  // namespace proffer::master
