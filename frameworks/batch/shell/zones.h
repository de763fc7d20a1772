#pragma once

// Reads the system's time zone database for the core (cron.h).

#include <string>

#include "common/result.h"
#include "frameworks/batch/core/cron.h"

namespace proffer::batch {

// The zone of this name from a year before `now` to two years after it; `now` is in seconds since
// the Unix epoch. Reads /usr/share/zoneinfo, or $TZDIR. Errors: kNotFound: the database has no zone
// of this name.
Result<Zone> read_zone(const std::string& name, int64_t now);

}  // namespace proffer::batch
