#pragma once

// The group of a task: init steps that the command executor runs before the command, and sidecars
// that it runs beside it. The group is sent as TaskSpec::data, whose content only executors
// interpret, so the protocol and the master need not know of groups (docs/adr/0113). Pure.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/result.h"

namespace proffer::proto {

inline constexpr size_t kInitStepsMax = 16;
inline constexpr size_t kSidecarsMax = 8;
// The most bytes of all names and commands of a group, since they are sent with the task.
inline constexpr size_t kGroupBytesMax = 32 * 1024;
// Executors that support groups set this variable for all commands of a group.
inline constexpr std::string_view kGroupVariable = "PROFFER_GROUP";
// The command of a task with a group begins with this. An executor of an earlier version does not
// support groups and would run the command alone; instead the task fails with this message.
inline constexpr std::string_view kGroupCommand =
    ": \"${PROFFER_GROUP?the agent is too old for init steps and sidecars; upgrade it}\"\n";

struct GroupCommand {
  std::string name = {};     // for people; for a sidecar also in the app file
  std::string command = {};  // a shell command line
  bool operator==(const GroupCommand&) const = default;
};

struct TaskGroup {
  std::vector<GroupCommand> init = {};      // one after the other; then the command starts
  std::vector<GroupCommand> sidecars = {};  // run beside the command; sorted by name
  bool empty() const { return init.empty() && sidecars.empty(); }
  bool operator==(const TaskGroup&) const = default;
};

// Errors: kInvalidArgument names the command or name that is wrong and what is allowed.
Result<void> check_task_group(const TaskGroup& group);
// For a group that was checked.
std::string encode_task_group(const TaskGroup& group);
// None: the data is not a group, so the task has none. Errors: kInvalidArgument for data that
// begins like a group and is not valid.
Result<std::optional<TaskGroup>> decode_task_group(std::string_view data);

}  // namespace proffer::proto
