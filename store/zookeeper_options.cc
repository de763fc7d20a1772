#include "store/zookeeper_options.h"

#include <array>
#include <cerrno>
#include <cstring>

#include <arpa/inet.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/ids.h"
#include "common/text.h"
#include "net/address.h"
#include "net/fd.h"

namespace proffer {
namespace {

constexpr size_t kAuthBytesMin = 16;
constexpr size_t kAuthBytesMax = 1'024;
constexpr const char* kForm = "as in --zk=127.0.0.1:2181,127.0.0.1:2182/proffer";

// Only numbers: resolving a name would block, and could give any address.
bool is_loopback_number(const std::string& host) {
  std::array<unsigned char, 16> bytes{};
  const bool is_number = inet_pton(AF_INET, host.c_str(), bytes.data()) == 1 ||
                         inet_pton(AF_INET6, host.c_str(), bytes.data()) == 1;
  return is_number && is_loopback(host);
}

Result<void> check_root(std::string_view what, std::string_view root) {
  const std::vector<std::string_view> names = split(root.substr(1), '/');
  for (const std::string_view name : names) {
    if (Result<void> checked = check_name(text("path of ", what), name); !checked) {
      return std::move(checked).error().with_hint(kForm);
    }
  }
  if (names.front() == "zookeeper") {
    return Error::invalid_argument(
               text("path of ", what,
                    " must not begin with /zookeeper, which is reserved for the servers"))
        .with_hint(kForm);
  }
  return {};
}

}  // namespace

Result<ZooKeeperOptions> parse_zookeeper(std::string_view what, std::string_view given) {
  const size_t slash = given.find('/');
  if (slash == given.npos || slash == 0) {
    return Error::invalid_argument(text(what, " must be servers and a path, not ", quoted(given)))
        .with_hint(kForm);
  }
  ZooKeeperOptions options{.root = std::string(given.substr(slash))};
  if (Result<void> checked = check_root(what, options.root); !checked) {
    return std::move(checked).error();
  }
  for (const std::string_view server : split(given.substr(0, slash), ',')) {
    const Result<Address> address = parse_address(what, server, 2181);
    if (!address) return address.error();
    if (address->port == 0) {
      return Error::invalid_argument(text("port of ", what, " must be from 1 to 65535, not 0"));
    }
    if (!is_loopback_number(address->host)) {
      return Error::unsupported(text(what, " requires loopback addresses, such as 127.0.0.1, not ",
                                     quoted(address->host),
                                     ": ZooKeeper's client has no TLS, so its secret and the "
                                     "registry would cross the network unencrypted"))
          .with_hint(
              "run a ZooKeeper server or a TLS tunnel (stunnel4) on each master's machine; see "
              "docs/guides/cluster.md");
    }
    options.servers += text(options.servers.empty() ? "" : ",", to_text(*address));
  }
  return options;
}

Result<std::string> read_zookeeper_secret(const std::string& path) {
  constexpr const char* kMake =
      "create it: (umask 077; head -c 24 /dev/urandom | base64 > FILE); every master needs the "
      "same file";
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0) {
    return Error::not_found(
               text("the secret ", quoted(path), " cannot be opened: ", std::strerror(errno)))
        .with_hint(kMake);
  }
  struct stat found = {};
  if (::fstat(file.get(), &found) != 0 || !S_ISREG(found.st_mode)) {
    return Error::invalid_argument(text("the secret ", quoted(path), " must be a file"))
        .with_hint(kMake);
  }
  if ((found.st_mode & 077) != 0 || (found.st_uid != geteuid() && found.st_uid != 0)) {
    return Error::failed_precondition(text("other users may read or write the secret ",
                                           quoted(path), ", so it is not secret"))
        .with_hint("it must belong to the user of the master and have mode 0600: chmod 600 FILE");
  }
  std::string bytes(kAuthBytesMax + 2, '\0');
  const ssize_t size = ::read(file.get(), bytes.data(), bytes.size());
  if (size < 0) {
    return Error::unavailable(
        text("the secret ", quoted(path), " cannot be read: ", std::strerror(errno)));
  }
  bytes.resize(static_cast<size_t>(size));
  std::string secret = bytes.substr(0, bytes.find('\n'));
  if (secret.size() < kAuthBytesMin || secret.size() > kAuthBytesMax ||
      secret.find('\0') != secret.npos) {
    return Error::invalid_argument(text("the first line of the secret ", quoted(path),
                                        " must have ", kAuthBytesMin, " to ", kAuthBytesMax,
                                        " bytes, not ", secret.size()))
        .with_hint(kMake);
  }
  return secret;
}

Error wrong_zookeeper_secret(const std::string& root) {
  return Error::failed_precondition(
             text("ZooKeeper's nodes at ", quoted(root), " were created with another secret"))
      .with_hint("all masters of a cluster need the same --zk_secret_file");
}

}  // namespace proffer
