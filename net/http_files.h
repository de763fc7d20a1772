#pragma once

// The file part of the HTTP server. Not for others: see net/http_server.h.

#include <string_view>

#include "net/http_exchange.h"

namespace proffer::http {

// Answers a request below the prefix of Options::files, in the connection's thread.
MHD_Result serve_file(const ExchangePtr& exchange);

// What has this name (ServedPath::name) does not grow any more: those that follow it look again at
// once. In the loop's thread. O(log followers).
void followed_ended(Shared& shared, std::string_view name);

}  // namespace proffer::http
