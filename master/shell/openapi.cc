#include "master/shell/openapi.h"

#include <utility>
#include <vector>

#include "common/text.h"
#include "master/shell/http_routes.h"
#include "master/shell/routes.h"
#include "proto/json/arguments.h"
#include "proto/json/openapi_json.h"

namespace proffer::master {
namespace {

proto::JsonShape answer_of(const Route& route) {
  proto::JsonShape answer = route.answer == nullptr ? proto::no_arguments_shape() : route.answer();
  if (!route.page.empty()) {
    answer.members.push_back({.name = "next",
                              .about = text("start of the next page, for `", route.page,
                                            "`; absent: this is the last page"),
                              .type = proto::JsonShape::Type::kText});
  }
  return answer;
}

proto::ApiOperation operation_of(const Route& route) {
  proto::ApiOperation operation{
      .path = text(kApiPrefix, route.path),
      .is_post = route.changes(),
      .name = std::string(route.method.empty() ? route.path : route.method),
      .about = std::string(route.about),
      .may = who_may(route),
      .answer = answer_of(route),
      .may_wait = route.may_wait,
      .may_stream = route.serves == Serves::kEvents};
  const bool is_request = route.serves == Serves::kRequest;
  operation.takes_text = is_request;
  operation.is_any_text = is_request;
  if (is_request) {
    operation.query = proto::request_options_shape();
  } else if (route.changes()) {
    operation.body = route.arguments();
  } else {
    operation.query = route.arguments();
  }
  return operation;
}

}  // namespace

std::string who_may(const Route& route) {
  if (!route.action) return {};
  // The policy names them in the hint of a refusal.
  const Principal stranger{.user = "another user", .uid = kNoUid};
  const Result<void> may = check_permission({}, &stranger, *route.action, "OWNER");
  return may ? "every user may" : may.error().hint();
}

std::string openapi() {
  std::vector<proto::ApiOperation> operations;
  for (const Route& route : routes()) {
    if (!route.path.empty()) operations.push_back(operation_of(route));
  }
  return proto::openapi_json(operations);
}

}  // namespace proffer::master
