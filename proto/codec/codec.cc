// Frames out and in: this file checks the version, wire_writer.cc and wire_reader.cc do the rest.

#include "proto/codec/codec.h"

#include <cstdlib>
#include <cstring>
#include <optional>

#include "common/check.h"
#include "common/limits.h"
#include "common/text.h"
#include "proto/codec/stream.h"
#include "proto/codec/wire_reader.h"
#include "proto/codec/wire_writer.h"

namespace proffer::proto {
namespace {

constexpr size_t kFrameWordsMax = kFrameBytesMax / sizeof(capnp::word);
constexpr size_t kHeaderWords = 1;  // The table of one segment.

struct Free {
  void operator()(capnp::word* words) const { std::free(words); }  // from calloc
};

Result<void> check_version(uint32_t version) {
  if (version >= kProtocolVersionMin && version <= kProtocolVersion) return {};
  return Error::unsupported(text("protocol version ", version, " is not supported; supported are ",
                                 kProtocolVersionMin, " to ", kProtocolVersion))
      .with_hint("use versions of Proffer that are at most one protocol version apart");
}

}  // namespace

// The first segment is as large as the largest frame, so that every frame is this one segment, in
// place behind its header. Pages that no frame needed are never touched. A builder zeroes its used
// memory when it is destroyed, so it stays until the next frame.
struct Encoder::Memory {
  std::unique_ptr<capnp::word, Free> words{
      static_cast<capnp::word*>(std::calloc(kFrameWordsMax, sizeof(capnp::word)))};
  std::optional<capnp::MallocMessageBuilder> builder = {};
};

Encoder::Encoder() : memory_(std::make_unique<Memory>()) { CHECK(memory_->words != nullptr); }
Encoder::~Encoder() = default;

Result<std::span<const std::byte>> Encoder::encode(const Envelope& envelope) {
  if (const auto* unknown = std::get_if<Unknown>(&*envelope.message)) {
    return Error::invalid_argument(text("an unknown message cannot be sent, tag ", unknown->tag));
  }
  capnp::word* header = memory_->words.get();
  memory_->builder.emplace(kj::arrayPtr(header + kHeaderWords, kFrameWordsMax - kHeaderWords));
  auto root = memory_->builder->initRoot<wire::Envelope>();
  root.setVersion(envelope.version);
  root.setLeader(envelope.leader.value());
  root.setSequence(envelope.sequence);
  write_message(*envelope.message, root);

  const auto segments = memory_->builder->getSegmentsForOutput();
  if (segments.size() != 1) {
    memory_->builder.reset();  // releases the parts that did not fit
    return Error::resource_exhausted(text("message ", message_name(*envelope.message),
                                          " is larger than ", kFrameBytesMax, " bytes"));
  }
  const uint32_t table[2] = {0, static_cast<uint32_t>(segments[0].size())};
  static_assert(sizeof table == kHeaderWords * sizeof(capnp::word));
  std::memcpy(static_cast<void*>(header), table, sizeof table);
  return std::span(reinterpret_cast<const std::byte*>(header),
                   (kHeaderWords + segments[0].size()) * sizeof(capnp::word));
}

Result<Envelope> decode(std::span<const std::byte> frame) {
  Result<Envelope> result{Envelope{}};
  Envelope& envelope = *result;
  Result<void> read =
      read_stream(frame, kFrameBytesMax, [&](capnp::MessageReader& message) -> Result<void> {
        const auto root = message.getRoot<wire::Envelope>();
        envelope.version = root.getVersion();
        if (Result<void> spoken = check_version(envelope.version); !spoken) return spoken;
        envelope.leader = LeaderEpoch(root.getLeader());
        envelope.sequence = root.getSequence();
        WireReader reader;
        reader.read(root, *envelope.message);
        if (!reader.ok()) return reader.take_error().in(message_name(*envelope.message));
        return {};
      });
  if (!read) result = std::move(read).error();
  return result;
}

}  // namespace proffer::proto
