#pragma once

// Inside net only: the client side of TLS 1.3 on a connected non-blocking socket. GnuTLS is loaded
// with the first one: most commands do not need it, and loading takes milliseconds.

#include <cstddef>
#include <memory>
#include <optional>
#include <string>

#include "common/result.h"

namespace proffer {

class TlsClient {
 public:
  // `pin` as TlsIdentity::pin: nothing is sent to a server with another key. `fd` outlives this
  // object. Errors: kUnavailable (GnuTLS cannot be loaded), kInvalidArgument (invalid pin).
  static Result<std::unique_ptr<TlsClient>> start(int fd, const std::string& pin);
  ~TlsClient();
  TlsClient(const TlsClient&) = delete;
  TlsClient& operator=(const TlsClient&) = delete;

  // True once the server has proved its key. Errors: kUnavailable (the connection), and
  // kPermissionDenied: it has another key.
  Result<bool> shake_hands();
  // The events that the next call needs: POLLIN or POLLOUT.
  short events() const;

  // After the handshake. Returns the number of sent bytes; 0: wait. Errors: kUnavailable.
  Result<size_t> send(const char* bytes, size_t count);
  // None: wait; 0: the server has ended the connection. Errors: kUnavailable.
  Result<std::optional<size_t>> receive(char* bytes, size_t count);

 private:
  struct Impl;
  explicit TlsClient(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace proffer
