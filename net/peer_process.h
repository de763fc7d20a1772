#pragma once

// The process at the other end of a Unix socket, as the kernel reports it.

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

// Parses libzmq's address of a peer on a Unix socket, "localhost:uid:gid:pid". The address of a TCP
// peer is numeric, so no peer can imitate this form. None: another form.
std::optional<PeerProcess> peer_process(std::string_view address);

// The user at the other end of a connected Unix socket, from the kernel. None: `fd` is another
// kind.
std::optional<uint32_t> user_of_socket(int fd);

}  // namespace proffer
