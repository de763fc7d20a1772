#pragma once

// What people say about the ensemble: --zk and its secret.

#include <string>
#include <string_view>

#include "common/result.h"
#include "store/zookeeper_session.h"

namespace proffer {

// Of --zk_session_timeout. Shorter, and a busy machine loses its lead; longer, and nobody leads for
// so long after one was lost.
inline constexpr Duration kZooKeeperSessionMin = milliseconds(500);
inline constexpr Duration kZooKeeperSessionMax = seconds(60);

// "127.0.0.1:2181,127.0.0.1:2182/proffer": servers, and the folder of this cluster. The servers are
// loopback addresses, since the client speaks no TLS. Errors: kInvalidArgument, kUnsupported, with
// hints; `what` names the value ("--zk").
Result<ZooKeeperOptions> parse_zookeeper(std::string_view what, std::string_view given);

// The first line of a file that only its owner, this process's user or root, can read; 16 bytes to
// 1 KiB. Errors: kNotFound, kFailedPrecondition (others may read it), kInvalidArgument, with hints.
Result<std::string> read_zookeeper_secret(const std::string& path);

// kFailedPrecondition: the nodes at `root` were made with another one.
Error wrong_zookeeper_secret(const std::string& root);

}  // namespace proffer
