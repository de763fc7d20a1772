#pragma once

// The file part of the HTTP server. Not for other files: see net/http_server.h.

#include <string_view>

#include "net/http_exchange.h"

namespace proffer::http {

// Answers a request below the prefix of Options::files, in the connection's thread.
MHD_Result serve_file(const ExchangePtr& exchange);

// The file with this name (ServedPath::name) is complete: its followers check it at once. Loop
// thread. O(log followers).
void followed_ended(Shared& shared, std::string_view name);

}  // namespace proffer::http
