#pragma once

// Archives: tar (plain or compressed by gzip, bzip2, xz or zstd) and zip. What is in them was
// written by anybody, so every entry is made part by part below one directory, and never through a
// link.

#include <cstddef>

#include "common/result.h"
#include "slave/fetcher/room.h"

namespace proffer::fetcher {

inline constexpr size_t kArchiveEntriesMax = 1'000'000;

// Unpacks the archive `fd` below the directory `into`. Files that are there already are replaced.
// No entry may be absolute, have "..", or lie behind a link; links may only lead to what is below
// `into`; devices, pipes and sockets are refused, and so are names in `into` that the agent needs.
// Owners, and the bits for other users and set-user-id are not taken over.
// Errors: kInvalidArgument, which entry and why, or that it is no archive; kResourceExhausted;
// kUnavailable.
Result<void> unpack(int fd, int into, Room& room);

}  // namespace proffer::fetcher
