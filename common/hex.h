#pragma once

// Bytes as digits, two for each, in small letters: in JSON and in tokens, which are text.

#include <optional>
#include <string>
#include <string_view>

namespace proffer {

std::string to_hex(std::string_view bytes);

// The bytes that to_hex() was given; nothing unless there is an even number of such digits.
std::optional<std::string> from_hex(std::string_view digits);

}  // namespace proffer
