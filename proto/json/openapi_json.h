#pragma once

// A description of the HTTP API by OpenAPI 3.1 (spec.openapis.org/oas/v3.1.0), from the shapes of
// arguments and answers.

#include <string>
#include <vector>

#include "proto/json/json_shape.h"

namespace proffer::proto {

struct ApiOperation {
  std::string path = {};  // "/v1/agents", with {name} for a part that is an argument
  bool is_post = false;
  std::string name = {};     // "agents"
  std::string about = {};    // what it is for
  std::string may = {};      // the users that may; empty: everybody
  JsonShape query = {};      // arguments in the query string
  JsonShape body = {};       // of POST
  bool takes_text = false;   // the body is the framework's, of any form
  JsonShape answer = {};     // of status 200
  bool is_any_text = false;  // so is the answer
  bool may_wait = false;     // ?wait= with If-None-Match, and 304
  bool may_stream = false;   // server-sent events, with Last-Event-ID
};

// Indented, with a newline at its end.
std::string openapi_json(const std::vector<ApiOperation>& operations);

}  // namespace proffer::proto
