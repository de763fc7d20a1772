#include "net/peer_process.h"

#include <vector>

#include <sys/socket.h>

#include "common/text.h"

namespace proffer {

std::optional<PeerProcess> peer_process(std::string_view address) {
  const std::vector<std::string_view> parts = split(address, ':');
  if (parts.size() != 4 || parts[0] != "localhost") return std::nullopt;
  const Result<int64_t> uid = parse_whole("uid", parts[1], 0, UINT32_MAX);
  const Result<int64_t> gid = parse_whole("gid", parts[2], 0, UINT32_MAX);
  const Result<int64_t> pid = parse_whole("pid", parts[3], 0, INT32_MAX);
  if (!uid || !gid || !pid) return std::nullopt;
  return PeerProcess{.uid = static_cast<uint32_t>(*uid),
                     .gid = static_cast<uint32_t>(*gid),
                     .pid = static_cast<int32_t>(*pid)};
}

std::optional<uint32_t> user_of_socket(int fd) {
  int domain = 0;
  socklen_t size = sizeof domain;
  if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &size) != 0 || domain != AF_UNIX) {
    return std::nullopt;
  }
  ucred peer{};
  size = sizeof peer;
  if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return std::nullopt;
  return peer.uid;
}

}  // namespace proffer
