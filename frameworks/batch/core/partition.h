#pragma once

// Which reducer gets which line.

#include <cstdint>
#include <string_view>

namespace proffer::batch {

// FNV-1a, 64 bits: of a key it chooses the partition, of a partition it is the checksum.
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

// The bytes before the first TAB; a line without one is all key.
inline std::string_view key_of(std::string_view line) { return line.substr(0, line.find('\t')); }

// The partition of a line (without its newline) among `reducers`, at least 1.
inline uint32_t partition_of(std::string_view line, uint32_t reducers) {
  Fnv1a64 hash;
  hash.add(key_of(line));
  return static_cast<uint32_t>(hash.value() % reducers);
}

}  // namespace proffer::batch
