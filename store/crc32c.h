#pragma once

#include <cstdint>
#include <string_view>

namespace proffer {

// CRC-32C (Castagnoli), as in iSCSI (RFC 3720): crc32c("123456789") is 0xe3069283. `before`: the
// checksum of the bytes in front of these, so that a whole may be checked in parts. Records of
// events and of the registry have one each, so it is fast: by the processor's instruction (SSE 4.2)
// where there is one, else by tables, eight bytes at a time (Kounavis and Berry, "A systematic
// approach to building high performance software-based CRC generators", ISCC 2005).
uint32_t crc32c(std::string_view bytes, uint32_t before = 0);

// The same by tables, on any processor.
uint32_t crc32c_by_tables(std::string_view bytes, uint32_t before = 0);

}  // namespace proffer
