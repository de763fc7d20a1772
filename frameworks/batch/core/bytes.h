#pragma once

// The byte encodings of batch (common/bytes.h) begin with a tag, and have these bounds.

#include <cstdint>
#include <string_view>

#include "common/bytes.h"
#include "common/result.h"
#include "common/text.h"

namespace proffer::batch {

// In one task's result: sums over all tasks of a job stay within 63 bits.
inline constexpr int64_t kResultMax = int64_t{1} << 46;

inline Error corrupt(std::string_view what) {
  return Error::corruption(
      text("cannot read ", what, " of batch, perhaps written by another version of Proffer"));
}

}  // namespace proffer::batch
