#pragma once

// How much may still be written: a limit per task, and the free space that the disk must keep.

#include <cstddef>
#include <cstdint>

#include "common/result.h"

namespace proffer::fetcher {

class Room {
 public:
  // `directory` is on the disk in question and must stay open.
  Room(int directory, int64_t bytes_max, int64_t disk_reserve)
      : directory_(directory), bytes_max_(bytes_max), left_(bytes_max), reserve_(disk_reserve) {}

  // To be called before bytes are written. Errors: kResourceExhausted names the limit.
  Result<void> take(size_t bytes);
  // Bytes that were taken have been removed.
  void give_back(int64_t bytes) { left_ += bytes; }

 private:
  int directory_;
  int64_t bytes_max_;
  int64_t left_;
  int64_t reserve_;
  int64_t until_look_ = 0;  // bytes until the disk is checked again
};

// Writes all bytes at `offset`. Errors: kResourceExhausted (disk full), kUnavailable.
Result<void> write_at(int fd, const void* bytes, size_t size, int64_t offset);

}  // namespace proffer::fetcher
