#pragma once

// The id of this master, at whatever address: a file in its data directory.

#include <string>

#include "common/result.h"
#include "proto/masters.h"

namespace proffer::master {

// What DATA_DIR/master_id says; made if it is missing. Hold the directory's lock. Errors:
// kUnavailable; kCorruption if there is something else in it.
Result<proto::MasterId> own_master_id(const std::string& data_dir);

}  // namespace proffer::master
