#pragma once

// The options for the ensemble: --zk and its secret.

#include <string>
#include <string_view>

#include "common/result.h"
#include "store/zookeeper_session.h"

namespace proffer {

// For --zk_session_timeout. With a shorter one a busy machine loses its lead; with a longer one
// there is no leader for that long after a failure.
inline constexpr Duration kZooKeeperSessionMin = milliseconds(500);
inline constexpr Duration kZooKeeperSessionMax = seconds(60);

// "127.0.0.1:2181,127.0.0.1:2182/proffer": servers, and the folder of this cluster. The servers
// must be loopback addresses, since the client has no TLS. Errors: kInvalidArgument, kUnsupported,
// with hints; `what` names the value ("--zk").
Result<ZooKeeperOptions> parse_zookeeper(std::string_view what, std::string_view given);

// The first line of a file that only its owner, this process's user or root, can read; 16 bytes to
// 1 KiB. Errors: kNotFound, kFailedPrecondition (others may read it), kInvalidArgument, with hints.
Result<std::string> read_zookeeper_secret(const std::string& path);

// kFailedPrecondition: the nodes at `root` were made with another secret.
Error wrong_zookeeper_secret(const std::string& root);

}  // namespace proffer
