#include "net/passed_fds.h"

#include <cstring>

#include <sys/socket.h>

#include "common/check.h"

namespace proffer {
namespace {

union Control {
  cmsghdr header;
  char bytes[CMSG_SPACE(kPassedFdsMax * sizeof(int))];
};

}  // namespace

ssize_t send_with_fds(int socket, std::string_view bytes, std::span<const int> fds, int flags) {
  CHECK(fds.size() <= kPassedFdsMax && (fds.empty() || !bytes.empty()));
  iovec part{.iov_base = const_cast<char*>(bytes.data()), .iov_len = bytes.size()};
  Control control = {};
  msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  if (!fds.empty()) {
    message.msg_control = &control;
    message.msg_controllen = CMSG_SPACE(fds.size_bytes());
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(fds.size_bytes());
    std::memcpy(CMSG_DATA(header), fds.data(), fds.size_bytes());
  }
  return sendmsg(socket, &message, flags | MSG_NOSIGNAL);
}

ssize_t receive_with_fds(int socket, std::span<char> room, std::vector<Fd>& fds, int flags) {
  fds.clear();
  iovec part{.iov_base = room.data(), .iov_len = room.size()};
  Control control = {};
  msghdr message = {};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = &control;
  message.msg_controllen = sizeof control;
  const ssize_t got = recvmsg(socket, &message, flags | MSG_CMSG_CLOEXEC);
  if (got < 0) return got;
  for (cmsghdr* header = CMSG_FIRSTHDR(&message); header != nullptr;
       header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
    const size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < count; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(header) + i * sizeof fd, sizeof fd);
      fds.emplace_back(fd);
    }
  }
  // If there is too little room, the kernel has passed only some.
  if ((message.msg_flags & MSG_CTRUNC) != 0) fds.clear();
  return got;
}

}  // namespace proffer
