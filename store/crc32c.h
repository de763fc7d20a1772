#pragma once

#include <cstdint>
#include <string_view>

namespace proffer {

// CRC-32C (Castagnoli), as in iSCSI (RFC 3720): crc32c("123456789") is 0xe3069283. Eight bytes at a
// time by tables (Kounavis and Berry, "A systematic approach to building high performance
// software-based CRC generators", ISCC 2005): records of events and of the registry have one each.
uint32_t crc32c(std::string_view bytes);

}  // namespace proffer
