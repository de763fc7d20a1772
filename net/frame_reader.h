#pragma once

// Frames in a stream of bytes: four bytes of length, the least significant first, then so many
// bytes, 1 to kFrameBytesMax. Pure.

#include <array>
#include <cstddef>
#include <functional>
#include <span>
#include <vector>

#include "common/limits.h"

namespace proffer {

inline constexpr size_t kFrameHeaderBytes = 4;

// What goes before a frame of so many bytes.
std::array<std::byte, kFrameHeaderBytes> frame_header(size_t frame_bytes);

class FrameReader {
 public:
  enum class Verdict : uint8_t {
    kMore,       // all was taken
    kStopped,    // on_frame said so
    kMalformed,  // no frame begins like this: the rest of the stream means nothing
  };

  // Takes the next bytes of the stream, however they were cut, and hands over each frame that they
  // complete; its bytes are valid during that call only. on_frame says whether to go on; when it
  // does not, it may have destroyed this reader.
  Verdict take(std::span<const std::byte> bytes,
               const std::function<bool(std::span<const std::byte>)>& on_frame);

  // Bytes kept of a frame whose end has not come: what came of it, whatever it announced. At most
  // kFrameHeaderBytes + kFrameBytesMax.
  size_t pending() const { return pending_.size(); }

 private:
  std::vector<std::byte> pending_;
};

}  // namespace proffer
