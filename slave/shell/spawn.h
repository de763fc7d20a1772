#pragma once

// posix_spawn for the agent: in a new session, in the root directory, with default signals, with
// the output of this process, and without descriptors beyond the three.

#include <cstddef>
#include <string>
#include <vector>

#include <sys/types.h>

#include "common/result.h"

namespace proffer::agent {

struct SpawnOptions {
  std::vector<std::string> arguments = {};    // the first is the program's path
  std::vector<std::string> environment = {};  // "NAME=value"
  int input = -1;                             // a descriptor, or -1: /dev/null
  size_t descriptors = 0;                     // soft limit of open ones; 0: as this process
  int64_t processes = 0;                      // limit for its user, if lower; 0: as this process
};

// Errors: kInvalidArgument (a NUL in the environment), kResourceExhausted, kUnavailable.
Result<pid_t> spawn(SpawnOptions options);
// The error for a failed start: kResourceExhausted for a temporary lack, kPermissionDenied for
// something that the other user may not do, else kUnavailable.
Error start_error(const std::string& program, int error, bool as_user = false);

}  // namespace proffer::agent
