#pragma once

// The events of an attached app, as lines on standard output.

#include <string>

#include "common/trace.h"
#include "proto/service_status.h"

namespace proffer::service {

// "web.1.0-8f2n1 ready on agent-1, http:31000", "web.1.0-8f2n1 ended on agent-1: exit code 1; again
// in 2s". Control characters in texts of peers are escaped.
std::string story_line(const TraceEvent& event);
// {"event":"instance_ready","instance":…,"agent":…}
std::string story_json(const TraceEvent& event);
// "web: 2 of 3 ready; the update waits: …"
std::string app_line(const proto::ServiceAppRow& row);

}  // namespace proffer::service
