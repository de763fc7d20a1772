#pragma once

// What the command executor runs around the command of a task: steps before it, and sidecars beside
// it. It travels as TaskSpec::data, which other executors keep for themselves, so that the protocol
// and the master need not know of it (docs/adr/0113). Pure.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/result.h"

namespace proffer::proto {

inline constexpr size_t kInitStepsMax = 16;
inline constexpr size_t kSidecarsMax = 8;
// Of all names and commands of a group: they are sent with the task.
inline constexpr size_t kGroupBytesMax = 32 * 1024;
// Executors that know groups set it for all commands of one.
inline constexpr std::string_view kGroupVariable = "PROFFER_GROUP";
// At the beginning of the command of a task with a group: an executor of a version before, which
// knows no groups and would run the command alone, fails the task with these words.
inline constexpr std::string_view kGroupCommand =
    ": \"${PROFFER_GROUP?the agent is too old for init steps and sidecars; upgrade it}\"\n";

struct GroupCommand {
  std::string name = {};     // for people, and of a sidecar for the app file
  std::string command = {};  // a shell command line
  bool operator==(const GroupCommand&) const = default;
};

struct TaskGroup {
  std::vector<GroupCommand> init = {};      // one after the other; then the command starts
  std::vector<GroupCommand> sidecars = {};  // with the command; sorted by name
  bool empty() const { return init.empty() && sidecars.empty(); }
  bool operator==(const TaskGroup&) const = default;
};

// Errors: kInvalidArgument says which name or command is wrong and what is allowed.
Result<void> check_task_group(const TaskGroup& group);
// Of a checked group.
std::string encode_task_group(const TaskGroup& group);
// Nothing: the data is something else's, and the task has no group. Errors: kInvalidArgument for
// what begins as a group and is none.
Result<std::optional<TaskGroup>> decode_task_group(std::string_view data);

}  // namespace proffer::proto
