// One frame from a peer.

#include <vector>

#include "common/check.h"
#include "proto/codec/codec.h"
#include "tests/fuzz/laws.h"

namespace proffer::fuzz {

void fuzz_frame(Input input) {
  static proto::Encoder encoder;
  const Result<proto::Envelope> envelope = proto::decode(bytes_of(input));
  if (!envelope) return check_told(envelope.error());
  if (std::holds_alternative<proto::Unknown>(*envelope->message)) return;
  const auto frame = encoder.encode(*envelope);
  if (!frame) {
    // Pointers of a hostile frame may share their target: then the decoded value is larger than the
    // frame.
    CHECK(frame.error().code() == ErrorCode::kResourceExhausted) << frame.error().message();
    return;
  }
  const std::vector<std::byte> bytes(frame->begin(), frame->end());
  const Result<proto::Envelope> again = proto::decode(bytes);
  CHECK(again) << again.error().message();
  CHECK(*again == *envelope) << proto::message_name(*envelope->message);
  const auto twice = encoder.encode(*again);
  CHECK(twice && std::vector<std::byte>(twice->begin(), twice->end()) == bytes)
      << proto::message_name(*envelope->message) << ": equal envelopes, other bytes";
}

}  // namespace proffer::fuzz
