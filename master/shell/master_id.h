#pragma once

// The id of this master, which does not depend on its address: a file in its data directory.

#include <string>

#include "common/result.h"
#include "proto/masters.h"

namespace proffer::master {

// The content of DATA_DIR/master_id, which is made if it is missing. Hold the directory's lock.
// Errors: kUnavailable; kCorruption: the file has another content.
struct OwnMasterId {
  proto::MasterId id = {};
  bool is_new = false;  // the file was missing
};
Result<OwnMasterId> own_master_id(const std::string& data_dir);

}  // namespace proffer::master
