#pragma once

// Inside net only: where the HTTP server accepts connections.

#include "common/result.h"
#include "net/address.h"
#include "net/fd.h"

namespace proffer {

struct HttpListener {
  Fd fd = {};
  Address address = {};  // with the real port
};

// A numeric address, "localhost", or the path of a Unix socket, which all users may connect to: it
// takes the place of a socket there, so hold a lock on its meaning first. Errors: kInvalidArgument
// (address), kFailedPrecondition (port in use, no such local address, or something else than a
// socket at the path), kUnavailable.
Result<HttpListener> open_http_listener(const Address& address);

}  // namespace proffer
