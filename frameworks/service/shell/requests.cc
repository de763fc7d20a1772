#include "frameworks/service/shell/requests.h"

#include "common/text.h"
#include "frameworks/service/shell/app_file.h"
#include "proto/json/json.h"
#include "proto/json/service_json.h"

namespace proffer::service {

Result<Asked> parse_request(std::string_view data) {
  Result<proto::ServiceCall> call = proto::parse_service_call(data);
  if (!call) return std::move(call).error();
  if (call->verb == "list") return Asked(Picture(ListApps{call->after}));
  if (call->verb == "status") return Asked(Picture(ShowApp{call->app, call->after}));
  if (call->verb == "history") return Asked(Picture(ShowHistory{call->app}));
  if (call->verb == "scale") return Asked(Change(Scale{call->app, call->instances}));
  if (call->verb == "stop") return Asked(Change(Stop{call->app}));
  if (call->verb == "pause") return Asked(Change(Pause{call->app}));
  if (call->verb == "resume") return Asked(Change(Resume{call->app}));
  if (call->verb == "figures") {
    Figures figures{.app = std::move(call->app)};
    for (const proto::ServiceFigure& one : call->figures) figures.of[one.task] = one.milli;
    return Asked(std::move(figures));
  }
  if (call->verb == "servers") {
    if (call->wait > proto::kServersWaitMax) {
      return Error::invalid_argument(text("a request for servers may wait at most ",
                                          to_text(proto::kServersWaitMax), ", not ",
                                          to_text(call->wait)))
          .with_hint("ask again with the version of the last answer");
    }
    if (call->apps.size() > kAppsMax) {
      return Error::invalid_argument(
                 text("a request may name at most ", kAppsMax, " apps, not ", call->apps.size()))
          .with_hint("name none, to ask for all of them");
    }
    return Asked(Watch{.apps = std::move(call->apps),
                       .seen = std::move(call->seen),
                       .wait = call->wait,
                       .after = std::move(call->after)});
  }
  const bool is_plan = call->verb == "plan";
  const auto asked = [&](Change change) {
    return is_plan ? Asked(Picture(Preview{std::move(change)})) : Asked(std::move(change));
  };
  if (call->verb == "rollback" || (is_plan && call->file.empty())) {
    Rollback rollback{.app = call->app};
    if (call->version != 0) rollback.version = call->version;
    return asked(std::move(rollback));
  }
  if (call->verb == "apply" || is_plan) {
    Result<AppFile> file = parse_apps(call->file);
    if (!file) return std::move(file).error();
    return asked(Apply{.specs = std::move(file->apps), .lines = std::move(file->lines)});
  }
  return Error::invalid_argument(text("unknown request ", quoted(call->verb),
                                      "; known are apply, figures, history, list, pause, plan, "
                                      "resume, rollback, scale, servers, status and stop"));
}

namespace {

bool may_see_why(const Caller& by, const proto::ServiceAppRow& row) {
  return row.owner.empty() || row.owner == by.user || by.is_operator;
}

void hide_why(proto::ServiceAppRow& row) {
  for (std::string* one : {&row.why, &row.failed, &row.rolled_back}) one->clear();
  row.scale.reset();  // its path may contain a password
}

Result<std::string> picture(const Service& service, const ListApps& asked, Time, const Caller& by) {
  proto::ServiceAppsPage page = service.apps(asked.after);
  for (proto::ServiceAppRow& row : page.apps) {
    if (!may_see_why(by, row)) hide_why(row);
  }
  return proto::service_apps_json(page);
}

Result<std::string> picture(const Service& service, const ShowApp& asked, Time, const Caller& by) {
  Result<proto::ServiceStatusPage> page = service.status_of(asked.app, asked.after);
  if (!page) return std::move(page).error();
  if (!may_see_why(by, page->app)) {
    hide_why(page->app);
    for (proto::ServiceInstanceRow& row : page->instances) row.why.clear();
  }
  return proto::service_status_json(*page);
}

Result<std::string> picture(const Service& service, const ShowHistory& asked, Time,
                            const Caller& by) {
  const Result<std::vector<proto::ServiceVersionRow>> rows = service.history(asked.app, by);
  if (!rows) return rows.error();
  return proto::service_versions_json(*rows);
}

Result<std::string> picture(const Service& service, const Preview& asked, Time now,
                            const Caller& by) {
  const Result<std::vector<proto::ServicePlan>> plans = service.preview(asked.change, now, by);
  if (!plans) return plans.error();
  return proto::service_plans_json(*plans);
}

}  // namespace

Result<std::string> show(const Service& service, const Picture& asked, Time now, const Caller& by) {
  return std::visit([&](const auto& one) { return picture(service, one, now, by); }, asked);
}

std::string app_of(const Change& change) {
  return std::visit(
      [](const auto& one) {
        if constexpr (requires { one.specs; }) {
          const std::string& first = one.specs.front().name;
          return one.specs.size() == 1 ? first
                                       : text(first, " and ", one.specs.size() - 1, " more");
        } else {
          return one.app;
        }
      },
      change);
}

}  // namespace proffer::service
