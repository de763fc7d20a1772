#pragma once

// SHA-256 (FIPS 180-4) and HMAC (RFC 2104), for cores, which link no cryptographic library.

#include <string>
#include <string_view>

namespace proffer {

inline constexpr size_t kSha256Bytes = 32;

std::string sha256(std::string_view bytes);
std::string hmac_sha256(std::string_view key, std::string_view bytes);

// Compares both in a time that does not depend on where they differ.
bool same_in_constant_time(std::string_view a, std::string_view b);

}  // namespace proffer
