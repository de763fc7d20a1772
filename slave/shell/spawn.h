#pragma once

// posix_spawn as the agent needs it: a session of its own, in the top directory, signals as by
// default, output as ours, no descriptor beyond the three.

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
  size_t descriptors = 0;                     // its soft limit of open ones; 0: ours
};

// Errors: kInvalidArgument (a NUL in the environment), kResourceExhausted, kUnavailable.
Result<pid_t> spawn(SpawnOptions options);
// What a failed start means: kResourceExhausted for what may pass, kPermissionDenied for what is
// not allowed to the other user that it was started as, else kUnavailable.
Error start_error(const std::string& program, int error, bool as_user = false);

}  // namespace proffer::agent
