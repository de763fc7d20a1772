#pragma once

// One call of the system fails, chosen by its number: of those that this thread makes to read,
// write, flush, open, name and remove files, in this program and in the libraries that it loads.

#include <cstddef>
#include <string>

namespace proffer::store_test {

enum class IoFault {
  kNoSpace,     // ENOSPC; of calls that need room
  kError,       // EIO; of all
  kShortWrite,  // half of the bytes are written, and nothing after them: ENOSPC for the rest
};

// While it lives, calls are counted from 0, and the one numbered `index` of those that can fail so
// fails. One at a time.
class FailingIo {
 public:
  FailingIo(IoFault fault, size_t index);
  ~FailingIo();
  FailingIo(const FailingIo&) = delete;
  FailingIo& operator=(const FailingIo&) = delete;

  // Counts a call. True: it is to fail.
  bool fails(const char* call, bool needs_room);
  // As fails() for a write: how many bytes it is to write, and then no more; at least 0 fails it.
  bool fails_write(const char* call, size_t bytes, size_t& written);

  bool has_failed() const { return !failed_.empty(); }
  const std::string& failed() const { return failed_; }  // the call's name
  int error() const;

 private:
  IoFault fault_;
  size_t left_;
  bool rest_fails_ = false;  // of a write that was cut
  std::string failed_ = {};
};

}  // namespace proffer::store_test
