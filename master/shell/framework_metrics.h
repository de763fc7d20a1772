#pragma once

// What each framework did and how long it waited, as metrics.

#include <vector>

#include "master/core/framework_figures.h"
#include "net/metrics_text.h"

namespace proffer::master {

// Those of sdk::SchedulerFigures have their names.
void write_frameworks(const std::vector<FrameworkSeriesRow>& rows, MetricsText& text);

}  // namespace proffer::master
