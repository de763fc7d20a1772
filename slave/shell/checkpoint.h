#pragma once

// What an agent finds on its disk when it starts: the log of its life before, as far as it can be
// read, and the second file of its identity. Names what is missing, so that the core decides from
// what is there and not from a guess.

#include <cstdint>
#include <memory>
#include <string>

#include "common/result.h"
#include "slave/core/agent.h"
#include "store/checkpoint_log.h"

namespace proffer::agent {

struct Checkpoint {
  std::unique_ptr<CheckpointLog> log = {};
  // The agent's identity, once more: a master takes it back only by its secret.
  std::unique_ptr<CheckpointLog> identity = {};
  AgentSnapshot snapshot = {};
  Remembered remembered = Remembered::kAll;
};

// Opens both files of the directory. A damaged log is set aside, and what is left of it begins a
// new one; whenever something is missing the log has another mark, so that a master does not take
// for unheard what this agent may have forgotten. `newest_run`: the highest number of a sandbox on
// the disk; a log that does not name it is of an older state. `place`: see place_of().
// Errors: kFailedPrecondition (the directory is a copy), kResourceExhausted, kUnavailable,
// kUnsupported.
Result<Checkpoint> open_checkpoint(const std::string& work_dir, uint64_t newest_run,
                                   const std::string& place);

// Whether it names executors of an agent of before tasks had users.
bool names_former_executors(const AgentSnapshot& snapshot);

// Writes the identity's file. Errors: as CheckpointLog::append().
Result<void> keep_identity(CheckpointLog& file, const std::vector<std::string>& records);

// "BOOT DEVICE:INODE" of a directory: within one boot, a copy of it has another.
std::string place_of(const std::string& directory, const std::string& boot_id);

}  // namespace proffer::agent
