#pragma once

// The output of `proffer replay --with --json`. The rules of json.h apply.

#include <string>

#include "proto/policy_trial.h"

namespace proffer::proto {

// {"with":["role eng weight=3"],"span_s","tasks","all":{"recorded":{"waits","wait_mean_s",
// "wait_p50_s","wait_p90_s","wait_sum_s","waiting","mean_share","revokes","makespan_s"},
// "again","as_it_was","changed"},"roles":{"eng":{"recorded",…}},"notes"}
std::string policy_trial_json(const PolicyTrial& trial);

}  // namespace proffer::proto
