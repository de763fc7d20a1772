#pragma once

// The progress of a registry, in a small file beside it. SQLite silently drops the end of a
// write-ahead log with a wrong bit, and a database that was restored from a copy is intact, too.
// Only a second file shows that acknowledged commits are missing.
//
// The file has two readable lines; the older one is overwritten after each commit, so if the disk
// cuts a write, the other line remains. An orderly end leaves only the newest line, since a master
// of the earlier version reads one line.
//   epoch 000000000000000003 commits 000000000000000017 crc 1a2b3c4d
//   epoch 000000000000000003 commits 000000000000000016 crc 5e6f7a8b
// It is flushed when an epoch begins, not with each commit. So after a power failure it may be
// behind the registry, but never ahead. It is never empty: the first file gets its name only with
// its line in it. Thread rule: one thread at a time; all calls block.

#include <optional>
#include <string>

#include "common/result.h"
#include "store/registry_snapshot.h"

namespace proffer {

class RegistrySeal {
 public:
  // Opens the file; if there is none, the first write() makes it. Errors: kCorruption: it is empty
  // or has another content; kUnavailable.
  static Result<RegistrySeal> open(const std::string& path);
  // A seal whose first write() replaces the existing file.
  static RegistrySeal anew(const std::string& path) { return {path, -1}; }
  // The content of the file, which is not changed; none: there is no such file. Errors as open().
  static Result<std::optional<RegistryProgress>> read(const std::string& path);
  ~RegistrySeal();
  RegistrySeal(RegistrySeal&& other) noexcept;
  RegistrySeal& operator=(RegistrySeal&&) = delete;

  // The content when it was opened; none: there was none, or it is anew.
  const std::optional<RegistryProgress>& found() const { return found_; }

  // Errors: kUnavailable, kResourceExhausted: the content of the file is unchanged.
  Result<void> write(const RegistryProgress& progress);
  // Flushes the file and its directory.
  Result<void> sync();

 private:
  RegistrySeal(std::string path, int fd) : path_(std::move(path)), fd_(fd) {}
  Result<void> read();
  Result<void> make(const std::string& line);
  void leave_one_line();
  Error failure(const char* what) const;

  std::string path_;
  int fd_ = -1;  // -1 before the first write()
  std::optional<RegistryProgress> found_;
  std::optional<size_t> newest_;  // the line with the latest progress; none: no line is valid
  std::optional<RegistryProgress> written_;  // the last progress that this object has written
};

}  // namespace proffer
