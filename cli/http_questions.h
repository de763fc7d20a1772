#pragma once

// GET requests to many servers at the same time, each on a connection of its own.

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
  size_t bytes_max = 0;  // the rest of an answer is left out
};

struct HttpReply {
  bool is_asked = false;                          // false: the time was over before
  std::optional<std::string> body = {};           // none: no whole answer with status 200 in time
  std::chrono::steady_clock::time_point at = {};  // when the answer was whole
};

struct HttpBounds {
  size_t at_once = 256;  // connections
  Duration each = {};    // from its beginning to its end
  Duration all = {};     // after that none begins
};

// The replies, in the order of the questions, which are asked in that order. Blocks for `all` and
// `each` together at most, but for what HttpGet::start may wait.
std::vector<HttpReply> ask_all(const std::vector<HttpQuestion>& questions,
                               const HttpBounds& bounds);

}  // namespace proffer::cli
