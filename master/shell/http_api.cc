#include "master/shell/http_api.h"

#include <algorithm>

#include "common/text.h"
#include "common/time.h"
#include "proto/json/json.h"
#include "proto/json/service_json.h"

namespace proffer::master {
namespace {

constexpr Duration kAnswersIn = seconds(10);

Error unknown_parameter(const std::string& name, std::string_view known) {
  return Error::invalid_argument(text("unknown parameter ", quoted(name), "; known are ", known));
}

Result<std::string> explain_arguments(const HttpRequest& request) {
  proto::ExplainCall call;
  for (const auto& [name, value] : request.query) {
    if (name == "framework") {
      call.framework = value;
    } else if (name == "role") {
      call.role = value;
    } else if (name == "task") {
      call.task = value;
    } else {
      return unknown_parameter(name, "framework, role and task");
    }
  }
  return proto::explain_call_json(call);
}

}  // namespace

int http_status(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidArgument:
      return 400;
    case ErrorCode::kPermissionDenied:
      return 403;
    case ErrorCode::kNotFound:
      return 404;
    case ErrorCode::kResourceExhausted:
      return 429;
    case ErrorCode::kUnavailable:
      return 503;
    case ErrorCode::kTimeout:
      return 504;
    default:
      return 500;
  }
}

Result<std::string> arguments_of(const HttpRequest& request) {
  if (request.path.ends_with("/explain")) return explain_arguments(request);
  proto::TaskQuery query;
  for (const auto& [name, value] : request.query) {
    if (name == "prefix") {
      query.prefix = value;
    } else if (name == "after") {
      query.after = value;
    } else if (name == "ended") {
      query.ended = value != "0" && value != "false";
    } else if (name == "limit") {
      const Result<int64_t> limit =
          parse_whole("limit", value, 1, static_cast<int64_t>(kReplyRowsMax));
      if (!limit) return limit.error();
      query.limit = static_cast<size_t>(*limit);
    } else {
      return unknown_parameter(name, "prefix, ended, after and limit");
    }
  }
  return proto::task_query_json(query);
}

Result<HttpRelay> services_relay(const HttpRequest& request) {
  HttpRelay relay{.framework = "service"};
  proto::ServiceCall call{.verb = "servers"};
  for (const auto& [name, value] : request.query) {
    if (name == "app") {
      for (std::string_view rest = value; !rest.empty();) {
        const std::string_view app = rest.substr(0, rest.find(','));
        rest.remove_prefix(std::min(app.size() + 1, rest.size()));
        if (!app.empty()) call.apps.emplace_back(app);
      }
    } else if (name == "version") {
      call.seen = value;
    } else if (name == "after") {
      call.after = value;
    } else if (name == "framework") {
      relay.framework = value;
    } else if (name == "wait") {
      const Result<Duration> wait = parse_duration(value);
      if (!wait) return Error(wait.error()).in("wait");
      if (*wait < Duration() || *wait > proto::kServersWaitMax) {
        return Error::invalid_argument(text(
            "wait must be from 0s to ", to_text(proto::kServersWaitMax), ", not ", quoted(value)));
      }
      call.wait = *wait;
    } else {
      return unknown_parameter(name, "app, version, wait, after and framework");
    }
  }
  relay.data = proto::service_call_json(call);
  relay.timeout = kAnswersIn + call.wait;
  return relay;
}

}  // namespace proffer::master
