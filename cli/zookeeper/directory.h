#pragma once

// The directory of `proffer zookeeper init`: one of each machine's files for each machine, and a
// record of the ensemble.

#include <optional>
#include <string>

#include <sys/types.h>

#include "cli/zookeeper/ensemble.h"
#include "common/result.h"

namespace proffer::cli {

inline constexpr mode_t kPrivateMode = 0600;
inline constexpr mode_t kPublicMode = 0644;

struct OpenedFile {
  std::string bytes = {};
  mode_t mode = 0;
};
// A regular file of at most 1 MiB; nothing if it does not exist. Errors: kUnavailable,
// kFailedPrecondition, kCorruption.
Result<std::optional<OpenedFile>> read_if_exists(const std::string& path);

// What an earlier call of write_ensemble() wrote; nothing in an empty or missing directory. Errors:
// kFailedPrecondition if the directory holds anything else, so that nothing is overwritten.
Result<std::optional<Ensemble>> read_ensemble(const std::string& dir);

// New secrets, with the masters' key of this file unless it is empty.
Result<EnsembleSecrets> make_secrets(const std::string& master_key_file);
// From the directory of the first machine; all have the same.
Result<EnsembleSecrets> read_secrets(const std::string& dir, const Ensemble& ensemble);

// Private files have mode 0600, directories 0700. A private file that exists is never replaced:
// kFailedPrecondition if it should be another. The directory above `dir` must exist.
Result<void> write_ensemble(const std::string& dir, const Ensemble& ensemble,
                            const EnsembleSecrets& secrets);

}  // namespace proffer::cli
