#pragma once

// Frames as text. Also compiled in the sources of earlier versions, so it includes none of our
// headers.

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace proffer::upgrade_test {

inline std::string hex(std::span<const std::byte> bytes) {
  std::string out;
  for (const std::byte byte : bytes) {
    constexpr const char* kDigits = "0123456789abcdef";
    out += kDigits[std::to_integer<int>(byte) >> 4];
    out += kDigits[std::to_integer<int>(byte) & 15];
  }
  return out;
}

inline std::vector<std::byte> unhex(const std::string& text) {
  std::vector<std::byte> out;
  for (size_t i = 0; i + 1 < text.size(); i += 2) {
    out.push_back(static_cast<std::byte>(std::stoi(text.substr(i, 2), nullptr, 16)));
  }
  return out;
}

}  // namespace proffer::upgrade_test
