#pragma once

// Makes a failing run smaller, so that a person can read it: a simpler workload, fewer machines and
// tasks, fewer kinds of faults, fewer faults.

#include <functional>
#include <vector>

#include "sim/simulation.h"

namespace proffer::sim {

// Runs it; whether it still fails. A CHECK of a core counts, so who calls shrink() may want to run
// each in a process of its own.
using Fails = std::function<bool(const SimOptions&)>;
// The numbers of the faults that befall such a run.
std::vector<uint64_t> fault_numbers(const SimOptions& options);

// Needs options with everything explicit, as SimReport::options, that fail. What comes back fails,
// and `fails` was asked at most `runs_max` times.
SimOptions shrink(SimOptions options, const Fails& fails, size_t runs_max);

}  // namespace proffer::sim
