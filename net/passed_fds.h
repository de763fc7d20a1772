#pragma once

// Messages with open descriptors, over a Unix socket (SCM_RIGHTS): what the other end may read and
// write without a path to it.

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include <sys/types.h>

#include "net/fd.h"

namespace proffer {

inline constexpr size_t kPassedFdsMax = 3;  // in one message; of more, none is taken

// As send(2), with these descriptors: at most kPassedFdsMax, none without bytes. They stay the
// caller's.
ssize_t send_with_fds(int socket, std::string_view bytes, std::span<const int> fds, int flags);

// As recv(2). `fds` are those that came with it, which are closed when a program is executed.
ssize_t receive_with_fds(int socket, std::span<char> room, std::vector<Fd>& fds, int flags);

}  // namespace proffer
