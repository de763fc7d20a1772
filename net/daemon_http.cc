#include "net/daemon_http.h"

#include <fstream>
#include <utility>

#include <sys/stat.h>
#include <unistd.h>

#include "common/check.h"
#include "common/text.h"
#include "net/daemon_flags.h"
#include "net/durable_files.h"
#include "net/randomness.h"
#include "net/trace_log.h"

namespace proffer {
namespace {

constexpr mode_t kOnlyForItsUser = 0600;

// The token in the file, if the file is ours and valid; otherwise a new one is written.
Result<std::string> kept_token(const std::string& path) {
  struct stat facts {};
  const bool was_there = ::lstat(path.c_str(), &facts) == 0;
  const bool is_ours =
      was_there && S_ISREG(facts.st_mode) && (facts.st_uid == ::geteuid() || facts.st_uid == 0);
  if (is_ours) {
    std::ifstream in(path);
    std::string token;
    if (in >> token && is_valid_secret(token)) return token;
  }
  std::string token = random_secret().str();
  if (Result<void> written = write_file_durably(path, token + "\n", kOnlyForItsUser); !written) {
    return std::move(written).error();
  }
  if (was_there) {
    LOG(WARNING)
        << proffer::quoted(path)
        << " was damaged: it has a new token, and copies of the old token are not valid any more";
  } else {
    LOG(INFO) << "there was no " << proffer::quoted(path) << ": it was created";
  }
  return token;
}

}  // namespace

Result<std::unique_ptr<DaemonHttp>> DaemonHttp::listen(Loop& loop, Options options) {
  auto http = std::make_unique<DaemonHttp>();
  std::string metrics_token;
  const auto listen_at = [&](Address address, std::string token, bool is_tls = false) {
    HttpServer::Options web;
    web.address = std::move(address);
    web.token = std::move(token);
    web.metrics_token = metrics_token;
    web.names = options.names;
    web.handler = options.handler;
    web.files = options.files;
    web.encode_error = options.encode_error;
    web.verbs_of = options.verbs_of;
    const size_t places = size_t{!options.socket.empty()} + size_t{options.port.has_value()} +
                          size_t{options.tls_port.has_value()};
    web.connections_max = options.connections_max / places;
    if (is_tls) web.tls = options.tls;
    web.token_hint = text("; the token is in ", options.directory, "/", kHttpTokenFile);
    return HttpServer::listen(loop, std::move(web));
  };
  if (!options.socket.empty()) {
    Result<std::unique_ptr<HttpServer>> listening = listen_at({.socket = options.socket}, "");
    if (!listening) return std::move(listening).error();
    http->at_socket_ = *std::move(listening);
  }
  const std::string path = text(options.directory, "/", kHttpTokenFile);
  ::unlink(path.c_str());  // The token of an earlier life is no longer valid.
  if (options.tls_port) {
    Result<std::unique_ptr<HttpServer>> listening = listen_at(*options.tls_port, "", true);
    if (!listening) return std::move(listening).error();
    http->at_tls_port_ = *std::move(listening);
  }
  if (!options.port) return http;
  const std::string token = random_secret().str();
  if (Result<void> written = write_file_atomically(path, token + "\n", kOnlyForItsUser); !written) {
    return std::move(written).error();
  }
  Result<std::string> kept = kept_token(text(options.directory, "/", kMetricsTokenFile));
  if (!kept) return std::move(kept).error();
  metrics_token = *std::move(kept);
  Result<std::unique_ptr<HttpServer>> listening = listen_at(*options.port, token);
  if (!listening) return std::move(listening).error();
  http->at_port_ = *std::move(listening);
  return http;
}

std::string DaemonHttp::address() const {
  return at_socket_ == nullptr ? port() : to_text(at_socket_->address());
}

void DaemonHttp::followed_ended(std::string_view name) {
  for (HttpServer* one : {at_socket_.get(), at_port_.get(), at_tls_port_.get()}) {
    if (one != nullptr) one->followed_ended(name);
  }
}

std::string DaemonHttp::port() const {
  return at_port_ == nullptr ? std::string() : to_text(at_port_->address());
}

std::optional<Address> http_port_from_flags(const std::string& host, int port) {
  if (port == kNoHttpPort) return std::nullopt;
  if (!is_loopback(host)) {
    exit_with(
        Error::unsupported(text("--http_address must be an address of this machine, as in ",
                                "127.0.0.1, not ", quoted(host)))
            .with_hint("other machines are served only by TLS: use --https_port of the agents"),
        2);
  }
  return Address{.host = host, .port = flag_port("http_port", port)};
}

}  // namespace proffer
