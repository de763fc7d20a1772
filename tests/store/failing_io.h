#pragma once

// One system call fails, selected by its number among the calls of this thread that read, write,
// flush, open, rename and remove files, in this program and its libraries.

#include <cstddef>
#include <string>

namespace proffer::store_test {

enum class IoFault {
  kNoSpace,     // ENOSPC; counts calls that need room
  kError,       // EIO; counts all calls
  kShortWrite,  // half of the bytes are written, then nothing more: ENOSPC for the rest
};

// During its lifetime, calls that can fail like this are counted from 0, and call `index` fails.
// One instance at a time.
class FailingIo {
 public:
  FailingIo(IoFault fault, size_t index);
  ~FailingIo();
  FailingIo(const FailingIo&) = delete;
  FailingIo& operator=(const FailingIo&) = delete;

  // Counts a call. True: it must fail.
  bool fails(const char* call, bool needs_room);
  // Like fails(), for a write: sets how many bytes to write before it fails; 0 fails at once.
  bool fails_write(const char* call, size_t bytes, size_t& written);

  bool has_failed() const { return !failed_.empty(); }
  const std::string& failed() const { return failed_; }  // the call's name
  int error() const;

 private:
  IoFault fault_;
  size_t left_;
  bool rest_fails_ = false;  // the rest of a short write fails
  std::string failed_ = {};
};

}  // namespace proffer::store_test
