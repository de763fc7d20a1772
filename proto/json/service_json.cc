#include "proto/json/service_json.h"

#include "proto/json/ask_fields.h"
#include "proto/json/json_text.h"

namespace proffer::proto {
template <class F>
void fields(F& f, typename F::template Of<ServiceScale>& scale) {
  f.text("source", scale.source);
  f.text_if_any("port", scale.port);
  f.text_if_any("path", scale.path);
  f.text_if_any("said", scale.said);
}

template <class F>
void fields(F& f, typename F::template Of<ServiceFigure>& figure) {
  f.text("instance", figure.task);
  f.whole("milli", figure.milli);
}

template <class F>
void fields(F& f, typename F::template Of<ServiceAppRow>& row) {
  f.text("app", row.app);
  f.text_if_any("owner", row.owner);
  f.number("version", row.version);
  f.text("state", row.state);
  f.whole("instances", row.instances);
  f.whole("ready", row.ready);
  f.whole("outdated", row.outdated);
  f.whole("live", row.live);
  f.text_if_any("why", row.why);
  f.text_if_any("failed", row.failed);
  f.text_if_any("rolled_back", row.rolled_back);
  f.value("scale", row.scale);
}

template <class F>
void fields(F& f, typename F::template Of<ServiceInstanceRow>& row) {
  f.text("instance", row.task);
  f.text("agent", row.agent);
  f.text_if_any("host", row.host);
  f.whole("slot", row.slot);
  f.number("version", row.version);
  f.text("state", row.state);
  f.truth("ready", row.ready);
  f.truth("healthy", row.healthy);
  f.text_if_any("why", row.why);
  f.ports("ports", row.ports);
  f.seconds("launched_at_s", row.launched_at);
}

template <class F>
void fields(F& f, typename F::template Of<ServiceVersionRow>& row) {
  f.number("version", row.version);
  f.seconds("applied_at_s", row.applied_at);
  f.text_if_any("applied_by", row.applied_by);
  f.truth("present", row.present);
  f.truth("was_ready", row.was_ready);
  f.text_if_any("failed", row.failed);
  f.text("command", row.command);
}

template <class F>
void fields(F& f, typename F::template Of<ServiceDifference>& one) {
  f.text("key", one.key);
  f.text("before", one.before);
  f.text("after", one.after);
}

template <class F>
void fields(F& f, typename F::template Of<ServicePlan>& plan) {
  f.text("app", plan.app);
  f.text("result", plan.result);
  f.texts_if_any("steps", plan.steps);
  f.rows("differences", plan.differences);
  f.whole("further", plan.further);
  f.rows_if_any("wants", plan.wants);
}

template <class F>
void fields(F& f, typename F::template Of<ServiceStatusPage>& page) {
  f.value("app", page.app);
  f.rows("instances", page.instances);
  f.text_if_any("next", page.next);
}

template <class F>
void fields(F& f, typename F::template Of<ServiceAppsPage>& page) {
  f.rows("apps", page.apps);
  f.text_if_any("next", page.next);
}

template <class F>
void fields(F& f, typename F::template Of<ServerRow>& row) {
  f.text("app", row.app);
  f.text("instance", row.task);
  f.text("agent", row.agent);
  f.whole("slot", row.slot);
  f.text_if_any("host", row.host);
  f.ports("ports", row.ports);
}

template <class F>
void fields(F& f, typename F::template Of<ServersPage>& page) {
  f.text("version", page.version);
  f.rows("servers", page.servers);
  f.texts_if_any("unknown", page.unknown);
  f.text_if_any("next", page.next);
}

template <class F>
void fields(F& f, typename F::template Of<ServiceChange>& change) {
  f.text("app", change.app);
  f.text("result", change.result);
}

namespace {

// For a file with one app the answer is the same as before files could have several.
template <class Row>
std::string print_one_or_list(std::string_view name, const std::vector<Row>& rows) {
  return rows.size() == 1 ? print_value(rows.front()) : print_list(name, rows);
}
template <class Row>
Result<std::vector<Row>> parse_one_or_list(std::string_view json, std::string_view name) {
  std::vector<Row> rows;
  Result<void> parsed = parse_object(json, [&](const JsonFields& in) {
    in.rows_if_any(name, rows);
    if (rows.empty()) fields(in, rows.emplace_back());
  });
  if (!parsed) return std::move(parsed).error();
  return rows;
}

}  // namespace

std::string service_apps_json(const ServiceAppsPage& page) { return print_value(page); }
Result<ServiceAppsPage> parse_service_apps(std::string_view json) {
  return parse_value<ServiceAppsPage>(json);
}

std::string servers_json(const ServersPage& page) { return print_value(page); }
Result<ServersPage> parse_servers(std::string_view json) { return parse_value<ServersPage>(json); }

std::string service_status_json(const ServiceStatusPage& page) { return print_value(page); }
Result<ServiceStatusPage> parse_service_status(std::string_view json) {
  return parse_value<ServiceStatusPage>(json);
}

std::string service_versions_json(const std::vector<ServiceVersionRow>& rows) {
  return print_list("versions", rows);
}
Result<std::vector<ServiceVersionRow>> parse_service_versions(std::string_view json) {
  return parse_list<ServiceVersionRow>(json, "versions");
}

std::string service_plans_json(const std::vector<ServicePlan>& plans) {
  return print_one_or_list("plans", plans);
}
Result<std::vector<ServicePlan>> parse_service_plans(std::string_view json) {
  return parse_one_or_list<ServicePlan>(json, "plans");
}

std::string service_changes_json(const std::vector<ServiceChange>& changes) {
  return print_one_or_list("apps", changes);
}
Result<std::vector<ServiceChange>> parse_service_changes(std::string_view json) {
  return parse_one_or_list<ServiceChange>(json, "apps");
}

JsonShape servers_shape() { return shape_of<ServersPage>(); }

std::string service_call_json(const ServiceCall& call) {
  Json out = {{"verb", call.verb}};
  if (!call.app.empty()) out["app"] = call.app;
  if (!call.file.empty()) out["file"] = call.file;
  if (call.verb == "scale") out["instances"] = call.instances;
  if (!call.after.empty()) out["after"] = call.after;
  if (call.version != 0) out["version"] = call.version;
  if (!call.apps.empty()) out["apps"] = call.apps;
  if (!call.seen.empty()) out["seen"] = call.seen;
  if (call.wait > Duration()) out["wait_s"] = print_seconds(call.wait);
  for (const ServiceFigure& figure : call.figures) {
    out["figures"].push_back({{"instance", figure.task.str()}, {"milli", figure.milli}});
  }
  return to_json_text(out);
}

Result<ServiceCall> parse_service_call(std::string_view json) {
  ServiceCall call;
  Result<void> parsed = parse_object(json, [&](const JsonFields& in) {
    in.only({"verb", "app", "file", "instances", "after", "version", "apps", "seen", "wait_s",
             "figures"});
    in.require("verb");
    in.text("verb", call.verb);
    in.text("app", call.app);
    in.text("file", call.file);
    in.whole("instances", call.instances);
    in.text("after", call.after);
    in.number("version", call.version);
    in.texts_if_any("apps", call.apps);
    in.text("seen", call.seen);
    in.seconds("wait_s", call.wait);
    in.rows_if_any("figures", call.figures);
  });
  if (!parsed) return std::move(parsed).error();
  return call;
}

}  // namespace proffer::proto
