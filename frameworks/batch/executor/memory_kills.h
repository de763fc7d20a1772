#pragma once

// Processes of this executor's commands that the kernel killed because they were out of memory.

#include <cstdint>
#include <string>

namespace proffer::batch {

class MemoryKills {
 public:
  // Finds the control group of this process, of version 1 or 2.
  MemoryKills();
  // The number of killed processes since the last call, or since the start. 0 without a control
  // group. Reads one small file.
  int64_t take_new();

 private:
  int64_t read() const;

  std::string path_;  // of the file with the counter; empty: there is none
  int64_t seen_ = 0;
};

}  // namespace proffer::batch
