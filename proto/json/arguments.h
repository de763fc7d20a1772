#pragma once

// Arguments of the master's methods: the shape that each method takes, and the conversion of a
// query string into JSON.

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "common/result.h"
#include "common/time.h"
#include "proto/json/json_shape.h"
#include "proto/status.h"

namespace proffer::proto {

JsonShape no_arguments_shape();
JsonShape list_query_shape();  // for lists other than tasks: a TaskQuery without `ended`
JsonShape task_query_shape();
JsonShape explain_call_shape();
JsonShape kill_call_shape();
JsonShape teardown_call_shape();
JsonShape drain_call_shape();
JsonShape undrain_call_shape();
JsonShape role_set_call_shape();
JsonShape reserve_call_shape();
JsonShape agent_gone_call_shape();
JsonShape brake_lift_call_shape();
JsonShape request_call_shape();
JsonShape request_reply_shape();

// The options of a request to a framework, without its text.
struct RequestOptions {
  Duration timeout = seconds(30);
  RoleName role = {};
  bool operator==(const RequestOptions&) const = default;
};
JsonShape request_options_shape();  // {"timeout_s","role"}
Result<RequestOptions> parse_request_options(std::string_view json);

// The query for servers of apps, sent to the service framework (ServersPage).
struct ServersQuery {
  std::vector<std::string> apps = {};  // none: all
  std::string seen = {};               // answered when ServersPage::version differs from it,
  Duration wait = {};                  // or after this time, at most kServersWaitMax
  std::string after = {};
  std::string framework = "service";
  bool operator==(const ServersQuery&) const = default;
};
JsonShape servers_query_shape();  // {"app","version","wait","after","framework"}
Result<ServersQuery> parse_servers_query(std::string_view json);

// Converts a query string into a JSON object. The shape decides which values are numbers and
// booleans. A list of texts is a comma-separated text, or the name is given several times. Errors:
// kInvalidArgument for an unknown name (with the known ones and the nearest), a name that is given
// twice, or a value of the wrong type.
Result<std::string> arguments_of_query(
    const JsonShape& shape, const std::vector<std::pair<std::string, std::string>>& query);

// "unknown WHAT 'nmae'; known are name, …", with the nearest name as the hint.
Error unknown_name(std::string_view what, std::string_view name,
                   const std::vector<std::string_view>& known);

}  // namespace proffer::proto
