#pragma once

// Metrics of the actions and the waits of each framework.

#include <vector>

#include "master/core/framework_figures.h"
#include "net/metrics_text.h"

namespace proffer::master {

// The metrics of sdk::SchedulerFigures have the same names.
void write_frameworks(const std::vector<FrameworkSeriesRow>& rows, MetricsText& text);

}  // namespace proffer::master
