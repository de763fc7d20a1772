#pragma once

// What an agent does with the descriptors that it may have.

#include <algorithm>
#include <cstddef>

#include "common/limits.h"

namespace proffer::agent {

struct DescriptorShares {
  size_t http_connections = 0;  // each may have a file open beside its socket
  size_t executors = 0;         // started by this agent; each has a socket
  size_t executor_peers = 0;    // sockets at the executors' end, also of those that come and go
  size_t group_files = 0;       // of cgroups
};

// Divides `limit` descriptors so that no part takes those of another: HTTP gets a quarter. After a
// restart each executor takes a second descriptor, its pidfd; there is one for each.
constexpr DescriptorShares descriptor_shares(size_t limit, size_t http_connections_max) {
  constexpr size_t kKept = 64;  // the checkpoint, the loop, the master, a launch
  constexpr size_t kFew = 8;
  constexpr size_t kMany = 1'024;
  constexpr size_t kGroupFilesMax = 1'024;
  DescriptorShares shares;
  if (limit >= kMany) shares.group_files = std::min(limit / 32, kGroupFilesMax);
  const size_t kept = kKept + shares.group_files;
  const size_t free = std::max(limit, kept + 8 * kFew) - kept;
  shares.http_connections = std::min(free / 8, http_connections_max);
  const size_t rest = free - 2 * shares.http_connections;
  // Connections that were just begun or have just ended have a fifth.
  shares.executors = std::min(rest * 2 / 5, kTasksPerAgentMax);
  shares.executor_peers = std::min(rest - shares.executors, kLocalPeersMax);
  return shares;
}

}  // namespace proffer::agent
