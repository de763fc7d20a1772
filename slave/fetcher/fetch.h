#pragma once

// The work of proffer-fetch: gets the files of a plan, one after the other, into a sandbox.

#include "common/result.h"
#include "slave/fetcher/plan.h"
#include "slave/fetcher/transfer.h"

namespace proffer::fetcher {

// Each file gets its name in the directory `sandbox` only when it is complete and its sum was
// checked. The work folder is removed, except for files with a key, which stay there under that
// key. Errors: those of the first file that fails; the message names its URI.
Result<void> fetch_all(const Plan& plan, int sandbox, const TransferOptions& options = {});

}  // namespace proffer::fetcher
