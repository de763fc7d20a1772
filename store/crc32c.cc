#include "store/crc32c.h"

#include <array>
#include <cstddef>
#include <cstring>

namespace proffer {
namespace {

constexpr size_t kSlices = 8;
using Table = std::array<uint32_t, 256>;

// Table i: the contribution of a byte to the sum when i more bytes have followed it.
constexpr std::array<Table, kSlices> tables() {
  std::array<Table, kSlices> all = {};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0x82f63b78U : 0U);
    all[0][byte] = crc;
  }
  for (size_t i = 1; i < kSlices; ++i) {
    for (size_t byte = 0; byte < 256; ++byte) {
      const uint32_t before = all[i - 1][byte];
      all[i][byte] = (before >> 8) ^ all[0][before & 0xff];
    }
  }
  return all;
}
constexpr std::array<Table, kSlices> kTables = tables();

#ifdef __x86_64__
__attribute__((target("sse4.2"))) uint32_t crc32c_by_instruction(std::string_view bytes,
                                                                 uint32_t before) {
  uint64_t crc = before ^ 0xffffffff;
  for (; bytes.size() >= sizeof(uint64_t); bytes.remove_prefix(sizeof(uint64_t))) {
    uint64_t eight = 0;
    std::memcpy(&eight, bytes.data(), sizeof eight);
    crc = __builtin_ia32_crc32di(crc, eight);
  }
  auto rest = static_cast<uint32_t>(crc);
  for (const char byte : bytes) rest = __builtin_ia32_crc32qi(rest, static_cast<uint8_t>(byte));
  return rest ^ 0xffffffff;
}
#endif

}  // namespace

uint32_t crc32c(std::string_view bytes, uint32_t before) {
#ifdef __x86_64__
  static const bool has_instruction = __builtin_cpu_supports("sse4.2") != 0;
  if (has_instruction) return crc32c_by_instruction(bytes, before);
#endif
  return crc32c_by_tables(bytes, before);
}

uint32_t crc32c_by_tables(std::string_view bytes, uint32_t before) {
  const auto at = [&](size_t i) -> uint32_t { return static_cast<uint8_t>(bytes[i]); };
  uint32_t crc = before ^ 0xffffffff;
  for (; bytes.size() >= kSlices; bytes.remove_prefix(kSlices)) {
    uint32_t next = 0;
    for (size_t i = 0; i < kSlices; ++i) {
      // The previous sum acts as if it were added to the first four bytes.
      const uint32_t byte = at(i) ^ (i < 4 ? (crc >> (8 * i)) & 0xff : 0);
      next ^= kTables[kSlices - 1 - i][byte];
    }
    crc = next;
  }
  for (size_t i = 0; i < bytes.size(); ++i) crc = (crc >> 8) ^ kTables[0][(crc ^ at(i)) & 0xff];
  return crc ^ 0xffffffff;
}

}  // namespace proffer
