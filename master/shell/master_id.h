#pragma once

// The id of this master, at whatever address: a file in its data directory.

#include <string>

#include "common/result.h"
#include "proto/masters.h"

namespace proffer::master {

// What DATA_DIR/master_id says; made if it is missing. Hold the directory's lock. Errors:
// kUnavailable; kCorruption if there is something else in it.
struct OwnMasterId {
  proto::MasterId id = {};
  bool is_new = false;  // the file was missing
};
Result<OwnMasterId> own_master_id(const std::string& data_dir);

}  // namespace proffer::master
