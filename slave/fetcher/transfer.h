#pragma once

// A file over HTTP: tried again when the transfer breaks, from where it broke if the server can and
// the file is still the same one.

#include <cstdint>
#include <string>
#include <vector>

#include "common/result.h"
#include "slave/fetcher/room.h"
#include "slave/fetcher/sha256.h"

namespace proffer::fetcher {

struct TransferOptions {
  // Before each trial but the first.
  std::vector<int> wait_millis = {200, 500, 1'000, 2'000};
  long connect_timeout_millis = 10'000;
  long stalled_seconds = 30;  // without a byte: the transfer is broken
  long redirects_max = 5;
};

// Writes what `uri` (http or https) names to `fd`, which is empty, and adds it to `sum`. A redirect
// from https leads to https only. Errors: kNotFound (the server has no such file, and any other
// answer of 4xx), kUnavailable (all trials failed), kResourceExhausted (see Room, write_at).
Result<void> transfer(const std::string& uri, int fd, Room& room, Sha256& sum,
                      const TransferOptions& options = {});

}  // namespace proffer::fetcher
