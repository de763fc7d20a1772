#pragma once

#include <cstdint>
#include <string_view>

namespace proffer {

// CRC-32C (Castagnoli), as in iSCSI (RFC 3720): crc32c("123456789") is 0xe3069283. `before`: the
// checksum of the preceding bytes, to checksum a text in parts. Each event record and registry row
// has a checksum, so it must be fast: it uses the processor's instruction (SSE 4.2), or else
// tables, eight bytes at a time (Kounavis and Berry, "A systematic approach to building high
// performance software-based CRC generators", ISCC 2005).
uint32_t crc32c(std::string_view bytes, uint32_t before = 0);

// The same with tables, on any processor.
uint32_t crc32c_by_tables(std::string_view bytes, uint32_t before = 0);

}  // namespace proffer
