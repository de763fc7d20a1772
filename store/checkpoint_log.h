#pragma once

// The file from which an agent finds its executors again: an append-only log of opaque records. A
// kill -9 of the agent loses nothing once append() has returned. A power failure may lose the end
// of the log, which does not matter, because the executors have ended then, too. The agent's
// identity must survive it as well, so it is followed by sync().
//
// The file: 20 bytes of header, then for each record a mark, its length, a CRC-32C and its bytes
// (checkpoint_log.cc). Thread rule: one thread at a time; all calls block.

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
    uint64_t damaged_bytes = 0;  // bytes that belong to no valid record
  };

  // Opens the log at `path` or makes a new one, and reads it. A half-written end after a crash is
  // cut off. A temporary file of a crashed rewrite() is removed. Errors: kCorruption: bytes before
  // a valid record are damaged, or it is no such log; it has been renamed to `path.damaged-<n>`,
  // which the message names, so that the next open() makes a new one: see salvage(). kUnsupported:
  // another version of Proffer wrote it; it is unchanged. kResourceExhausted: disk full.
  // kUnavailable: the system refused.
  static Result<Opened> open(const std::string& path);

  // All valid records of the newest `path.damaged-<n>`. They are enough to end what they name, but
  // not to continue from, since some are missing. Errors: kNotFound: there is no such file;
  // kUnavailable.
  static Result<std::vector<std::string>> salvage(const std::string& path);

  // Reads all valid records in the first `bytes_max` bytes of the log at `path`, also while another
  // process writes it, and the number of invalid bytes. Changes nothing. Errors: kNotFound,
  // kUnavailable.
  static Result<Readable> read(const std::string& path, uint64_t bytes_max);

  ~CheckpointLog();
  CheckpointLog(const CheckpointLog&) = delete;
  CheckpointLog& operator=(const CheckpointLog&) = delete;

  // Adds all records with one write, or none: a half-written record is cut off and the log stays
  // usable. Errors: kInvalidArgument: a record above kCheckpointRecordBytesMax; kResourceExhausted:
  // disk full; kUnavailable: the system refused.
  Result<void> append(const std::vector<std::string>& records);

  // Flushes the file to the disk, and for a new file its directory. An error (kUnavailable) is
  // final: the content of the disk is unknown, all further calls fail in the same way, and the
  // agent should end and recover.
  Result<void> sync();

  // Replaces all records atomically (writes another file, flushes it, and renames it). After an
  // error the log is unchanged. Errors as append().
  Result<void> rewrite(const std::vector<std::string>& records);

  // As rewrite(), with another mark: for records that are fewer than an earlier reader has seen.
  Result<void> renew(const std::vector<std::string>& records);

  // Whether rewrite() is worth it: the file is larger than kCheckpointRewriteBytes and than twice
  // `live_bytes`, the size of the records for rewrite().
  bool wants_rewrite(uint64_t live_bytes) const;

  uint64_t size() const { return size_; }  // of the file, in bytes
  // A random number from the creation of the log; it differs from that of a log that was set aside.
  uint32_t mark() const { return mark_; }

 private:
  CheckpointLog(std::string path, int fd, uint64_t size, uint32_t mark);
  Result<void> ready();
  Result<void> replace(const std::vector<std::string>& records, uint32_t mark);

  std::string path_;
  int fd_ = -1;
  uint64_t size_ = 0;    // up to the end of the last complete record
  uint32_t mark_ = 0;    // precedes each record; random for each file
  bool ragged_ = false;  // bytes of a failed append may follow, and could not be cut off yet
  bool renamed_ = true;  // the name of the file in its directory may not be durable yet
  std::optional<Error> failed_;
};

struct CheckpointLog::Opened {
  std::unique_ptr<CheckpointLog> log = {};
  std::vector<std::string> records = {};  // in the order of the appends
  uint64_t cut_bytes = 0;                 // half-written bytes cut off the end
};

}  // namespace proffer
