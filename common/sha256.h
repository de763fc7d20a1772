#pragma once

// SHA-256 (FIPS 180-4) and HMAC (RFC 2104) with it, for cores, which link no library of
// cryptography.

#include <string>
#include <string_view>

namespace proffer {

inline constexpr size_t kSha256Bytes = 32;

std::string sha256(std::string_view bytes);
std::string hmac_sha256(std::string_view key, std::string_view bytes);

// Whether both are the same, in a time that does not say where they differ.
bool same_in_constant_time(std::string_view a, std::string_view b);

}  // namespace proffer
