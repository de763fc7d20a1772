#pragma once

// The records that processes of a kill storm write: one record per line, one write per record, to
// files that Proffer does not know. A kill -9 may cut a write only at the end of a file's page. The
// size of a record divides the page size, so each record is there as a whole or not at all.

#include <cstdint>
#include <ctime>
#include <string>

#include <fcntl.h>
#include <unistd.h>

namespace proffer::test {

inline constexpr size_t kRecordBytes = 128;  // with the newline

// Nanoseconds of the monotonic clock that all processes of this machine share.
inline int64_t now_nanos() {
  timespec now = {};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<int64_t>(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

class RecordFile {
 public:
  explicit RecordFile(const char* path)
      : fd_(::open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600)) {}
  ~RecordFile() { ::close(fd_); }
  RecordFile(const RecordFile&) = delete;
  RecordFile& operator=(const RecordFile&) = delete;

  // Writes "WORD TIME rest". Ends the process if that fails: a missing record would make the oracle
  // accuse Proffer wrongly.
  void write(const char* word, int64_t at, const std::string& rest) const {
    std::string line = word;
    line += ' ' + std::to_string(at) + ' ' + rest;
    if (line.size() >= kRecordBytes) ::_exit(99);
    line.resize(kRecordBytes - 1, ' ');
    line += '\n';
    if (::write(fd_, line.data(), line.size()) != static_cast<ssize_t>(line.size())) ::_exit(98);
  }
  void write(const char* word, const std::string& rest) const { write(word, now_nanos(), rest); }

 private:
  int fd_;
};

}  // namespace proffer::test
