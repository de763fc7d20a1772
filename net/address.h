#pragma once

// Where something listens, as people write it: host:port, or the path of a Unix socket.

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

// "127.0.0.1:5050", "master.example:5050", "[::1]:5050". With `default_port` other than 0 the port
// may be left out. Port 0 parses ("any free one"). Errors: kInvalidArgument, saying what is
// allowed; `what` names the value ("--master").
Result<Address> parse_address(std::string_view what, std::string_view text,
                              uint16_t default_port = 0);
// As parse_address(), or the path of a Unix socket: what has a '/', as in /run/proffer/master.sock.
// A path is not longer than the kernel allows.
Result<Address> parse_socket_or_address(std::string_view what, std::string_view text,
                                        uint16_t default_port = 0);
// "127.0.0.1:5050", "[::1]:5050", "/run/proffer/master.sock"; parses back.
std::string to_text(const Address& address);

// The masters of one cluster, one to kMastersMax, none twice. One of them leads.
using Masters = std::vector<Address>;
inline constexpr size_t kMastersMax = 16;
// As parse_socket_or_address(), separated by commas.
Result<Masters> parse_masters(std::string_view what, std::string_view text,
                              uint16_t default_port = 0);
// Separated by commas; parses back.
std::string to_text(const Masters& masters);
std::vector<std::string> zmq_endpoints(const Masters& masters);
// Of what a standby says of the leader (proto::NotLeader); empty, if it says nothing that one could
// connect to.
std::string leader_endpoint(std::string_view leader);
// "that master is a standby; the leader is at 127.0.0.1:5050"
std::string standby_words(std::string_view leader);
// "tcp://127.0.0.1:5050", "ipc:///run/proffer/master.sock", for Router and Dealer.
std::string zmq_endpoint(const Address& address);
// Where the master of this machine listens unless its flags say otherwise.
inline constexpr std::string_view kMasterSocket = "/run/proffer/master.sock";
// The directory of this user's `proffer dev` unless --dir names another: proffer-dev-UID below
// $TMPDIR or else /tmp. Errors: kFailedPrecondition if there is no such folder.
Result<std::string> dev_directory();
// The socket of the master there; none if the directory is not this user's, or nobody listens.
std::optional<Address> dev_master();
// Whether somebody listens at this path. One that its process left behind has no listener.
bool has_listener(const std::string& socket);

// "/run/proffer/master.sock" -> "/run/proffer/master-http.sock".
std::string http_socket_beside(std::string_view socket);

// "…/executors-http.sock", where an agent serves files, -> "…/executors-exec.sock", where it takes
// commands for tasks. Empty if the first is no such path: a port.
std::string exec_socket_beside(std::string_view http_socket);

// Only this machine can reach it: 127.0.0.0/8, ::1, or "localhost". By text, without a resolver:
// any other name is not loopback.
bool is_loopback(std::string_view host);

}  // namespace proffer
