#pragma once

// Predicts whether a task will end, and which resources then become free. A task is expected to end
// until it has run for twice the duration that its ask declares, or, without that, twice the
// longest run of a task of its framework that ended by itself. A task with a time limit ends. A
// task that is declared to run until it is ended (kDurationMax) never ends. A task with a revoke
// notice ends, and so does a task on lent resources. For other tasks the end is unknown.

#include <cstdint>
#include <optional>

#include "allocator/cluster/cluster.h"

namespace proffer::fair {

enum class Outlook : uint8_t { kEnds, kUnknown, kNever };
Outlook outlook_of(const Task& task, Time now);

// The number of tasks of an ask that an agent may have room for, at most a gang, by all rules
// except max_per. Offered resources count like those of tasks that are expected to end.
struct Prospect {
  int64_t expected = 0;             // after all tasks that are expected to end
  int64_t possible = 0;             // and after all tasks of unknown end
  ResourceVector free = {};         // free now for the ask
  ResourceVector to_be_freed = {};  // freed by tasks that are expected to end, and by offers
};
// Requires could_ever_fit(). O(tasks of the agent).
Prospect prospect(const AskEntry& ask, const Agent& agent, Time now);

// The earliest time at which the task may end by itself: after the duration that its ask declares,
// or after its time limit if that is less; now if neither is declared. Empty: never.
std::optional<Time> may_end_at(const Task& task, Time now);
// When the task ends if it runs for as long as its ask declares, or its framework's longest task
// ran, or its time limit allows if that is less. Nothing: this is not known, or it has run longer.
std::optional<Time> usually_ends_at(const Task& task, Time now);
// The expected run time of a task of the ask, or of this task: the declared time, else that of the
// framework's longest task; at most the time limit. kDurationMax: unlimited or unknown. A task that
// has run longer than its framework's longest task is expected to run without limit.
Duration expected_run(const AskEntry& ask);
Duration expected_run(const Task& task, Time now);
// The time at which `tasks` tasks of the ask will fit there, if each running task ends at
// may_end_at() and all offered or lent resources come back at once. Empty: never. O(tasks of the
// agent).
std::optional<Time> would_fit_at(const AskEntry& ask, const Agent& agent, int64_t tasks, Time now);

}  // namespace proffer::fair
