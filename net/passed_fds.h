#pragma once

// Messages with open descriptors over a Unix socket (SCM_RIGHTS), which the receiver can use
// without a path.

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include <sys/types.h>

#include "net/fd.h"

namespace proffer {

inline constexpr size_t kPassedFdsMax = 3;  // per message; if there are more, all are dropped

// As send(2), with at most kPassedFdsMax descriptors, and none without bytes. They stay the
// caller's.
ssize_t send_with_fds(int socket, std::string_view bytes, std::span<const int> fds, int flags);

// As recv(2). `fds` are the received descriptors, with close-on-exec.
ssize_t receive_with_fds(int socket, std::span<char> room, std::vector<Fd>& fds, int flags);

}  // namespace proffer
