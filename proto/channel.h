#pragma once

// One connection, seen from one end. Frames carry a sequence number from 1, so lost and repeated
// frames are noticed: a duplicate is dropped, and a gap ends the connection. The next registration
// sends the full state. So no message within a session needs a timer for resending.
//
// The channel uses the lower version of its two ends, as the schema says.

#include <algorithm>

#include "proto/messages.h"
#include "proto/versions.h"

namespace proffer::proto {

class Channel {
 public:
  enum class Verdict : uint8_t { kDeliver, kDuplicate, kBroken };

  Channel() = default;
  // Begins in this version.
  explicit Channel(uint32_t version) : version_(version) {}

  // The next frame to send.
  Envelope stamp(LeaderEpoch leader, BoxedMessage message) {
    say_in_version(*message, version_);
    return Envelope{
        .version = version_, .leader = leader, .sequence = ++sent_, .message = std::move(message)};
  }
  // The action for a received frame.
  Verdict admit(const Envelope& envelope) {
    version_ = std::min(version_, envelope.version);
    if (envelope.sequence == received_ + 1) {
      ++received_;
      const auto* error = std::get_if<ErrorMessage>(&*envelope.message);
      was_refused_ = error != nullptr && error->code == ErrorCode::kUnsupported &&
                     envelope.version < kProtocolVersion;
      return Verdict::kDeliver;
    }
    return envelope.sequence <= received_ ? Verdict::kDuplicate : Verdict::kBroken;
  }

  // The channel of the next connection to the same peer, for the end that connects. If the peer
  // refused our version, this channel uses the peer's version; later channels try ours again, since
  // the peer may have been upgraded.
  Channel next() const { return was_refused_ ? Channel(version_) : Channel(); }
  // The same for a peer that may refuse without an answer: each call uses the version before, down
  // to the first, and then ours again.
  Channel next_to_silent() const {
    const bool was_silent = sent_ > 0 && received_ == 0;
    return was_silent && version_ > kProtocolVersionMin ? Channel(version_ - 1) : Channel();
  }

  uint32_t version() const { return version_; }
  bool operator==(const Channel&) const = default;

 private:
  uint32_t version_ = kProtocolVersion;
  uint64_t sent_ = 0;
  uint64_t received_ = 0;
  bool was_refused_ = false;  // the last frame was a refusal of the version
};

}  // namespace proffer::proto
