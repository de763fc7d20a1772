#pragma once

// What an agent needs to find its executors again: an append-only log of records that it does not
// look into. A kill -9 of the agent loses nothing that append() has returned for. A loss of power
// may lose the end of the log, which does not matter: what the agent ran is gone then too. What
// must survive that as well, the agent's identity, is followed by sync().
//
// The file: 20 bytes of header, then for each record a mark, its length, a CRC-32C and its bytes
// (checkpoint_log.cc). Thread rule: one thread at a time; everything blocks.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/result.h"

namespace proffer {

class CheckpointLog {
 public:
  struct Opened;
  struct Readable {
    std::vector<std::string> records = {};
    uint64_t damaged_bytes = 0;  // that are in none of them
  };

  // Opens the log at `path` or makes a new one, and reads it. What a crash left half written at the
  // end is cut off. A temporary file that a crashed rewrite() left is removed.
  // Errors: kCorruption: bytes before a valid record are damaged, or it is no such log; it has been
  // renamed to `path.damaged-<n>`, which the message names, so that the next open() makes a new
  // one: see salvage(). kUnsupported: a newer or older Proffer wrote it; untouched.
  // kResourceExhausted: disk full. kUnavailable: the system refused.
  static Result<Opened> open(const std::string& path);

  // All valid records of the newest `path.damaged-<n>`: enough to end what they name, not to go on
  // from, since some are missing. Errors: kNotFound: there is no such file; kUnavailable.
  static Result<std::vector<std::string>> salvage(const std::string& path);

  // All valid records in the first `bytes_max` bytes of the log at `path`, which somebody may be
  // writing, and how much of it is none. Changes nothing. Errors: kNotFound, kUnavailable.
  static Result<Readable> read(const std::string& path, uint64_t bytes_max);

  ~CheckpointLog();
  CheckpointLog(const CheckpointLog&) = delete;
  CheckpointLog& operator=(const CheckpointLog&) = delete;

  // Adds all records with one write, or none: what was half written is cut off again and the log
  // stays usable. Errors: kInvalidArgument: a record above kCheckpointRecordBytesMax;
  // kResourceExhausted: disk full; kUnavailable: the system refused.
  Result<void> append(const std::vector<std::string>& records);

  // Flushes to the disk, and the name of a new file with its directory. An error (kUnavailable) is
  // final: what is on disk is unknown, everything after it fails in the same way, and the agent
  // should end and recover.
  Result<void> sync();

  // Replaces all records by these, atomically (a file of its own, flushed, then renamed). After an
  // error the log is what it was before. Errors as append().
  Result<void> rewrite(const std::vector<std::string>& records);

  // As rewrite(), with another mark: for records that are fewer than an earlier reader has seen.
  Result<void> renew(const std::vector<std::string>& records);

  // Whether rewrite() is worth it: the file is larger than kCheckpointRewriteBytes and than twice
  // `live_bytes`, the bytes of the records that rewrite() would be given.
  bool wants_rewrite(uint64_t live_bytes) const;

  uint64_t size() const { return size_; }  // of the file, in bytes
  // Drawn when the log was made: tells it from one that was set aside.
  uint32_t mark() const { return mark_; }

 private:
  CheckpointLog(std::string path, int fd, uint64_t size, uint32_t mark);
  Result<void> ready();
  Result<void> replace(const std::vector<std::string>& records, uint32_t mark);

  std::string path_;
  int fd_ = -1;
  uint64_t size_ = 0;    // up to the end of the last whole record
  uint32_t mark_ = 0;    // before each record; random for each file
  bool ragged_ = false;  // bytes of a failed append may follow, and could not be cut yet
  bool renamed_ = true;  // the directory may not name this file durably yet
  std::optional<Error> failed_;
};

struct CheckpointLog::Opened {
  std::unique_ptr<CheckpointLog> log = {};
  std::vector<std::string> records = {};  // in the order of the appends
  uint64_t cut_bytes = 0;                 // half-written bytes cut off the end
};

}  // namespace proffer
