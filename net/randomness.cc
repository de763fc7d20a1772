// getrandom, all or nothing: a secret must have its full randomness.

#include "net/randomness.h"

#include <array>
#include <cerrno>

#include <sys/random.h>

#include "common/check.h"

namespace proffer {
namespace {

template <size_t kSize>
std::array<uint8_t, kSize> random_bytes() {
  std::array<uint8_t, kSize> bytes{};
  ssize_t got = 0;
  do {
    got = getrandom(bytes.data(), bytes.size(), 0);  // up to 256 bytes are returned at once
  } while (got < 0 && errno == EINTR);
  CHECK_EQ(got, static_cast<ssize_t>(kSize)) << "getrandom";
  return bytes;
}

}  // namespace

Secret random_secret() {
  std::string hex;
  for (const uint8_t byte : random_bytes<16>()) {
    hex += "0123456789abcdef"[byte >> 4];
    hex += "0123456789abcdef"[byte & 15];
  }
  return Secret(hex);
}

uint64_t random_seed() {
  uint64_t seed = 0;
  for (const uint8_t byte : random_bytes<8>()) seed = seed << 8 | byte;
  return seed;
}

}  // namespace proffer
