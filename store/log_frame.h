#pragma once

// The frame before each record of a CheckpointLog's file: mark u32, length u32, and the CRC-32C of
// length and record u32. Numbers are little-endian. Inside of store/ only.

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "store/crc32c.h"

namespace proffer {

inline constexpr size_t kFrameBytes = 12;
inline constexpr size_t kFrameLengthAt = 4;
inline constexpr size_t kFrameChecksumAt = 8;

// At `at`, where four bytes are.
inline void set_u32(std::string& bytes, size_t at, uint32_t value) {
  for (size_t i = 0; i < 4; ++i) bytes[at + i] = static_cast<char>((value >> (8 * i)) & 0xff);
}

inline void put_u32(std::string& out, uint32_t value) {
  out.append(4, '\0');
  set_u32(out, out.size() - 4, value);
}

inline uint32_t get_u32(std::string_view bytes, size_t at) {
  uint32_t value = 0;
  for (size_t i = 0; i < 4; ++i) {
    value |= static_cast<uint32_t>(static_cast<uint8_t>(bytes[at + i])) << (8 * i);
  }
  return value;
}

// `length`: the four bytes of a frame that tell the size of `record`.
inline uint32_t checksum_of_record(std::string_view length, std::string_view record) {
  return crc32c(record, crc32c(length));
}

}  // namespace proffer
