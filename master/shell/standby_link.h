#pragma once

// The connection of a standby to the leader. The standby reports itself periodically, and sends the
// history of its own lead when the leader requests it. It requests the leader's events and stores
// them (ADR 0136). It dials, since its own port is closed (ADR 0056, ADR 0072).

#include <memory>
#include <optional>
#include <span>
#include <string>

#include "common/time.h"
#include "master/shell/event_follower.h"
#include "master/shell/history.h"
#include "net/curve_keys.h"
#include "net/dealer.h"
#include "net/loop.h"
#include "proto/codec/codec.h"
#include "proto/masters.h"
#include "store/leadership.h"

namespace proffer::master {

class StandbyLink {
 public:
  struct Options {
    proto::StandbyCall says = {};
    // The masters' own key, needed to reach other machines. None: this machine only.
    std::optional<KeyPair> keys = {};
    HistoryLogOptions history = {};                // read only if `says` states that it is kept
    std::optional<HistoryLogOptions> events = {};  // none: no events are kept
    Duration heartbeat = {};
  };

  StandbyLink(Loop& loop, Options options);

  // Another master leads, or (none) the leader is unknown.
  void follow(const std::optional<MasterPlace>& leader);

  // nullptr: no events are kept.
  const EventFollower* events() const { return events_.get(); }

 private:
  void say();
  void say_again();
  void on_frame(std::span<const std::byte> frame);
  void on_call(const proto::Call& call);
  void on_lost();
  void reply(proto::Reply message);
  void send(proto::BoxedMessage message);
  void complain(const std::string& why);

  Loop& loop_;
  const Options options_;
  std::unique_ptr<PastHistory> history_;
  std::optional<MasterPlace> leader_;
  Timer timer_;
  proto::Encoder encoder_;
  uint64_t calls_ = 0;
  uint64_t follow_call_ = 0;        // the last call that requested events
  bool is_known_ = false;           // the leader has registered it on this connection
  std::string complaint_;           // the last one for this leader
  std::unique_ptr<Dealer> dealer_;  // none: no leader is followed
  std::unique_ptr<EventFollower> events_;
};

}  // namespace proffer::master
