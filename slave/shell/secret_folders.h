#pragma once

// Directories in memory for the secrets of tasks: <shm>/proffer-<uid>-<digits>/<run>, where the
// digits are of the agent's work directory. Nothing of a secret is on a disk, and what a process
// that was killed leaves is removed with its run, or at the agent's next start.

#include <cstdint>
#include <set>
#include <string>

#include "common/result.h"
#include "slave/shell/sandboxes.h"

namespace proffer::agent {

class SecretFolders {
 public:
  // `shm`: a tmpfs, as /dev/shm.
  SecretFolders(std::string shm, std::string_view work_dir);

  // Of this run, and only for `owner` (none: this process's user). Errors: kFailedPrecondition
  // (`shm` is not in memory, or somebody else made what should be ours), kUnavailable,
  // kResourceExhausted.
  Result<std::string> make(uint64_t run, const std::optional<Sandboxes::Owner>& owner) const;
  // With all that is in it; nothing happens if there is none.
  void remove(uint64_t run) const;
  // Of all runs but these. O(directories).
  void keep_only(const std::set<uint64_t>& runs) const;

 private:
  Result<void> make_root() const;
  std::string shm_;
  std::string root_;
};

}  // namespace proffer::agent
