#pragma once

// The items of `proffer conformance`: the fault of each, and the expected result.

#include <span>
#include <string_view>

#include "cli/conformance_trial.h"

namespace proffer::cli {

struct ConformanceItem {
  std::string_view name;
  std::string_view what;
  // Makes the fault in a trial whose scheduler was just started, and returns the verdict.
  Outcome (*run)(Trial&);
  TrialTimes times = {};
};

// In the order of the report.
std::span<const ConformanceItem> conformance_items();

}  // namespace proffer::cli
