#pragma once

// Parts of `proffer service autoscale`: the instance of an executor, and the order in which agents
// and instances are asked.

#include <optional>
#include <string>
#include <vector>

#include "cli/http_questions.h"
#include "proto/status.h"

namespace proffer::cli {

// The only task of the executor, if it belongs to this framework. Each framework chooses the ids of
// its tasks, so another framework may use the same id.
std::optional<TaskId> task_of(const proto::AgentExecutorRow& executor,
                              const FrameworkId& framework);

struct AskingTurn {
  std::string name = {};              // name of the agent or instance
  std::optional<AgentId> agent = {};  // the agent that is asked; none: an instance is asked
  HttpQuestion question = {};
  size_t number = 0;        // within its app
  bool was_silent = false;  // it did not answer in the last round
};

// The first entries of each app come first, and silent ones come last, so that they delay no other
// app.
void sort_turns(std::vector<AskingTurn>& turns);

}  // namespace proffer::cli
