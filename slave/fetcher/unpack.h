#pragma once

// Unpacks archives: tar (plain or compressed with gzip, bzip2, xz or zstd) and zip. Archives are
// untrusted, so each entry is made component by component below one directory, and never through a
// link.

#include <cstddef>

#include "common/result.h"
#include "slave/fetcher/room.h"

namespace proffer::fetcher {

inline constexpr size_t kArchiveEntriesMax = 1'000'000;

// Unpacks the archive `fd` below the directory `into`. Existing files are replaced. No entry may be
// absolute, contain "..", or lie behind a link; links may only lead to places below `into`;
// devices, pipes and sockets are refused, and so are names in `into` that the agent needs. Owners,
// set-user-id and the bits for other users are ignored. Errors: kInvalidArgument with the entry and
// the reason, also if it is no archive; kResourceExhausted; kUnavailable.
Result<void> unpack(int fd, int into, Room& room);

}  // namespace proffer::fetcher
