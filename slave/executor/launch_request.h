#pragma once

// What an agent asks of the stem (stem.h): one message over a socket that keeps messages apart; the
// answer is a pid, or an errno below 0. Both ends are of one build.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/result.h"

namespace proffer::executor {

// Room for the environment of an executor of commands, which is written over that of the stem: some
// fifteen variables. Four are paths of at most 4 KiB.
inline constexpr size_t kEnvironmentRoom = 20 * 1024;
// Of a whole request: an environment and a command line, each as large as a task's may be.
inline constexpr size_t kLaunchBytesMax = 208 * 1024;
inline constexpr size_t kLaunchGroupsMax = 1'024;

// The user that a process runs as.
struct RunAs {
  uint32_t uid = 0;
  uint32_t gid = 0;
  std::vector<uint32_t> groups = {};  // supplementary ones
  bool operator==(const RunAs&) const = default;
};

struct LaunchRequest {
  // "NAME=value"; PROFFER_SANDBOX says which directory the process begins in.
  std::vector<std::string> environment = {};
  // The program's path and its arguments. Empty: an executor of commands, which is the stem itself.
  std::vector<std::string> arguments = {};
  std::optional<RunAs> run_as = {};  // none: the user of the stem
  // `cgroup.procs` and the like: files that the process writes "0" to before it is another user's.
  std::vector<std::string> joins = {};
  // Of descriptors that come beside it: three streams, or a terminal, which becomes the one of the
  // process's session. kSandbox: input is empty, and output goes to files of the sandbox.
  enum class Streams : uint32_t { kSandbox, kPassed, kTerminal };
  Streams streams = Streams::kSandbox;
};
// How many descriptors come with it.
size_t passed_with(LaunchRequest::Streams streams);

// Errors: kInvalidArgument (a variable that is not NAME=value; a NUL; no environment),
// kResourceExhausted (over kLaunchBytesMax or kLaunchGroupsMax, or an executor of commands over
// kEnvironmentRoom).
Result<std::string> encode_launch(const LaunchRequest& request);

// As LaunchRequest, within the bytes that were decoded: each text ends with a NUL there.
struct LaunchView {
  std::string_view environment = {};  // all variables, one after the other
  std::vector<const char*> variables = {};
  std::vector<const char*> arguments = {};
  std::optional<RunAs> run_as = {};
  std::vector<const char*> joins = {};
  LaunchRequest::Streams streams = LaunchRequest::Streams::kSandbox;
};
// Errors: kInvalidArgument.
Result<LaunchView> decode_launch(std::string_view bytes);

}  // namespace proffer::executor
