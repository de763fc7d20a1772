#pragma once

// Amounts of bytes as people write them: 4G, 4Gi and 4GiB are the same, powers of 1024.

#include <cstdint>
#include <string_view>

#include "common/result.h"

namespace proffer {

struct ByteText {
  std::string_view number = {};  // not checked
  bool has_unit = false;
  int shift = 0;  // the unit is 2 to this power, in bytes; 0 for B
};

// Splits a text into its number and unit: B, K, M, G or T, the last four also with i or iB. Errors:
// kInvalidArgument for another unit; for KB, MB, GB and TB, which people read in two ways, it gives
// both.
Result<ByteText> split_byte_text(std::string_view text);

}  // namespace proffer
