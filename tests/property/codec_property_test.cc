// Laws of the codec over generated messages: decoding reverses encoding, equal values have equal
// bytes, and no bytes can crash the decoder or give a value beyond its bounds.

#include <cstring>

#include <gtest/gtest.h>

#include "common/check.h"
#include "proto/codec/codec.h"
#include "proto/codec/records.h"
#include "tests/support/message_generator.h"

namespace proffer::proto::codec_property_test {
namespace {

using Bytes = std::vector<std::byte>;

Bytes bytes_of(Encoder& encoder, const Envelope& envelope) {
  const auto frame = encoder.encode(envelope);
  CHECK(frame.has_value()) << frame.error().message();
  return {frame->begin(), frame->end()};
}

// A frame; empty if this envelope is too large for a frame.
std::optional<Bytes> try_bytes(Encoder& encoder, const Envelope& envelope) {
  const auto frame = encoder.encode(envelope);
  if (frame) return Bytes(frame->begin(), frame->end());
  EXPECT_EQ(frame.error().code(), ErrorCode::kResourceExhausted);
  return std::nullopt;
}

TEST(CodecProperty, EveryMessageComesOutAsItWentIn) {
  Encoder encoder;
  int too_large = 0;
  for (size_t index = 1; index < MessageGenerator::kMessageCount; ++index) {
    for (uint64_t seed = 0; seed < 150; ++seed) {
      MessageGenerator generator(seed * 1000 + index);
      const Envelope envelope = generator.envelope(generator.message(index));
      ASSERT_EQ(envelope.message->index(), index);
      const std::optional<Bytes> frame = try_bytes(encoder, envelope);
      if (!frame) {
        ++too_large;
        continue;
      }
      const Result<Envelope> decoded = decode(*frame);
      ASSERT_TRUE(decoded) << message_name(*envelope.message) << " seed " << seed << ": "
                           << decoded.error().message();
      ASSERT_EQ(*decoded, envelope) << message_name(*envelope.message) << " seed " << seed;
      ASSERT_EQ(bytes_of(encoder, *decoded), *frame) << message_name(*envelope.message);
    }
  }
  EXPECT_LT(too_large, 50);
}

TEST(CodecProperty, EveryRecordComesOutAsItWentIn) {
  for (uint64_t seed = 0; seed < 300; ++seed) {
    MessageGenerator generator(seed);
    for (size_t index = 0; index < std::variant_size_v<RegistryRow>; ++index) {
      const RegistryRow row = generator.row(index);
      const std::string bytes = encode_row(row);
      const Result<RegistryRow> decoded = decode_row(table_of(row), key_of(row), bytes);
      ASSERT_TRUE(decoded) << "seed " << seed << ": " << decoded.error().message();
      ASSERT_EQ(*decoded, row) << "seed " << seed;
      ASSERT_EQ(encode_row(*decoded), bytes) << "seed " << seed;
    }
    for (size_t index = 0; index < std::variant_size_v<CheckpointRecord>; ++index) {
      const CheckpointRecord record = generator.record(index);
      const std::string bytes = encode_record(record);
      const Result<CheckpointRecord> decoded = decode_record(bytes);
      ASSERT_TRUE(decoded) << "seed " << seed << ": " << decoded.error().message();
      ASSERT_EQ(*decoded, record) << "seed " << seed;
      ASSERT_EQ(encode_record(*decoded), bytes) << "seed " << seed;
    }
  }
}

// Makes one change that a hostile or broken peer could make.
void mutate(Prng& prng, const Bytes& other, Bytes& frame) {
  const auto at = [&] { return prng.below(frame.size()); };
  const uint64_t changes = 1 + prng.below(4);
  for (uint64_t i = 0; i < changes && !frame.empty(); ++i) {
    switch (prng.below(6)) {
      case 0:
        frame[at()] ^= static_cast<std::byte>(1u << prng.below(8));
        break;
      case 1:
        frame[at()] = static_cast<std::byte>(prng.below(256));
        break;
      case 2:
        frame.resize(prng.below(frame.size() / 8 + 1) * 8);
        break;
      case 3:
        frame.resize(at());
        break;
      case 4: {  // copies one word over another: often a pointer to a wrong place
        if (frame.size() < 16) break;
        const size_t to = prng.below(frame.size() / 8) * 8;
        const size_t from = prng.below(frame.size() / 8) * 8;
        std::memcpy(frame.data() + to, Bytes(&frame[from], &frame[from] + 8).data(), 8);
        break;
      }
      default: {  // the beginning of one and the end of another
        const size_t cut = prng.below(frame.size() / 8 + 1) * 8;
        frame.resize(cut);
        if (cut < other.size()) frame.insert(frame.end(), &other[cut], &other[0] + other.size());
      }
    }
  }
}

// A decoded value is within bounds, so it can be sent again with the same meaning. (It may be too
// large if pointers of the frame shared their targets.)
void expect_sound(Encoder& encoder, const Envelope& decoded, uint64_t seed) {
  if (std::holds_alternative<Unknown>(*decoded.message)) return;
  const std::optional<Bytes> again = try_bytes(encoder, decoded);
  if (!again) return;
  const Result<Envelope> twice = decode(*again);
  ASSERT_TRUE(twice) << "seed " << seed << ": " << twice.error().message();
  ASSERT_EQ(*twice, decoded) << "seed " << seed;
}

TEST(CodecProperty, MutatedFramesAreRefusedOrSound) {
  Encoder encoder;
  int decoded_count = 0;
  for (uint64_t seed = 0; seed < 20'000; ++seed) {
    MessageGenerator generator(seed);
    std::optional<Bytes> frame = try_bytes(encoder, generator.envelope());
    if (!frame || frame->size() > 64 * 1024) continue;
    const std::optional<Bytes> other = try_bytes(encoder, generator.envelope());
    mutate(generator.prng(), other.value_or(*frame), *frame);
    const Result<Envelope> decoded = decode(*frame);
    if (!decoded) continue;
    ++decoded_count;
    expect_sound(encoder, *decoded, seed);
    if (HasFatalFailure()) return;
  }
  EXPECT_GT(decoded_count, 1000);  // otherwise the mutations would test only the first check
}

TEST(CodecProperty, MutatedRecordsAreRefusedOrSound) {
  for (uint64_t seed = 0; seed < 5'000; ++seed) {
    MessageGenerator generator(seed);
    const std::string good =
        encode_record(generator.record(seed % std::variant_size_v<CheckpointRecord>));
    if (good.size() > 64 * 1024) continue;
    const auto* begin = reinterpret_cast<const std::byte*>(good.data());
    Bytes bytes(begin, begin + good.size());
    mutate(generator.prng(), Bytes(bytes), bytes);
    const Result<CheckpointRecord> decoded =
        decode_record({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    if (!decoded) continue;
    const Result<CheckpointRecord> twice = decode_record(encode_record(*decoded));
    ASSERT_TRUE(twice) << "seed " << seed << ": " << twice.error().message();
    ASSERT_EQ(*twice, *decoded) << "seed " << seed;
  }
}

TEST(CodecProperty, RandomBytesAreRefused) {
  Prng prng(7);
  Encoder encoder;
  for (uint64_t seed = 0; seed < 20'000; ++seed) {
    Bytes frame(prng.below(64) * 8);
    for (std::byte& b : frame) b = static_cast<std::byte>(prng.chance(1, 2) ? 0 : prng.below(256));
    if (frame.size() >= 8 && prng.chance(3, 4)) {  // with a valid segment table
      const uint32_t table[2] = {0, static_cast<uint32_t>(frame.size() / 8 - 1)};
      std::memcpy(frame.data(), table, sizeof table);
    }
    const Result<Envelope> decoded = decode(frame);
    if (decoded) expect_sound(encoder, *decoded, seed);
    if (HasFatalFailure()) return;
  }
}

TEST(CodecProperty, TruncatedAnywhereAFrameIsRefused) {
  Encoder encoder;
  MessageGenerator generator(3);
  for (size_t index = 1; index < MessageGenerator::kMessageCount; ++index) {
    const std::optional<Bytes> frame =
        try_bytes(encoder, generator.envelope(generator.message(index)));
    if (!frame) continue;
    const size_t step = frame->size() > 4096 ? 509 : 1;
    for (size_t size = 0; size < frame->size(); size += step) {
      ASSERT_FALSE(decode(std::span(frame->data(), size))) << size << " of " << frame->size();
    }
  }
}

}  // namespace
}  // namespace proffer::proto::codec_property_test
