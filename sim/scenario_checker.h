#pragma once

// The rules between the parts of a scenario, checked part by part, so that a reader can report the
// line of an error.

#include <map>
#include <set>
#include <string>

#include "common/result.h"
#include "sim/scenario.h"

namespace proffer::sim {

// The name with '-', a number and the attempt is the task's id.
inline constexpr size_t kTaskNameBytesMax = 100;

class ScenarioChecker {
 public:
  // Add agents first. Errors: kInvalidArgument names the agent, or the framework and its tasks.
  Result<void> add(const ScenarioAgent& agent);
  Result<void> add(const ScenarioFramework& framework);
  Result<void> check_times(const Scenario& scenario) const;

 private:
  struct Machine {
    std::vector<Slice> free = {};  // without the tasks that run at 0s
    Duration joins = {};
  };

  Result<void> check(const ScenarioFramework& framework, const ScenarioTasks& tasks);
  Result<void> check_waves(const ScenarioTasks& tasks);
  Result<void> check_running(const ScenarioFramework& framework, const ScenarioTasks& tasks);

  std::map<AgentId, Machine> free_;
  std::set<std::string> frameworks_;
  ResourceVector total_;  // of all agents
  int64_t agents_ = 0;
  int64_t tasks_ = 0;
};

}  // namespace proffer::sim
