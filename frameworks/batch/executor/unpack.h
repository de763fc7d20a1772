#pragma once

// Reading input files, packed or not.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "common/result.h"
#include "frameworks/batch/core/splits.h"

namespace proffer::batch {

// The bytes of a chunk's file, unpacked, in order. One thread.
class InputReader {
 public:
  virtual ~InputReader() = default;
  // The next bytes, a view that the next call ends; empty at the end of the file. Errors:
  // kUnavailable from the system; kCorruption names the file and where in it the damage was
  // noticed.
  virtual Result<std::string_view> next() = 0;
  // Bytes of the file that were read.
  virtual int64_t bytes_read() const = 0;

  // Of a file that is not packed from `offset` on; of others all of it. Errors: kUnavailable.
  static Result<std::unique_ptr<InputReader>> open(const Chunk& chunk, int64_t offset);
};

}  // namespace proffer::batch
