#pragma once

// One connection seen from one end. Frames carry a sequence from 1, so what the network lost or
// repeated is seen: a duplicate is dropped, a gap ends the connection, and registering again tells
// the full state. Hence no message within a session needs a timer of its own to be sent again.
//
// It speaks the lower version of its two ends, as the schema says.

#include <algorithm>

#include "proto/messages.h"
#include "proto/versions.h"

namespace proffer::proto {

class Channel {
 public:
  enum class Verdict : uint8_t { kDeliver, kDuplicate, kBroken };

  Channel() = default;
  // That begins in this version.
  explicit Channel(uint32_t version) : version_(version) {}

  // The next frame to send.
  Envelope stamp(LeaderEpoch leader, BoxedMessage message) {
    say_in_version(*message, version_);
    return Envelope{
        .version = version_, .leader = leader, .sequence = ++sent_, .message = std::move(message)};
  }
  // What to do with a received frame.
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

  // Of the next connection to the same peer, for the end that connects. A peer that has refused our
  // version is spoken to in its own; later connections try ours again, for it may have been
  // replaced.
  Channel next() const { return was_refused_ ? Channel(version_) : Channel(); }
  // The same to a peer that may refuse by saying nothing: the version before, down to the first,
  // and then our own again.
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
  bool was_refused_ = false;  // by the last frame
};

}  // namespace proffer::proto
