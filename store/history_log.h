#pragma once

// A log that grows at its end and is removed at its beginning: files of limited size in one
// directory, with limits on their total size and their age. Each has the format of
// store/checkpoint_log.h, so a crash costs at most the records that are being written, and damage
// only the damaged part. Records are opaque.
//
// The directory contains <number of 12 digits>.log; later files have higher numbers. All calls
// block. Thread rule: one thread at a time, but read() from any.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/result.h"
#include "common/time.h"
#include "store/checkpoint_log.h"

namespace proffer {

// Per directory. Each has up to HistoryLogOptions::bytes_max.
inline constexpr size_t kLogsAsideMax = 2;

struct HistoryLogOptions {
  std::string directory = {};  // made if it is missing, mode 0700
  uint64_t bytes_max = uint64_t{256} << 20;
  Duration age_max = hours(24 * 30);

  // The size at which a new file begins; whole files are removed.
  uint64_t file_bytes() const;
};

class HistoryLog {
 public:
  struct File {
    uint64_t number = 0;
    uint64_t bytes = 0;  // complete records only; more may be in the process of being written
    Time changed = {};   // at or after the time of its last record
    bool operator==(const File&) const = default;
  };
  struct Records {
    std::vector<std::string> records = {};  // in the order in which they were written
    uint64_t damaged_bytes = 0;             // between and after the records
  };

  // Opens the directory to append to it. A damaged last file stays unchanged, and a new one is
  // begun. Errors: kUnavailable, kResourceExhausted.
  static Result<std::unique_ptr<HistoryLog>> open(HistoryLogOptions options, Time now);

  // The same for reading only: no file is opened for writing, so all keep their times. append() is
  // not allowed.
  static Result<std::unique_ptr<HistoryLog>> look(HistoryLogOptions options, Time now);

  // The same with an empty log: an existing directory is renamed to `<directory>.aside-<n>`. The
  // newest kLogsAsideMax of these are kept. No log of the directory may be open. Errors: as open();
  // then either name may exist, and the call may be repeated.
  static Result<std::unique_ptr<HistoryLog>> open_anew(HistoryLogOptions options, Time now);

  // Adds all records with one write, or none, and removes files beyond the limits. Errors: as
  // CheckpointLog::append(); the call may be repeated.
  Result<void> append(const std::vector<std::string>& records, Time now);

  // Oldest first.
  const std::vector<File>& files() const { return files_; }
  uint64_t bytes() const;
  // The last record at the time when it was opened.
  const std::optional<std::string>& last() const { return last_; }

  static std::string path_of(const std::string& directory, const File& file);
  // Reads one of `files`. Errors: kNotFound: it has been removed; kUnavailable.
  static Result<Records> read(const std::string& directory, const File& file);

 private:
  explicit HistoryLog(HistoryLogOptions options) : options_(std::move(options)) {}
  Result<bool> load(Time now);
  Result<void> find_files();
  Result<void> begin_file(Time now);
  void forget(Time now);

  const HistoryLogOptions options_;
  std::vector<File> files_;
  std::unique_ptr<CheckpointLog> newest_;  // files_.back(), if records can be appended to it
  Time begun_ = {};                        // when the newest file was opened or made
  std::optional<std::string> last_;
};

}  // namespace proffer
