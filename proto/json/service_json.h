#pragma once

// The service framework's requests and pictures in JSON: what the CLI asks of its scheduler through
// the master, and what `--json` prints. The rules of json.h hold.

#include <string>
#include <string_view>
#include <vector>

#include "common/result.h"
#include "proto/service_status.h"

namespace proffer::proto {

// {"apps":[{"app","version","state","instances","ready","outdated","live","why"}]}
std::string service_apps_json(const std::vector<ServiceAppRow>& rows);
Result<std::vector<ServiceAppRow>> parse_service_apps(std::string_view json);

// {"app":{…},"instances":[{"instance","agent","slot","version","state","ready","healthy","ports",
// "launched_at_s"}],"next"}
std::string service_status_json(const ServiceStatusPage& page);
Result<ServiceStatusPage> parse_service_status(std::string_view json);

// {"versions":[{"version","applied_at_s","applied_by","present","was_ready","failed","command"}]}
std::string service_versions_json(const std::vector<ServiceVersionRow>& rows);
Result<std::vector<ServiceVersionRow>> parse_service_versions(std::string_view json);

// {"app","result","steps":[…],"differences":[{"key","before","after"}],"further"}
std::string service_plan_json(const ServicePlan& plan);
Result<ServicePlan> parse_service_plan(std::string_view json);

// What somebody asks of the scheduler: "apply" (file), "scale" (app, instances), "stop", "pause",
// "resume" (app), "rollback" (app, version), "list", "status" (app, after), "history" (app), "plan"
// (file, or app and version).
struct ServiceCall {
  std::string verb = {};
  std::string app = {};
  std::string file = {};  // an app file's text
  int64_t instances = 0;
  std::string after = {};  // the page behind this task
  uint64_t version = 0;    // 0: none is named
  bool operator==(const ServiceCall&) const = default;
};
std::string service_call_json(const ServiceCall& call);
// Refuses members that are not known.
Result<ServiceCall> parse_service_call(std::string_view json);

}  // namespace proffer::proto
