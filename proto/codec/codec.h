#pragma once

// Frames: one Envelope as the bytes of proto/schema/wire.capnp. Only this file and records.cc use
// kj; none of its exceptions leaves the folder.

#include <cstddef>
#include <memory>
#include <span>

#include "common/result.h"
#include "proto/messages.h"

namespace proffer::proto {

// Makes frames. It reuses its memory, so keep one for each thread. It reserves an address space of
// kFrameBytesMax; only the part that the largest frame used is resident.
class Encoder {
 public:
  Encoder();
  ~Encoder();
  Encoder(const Encoder&) = delete;
  Encoder& operator=(const Encoder&) = delete;

  // Returns the frame, which is valid until the next call or the end of the encoder. Equal
  // envelopes give equal bytes. Texts for people are cut to kReasonTextBytesMax, and the ports of
  // an offer to the lowest kPortRangesMax ranges. The sender must keep all else within its bounds,
  // since a receiver refuses the frame. Errors: kResourceExhausted if the frame is larger than
  // kFrameBytesMax; kInvalidArgument for Unknown, which cannot be sent.
  Result<std::span<const std::byte>> encode(const Envelope& envelope);

 private:
  struct Memory;
  std::unique_ptr<Memory> memory_;
};

// Returns the envelope of a frame from a peer that may be hostile. `frame` need not be aligned. The
// result keeps every bound of common/limits.h and every rule of the schema: names are valid names,
// amounts are 0 to kAmountMax, enumerators are known, maps are sorted. (The cores check whether a
// shape is valid and whether a name is used twice, since they can refuse one task instead of a
// session.)
//
// A message that this version does not know becomes Unknown with its tag. Errors: kUnsupported if
// the version is not supported (names both versions) or an operation is not known; kInvalidArgument
// for every other fault, with its description. The text is for an ErrorMessage and a log.
Result<Envelope> decode(std::span<const std::byte> frame);

}  // namespace proffer::proto
