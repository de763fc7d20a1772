#pragma once

// What proffer-fetch does: the files of a plan, one after the other, into a sandbox.

#include "common/result.h"
#include "slave/fetcher/plan.h"
#include "slave/fetcher/transfer.h"

namespace proffer::fetcher {

// Each file is complete, with its sum checked, before it gets its name in `sandbox`, a directory.
// The work folder is removed, except for files with a key, which lie there under it. Errors: those
// of the first file that fails, whose message names its URI.
Result<void> fetch_all(const Plan& plan, int sandbox, const TransferOptions& options = {});

}  // namespace proffer::fetcher
