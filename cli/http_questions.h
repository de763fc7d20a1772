#pragma once

// GET requests to many servers at the same time, each on its own connection.

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "common/time.h"
#include "net/http_get.h"

namespace proffer::cli {

struct HttpQuestion {
  HttpPlace place = {};
  std::string target = {};
  size_t bytes_max = 0;  // longer answers are cut
};

struct HttpReply {
  bool is_asked = false;                          // false: the time was over before
  std::optional<std::string> body = {};           // none: no whole answer with status 200 in time
  std::chrono::steady_clock::time_point at = {};  // time at which the answer was whole
};

struct HttpBounds {
  size_t at_once = 256;  // connections at a time
  Duration each = {};    // time limit of one request
  Duration all = {};     // no request begins after this time
};

// The replies, in the order of the questions; the questions are sent in that order. Blocks for at
// most `all` plus `each`, and for the time that HttpGet::start may wait.
std::vector<HttpReply> ask_all(const std::vector<HttpQuestion>& questions,
                               const HttpBounds& bounds);

}  // namespace proffer::cli
