#pragma once

// Addresses as people write them: host:port, or the path of a Unix socket.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/result.h"

namespace proffer {

struct Address {
  std::string host = {};  // a name, an IPv4 address, or an IPv6 address without brackets
  uint16_t port = 0;
  std::string socket = {};  // the path of a Unix socket; then there is no host and no port
  bool operator==(const Address&) const = default;
};

// "127.0.0.1:5050", "master.example:5050", "[::1]:5050". If `default_port` is not 0, the port may
// be omitted. Port 0 is valid ("any free port"). Errors: kInvalidArgument, with the allowed forms;
// `what` names the value ("--master").
Result<Address> parse_address(std::string_view what, std::string_view text,
                              uint16_t default_port = 0);
// As parse_address(), or the path of a Unix socket: any text with a '/', as in
// /run/proffer/master.sock. The path must not exceed the kernel's limit.
Result<Address> parse_socket_or_address(std::string_view what, std::string_view text,
                                        uint16_t default_port = 0);
// "127.0.0.1:5050", "[::1]:5050", "/run/proffer/master.sock"; parses back.
std::string to_text(const Address& address);

// The masters of one cluster: one to kMastersMax, without duplicates. One of them leads.
using Masters = std::vector<Address>;
inline constexpr size_t kMastersMax = 16;
// As parse_socket_or_address(), separated by commas.
Result<Masters> parse_masters(std::string_view what, std::string_view text,
                              uint16_t default_port = 0);
// Separated by commas; parses back.
std::string to_text(const Masters& masters);
std::vector<std::string> zmq_endpoints(const Masters& masters);
// The endpoint in a standby's answer about the leader (proto::NotLeader); empty if it has none that
// can be connected to.
std::string leader_endpoint(std::string_view leader);
// "that master is a standby; the leader is at 127.0.0.1:5050"
std::string standby_words(std::string_view leader);
// "tcp://127.0.0.1:5050", "ipc:///run/proffer/master.sock", for Router and Dealer.
std::string zmq_endpoint(const Address& address);
// The default socket of the master on this machine.
inline constexpr std::string_view kMasterSocket = "/run/proffer/master.sock";
// The default directory of this user's `proffer dev`: proffer-dev-UID below $TMPDIR or else /tmp.
// Errors: kFailedPrecondition if that parent does not exist.
Result<std::string> dev_directory();
// The socket of the master there; none if the directory belongs to another user, or there is no
// listener.
std::optional<Address> dev_master();
// Whether a process listens at this path. The socket of an ended process has no listener.
bool has_listener(const std::string& socket);

// "/run/proffer/master.sock" -> "/run/proffer/master-http.sock".
std::string http_socket_beside(std::string_view socket);

// "…/executors-http.sock", where an agent serves files, -> "…/executors-exec.sock", where it
// accepts commands for tasks. Empty if the argument is not such a path but a port.
std::string exec_socket_beside(std::string_view http_socket);

// Whether the host is loopback: 127.0.0.0/8, ::1, or "localhost". Compared as text, without a
// resolver, so any other name is not loopback.
bool is_loopback(std::string_view host);

}  // namespace proffer
