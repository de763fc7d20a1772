#pragma once

// The checkpoint of a simulated agent: what store/checkpoint_log.h is to a real one, and all that
// disks do to it. A kill -9 loses nothing that was written. A loss of power loses what was not
// synced: its end, and now and then a piece in its middle, as pages reach a disk in any order.

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
    kFull,    // nothing can be written
    kBroken,  // likewise, and what is written is not synced
  };
  struct Opened {
    std::vector<proto::CheckpointRecord> records = {};
    // Bytes before a valid record were damaged: the log was set aside, `records` are those of it
    // that are whole, and the disk is empty.
    bool damaged = false;
    bool cut = false;  // a record at the end was not whole
  };

  void set_trouble(Trouble trouble) { trouble_ = trouble; }

  // Errors: what the disk cannot do now, as CheckpointLog says it.
  Result<Opened> open();
  // All of them, or none.
  Result<void> append(const std::vector<proto::CheckpointRecord>& records);
  Result<void> sync();
  Result<void> rewrite(const std::vector<proto::CheckpointRecord>& records);
  // The process was killed in the middle of append(): `whole` records are there, of another only a
  // part, which open() cuts off.
  void append_torn(const std::vector<proto::CheckpointRecord>& records, size_t whole);

  void lose_power(Prng& chance);
  // A record that is not the last cannot be read any more. Nothing if there are too few.
  void damage(Prng& chance);
  // The log ends at an earlier record, mostly one of the last; now and then amid it. The identity
  // has a second file, so it stays.
  void cut(Prng& chance);
  // The log begins anew with what it has: another mark.
  void renew() { ++mark_; }

  // Of the log: another one after damage.
  uint32_t mark() const { return mark_; }

 private:
  struct Slot {
    proto::CheckpointRecord record = {};
    bool damaged = false;
  };

  Result<void> check() const;

  std::vector<Slot> slots_;
  size_t synced_ = 0;  // a reboot keeps these
  uint32_t mark_ = 1;
  Trouble trouble_ = Trouble::kNone;
};

}  // namespace proffer::sim
