#pragma once

// The service framework's requests and status in JSON: the requests of the CLI to its scheduler
// through the master, and the output of `--json`. The rules of json.h apply.

#include <string>
#include <string_view>
#include <vector>

#include "common/result.h"
#include "proto/json/json_shape.h"
#include "proto/service_status.h"

namespace proffer::proto {

// {"apps":[{"app","owner","version","state","instances","ready","outdated","live","why","failed",
// "rolled_back"}],"next"}
std::string service_apps_json(const ServiceAppsPage& page);
Result<ServiceAppsPage> parse_service_apps(std::string_view json);

// {"app":{…},"instances":[{"instance","agent","host","slot","version","state","ready","healthy",
// "why","ports","launched_at_s"}],"next"}
std::string service_status_json(const ServiceStatusPage& page);
Result<ServiceStatusPage> parse_service_status(std::string_view json);

// {"version","servers":[{"app","instance","agent","slot","host","ports"}],"unknown":[…],"next"}
std::string servers_json(const ServersPage& page);
JsonShape servers_shape();
Result<ServersPage> parse_servers(std::string_view json);

// {"versions":[{"version","applied_at_s","applied_by","present","was_ready","failed","command"}]}
std::string service_versions_json(const std::vector<ServiceVersionRow>& rows);
Result<std::vector<ServiceVersionRow>> parse_service_versions(std::string_view json);

// {"app","result","steps":[…],"differences":[{"key","before","after"}],"further"}; for several
// apps: {"plans":[{…}]}
std::string service_plans_json(const std::vector<ServicePlan>& plans);
Result<std::vector<ServicePlan>> parse_service_plans(std::string_view json);

// The result of a change: {"app","result"}; for several apps: {"apps":[{"app","result"}]}
std::string service_changes_json(const std::vector<ServiceChange>& changes);
Result<std::vector<ServiceChange>> parse_service_changes(std::string_view json);

// A request to the scheduler: "apply" (file), "scale" (app, instances), "stop", "pause", "resume"
// (app), "rollback" (app, version), "list" (after), "status" (app, after), "history" (app), "plan"
// (file, or app and version), "servers" (apps, seen, wait, after), "figures" (app, figures).
struct ServiceCall {
  std::string verb = {};
  std::string app = {};
  std::string file = {};  // an app file's text
  int64_t instances = 0;
  std::string after = {};              // return the page after this app or task
  uint64_t version = 0;                // 0: none given
  std::vector<std::string> apps = {};  // none: all
  std::string seen = {};               // answered when ServersPage::version differs from it,
  Duration wait = {};                  // or after this time
  std::vector<ServiceFigure> figures = {};
  bool operator==(const ServiceCall&) const = default;
};
std::string service_call_json(const ServiceCall& call);
// Refuses unknown members.
Result<ServiceCall> parse_service_call(std::string_view json);

}  // namespace proffer::proto
