#pragma once

// Whether a task will end, as far as that can be known, and what becomes free then. A task is
// expected to end as long as it has run for less than twice the duration that its ask declares, or,
// without that, twice the longest that a task of its framework has run before it ended by itself. A
// task with a time limit ends.
// One that is declared to run until somebody ends it (kDurationMax) never ends. One that was told
// to end does, and so does one that has only been lent what it uses. Of the others nothing is
// known.

#include <cstdint>
#include <optional>

#include "allocator/cluster/cluster.h"

namespace proffer::fair {

enum class Outlook : uint8_t { kEnds, kUnknown, kNever };
Outlook outlook_of(const Task& task, Time now);

// How many tasks of an ask an agent may have room for, at most a gang, by all but max_per. What is
// offered counts as if tasks that are expected to end had it.
struct Prospect {
  int64_t expected = 0;             // once all tasks have ended that are expected to
  int64_t possible = 0;             // and those that may end, as far as is known
  ResourceVector free = {};         // for the ask, now
  ResourceVector to_be_freed = {};  // by tasks that are expected to end, and offers
};
// The ask could_ever_fit() there. O(tasks of the agent).
Prospect prospect(const AskEntry& ask, const Agent& agent, Time now);

// When the task may end by itself, at the earliest: after the time that its ask expects, or its
// time limit if that is less; now if it says neither. Nothing: never.
std::optional<Time> may_end_at(const Task& task, Time now);
// When the task ends if it runs for as long as its ask declares, or its framework's longest task
// ran, or its time limit allows if that is less. Nothing: this is not known, or it has run longer.
std::optional<Time> usually_ends_at(const Task& task, Time now);
// When so many tasks of the ask will fit there if each task ends when it may end by itself, and all
// that is offered or lent is given back at once. Nothing: never. O(tasks of the agent).
std::optional<Time> would_fit_at(const AskEntry& ask, const Agent& agent, int64_t tasks, Time now);

}  // namespace proffer::fair
