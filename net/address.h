#pragma once

// host:port as people write it.

#include <cstdint>
#include <string>
#include <string_view>

#include "common/result.h"

namespace proffer {

struct Address {
  std::string host = {};  // a name, an IPv4 address, or an IPv6 address without brackets
  uint16_t port = 0;
  bool operator==(const Address&) const = default;
};

// "127.0.0.1:5050", "master.example:5050", "[::1]:5050". With `default_port` other than 0 the port
// may be left out. Port 0 parses ("any free one"). Errors: kInvalidArgument, saying what is
// allowed; `what` names the value ("--master").
Result<Address> parse_address(std::string_view what, std::string_view text,
                              uint16_t default_port = 0);
// "127.0.0.1:5050", "[::1]:5050"; parses back.
std::string to_text(const Address& address);
// "tcp://127.0.0.1:5050", for Router and Dealer.
std::string tcp_endpoint(const Address& address);
// "http://127.0.0.1:5080".
std::string http_url(const Address& address);

// Only this machine can reach it: 127.0.0.0/8, ::1, or "localhost". By text, without a resolver:
// any other name is not loopback.
bool is_loopback(std::string_view host);

}  // namespace proffer
