#pragma once

// Makes a submission from the typed options: the orders, and the directories with their plans.

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
  std::vector<std::string> notes = {};  // for the person that submits it
  Submission stages = {};
  RoleName role = {};                          // to charge; empty: the scheduler chooses
  std::optional<ScheduleOrder> schedule = {};  // of `stages`, if they are started again and again
  std::vector<OutputDirectory> outputs = {};

  // The bytes to send. A single job without conditions is an order, which older schedulers know.
  std::string encoded() const;
};

// Makes all directories, or none. The input of a job that waits for others is not examined: its
// first task plans it.
Result<Prepared> prepare(const SubmitOptions& given);

}  // namespace proffer::batch
