#pragma once

// Reads input files, compressed or not.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "common/result.h"
#include "frameworks/batch/core/splits.h"

namespace proffer::batch {

// The unpacked bytes of a chunk's file, in order. One thread.
class InputReader {
 public:
  virtual ~InputReader() = default;
  // Returns the next bytes, as a view that is valid until the next call; empty at the end of the
  // file. Errors: kUnavailable from the system; kCorruption names the file and the place where the
  // damage was noticed.
  virtual Result<std::string_view> next() = 0;
  // Bytes of the file that were read.
  virtual int64_t bytes_read() const = 0;

  // Reads a file that is not compressed from `offset` on, others from the start. Errors:
  // kUnavailable.
  static Result<std::unique_ptr<InputReader>> open(const Chunk& chunk, int64_t offset);
};

}  // namespace proffer::batch
