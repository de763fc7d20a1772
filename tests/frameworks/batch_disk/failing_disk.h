#pragma once

// A disk that fails once, under processes that a test forks: of the calls that they make on files
// of one directory, one fails, chosen by its number. Calls of all of them are counted together.

#include <cstdint>
#include <string>

namespace proffer::batch::disk_test {

enum class Fault {
  kNoSpace,     // ENOSPC; of calls that need room
  kError,       // EIO; of all
  kShortWrite,  // half of the bytes are written, and ENOSPC for the rest
  kKill,        // the process is killed
  kFull,        // from this call on nothing finds new room, until mend()
};
const char* to_text(Fault fault);

class FailingDisk {
 public:
  // `index` counts from 0; below 0 nothing fails.
  FailingDisk(std::string root, Fault fault, int64_t index);
  ~FailingDisk();
  FailingDisk(const FailingDisk&) = delete;
  FailingDisk& operator=(const FailingDisk&) = delete;

  // From here on the calls of this process count; in a forked one.
  void begin();
  // There is room again.
  void mend();

  int64_t counted() const;
  // The call that failed and its file; empty if none did.
  std::string failed() const;

 private:
  friend class Calls;
  struct Shared;
  const std::string root_;
  const Fault fault_;
  const int64_t index_;
  Shared* const shared_;
};

}  // namespace proffer::batch::disk_test
