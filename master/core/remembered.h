#pragma once

// The tasks that a framework remembers (Subscribe::remembers_tasks): one entry of its store for
// each, from the launch on, "tasks/" and the id. The master writes the launch in the step that
// sends it, and the end in the step that forgets the task, so that no restart of anybody makes an
// id free again. Only the framework erases entries.

#include <optional>
#include <string>
#include <string_view>

#include "master/core/framework_store.h"
#include "proto/task_state.h"

namespace proffer::master {

inline constexpr std::string_view kRememberedPrefix = "tasks/";

// What an entry says.
struct RememberedTask {
  AgentId agent = {};                        // on which it was launched
  uint64_t admission = 0;                    // of the agent then, as in AgentRecord
  uint32_t memory = 0;                       // likewise, as in RegisterAgent
  std::optional<proto::TaskState> end = {};  // a terminal state; none: no end was acknowledged
};

std::string remembered_key(const TaskId& task);
// "launched AGENT ADMISSION MEMORY", or the state of its end and the agent: "finished AGENT".
std::string remembered_value(const RememberedTask& task);
// The entry of this task. One that the framework wrote itself, in other words, says that the task
// is lost: its id is not free.
std::optional<RememberedTask> find_remembered(const FrameworkStore& store, const TaskId& task);

}  // namespace proffer::master
