#pragma once

// Reads frames from a stream: four bytes of length, little-endian, then the frame, 1 to
// kFrameBytesMax bytes. Pure.

#include <array>
#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "common/limits.h"

namespace proffer {

inline constexpr size_t kFrameHeaderBytes = 4;

// The header of a frame of this size.
std::array<std::byte, kFrameHeaderBytes> frame_header(size_t frame_bytes);

class FrameReader {
 public:
  enum class Verdict : uint8_t {
    kMore,       // everything was read
    kStopped,    // on_frame returned false
    kMalformed,  // an invalid header: the rest of the stream is meaningless
  };

  // Reads the next bytes of the stream, in pieces of any size, and passes each completed frame to
  // on_frame; its bytes are valid during that call only. If on_frame returns false, it may have
  // destroyed this reader.
  Verdict take(std::span<const std::byte> bytes,
               const std::function<bool(std::span<const std::byte>)>& on_frame);

  // Buffered bytes of an incomplete frame, regardless of its announced length. At most
  // kFrameHeaderBytes + kFrameBytesMax.
  size_t pending() const { return pending_.size(); }

 private:
  std::vector<std::byte> pending_;
};

}  // namespace proffer
