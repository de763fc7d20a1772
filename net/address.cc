// Addresses host:port and paths: text, socket forms, and whether other machines can reach them.

#include "net/address.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>

#include <arpa/inet.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "common/text.h"
#include "net/fd.h"

namespace proffer {
namespace {

constexpr size_t kHostBytesMax = 253;  // of a DNS name
constexpr int64_t kPortMax = 65'535;

bool is_host_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
         c == '-' || c == '_';
}

bool is_host_name(std::string_view text) {
  if (text.empty() || text.size() > kHostBytesMax) return false;
  for (const char c : text) {
    if (!is_host_char(c)) return false;
  }
  return true;
}

bool is_ipv6(const std::string& text) {
  if (text.find('\0') != std::string::npos) return false;  // inet_pton would stop there.
  std::array<unsigned char, 16> bytes{};
  return inet_pton(AF_INET6, text.c_str(), bytes.data()) == 1;
}

Error not_an_address(std::string_view what, std::string_view text_given) {
  return Error::invalid_argument(
             text(what, " ", quoted(text_given), " is not an address of the form host:port"))
      .with_hint("for example 127.0.0.1:5050, master.example:5050 or [::1]:5050");
}

// Brackets are needed if the host has colons and a port follows.
std::string bracketed(const std::string& host) {
  return host.find(':') == std::string::npos ? host : text("[", host, "]");
}

}  // namespace

Result<Address> parse_address(std::string_view what, std::string_view text_given,
                              uint16_t default_port) {
  Address address;
  std::string_view rest = text_given;  // what follows the host: "" or ":port"
  if (!rest.empty() && rest.front() == '[') {
    const size_t end = rest.find(']');
    if (end == std::string_view::npos) return not_an_address(what, text_given);
    address.host = std::string(rest.substr(1, end - 1));
    if (!is_ipv6(address.host)) return not_an_address(what, text_given);
    rest.remove_prefix(end + 1);
  } else {
    const size_t end = std::min(rest.find(':'), rest.size());
    address.host = std::string(rest.substr(0, end));
    if (!is_host_name(address.host)) return not_an_address(what, text_given);
    rest.remove_prefix(end);
  }
  if (rest.empty()) {
    if (default_port == 0) return not_an_address(what, text_given);
    address.port = default_port;
    return address;
  }
  if (rest.front() != ':') return not_an_address(what, text_given);
  const Result<int64_t> port = parse_whole(text("port of ", what), rest.substr(1), 0, kPortMax);
  if (!port) return port.error();
  address.port = static_cast<uint16_t>(*port);
  return address;
}

Result<Address> parse_socket_or_address(std::string_view what, std::string_view text_given,
                                        uint16_t default_port) {
  if (text_given.find('/') == std::string_view::npos) {
    return parse_address(what, text_given, default_port);
  }
  constexpr size_t kPathBytesMax = sizeof(sockaddr_un::sun_path) - 1;
  if (text_given.size() > kPathBytesMax) {
    return Error::invalid_argument(text(what, " ", quoted(text_given), " is longer than the ",
                                        kPathBytesMax, " bytes of a socket's path"));
  }
  if (text_given.find('\0') != std::string_view::npos) return not_an_address(what, text_given);
  return Address{.socket = std::string(text_given)};
}

std::string to_text(const Address& address) {
  if (!address.socket.empty()) return address.socket;
  return text(bracketed(address.host), ":", address.port);
}

Result<Masters> parse_masters(std::string_view what, std::string_view text_given,
                              uint16_t default_port) {
  Masters masters;
  // An address of Mesos or of HTTP has a slash, and would be taken for the path of a socket.
  if (const size_t scheme = text_given.find("://"); scheme != text_given.npos) {
    const std::string_view rest = text_given.substr(scheme + 3);
    const std::string_view host = rest.substr(0, rest.find('/'));
    const bool is_zookeeper = text_given.starts_with("zk:");
    return Error::invalid_argument(text(what,
                                        " must be SOCKET or HOST:PORT, or several of them "
                                        "with ',' between, not ",
                                        quoted(text_given)))
        .with_hint(is_zookeeper ? text("name the masters themselves, not their ZooKeeper, as in ",
                                       "host1:5050,host2:5050")
                                : text("write ", host.empty() ? "HOST:PORT" : host));
  }
  for (const std::string_view one : split(text_given, ',')) {
    Result<Address> address = parse_socket_or_address(what, one, default_port);
    if (!address) return std::move(address).error();
    if (std::find(masters.begin(), masters.end(), *address) != masters.end()) {
      return Error::invalid_argument(text(what, " names ", quoted(to_text(*address)), " twice"));
    }
    masters.push_back(*std::move(address));
  }
  if (masters.size() > kMastersMax) {
    return Error::invalid_argument(
        text(what, " must name at most ", kMastersMax, " masters, not ", masters.size()));
  }
  return masters;
}

