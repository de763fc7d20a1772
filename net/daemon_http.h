#pragma once

// The HTTP server of a daemon: a Unix socket for all users, and optionally a loopback port for
// holders of a token, and a TLS port for other machines.

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/result.h"
#include "net/address.h"
#include "net/http_server.h"

namespace proffer {

// The file for a port's token in the daemon's directory, which only its user can read.
inline constexpr std::string_view kHttpTokenFile = "http_token";

// The file for a token that is valid for /metrics only. It is made once, and stays: collectors on
// this machine get a copy.
inline constexpr std::string_view kMetricsTokenFile = "metrics_token";

class DaemonHttp {
 public:
  struct Options {
    std::string socket = {};           // its path; empty: none. The caller has its lock
    std::optional<Address> port = {};  // a loopback address
    std::string directory = {};        // of the daemon, for the token
    // Allowed names in the Host header, besides loopback names.
    std::vector<std::string> names = {};
    std::optional<Address> tls_port = {};
    HttpTls tls = {};  // of `tls_port`
    std::function<void(const HttpRequest&, HttpResponder)> handler = {};
    FilesRoute files = {};
    std::string (*encode_error)(const Error&) = nullptr;       // as in HttpServer
    std::string (*verbs_of)(std::string_view path) = nullptr;  // as in HttpServer
    size_t connections_max = kHttpConnectionsMax;              // of all listeners together
  };
  // Errors: as HttpServer::listen, and kUnavailable: a token cannot be written.
  static Result<std::unique_ptr<DaemonHttp>> listen(Loop& loop, Options options);

  // The socket's path, or host:port if there is none; empty without both.
  std::string address() const;
  // host:port, or empty.
  std::string port() const;
  // The real port with TLS; 0: none.
  uint16_t tls_port() const { return at_tls_port_ == nullptr ? uint16_t{0} : at_tls_port_->port(); }
  void followed_ended(std::string_view name);  // as in HttpServer

 private:
  std::unique_ptr<HttpServer> at_socket_;
  std::unique_ptr<HttpServer> at_port_;
  std::unique_ptr<HttpServer> at_tls_port_;
};

// Converts a flag's value: none if `port` is kNoHttpPort; exits with status 2 if it is wrong.
inline constexpr int kNoHttpPort = -1;
std::optional<Address> http_port_from_flags(const std::string& host, int port);

}  // namespace proffer
