#pragma once

// From what was typed to what is submitted: the orders, and the directories with their plans.

#include <optional>
#include <string>
#include <vector>

#include "common/result.h"
#include "frameworks/batch/core/schedule.h"
#include "frameworks/batch/core/waiting.h"
#include "frameworks/batch/shell/commands.h"
#include "frameworks/batch/shell/output.h"

namespace proffer::batch {

struct Prepared {
  Submission stages = {};
  RoleName role = {};                          // that is charged; empty: the scheduler chooses
  std::optional<ScheduleOrder> schedule = {};  // of `stages`, which are started again and again
  std::vector<OutputDirectory> outputs = {};

  // As it is sent. One job that waits for nothing is an order, which older schedulers know.
  std::string encoded() const;
};

// All directories are there, or none of them. What a job reads that waits for others is not looked
// at: its first task plans it.
Result<Prepared> prepare(const SubmitOptions& given);

}  // namespace proffer::batch
