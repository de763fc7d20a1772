#pragma once

// The agent's HTTP server: at a socket beside that of its executors, at a port for bearers of a
// token, and with TLS for other machines, which bring tokens of the master
// (slave/shell/file_gate.h). The TLS key and the key of these tokens are new in each life and not
// on the disk, so tokens of an earlier life are invalid.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/result.h"
#include "net/address.h"
#include "net/daemon_http.h"
#include "net/http_server.h"
#include "net/loop.h"
#include "proto/messages.h"
#include "slave/shell/file_gate.h"

namespace proffer::agent {

class AgentHttp {
 public:
  struct Options {
    std::string agent = {};      // its name, which is in its certificate
    std::string socket = {};     // the executors' socket
    std::string directory = {};  // for the token of the port
    std::optional<Address> port = {};
    // Allowed names in the Host header, besides loopback names.
    std::vector<std::string> names = {};
    std::optional<uint16_t> https_port = {};  // 0: any free port; none: no TLS
    // The host for other machines; empty: the local address of the connection to the master.
    std::string https_host = {};
    Masters masters = {};
    size_t connections_max = 0;
  };
  struct Handlers {
    std::function<void(const HttpRequest&, HttpResponder)> on_request = {};
    // The file for a path after /v1/files/, if `by` may read it. Called by the server's threads.
    std::function<Result<ServedPath>(std::string_view, const PrincipalPtr& by)> resolve = {};
    std::function<void(RefusedBearer)> on_refused = {};
  };

  // Errors: as DaemonHttp::listen.
  static Result<std::unique_ptr<AgentHttp>> listen(Loop& loop, Options options, Handlers handlers);
  ~AgentHttp();
  AgentHttp(const AgentHttp&) = delete;
  AgentHttp& operator=(const AgentHttp&) = delete;

  const std::string& address() const { return address_; }  // of the socket
  std::string port() const { return http_->port(); }       // host:port, or empty
  // For the master, which gives it to readers on other machines.
  const proto::FileService& files() const { return files_; }
  // The address for other machines; it may change with another connection. Empty: no TLS.
  std::string https_address() const;
  // A followed file is complete.
  void followed_ended(std::string_view name) { http_->followed_ended(name); }

 private:
  AgentHttp(Loop& loop, Options options, Handlers handlers);
  Result<void> listen();
  Result<void> prepare_tls(DaemonHttp::Options& web);
  std::string own_host() const;

  Loop& loop_;
  Options options_;
  Handlers handlers_;
  proto::FileService files_ = {};
  std::shared_ptr<bool> is_there_ = std::make_shared<bool>(true);  // used in the loop's thread only
  std::unique_ptr<FileGate> gate_;  // called by the threads of `http_`
  std::unique_ptr<DaemonHttp> http_;
  std::string address_;
};

}  // namespace proffer::agent
