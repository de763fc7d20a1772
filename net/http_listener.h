#pragma once

// Inside net only: the listening socket of the HTTP server.

#include "common/result.h"
#include "net/address.h"
#include "net/fd.h"

namespace proffer {

struct HttpListener {
  Fd fd = {};
  Address address = {};  // with the real port
};

// `address`: a numeric address, "localhost", or the path of a Unix socket, which all users may
// connect to. It replaces an existing socket, so hold a lock for the path first. Errors:
// kInvalidArgument (address), kFailedPrecondition (port in use, no such local address, or another
// kind of file at the path), kUnavailable.
Result<HttpListener> open_http_listener(const Address& address);

}  // namespace proffer
