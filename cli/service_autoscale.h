#pragma once

// Of `proffer service autoscale`: which executor of an agent is an instance's, and in which order
// agents and instances are asked.

#include <optional>
#include <string>
#include <vector>

#include "cli/http_questions.h"
#include "proto/status.h"

namespace proffer::cli {

// The task that the executor runs, and no other beside it, if it is of this framework: each
// framework chooses the ids of its tasks itself, so another one may have the same.
std::optional<TaskId> task_of(const proto::AgentExecutorRow& executor,
                              const FrameworkId& framework);

struct AskingTurn {
  std::string name = {};              // of what is asked
  std::optional<AgentId> agent = {};  // that is asked; none: an instance
  HttpQuestion question = {};
  size_t number = 0;        // within its app
  bool was_silent = false;  // it did not answer in the last round
};

// The first of each app come first, and what was silent comes last: it delays no other app.
void sort_turns(std::vector<AskingTurn>& turns);

}  // namespace proffer::cli
