#pragma once

#include <cstdint>
#include <string_view>

namespace proffer::batch {

// FNV-1a, 64 bits. It chooses the partition of a key, and is the checksum of bytes.
class Fnv1a64 {
 public:
  void add(std::string_view bytes) {
    for (const char c : bytes) {
      value_ ^= static_cast<unsigned char>(c);
      value_ *= 0x100000001B3u;
    }
  }
  uint64_t value() const { return value_; }

 private:
  uint64_t value_ = 0xCBF29CE484222325u;
};

}  // namespace proffer::batch
