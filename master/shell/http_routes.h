#pragma once

// Turns HTTP requests into calls of the route table. Pure.

#include <string>
#include <string_view>
#include <variant>

#include "common/result.h"
#include "common/time.h"
#include "master/shell/routes.h"
#include "net/http_server.h"

namespace proffer::master {

inline constexpr std::string_view kApiPrefix = "/v1/";
inline constexpr std::string_view kJsonType = "application/json";

struct HttpReply {
  int status = 200;
  std::string type = std::string(kJsonType);
  std::string body = {};
  HttpHeaders headers = {};
};
HttpReply error_reply(const Error& error);

// A valid request.
struct HttpCall {
  const Route* route = nullptr;
  std::string arguments = {};  // JSON; for a request to a framework, its RequestOptions
  std::string framework = {};  // from the path
  Duration wait = {};          // how long to wait for an answer other than the known one
};
// Maximum time that a read may wait for a change.
inline constexpr Duration kHttpWaitMax = minutes(1);

// The call, or the refusal: 404 for the path, 405 for the verb, 415 for another content type, 400
// for query arguments.
std::variant<HttpCall, HttpReply> http_call(const HttpRequest& request);

// For the header Allow: "GET, HEAD" or "POST".
std::string verbs_of(std::string_view path);

// All paths, for people.
std::string known_paths();

}  // namespace proffer::master
