#pragma once

// Arguments of the master's methods: what each of them takes, and a query string as the JSON that
// it stands for.

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
JsonShape list_query_shape();  // of lists other than tasks: a TaskQuery without `ended`
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

// How a request to a framework travels; its text is not among them.
struct RequestOptions {
  Duration timeout = seconds(30);
  RoleName role = {};
  bool operator==(const RequestOptions&) const = default;
};
JsonShape request_options_shape();  // {"timeout_s","role"}
Result<RequestOptions> parse_request_options(std::string_view json);

// Servers of apps, asked of the framework of services (ServersPage).
struct ServersQuery {
  std::vector<std::string> apps = {};  // none: all
  std::string seen = {};               // answered once ServersPage::version is another,
  Duration wait = {};                  // or so much later, at most kServersWaitMax
  std::string after = {};
  std::string framework = "service";
  bool operator==(const ServersQuery&) const = default;
};
JsonShape servers_query_shape();  // {"app","version","wait","after","framework"}
Result<ServersQuery> parse_servers_query(std::string_view json);

// The object that a query string stands for: numbers and truths are told by the shape, a list of
// texts is a comma-separated text or given several times. Errors: kInvalidArgument, with what is
// known and the nearest name: a name that the shape does not have, one given twice, a value of
// another type.
Result<std::string> arguments_of_query(
    const JsonShape& shape, const std::vector<std::pair<std::string, std::string>>& query);

// "unknown WHAT 'nmae'; known are name, …", with the nearest as the hint.
Error unknown_name(std::string_view what, std::string_view name,
                   const std::vector<std::string_view>& known);

}  // namespace proffer::proto
