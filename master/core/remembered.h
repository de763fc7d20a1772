#pragma once

// The tasks that a framework remembers (Subscribe::remembers_tasks). Its store has an entry for
// each task from its launch on; the key is "tasks/" and the id. The master writes the launch in the
// step that sends it, and the end in the step that forgets the task, so no restart of any process
// makes an id free again. Only the framework erases entries.

#include <optional>
#include <string>
#include <string_view>

#include "master/core/framework_store.h"
#include "proto/task_state.h"

namespace proffer::master {

inline constexpr std::string_view kRememberedPrefix = "tasks/";

// The content of an entry.
struct RememberedTask {
  AgentId agent = {};      // on which it was launched
  uint64_t admission = 0;  // the agent's admission at the launch, as in AgentRecord
  uint32_t memory = 0;     // the agent's memory at the launch, as in RegisterAgent
  std::optional<proto::TaskState> end = {};  // a terminal state; none: no end was acknowledged
};

std::string remembered_key(const TaskId& task);
// "launched AGENT ADMISSION MEMORY"; after the end, the final state and the agent: "finished
// AGENT".
std::string remembered_value(const RememberedTask& task);
// The entry of this task. An entry that the framework wrote itself, in another format, counts as a
// lost task: its id is not free.
std::optional<RememberedTask> find_remembered(const FrameworkStore& store, const TaskId& task);

}  // namespace proffer::master
