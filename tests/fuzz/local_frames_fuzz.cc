// A stream of frames with length prefixes, cut into pieces by the first byte.

#include <algorithm>
#include <vector>

#include "common/check.h"
#include "net/frame_reader.h"
#include "tests/fuzz/laws.h"

namespace proffer::fuzz {
namespace local_frames_fuzz {
namespace {

using Frames = std::vector<std::vector<std::byte>>;

// The frames before the end, or before the first invalid one; at most `stop_after` of them.
struct FramesRead {
  Frames frames = {};
  FrameReader::Verdict verdict = FrameReader::Verdict::kMore;
  bool operator==(const FramesRead&) const = default;
};

FramesRead read(std::span<const std::byte> bytes, size_t cut, size_t stop_after) {
  FrameReader reader;
  FramesRead found;
  while (!bytes.empty() && found.verdict == FrameReader::Verdict::kMore) {
    const size_t size = std::min(cut, bytes.size());
    found.verdict = reader.take(bytes.first(size), [&](std::span<const std::byte> frame) {
      CHECK(!frame.empty() && frame.size() <= kFrameBytesMax) << frame.size();
      found.frames.emplace_back(frame.begin(), frame.end());
      return found.frames.size() < stop_after;
    });
    bytes = bytes.subspan(size);
    CHECK_LE(reader.pending(), kFrameHeaderBytes + kFrameBytesMax);
  }
  return found;
}

}  // namespace
}  // namespace local_frames_fuzz

void fuzz_local_frames(Input input) {
  using namespace local_frames_fuzz;
  if (input.empty()) return;
  const size_t cut = size_t{input[0]} + 1;
  const std::span<const std::byte> bytes = bytes_of(input.subspan(1));
  const FramesRead whole = read(bytes, std::max<size_t>(bytes.size(), 1), SIZE_MAX);
  // The frames do not depend on the cuts.
  CHECK(read(bytes, cut, SIZE_MAX) == whole) << "cut in " << cut;
  CHECK(read(bytes, 1, SIZE_MAX) == whole) << "cut in bytes";
  if (!whole.frames.empty()) {
    const FramesRead first = read(bytes, cut, 1);
    CHECK(first.verdict == FrameReader::Verdict::kStopped);
    CHECK(first.frames.size() == 1 && first.frames[0] == whole.frames[0]);
  }
  // The frames read are a prefix of the stream.
  std::vector<std::byte> again;
  for (const auto& frame : whole.frames) {
    const auto header = frame_header(frame.size());
    again.insert(again.end(), header.begin(), header.end());
    again.insert(again.end(), frame.begin(), frame.end());
  }
  CHECK_LE(again.size(), bytes.size());
  CHECK(std::equal(again.begin(), again.end(), bytes.begin()));
}

}  // namespace proffer::fuzz
