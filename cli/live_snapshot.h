#pragma once

// The live cluster as its master sees it.

#include "cli/master_client.h"
#include "common/result.h"
#include "proto/live_snapshot.h"

namespace proffer::cli {

// All pages of one snapshot. Blocks. Errors: the master's.
Result<proto::LiveSnapshot> take_snapshot(const Masters& master);

}  // namespace proffer::cli
