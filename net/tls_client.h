#pragma once

// Inside net only: the client's end of TLS 1.3 on a connected socket that does not block. GnuTLS is
// loaded when the first one begins: most commands need none, and loading costs milliseconds.

#include <cstddef>
#include <memory>
#include <optional>
#include <string>

#include "common/result.h"

namespace proffer {

class TlsClient {
 public:
  // `pin` as TlsIdentity::pin: a server with another key is told nothing. `fd` outlives this
  // object. Errors: kUnavailable (GnuTLS cannot be loaded), kInvalidArgument (no such pin).
  static Result<std::unique_ptr<TlsClient>> start(int fd, const std::string& pin);
  ~TlsClient();
  TlsClient(const TlsClient&) = delete;
  TlsClient& operator=(const TlsClient&) = delete;

  // True once the server has proved its key. Errors: kUnavailable (the connection), and
  // kPermissionDenied: it has another key.
  Result<bool> shake_hands();
  // What the next call waits for: POLLIN or POLLOUT.
  short events() const;

  // After the handshake. How many bytes went; 0: wait. Errors: kUnavailable.
  Result<size_t> send(const char* bytes, size_t count);
  // none: wait; 0: the server has ended the connection. Errors: kUnavailable.
  Result<std::optional<size_t>> receive(char* bytes, size_t count);

 private:
  struct Impl;
  explicit TlsClient(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace proffer
