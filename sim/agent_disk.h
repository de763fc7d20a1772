#pragma once

// The checkpoint of a simulated agent, in place of store/checkpoint_log.h, with the faults of
// disks. A kill -9 loses nothing that was written. A power loss loses data that was not synced: the
// end of the log, and sometimes a piece in its middle, since pages reach a disk in any order.

#include <cstddef>
#include <vector>

#include "common/prng.h"
#include "common/result.h"
#include "proto/records.h"

namespace proffer::sim {

class AgentDisk {
 public:
  enum class Trouble : uint8_t {
    kNone,
    kFull,    // writes fail
    kBroken,  // writes fail, and earlier writes are not synced
  };
  struct Opened {
    std::vector<proto::CheckpointRecord> records = {};
    // Bytes before a valid record were damaged: the log was set aside, `records` are its whole
    // records, and the disk is now empty.
    bool damaged = false;
    bool cut = false;  // the last record was not whole
  };

  void set_trouble(Trouble trouble) { trouble_ = trouble; }

  // Errors: the present fault of the disk, as from CheckpointLog.
  Result<Opened> open();
  // Appends all of them, or none.
  Result<void> append(const std::vector<proto::CheckpointRecord>& records);
  Result<void> sync();
  Result<void> rewrite(const std::vector<proto::CheckpointRecord>& records);
  // The process was killed during append(): `whole` records are written, and a part of the next
  // one, which open() cuts off.
  void append_torn(const std::vector<proto::CheckpointRecord>& records, size_t whole);

  void lose_power(Prng& chance);
  // Makes a record that is not the last unreadable. Does nothing if there are too few records.
  void damage(Prng& chance);
  // The log ends at an earlier record, usually one of the last, sometimes in the middle of a
  // record. The identity has a second file, so it stays.
  void cut(Prng& chance);
  // The log is rewritten with its present records, and gets a new mark.
  void renew() { ++mark_; }

  // The mark of the log; it changes after damage.
  uint32_t mark() const { return mark_; }

 private:
  struct Slot {
    proto::CheckpointRecord record = {};
    bool damaged = false;
  };

  Result<void> check() const;

  std::vector<Slot> slots_;
  size_t synced_ = 0;  // a reboot keeps this many
  uint32_t mark_ = 1;
  Trouble trouble_ = Trouble::kNone;
};

}  // namespace proffer::sim
