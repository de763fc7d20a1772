#pragma once

// Inside net only: decides which peers may connect with CURVE. libzmq asks one handler per context
// (ZAP, RFC 27) whether the key of a connection is known, before it delivers anything of the
// connection.

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "common/keys.h"
#include "net/loop.h"
#include "net/zmq_socket.h"

namespace proffer {

// The domain of sockets without authentication: Unix sockets, and plain TCP.
inline constexpr std::string_view kPlainDomain = "proffer";

// The handler of a loop. It must exist before the first CURVE socket listens and until the last one
// has closed: without a handler libzmq 4.3.4 admits every peer that has the server's key.
class ZapHandler final : public Pump {
 public:
  // Called for each handshake; a connection with another key is refused in it.
  using MayConnect = std::function<bool(const PublicKey&)>;

  static std::shared_ptr<ZapHandler> of(Loop& loop);
  explicit ZapHandler(Loop& loop);
  ~ZapHandler() override;
  ZapHandler(const ZapHandler&) = delete;
  ZapHandler& operator=(const ZapHandler&) = delete;

  // A domain for ZMQ_ZAP_DOMAIN; each call returns a new one.
  std::string add(MayConnect may_connect);
  void remove(const std::string& domain);

  void pump() override;
  bool is_pending() override { return socket_.is_readable(); }

 private:
  bool answer_one();

  Loop& loop_;
  ZmqSocket socket_;
  std::map<std::string, MayConnect, std::less<>> domains_;
  uint64_t domains_made_ = 0;
};

}  // namespace proffer
