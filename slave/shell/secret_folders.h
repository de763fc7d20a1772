#pragma once

// Directories in memory for secrets of tasks: <shm>/proffer-<uid>-<digits>/<run>, with digits that
// depend on the agent's work directory. Secrets are never on a disk. Those left by a killed process
// are removed with its run, or at the agent's next start.

#include <cstdint>
#include <set>
#include <string>

#include "common/result.h"
#include "slave/shell/sandboxes.h"

namespace proffer::agent {

class SecretFolders {
 public:
  // `shm`: a tmpfs such as /dev/shm.
  SecretFolders(std::string shm, std::string_view work_dir);

  // Makes the directory of a run, accessible to `owner` only (none: this process's user). Errors:
  // kFailedPrecondition (`shm` is not in memory, or another user made the directory), kUnavailable,
  // kResourceExhausted.
  Result<std::string> make(uint64_t run, const std::optional<Sandboxes::Owner>& owner) const;
  // Removes it with its content; nothing happens if there is none.
  void remove(uint64_t run) const;
  // Removes all except those of these runs. O(directories).
  void keep_only(const std::set<uint64_t>& runs) const;

 private:
  Result<void> make_root() const;
  std::string shm_;
  std::string root_;
};

}  // namespace proffer::agent
