#pragma once

// Reads an agent's disk at its start: the log of its earlier life, as far as readable, and the
// second file with its identity. Reports the missing parts, so that the core does not have to
// guess.

#include <cstdint>
#include <memory>
#include <string>

#include "common/result.h"
#include "slave/core/agent.h"
#include "store/checkpoint_log.h"

namespace proffer::agent {

struct Checkpoint {
  std::unique_ptr<CheckpointLog> log = {};
  // A second copy of the agent's identity, because a master admits it again only with its secret.
  std::unique_ptr<CheckpointLog> identity = {};
  AgentSnapshot snapshot = {};
  Remembered remembered = Remembered::kAll;
};

// Opens both files of the directory. A damaged log is set aside, and its readable records begin a
// new log. If anything is missing, the log gets another mark, so that the master does not assume
// that this agent never received the tasks that it may have forgotten, and its identity notes the
// loss, also for the next life, until the core has acted on it. `newest_run`: the highest
// run number of a sandbox on the disk; a log that does not contain it is outdated. `place`: see
// place_of(). Errors: kFailedPrecondition (the directory is a copy), kResourceExhausted,
// kUnavailable, kUnsupported.
Result<Checkpoint> open_checkpoint(const std::string& work_dir, uint64_t newest_run,
                                   const std::string& place);

// Whether it names executors of an agent version before tasks had users.
bool names_former_executors(const AgentSnapshot& snapshot);

// Writes the identity's file. Errors: as CheckpointLog::append().
Result<void> keep_identity(CheckpointLog& file, const std::vector<std::string>& records);

// "BOOT DEVICE:INODE" of a directory. Within one boot, a copy of the directory has another value.
std::string place_of(const std::string& directory, const std::string& boot_id);

}  // namespace proffer::agent
