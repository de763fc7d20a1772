#pragma once

// Takes a snapshot of the live cluster from its master.

#include "cli/master_client.h"
#include "common/result.h"
#include "proto/live_snapshot.h"

namespace proffer::cli {

// All pages of one snapshot. Blocks. Errors: the master's.
Result<proto::LiveSnapshot> take_snapshot(const Masters& master);

}  // namespace proffer::cli
