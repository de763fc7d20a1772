#pragma once

// Frames: one Envelope as the bytes of proto/schema/wire.capnp. With records.cc the only place with
// kj; no exception of it leaves the folder.

#include <cstddef>
#include <memory>
#include <span>

#include "common/result.h"
#include "proto/messages.h"

namespace proffer::proto {

// Makes frames. Reuses its memory: keep one for each thread. Address space of kFrameBytesMax, of
// which what the largest frame needed is resident.
class Encoder {
 public:
  Encoder();
  ~Encoder();
  Encoder(const Encoder&) = delete;
  Encoder& operator=(const Encoder&) = delete;

  // The frame; valid until the next call or the end of the encoder. Equal envelopes give equal
  // bytes. Texts for people are cut to kReasonTextBytesMax and the ports of an offer to the lowest
  // kPortRangesMax ranges; everything else is for the sender to keep within its bounds, since a
  // receiver refuses the frame. Errors: kResourceExhausted if it is larger than kFrameBytesMax,
  // kInvalidArgument for Unknown, which cannot be sent.
  Result<std::span<const std::byte>> encode(const Envelope& envelope);

 private:
  struct Memory;
  std::unique_ptr<Memory> memory_;
};

// The envelope of a frame from a peer that may be hostile. `frame` need not be aligned. What comes
// out keeps every bound of common/limits.h and every rule of the schema: names are valid names,
// amounts are 0 to kAmountMax, enumerators are known, maps are sorted. (Whether a shape is one, or
// a name is used twice, is for the cores: they can refuse one task rather than a session.)
//
// A message that this version does not know is Unknown with its tag. Errors: kUnsupported if the
// version is not spoken here, with both named, or an operation is not known; kInvalidArgument for
// everything else that is wrong, saying what. The message is for an ErrorMessage and a log.
Result<Envelope> decode(std::span<const std::byte> frame);

}  // namespace proffer::proto
