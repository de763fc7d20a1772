#pragma once

// Stories of agents that were restarted.

#include <string>
#include <vector>

#include "common/text.h"
#include "tests/slave/agent_scenario.h"

namespace proffer::agent::scenario {

// A restarted agent that looks for its executors, with a connection to its master.
inline void restart(AgentScenario& s) {
  s.crash_and_restart();
  EXPECT_EQ(s.core->next_deadline(), Time());
  s.tick();
  s.connect();
}

inline proto::RunTask shared_task(const std::string& id) {
  proto::RunTask task = command_task(id);
  task.spec.executor = proto::kBatchExecutor;
  task.spec.executor_id = ExecutorId("workers");
  return task;
}

// "TASK STATE SEQUENCE" of each task in the last registration.
inline std::vector<std::string> registered_tasks(AgentScenario& s) {
  std::vector<std::string> lines;
  for (const proto::RegisterTasks& part : s.told_master<proto::RegisterTasks>()) {
    for (const proto::AgentTask& task : part.tasks) {
      lines.push_back(text(task.task.str(), " ", to_text(task.state), " ", task.sequence));
    }
  }
  return lines;
}

// Whether it is this kind of record, for a task in the executor or for the executor.
template <class Record>
bool is_of(const proto::CheckpointRecord& record, const std::string& executor) {
  const auto* one = std::get_if<Record>(&record);
  return one != nullptr && one->executor.str() == executor;
}

}  // namespace proffer::agent::scenario
