#pragma once

// Makes a failing run smaller for people: a simpler workload, fewer machines and tasks, fewer kinds
// of faults, fewer faults.

#include <functional>
#include <vector>

#include "sim/simulation.h"

namespace proffer::sim {

// Runs the options; true if the run still fails. A CHECK of a core counts, so the caller of
// shrink() may want to run each in a separate process.
using Fails = std::function<bool(const SimOptions&)>;
// The numbers of the faults in such a run.
std::vector<uint64_t> fault_numbers(const SimOptions& options);

// Requires failing options with all values explicit, as SimReport::options. The result fails too;
// `fails` was called at most `runs_max` times.
SimOptions shrink(SimOptions options, const Fails& fails, size_t runs_max);

}  // namespace proffer::sim
