#include "net/local_address.h"

#include <cstring>

#include <sys/socket.h>

#include "common/text.h"

namespace proffer {

Result<sockaddr_un> local_address(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  constexpr size_t kSocketPathBytesMax = sizeof address.sun_path - 1;
  if (path.size() > kSocketPathBytesMax) {
    return Error::invalid_argument(text("socket path ", quoted(path), " is longer than ",
                                        kSocketPathBytesMax, " bytes"))
        .with_hint("use a shorter directory");
  }
  if (path.empty() || path.find('\0') != std::string::npos) {
    return Error::invalid_argument(text(quoted(path), " is not a socket path"));
  }
  std::memcpy(address.sun_path, path.data(), path.size());
  return address;
}

}  // namespace proffer
