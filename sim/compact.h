#pragma once

// The smallest number of agents that suffices for a scenario (cell compaction: Verma et al.,
// EuroSys 2015, section 5.1): agents are removed, and the whole work is replayed each time, until
// it no longer fits.

#include "proto/simulate_report.h"
#include "sim/scenario.h"

namespace proffer::sim {

// The report of the last replay that fits, with `compact` set. The work fits if at the end no
// framework has more tasks waiting than with all agents, and if none of its tasks has waited longer
// than the longest with all agents, a tenth of that and kCompactWait. An agent on which tasks run
// at 0s is kept. If a replay violates an invariant, its report is returned.
//
// Needs a checked scenario. Takes at most kCompactReplaysMax replays, so that in a large cluster
// some agents may be left that could still be removed.
proto::SimulateReport compact(Scenario scenario);

inline constexpr Duration kCompactWait = minutes(1);
inline constexpr int64_t kCompactReplaysMax = 200;

}  // namespace proffer::sim
