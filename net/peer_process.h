#pragma once

// The process at the other end of a Unix socket, as the kernel says.

#include <cstdint>
#include <optional>
#include <string_view>

namespace proffer {

struct PeerProcess {
  uint32_t uid = 0;
  uint32_t gid = 0;
  int32_t pid = 0;
  bool operator==(const PeerProcess&) const = default;
};

// What libzmq writes as the address of a peer on a Unix socket, "localhost:uid:gid:pid". That of a
// TCP peer is a number, so no peer can choose this form. None: it is another.
std::optional<PeerProcess> peer_process(std::string_view address);

// The user at the other end of a connected Unix socket, as the kernel says. None: `fd` is another.
std::optional<uint32_t> user_of_socket(int fd);

}  // namespace proffer
