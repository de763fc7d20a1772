#pragma once

// GET requests below /v1/ as the calls that they stand for. Pure.

#include <string>
#include <string_view>

#include "common/result.h"
#include "common/time.h"
#include "net/http_server.h"

namespace proffer::master {

int http_status(ErrorCode code);

// The arguments of the method that the path names, as of read_api: ?prefix=…&ended=1&after=…&
// limit=…; of explain: ?framework=… or ?role=… or ?task=…. Errors: kInvalidArgument.
Result<std::string> arguments_of(const HttpRequest& request);

// A request to a scheduler, which answers it in JSON.
struct HttpRelay {
  std::string framework = {};
  std::string data = {};
  Duration timeout = {};
};
inline constexpr std::string_view kServicesPath = "/v1/services";
// Of kServicesPath: ?app=web,api&version=…&wait=30s&after=…&framework=service, all optional: the
// servers of apps (proto::ServersPage). Errors: kInvalidArgument.
Result<HttpRelay> services_relay(const HttpRequest& request);

}  // namespace proffer::master
