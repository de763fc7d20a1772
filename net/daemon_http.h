#pragma once

// The HTTP of a daemon: a Unix socket for all users, and, when asked for, a port of the loopback
// interface for those that hold a token, and one with TLS for other machines.

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/result.h"
#include "net/address.h"
#include "net/http_server.h"

namespace proffer {

// A token of a port is in this file of the daemon's directory, which only its user may read.
inline constexpr std::string_view kHttpTokenFile = "http_token";

// And in this one a token that opens /metrics alone. It is made once, and stays: collectors on this
// machine get a copy.
inline constexpr std::string_view kMetricsTokenFile = "metrics_token";

class DaemonHttp {
 public:
  struct Options {
    std::string socket = {};              // its path; empty: none. Its lock is held
    std::optional<Address> port = {};     // a loopback address
    std::string directory = {};           // of the daemon, for the token
    std::vector<std::string> names = {};  // by which the port is asked for besides loopback ones
    std::optional<Address> tls_port = {};
    HttpTls tls = {};  // of `tls_port`
    std::function<void(const HttpRequest&, HttpResponder)> handler = {};
    FilesRoute files = {};
    std::string (*encode_error)(const Error&) = nullptr;       // as HttpServer's
    std::string (*verbs_of)(std::string_view path) = nullptr;  // likewise
    size_t connections_max = kHttpConnectionsMax;  // of the socket and the ports together
  };
  // Errors: as HttpServer::listen, and kUnavailable: a token cannot be written.
  static Result<std::unique_ptr<DaemonHttp>> listen(Loop& loop, Options options);

  // The socket's path, or host:port if there is none; empty without both.
  std::string address() const;
  // host:port, or empty.
  std::string port() const;
  // The real one with TLS; 0: none.
  uint16_t tls_port() const { return at_tls_port_ == nullptr ? uint16_t{0} : at_tls_port_->port(); }
  void followed_ended(std::string_view name);  // as HttpServer's

 private:
  std::unique_ptr<HttpServer> at_socket_;
  std::unique_ptr<HttpServer> at_port_;
  std::unique_ptr<HttpServer> at_tls_port_;
};

// The value of the daemons' flags: none if `port` is kNoHttpPort, or the end with status 2.
inline constexpr int kNoHttpPort = -1;
std::optional<Address> http_port_from_flags(const std::string& host, int port);

}  // namespace proffer
