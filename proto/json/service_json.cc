#include "proto/json/service_json.h"

#include "proto/json/json_text.h"

namespace proffer::proto {
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
}

template <class F>
void fields(F& f, typename F::template Of<ServiceInstanceRow>& row) {
  f.text("instance", row.task);
  f.text("agent", row.agent);
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
void fields(F& f, typename F::template Of<ServiceStatusPage>& page) {
  f.value("app", page.app);
  f.rows("instances", page.instances);
  f.text_if_any("next", page.next);
}

std::string service_apps_json(const std::vector<ServiceAppRow>& rows) {
  return print_list("apps", rows);
}
Result<std::vector<ServiceAppRow>> parse_service_apps(std::string_view json) {
  return parse_list<ServiceAppRow>(json, "apps");
}

std::string service_status_json(const ServiceStatusPage& page) { return print_value(page); }
Result<ServiceStatusPage> parse_service_status(std::string_view json) {
  return parse_value<ServiceStatusPage>(json);
}

std::string service_call_json(const ServiceCall& call) {
  Json out = {{"verb", call.verb}};
  if (!call.app.empty()) out["app"] = call.app;
  if (!call.file.empty()) out["file"] = call.file;
  if (call.verb == "scale") out["instances"] = call.instances;
  if (!call.after.empty()) out["after"] = call.after;
  return to_json_text(out);
}

Result<ServiceCall> parse_service_call(std::string_view json) {
  ServiceCall call;
  Result<void> parsed = parse_object(json, [&](const JsonFields& in) {
    in.only({"verb", "app", "file", "instances", "after"});
    in.require("verb");
    in.text("verb", call.verb);
    in.text("app", call.app);
    in.text("file", call.file);
    in.whole("instances", call.instances);
    in.text("after", call.after);
  });
  if (!parsed) return std::move(parsed).error();
  return call;
}

}  // namespace proffer::proto
