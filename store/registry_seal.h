#pragma once

// How far a registry has come, in a small file beside it. SQLite silently drops the end of a
// write-ahead log in which one bit is wrong, and a database that was put back from a copy is whole,
// too: only a second place tells that either lacks what was acknowledged.
//
// The file is two lines for people; the older one is overwritten after each commit: a
// write that the disk cut leaves the other. An orderly end leaves only the newest line, since a
// master of the version before reads one line.
//   epoch 000000000000000003 commits 000000000000000017 crc 1a2b3c4d
//   epoch 000000000000000003 commits 000000000000000016 crc 5e6f7a8b
// It is flushed when an epoch begins, not with each commit, so after a loss of power it may be
// behind the registry, never ahead of it. It is never empty: the first one gets its name with its
// line in it. Thread rule: one thread at a time; everything blocks.

#include <optional>
#include <string>

#include "common/result.h"
#include "store/registry_snapshot.h"

namespace proffer {

class RegistrySeal {
 public:
  // Opens the file; if there is none, the first write() makes it. Errors: kCorruption: it is empty
  // or holds something else; kUnavailable.
  static Result<RegistrySeal> open(const std::string& path);
  // One that the first write() puts in the place of what is there.
  static RegistrySeal anew(const std::string& path) { return {path, -1}; }
  // What the file says, without changing anything; none: there is no such file. Errors as open().
  static Result<std::optional<RegistryProgress>> read(const std::string& path);
  ~RegistrySeal();
  RegistrySeal(RegistrySeal&& other) noexcept;
  RegistrySeal& operator=(RegistrySeal&&) = delete;

  // What it said when it was opened; none: there was none, or it is anew.
  const std::optional<RegistryProgress>& found() const { return found_; }

  // Errors: kUnavailable, kResourceExhausted: the file says what it said before.
  Result<void> write(const RegistryProgress& progress);
  // Flushes it, and its name with its directory.
  Result<void> sync();

 private:
  RegistrySeal(std::string path, int fd) : path_(std::move(path)), fd_(fd) {}
  Result<void> read();
  Result<void> make(const std::string& line);
  void leave_one_line();
  Error failure(const char* what) const;

  std::string path_;
  int fd_ = -1;  // before the first write(): none
  std::optional<RegistryProgress> found_;
  std::optional<size_t> newest_;             // the line that says it; none: no line says anything
  std::optional<RegistryProgress> written_;  // by this one, the latest
};

}  // namespace proffer
