#pragma once

// Writes the records of each step to the checkpoint before the step is carried out, and compacts
// the log. On a full disk it uses the reserved bytes (disk_reserve.h); when they are used up, the
// step waits. All functions block; loop thread only.

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/result.h"
#include "common/time.h"
#include "proto/records.h"
#include "slave/core/agent.h"
#include "slave/shell/disk_reserve.h"
#include "store/checkpoint_log.h"

namespace proffer::agent {

class CheckpointWriter {
 public:
  // The two files of open_checkpoint(). `reserve` must outlive this.
  CheckpointWriter(std::unique_ptr<CheckpointLog> log, std::unique_ptr<CheckpointLog> identity,
                   DiskReserve& reserve);

  // Writes all records of a step, or none. `sync`: they must survive a power failure. False: the
  // disk is full, and retry() must come before the next write(). Errors: kUnavailable, and
  // kResourceExhausted for the identity. After an error the agent must end, since it may not act on
  // unwritten records.
  Result<bool> write(const std::vector<proto::CheckpointRecord>& records, bool sync);
  Result<bool> retry();
  // A step waits for disk space.
  bool is_waiting() const { return is_waiting_; }

  // Rewrites the log if most of it is obsolete; `snapshot` returns the content to keep. On a full
  // disk the log is unchanged for kCompactAgain. Errors: kUnavailable.
  Result<void> compact(const std::function<AgentSnapshot()>& snapshot, Time now);

  uint32_t mark() const { return log_->mark(); }
  uint64_t bytes() const { return log_->size(); }

  static constexpr Duration kCompactAgain = seconds(10);

 private:
  std::unique_ptr<CheckpointLog> log_;
  std::unique_ptr<CheckpointLog> identity_;
  DiskReserve& reserve_;
  bool is_waiting_ = false;
  // The records of the last step.
  std::vector<std::string> records_;
  std::vector<std::string> identity_records_;
  bool sync_ = false;
  uint64_t live_bytes_ = 0;  // size of the log after its last rewrite
  Time compact_after_ = {};
};

}  // namespace proffer::agent
