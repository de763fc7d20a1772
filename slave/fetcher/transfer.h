#pragma once

// Gets a file over HTTP. An interrupted transfer is retried from the point of interruption, if the
// server supports that and the file has not changed.

#include <cstdint>
#include <string>
#include <vector>

#include "common/result.h"
#include "slave/fetcher/room.h"
#include "slave/fetcher/sha256.h"

namespace proffer::fetcher {

struct TransferOptions {
  // Delays before the second and later attempts.
  std::vector<int> wait_millis = {200, 500, 1'000, 2'000};
  long connect_timeout_millis = 10'000;
  long stalled_seconds = 30;  // without a byte: the attempt has failed
  long redirects_max = 5;
};

// Writes the content of `uri` (http or https) to the empty file `fd` and adds it to `sum`. A
// redirect from https may only lead to https. Errors: kNotFound (no such file on the server, and
// any other 4xx answer), kUnavailable (all attempts failed), kResourceExhausted (see Room,
// write_at).
Result<void> transfer(const std::string& uri, int fd, Room& room, Sha256& sum,
                      const TransferOptions& options = {});

}  // namespace proffer::fetcher
