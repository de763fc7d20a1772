#pragma once

// Bytes as hexadecimal digits, two for each, in lower case: for JSON and tokens, which are text.

#include <optional>
#include <string>
#include <string_view>

namespace proffer {

std::string to_hex(std::string_view bytes);

// The reverse of to_hex(); none unless `digits` is an even number of such digits.
std::optional<std::string> from_hex(std::string_view digits);

}  // namespace proffer
