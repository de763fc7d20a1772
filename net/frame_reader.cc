// Complete frames are passed on without a copy; only frames in several pieces are copied.

#include "net/frame_reader.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace proffer {
namespace {

// None if it is out of bounds.
std::optional<size_t> announced(std::span<const std::byte> header) {
  size_t size = 0;
  for (size_t i = 0; i < kFrameHeaderBytes; ++i) size |= static_cast<size_t>(header[i]) << (8 * i);
  if (size == 0 || size > kFrameBytesMax) return std::nullopt;
  return size;
}

}  // namespace

std::array<std::byte, kFrameHeaderBytes> frame_header(size_t frame_bytes) {
  std::array<std::byte, kFrameHeaderBytes> header{};
  for (size_t i = 0; i < kFrameHeaderBytes; ++i) {
    header[i] = static_cast<std::byte>(frame_bytes >> (8 * i) & 0xff);
  }
  return header;
}

FrameReader::Verdict FrameReader::take(
    std::span<const std::byte> bytes,
    const std::function<bool(std::span<const std::byte>)>& on_frame) {
  while (!bytes.empty()) {
    if (pending_.empty() && bytes.size() >= kFrameHeaderBytes) {
      const std::optional<size_t> size = announced(bytes);
      if (!size) return Verdict::kMalformed;
      if (bytes.size() - kFrameHeaderBytes >= *size) {
        const std::span<const std::byte> frame = bytes.subspan(kFrameHeaderBytes, *size);
        bytes = bytes.subspan(kFrameHeaderBytes + *size);
        if (!on_frame(frame)) return Verdict::kStopped;
        continue;
      }
    }
    // Completes first the header, then the frame.
    size_t whole = kFrameHeaderBytes;
    if (pending_.size() >= kFrameHeaderBytes) whole += *announced(pending_);
    const size_t taken = std::min(whole - pending_.size(), bytes.size());
    pending_.insert(pending_.end(), bytes.begin(),
                    bytes.begin() + static_cast<std::ptrdiff_t>(taken));
    bytes = bytes.subspan(taken);
    if (pending_.size() == kFrameHeaderBytes && !announced(pending_)) return Verdict::kMalformed;
    if (whole == kFrameHeaderBytes || pending_.size() < whole) continue;
    const std::vector<std::byte> frame = std::exchange(pending_, {});
    if (!on_frame(std::span(frame).subspan(kFrameHeaderBytes))) return Verdict::kStopped;
  }
  return Verdict::kMore;
}

}  // namespace proffer
