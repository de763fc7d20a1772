#pragma once

// Requests of an agent to the fork server (fork_server.h): one message each, over a socket that
// preserves message boundaries. The answer is a pid, or a negative errno. Both ends are from one
// build.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/result.h"

namespace proffer::executor {

// Room for the environment of a command executor, which is written over that of the fork server:
// some fifteen variables. Four are paths of at most 4 KiB.
inline constexpr size_t kEnvironmentRoom = 20 * 1024;
// Maximum of a request: an environment and a command line, each as large as those of a task may be.
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
  // "NAME=value"; PROFFER_SANDBOX is the initial directory of the process.
  std::vector<std::string> environment = {};
  // The program's path and its arguments. Empty: a command executor, which is the fork server's own
  // program.
  std::vector<std::string> arguments = {};
  std::optional<RunAs> run_as = {};  // none: the user of the fork server
  // cgroup.procs and similar files, to which the process writes "0" before it changes its user.
  std::vector<std::string> joins = {};
  // The descriptors that come with the request: three streams, or a terminal, which becomes the
  // controlling terminal of the session. kSandbox: none; input is empty, and output goes to files
  // in the sandbox.
  enum class Streams : uint32_t { kSandbox, kPassed, kTerminal };
  Streams streams = Streams::kSandbox;
  // Gets shared memory of its own (net/shared_memory.h). The directory of its secrets stays.
  bool has_own_memory = false;
  int32_t memory_of = 0;  // a process whose shared memory it enters
  // Not empty: a directory of its sandbox is its /tmp (net/private_tmp.h), and this directory, that
  // of the agent's work, stays at its path. Needs has_own_memory.
  std::string private_tmp_keeps = {};
};
// The number of descriptors that come with it.
size_t passed_with(LaunchRequest::Streams streams);

// Errors: kInvalidArgument (a variable that is not NAME=value; a NUL; no environment),
// kResourceExhausted (over kLaunchBytesMax or kLaunchGroupsMax, or an executor of commands over
// kEnvironmentRoom).
Result<std::string> encode_launch(const LaunchRequest& request);

// As LaunchRequest, referring to the decoded bytes, where each text ends with a NUL.
struct LaunchView {
  std::string_view environment = {};  // all variables in sequence
  std::vector<const char*> variables = {};
  std::vector<const char*> arguments = {};
  std::optional<RunAs> run_as = {};
  std::vector<const char*> joins = {};
  LaunchRequest::Streams streams = LaunchRequest::Streams::kSandbox;
  bool has_own_memory = false;
  int32_t memory_of = 0;
  const char* private_tmp_keeps = nullptr;  // nullptr: it has no /tmp of its own
};
// Errors: kInvalidArgument.
Result<LaunchView> decode_launch(std::string_view bytes);

}  // namespace proffer::executor
