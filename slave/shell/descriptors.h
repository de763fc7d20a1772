#pragma once

// How an agent divides its file descriptors.

#include <algorithm>
#include <cstddef>

#include "common/limits.h"

namespace proffer::agent {

struct DescriptorShares {
  size_t http_connections = 0;  // each may have an open file besides its socket
  size_t executors = 0;         // started by this agent; each has a socket
  size_t executor_peers = 0;  // sockets of executors, including those that have just begun or ended
  size_t group_files = 0;     // open files of cgroups
};

// Divides `limit` descriptors into fixed parts. HTTP gets a quarter. After a restart an executor
// needs a second descriptor, its pidfd; there is one for each.
constexpr DescriptorShares descriptor_shares(size_t limit, size_t http_connections_max) {
  constexpr size_t kKept = 64;  // for the checkpoint, the loop, the master and a launch
  constexpr size_t kFew = 8;
  constexpr size_t kMany = 1'024;
  constexpr size_t kGroupFilesMax = 1'024;
  DescriptorShares shares;
  if (limit >= kMany) shares.group_files = std::min(limit / 32, kGroupFilesMax);
  const size_t kept = kKept + shares.group_files;
  const size_t free = std::max(limit, kept + 8 * kFew) - kept;
  shares.http_connections = std::min(free / 8, http_connections_max);
  const size_t rest = free - 2 * shares.http_connections;
  // A fifth is for connections that have just begun or ended.
  shares.executors = std::min(rest * 2 / 5, kTasksPerAgentMax);
  shares.executor_peers = std::min(rest - shares.executors, kLocalPeersMax);
  return shares;
}

}  // namespace proffer::agent
