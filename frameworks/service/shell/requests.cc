#include "frameworks/service/shell/requests.h"

#include "common/text.h"
#include "frameworks/service/shell/app_file.h"
#include "proto/json/json.h"
#include "proto/json/service_json.h"

namespace proffer::service {

Result<Asked> parse_request(std::string_view data) {
  Result<proto::ServiceCall> call = proto::parse_service_call(data);
  if (!call) return std::move(call).error();
  if (call->verb == "list") return Asked(ListApps{});
  if (call->verb == "status") return Asked(ShowApp{call->app, call->after});
  if (call->verb == "scale") return Asked(Change(Scale{call->app, call->instances}));
  if (call->verb == "stop") return Asked(Change(Stop{call->app}));
  if (call->verb == "apply") {
    Result<AppSpec> app = parse_app_file(call->file);
    if (!app) return std::move(app).error();
    return Asked(Change(Apply{*std::move(app)}));
  }
  return Error::invalid_argument(text("unknown request ", quoted(call->verb),
                                      "; there are apply, list, scale, status and stop"));
}

namespace {

void hide_from(const Caller& by, proto::ServiceAppRow& row) {
  if (row.owner.empty() || row.owner == by.user || by.is_operator) return;
  for (std::string* one : {&row.why, &row.failed, &row.rolled_back}) one->clear();
}

}  // namespace

Result<std::string> show(const Service& service, const ListApps&, const Caller& by) {
  std::vector<proto::ServiceAppRow> rows = service.status();
  for (proto::ServiceAppRow& row : rows) hide_from(by, row);
  return proto::service_apps_json(rows);
}

Result<std::string> show(const Service& service, const ShowApp& asked, const Caller& by) {
  Result<proto::ServiceStatusPage> page =
      service.status_of(asked.app, asked.after, kInstancesPerPage);
  if (!page) return std::move(page).error();
  hide_from(by, page->app);
  return proto::service_status_json(*page);
}

std::string change_answer(const std::string& app, const std::string& result) {
  return proto::json_line({{"app", app}, {"result", result}});
}

std::string app_of(const Change& change) {
  if (const auto* apply = std::get_if<Apply>(&change)) return apply->spec.name;
  if (const auto* scale = std::get_if<Scale>(&change)) return scale->app;
  return std::get<Stop>(change).app;
}

}  // namespace proffer::service
