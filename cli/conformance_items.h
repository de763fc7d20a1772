#pragma once

// The list of `proffer conformance`: what goes wrong in each item, and what is expected then.

#include <span>
#include <string_view>

#include "cli/conformance_trial.h"

namespace proffer::cli {

struct ConformanceItem {
  std::string_view name;
  std::string_view what;
  // Makes the fault, in a trial whose scheduler was just started, and judges.
  Outcome (*run)(Trial&);
  TrialTimes times = {};
};

// In the order in which they are reported.
std::span<const ConformanceItem> conformance_items();

}  // namespace proffer::cli