std::string to_text(const Masters& masters) {
  std::string all;
  for (const Address& address : masters) {
    all += text(all.empty() ? "" : ",", to_text(address));
  }
  return all;
}

std::vector<std::string> zmq_endpoints(const Masters& masters) {
  std::vector<std::string> all;
  for (const Address& address : masters) all.push_back(zmq_endpoint(address));
  return all;
}

std::string leader_endpoint(std::string_view leader) {
  const Result<Address> address = parse_socket_or_address("leader", leader);
  return address ? zmq_endpoint(*address) : std::string();
}

std::string standby_words(std::string_view leader) {
  if (leader.empty()) return "that master is a standby, and no master leads at the moment";
  return text("that master is a standby; the leader is at ", leader);
}

std::string zmq_endpoint(const Address& address) {
  return text(address.socket.empty() ? "tcp://" : "ipc://", to_text(address));
}

Result<std::string> dev_directory() {
  const char* variable = std::getenv("TMPDIR");
  const std::string below = variable == nullptr || *variable == '\0' ? "/tmp" : variable;
  std::error_code failed;
  if (std::filesystem::is_directory(below, failed)) {
    return text(below, "/proffer-dev-", static_cast<int64_t>(getuid()));
  }
  return Error::failed_precondition(
             text("the directory ", quoted(below), " for temporary files is missing"))
      .with_hint("create it, or name another one with $TMPDIR");
}

bool has_listener(const std::string& socket) {
  sockaddr_un address = {};
  if (socket.empty() || socket.size() >= sizeof address.sun_path) return false;
  address.sun_family = AF_UNIX;
  std::copy(socket.begin(), socket.end(), address.sun_path);
  const Fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (fd.get() < 0) return false;
  // A full queue (EAGAIN) belongs to a listener.
  return ::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 ||
         errno == EAGAIN || errno == EINPROGRESS;
}

std::optional<Address> dev_master() {
  const Result<std::string> directory = dev_directory();
  if (!directory) return std::nullopt;
  const std::string socket = *directory + "/master.sock";
  // In a shared folder, other users can make files with this name.
  struct stat found = {};
  const bool is_own_directory =
      lstat(directory->c_str(), &found) == 0 && S_ISDIR(found.st_mode) && found.st_uid == getuid();
  const bool is_own_socket =
      lstat(socket.c_str(), &found) == 0 && S_ISSOCK(found.st_mode) && found.st_uid == getuid();
  if (!is_own_directory || !is_own_socket || !has_listener(socket)) return std::nullopt;
  return Address{.socket = socket};
}

std::string http_socket_beside(std::string_view socket) {
  constexpr std::string_view kEnding = ".sock";
  if (socket.ends_with(kEnding)) socket.remove_suffix(kEnding.size());
  return text(socket, "-http", kEnding);
}

std::string exec_socket_beside(std::string_view http_socket) {
  constexpr std::string_view kEnding = "-http.sock";
  if (!http_socket.starts_with('/') || !http_socket.ends_with(kEnding)) return {};
  http_socket.remove_suffix(kEnding.size());
  return text(http_socket, "-exec.sock");
}

bool is_loopback(std::string_view host) {
  const std::string name(host);
  if (name == "localhost") return true;
  if (name.find('\0') != std::string::npos) return false;  // inet_pton would stop there.
  in_addr v4{};
  if (inet_pton(AF_INET, name.c_str(), &v4) == 1) return (ntohl(v4.s_addr) >> 24) == 127;
  in6_addr v6{};
  if (inet_pton(AF_INET6, name.c_str(), &v6) != 1) return false;
  if (IN6_IS_ADDR_V4MAPPED(&v6)) return v6.s6_addr[12] == 127;
  return IN6_IS_ADDR_LOOPBACK(&v6);
}

}  // namespace proffer
