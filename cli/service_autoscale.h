#pragma once

// Of `proffer service autoscale`: which executor of an agent is an instance's.

#include <map>

#include "proto/status.h"

namespace proffer::cli {

// The task that the executor runs, and no other beside it; null: it is none of these. Each
// framework chooses the ids of its tasks itself, so another one may have the same.
const proto::TaskRow* task_of(const proto::AgentExecutorRow& executor,
                              const std::map<TaskId, const proto::TaskRow*>& tasks);

}  // namespace proffer::cli
