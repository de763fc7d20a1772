#pragma once

// A log that grows at its end and is forgotten at its beginning: files of a bounded size in one
// directory, bounded together by bytes and by age. Each is a file of store/checkpoint_log.h, so
// that a crash costs at most the records being written, and a damaged part only itself.
// It does not look into its records.
//
// The directory holds <number of 12 digits>.log; later ones have higher numbers. Everything blocks.
// Thread rule: one thread at a time, but read() from any.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/result.h"
#include "common/time.h"
#include "store/checkpoint_log.h"

namespace proffer {

// Of one directory: each has up to HistoryLogOptions::bytes_max.
inline constexpr size_t kLogsAsideMax = 2;

struct HistoryLogOptions {
  std::string directory = {};  // made if it is missing, mode 0700
  uint64_t bytes_max = uint64_t{256} << 20;
  Duration age_max = hours(24 * 30);

  // Size of one file; whole files are removed.
  uint64_t file_bytes() const;
};

class HistoryLog {
 public:
  struct File {
    uint64_t number = 0;
    uint64_t bytes = 0;  // that are whole records; more may be being written
    Time changed = {};   // not before the last record in it was written
    bool operator==(const File&) const = default;
  };
  struct Records {
    std::vector<std::string> records = {};  // in the order in which they were written
    uint64_t damaged_bytes = 0;             // between and behind them
  };

  // Goes on behind what is there. A last file that is damaged is left as it is, and a new one is
  // begun. Errors: kUnavailable, kResourceExhausted.
  static Result<std::unique_ptr<HistoryLog>> open(HistoryLogOptions options, Time now);

  // The same for reading alone: no file is opened for writing, so all keep their times. Nothing may
  // be appended.
  static Result<std::unique_ptr<HistoryLog>> look(HistoryLogOptions options, Time now);

  // The same behind nothing: a directory that is there is renamed to `<directory>.aside-<n>`. The
  // newest kLogsAsideMax of these are kept. No log of the directory may be open. Errors: as open();
  // then either name may be there, and it may be called again.
  static Result<std::unique_ptr<HistoryLog>> open_anew(HistoryLogOptions options, Time now);

  // Adds all records with one write, or none, and removes files beyond the bounds. Errors: as
  // CheckpointLog::append(); it may be called again.
  Result<void> append(const std::vector<std::string>& records, Time now);

  // Oldest first.
  const std::vector<File>& files() const { return files_; }
  uint64_t bytes() const;
  // The last record that was there when it was opened.
  const std::optional<std::string>& last() const { return last_; }

  static std::string path_of(const std::string& directory, const File& file);
  // Of one of `files`. Errors: kNotFound: it has been forgotten; kUnavailable.
  static Result<Records> read(const std::string& directory, const File& file);

 private:
  explicit HistoryLog(HistoryLogOptions options) : options_(std::move(options)) {}
  Result<bool> load(Time now);
  Result<void> find_files();
  Result<void> begin_file(Time now);
  void forget(Time now);

  const HistoryLogOptions options_;
  std::vector<File> files_;
  std::unique_ptr<CheckpointLog> newest_;  // files_.back(), if it can grow
  Time begun_ = {};                        // when the newest was opened or made
  std::optional<std::string> last_;
};

}  // namespace proffer
