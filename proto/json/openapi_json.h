#pragma once

// The OpenAPI 3.1 description of the HTTP API (spec.openapis.org/oas/v3.1.0), made from the shapes
// of arguments and answers.

#include <string>
#include <vector>

#include "proto/json/json_shape.h"

namespace proffer::proto {

struct ApiOperation {
  std::string path = {};  // "/v1/agents"; {name} stands for an argument
  bool is_post = false;
  std::string name = {};     // "agents"
  std::string about = {};    // purpose, for people
  std::string may = {};      // the users that may call it; empty: all users
  JsonShape query = {};      // arguments in the query string
  JsonShape body = {};       // body of a POST
  bool takes_text = false;   // the body is for the framework, in any form
  JsonShape answer = {};     // of status 200
  bool is_any_text = false;  // the answer is text in any form
  bool may_wait = false;     // supports ?wait= with If-None-Match, and 304
  bool may_stream = false;   // supports server-sent events, with Last-Event-ID
};

// Indented, with a newline at its end.
std::string openapi_json(const std::vector<ApiOperation>& operations);

}  // namespace proffer::proto
