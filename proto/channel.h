#pragma once

// One connection seen from one end. Frames carry a sequence from 1, so what the network lost or
// repeated is seen: a duplicate is dropped, a gap ends the connection, and registering again tells
// the full state. Hence no message within a session needs a timer of its own to be sent again.

#include "proto/messages.h"

namespace proffer::proto {

class Channel {
 public:
  enum class Verdict : uint8_t { kDeliver, kDuplicate, kBroken };

  // The next frame to send.
  Envelope stamp(LeaderEpoch leader, Message message) {
    return Envelope{.leader = leader, .sequence = ++sent_, .message = std::move(message)};
  }
  // What to do with a received frame.
  Verdict admit(const Envelope& envelope) {
    if (envelope.sequence == received_ + 1) {
      ++received_;
      return Verdict::kDeliver;
    }
    return envelope.sequence <= received_ ? Verdict::kDuplicate : Verdict::kBroken;
  }
  bool operator==(const Channel&) const = default;

 private:
  uint64_t sent_ = 0;
  uint64_t received_ = 0;
};

}  // namespace proffer::proto
