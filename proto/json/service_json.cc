#include "proto/json/service_json.h"

#include "proto/json/json_text.h"

namespace proffer::proto {
namespace {

Json print(const ServiceAppRow& row) {
  Json out = {{"app", row.app},     {"version", row.version},
              {"state", row.state}, {"instances", row.instances},
              {"ready", row.ready}, {"outdated", row.outdated},
              {"live", row.live}};
  if (!row.why.empty()) out["why"] = row.why;
  return out;
}

void read(const JsonFields& in, ServiceAppRow& out) {
  in.text("app", out.app);
  auto version = static_cast<int64_t>(out.version);
  in.whole("version", version);
  out.version = static_cast<uint64_t>(version);
  in.text("state", out.state);
  in.whole("instances", out.instances);
  in.whole("ready", out.ready);
  in.whole("outdated", out.outdated);
  in.whole("live", out.live);
  in.text("why", out.why);
}

Json print(const ServiceInstanceRow& row) {
  Json out = {{"instance", row.task.str()}, {"agent", row.agent.str()}, {"slot", row.slot},
              {"version", row.version},     {"state", row.state},       {"ready", row.ready}};
  if (row.healthy) out["healthy"] = *row.healthy;
  Json ports = Json::object();
  for (const auto& [name, port] : row.ports) ports[name] = port;
  out["ports"] = std::move(ports);
  out["launched_at_s"] = print_seconds(row.launched_at);
  return out;
}

void read(const JsonFields& in, ServiceInstanceRow& out) {
  in.text("instance", out.task);
  in.text("agent", out.agent);
  in.whole("slot", out.slot);
  auto version = static_cast<int64_t>(out.version);
  in.whole("version", version);
  out.version = static_cast<uint64_t>(version);
  in.text("state", out.state);
  in.truth("ready", out.ready);
  if (in.has("healthy")) in.truth("healthy", out.healthy.emplace());
  in.object("ports", [&](const JsonFields& ports) {
    std::map<std::string, JsonValue> values;
    ports.each_value(values);
    for (const auto& [name, value] : values) {
      const int64_t* port = std::get_if<int64_t>(&value);
      if (port == nullptr || *port < 1 || *port > 65'535) {
        return ports.refuse(name, "a port is from 1 to 65535");
      }
      out.ports[name] = static_cast<uint16_t>(*port);
    }
  });
  in.seconds("launched_at_s", out.launched_at);
}

}  // namespace

std::string service_apps_json(const std::vector<ServiceAppRow>& rows) {
  Json list = Json::array();
  for (const ServiceAppRow& row : rows) list.push_back(print(row));
  Json out = Json::object();
  out["apps"] = std::move(list);
  return to_json_text(out);
}

Result<std::vector<ServiceAppRow>> parse_service_apps(std::string_view json) {
  std::vector<ServiceAppRow> rows;
  Result<void> parsed = parse_object(json, [&](const JsonFields& in) {
    in.list("apps", [&](const JsonFields& row) { read(row, rows.emplace_back()); });
  });
  if (!parsed) return std::move(parsed).error();
  return rows;
}

std::string service_status_json(const ServiceStatusPage& page) {
  Json list = Json::array();
  for (const ServiceInstanceRow& row : page.instances) list.push_back(print(row));
  Json out = Json::object();
  out["app"] = print(page.app);
  out["instances"] = std::move(list);
  if (!page.next.empty()) out["next"] = page.next;
  return to_json_text(out);
}

Result<ServiceStatusPage> parse_service_status(std::string_view json) {
  ServiceStatusPage page;
  Result<void> parsed = parse_object(json, [&](const JsonFields& in) {
    in.object("app", [&](const JsonFields& app) { read(app, page.app); });
    in.list("instances", [&](const JsonFields& row) { read(row, page.instances.emplace_back()); });
    in.text("next", page.next);
  });
  if (!parsed) return std::move(parsed).error();
  return page;
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
