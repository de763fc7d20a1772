// Reads a hostile buffer: size, segment table and alignment are checked here; kj checks pointers
// while it follows them.

#include "proto/codec/stream.h"

#include <cstring>
#include <memory>

#include <capnp/serialize.h>

#include "common/limits.h"
#include "common/printable.h"
#include "common/text.h"

namespace proffer::proto {
namespace {

Error malformed(std::string why) {
  return Error::invalid_argument("malformed frame: " + std::move(why));
}

// kj checks most of this too, but allows bytes after the message.
Result<void> check_table(std::span<const std::byte> bytes) {
  const auto entry = [&](size_t i) {  // little-endian, like all supported machines
    uint32_t value = 0;
    std::memcpy(&value, bytes.data() + 4 * i, sizeof value);
    return value;
  };
  const uint64_t segments = uint64_t{entry(0)} + 1;
  if (segments > kSegmentsMax) {
    return malformed(text(segments, " segments; at most ", kSegmentsMax, " are allowed"));
  }
  const uint64_t table_words = segments / 2 + 1;
  if (table_words * 8 > bytes.size()) return malformed("the segment table is truncated");
  uint64_t words = table_words;
  for (size_t i = 1; i <= segments; ++i) words += entry(i);
  if (words * 8 != bytes.size()) {
    return malformed(text("the segments have ", words * 8, " bytes, the frame ", bytes.size()));
  }
  return {};
}

}  // namespace

Result<void> read_stream(std::span<const std::byte> bytes, size_t bytes_max,
                         const std::function<Result<void>(capnp::MessageReader&)>& read) {
  if (bytes.size() > bytes_max) {
    return malformed(text(bytes.size(), " bytes; at most ", bytes_max, " are allowed"));
  }
  if (bytes.empty() || bytes.size() % sizeof(capnp::word) != 0) {
    return malformed(text(bytes.size(), " bytes, not a multiple of 8"));
  }
  if (Result<void> checked = check_table(bytes); !checked) return checked;

  // Most frames are unaligned (ZeroMQ returns views into its receive buffer), and kj refuses those.
  constexpr size_t kSmallBytes = 2048;
  alignas(capnp::word) std::byte small[kSmallBytes];
  std::unique_ptr<std::byte[]> large;
  const std::byte* aligned = bytes.data();
  if (reinterpret_cast<uintptr_t>(aligned) % alignof(uint64_t) != 0) {
    std::byte* copy = small;
    if (bytes.size() > kSmallBytes) {
      large.reset(new std::byte[bytes.size()]);  // Aligned for any type; not zeroed.
      copy = large.get();
    }
    std::memcpy(copy, bytes.data(), bytes.size());
    aligned = copy;
  }

  capnp::ReaderOptions options;
  options.traversalLimitInWords =
      bytes_max / sizeof(capnp::word) + (kTraversalWordsMax - kFrameBytesMax / 8);
  options.nestingLimit = kNestingMax;
  try {
    capnp::FlatArrayMessageReader reader(
        {reinterpret_cast<const capnp::word*>(aligned), bytes.size() / sizeof(capnp::word)},
        options);
    return read(reader);
  } catch (const kj::Exception& thrown) {  // not what(), which would run a debugger for the stack
    return malformed(printable(thrown.getDescription().cStr()));  // the text may quote the frame
  }
}

}  // namespace proffer::proto
