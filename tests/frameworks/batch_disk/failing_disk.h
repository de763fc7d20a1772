#pragma once

// A disk that fails once, for processes that a test forks: one of their calls on files of one
// directory fails, selected by its number. The calls of all processes are counted together.

#include <cstdint>
#include <string>

namespace proffer::batch::disk_test {

enum class Fault {
  kNoSpace,     // ENOSPC; counts calls that need room
  kError,       // EIO; counts all calls
  kShortWrite,  // half of the bytes are written, ENOSPC for the rest
  kKill,        // the process is killed
  kFull,        // from this call on, there is no new room until mend()
};
const char* to_text(Fault fault);

class FailingDisk {
 public:
  // `index` counts from 0; with a negative one, no call fails.
  FailingDisk(std::string root, Fault fault, int64_t index);
  ~FailingDisk();
  FailingDisk(const FailingDisk&) = delete;
  FailingDisk& operator=(const FailingDisk&) = delete;

  // From here on the calls of this process count. Call it in a forked process.
  void begin();
  // The disk has room again.
  void mend();

  int64_t counted() const;
  // The failed call and its file; empty if no call failed.
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
