#pragma once

// The status of the service framework as plain values. proto/json prints them; the CLI reads them.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "proto/live_snapshot.h"
#include "proto/messages.h"

namespace proffer::proto {

struct ServiceInstanceRow {
  TaskId task = {};
  AgentId agent = {};     // empty until launched
  std::string host = {};  // the host of its ports; empty: unknown
  int64_t slot = 0;
  uint64_t version = 0;
  // The state of the task, or "planned" before it is launched, or "leaving" before it is killed.
  std::string state = {};
  bool ready = false;
  std::optional<bool> healthy = {};
  std::string why = {};                        // why it is not ready although it runs; for people
  std::map<std::string, uint16_t> ports = {};  // by name; empty until known
  Time launched_at = {};
  bool operator==(const ServiceInstanceRow&) const = default;
};

// The load by which an app is scaled, and the result of the last figures.
struct ServiceScale {
  std::string source = {};  // "cpu", "memory" or "http"
  std::string port = {};    // for http: a GET of the path at this port answers with a number
  std::string path = {};
  std::string said = {};  // for people; empty: no figures were reported for a while
  bool operator==(const ServiceScale&) const = default;
};

struct ServiceAppRow {
  std::string app = {};
  std::string owner = {};  // the user that its instances run as; empty: the scheduler's own user
  uint64_t version = 0;
  // "running": as wanted; "waiting": for other apps; "starting"; "updating"; "canary": some
  // instances have the new version, until it is promoted; "paused": an update is paused;
  // "stopping"; "unattended": the scheduler is away, and the other values are the master's, without
  // the wanted number of instances (0).
  std::string state = {};
  int64_t instances = 0;  // the wanted number
  int64_t ready = 0;
  int64_t outdated = 0;                    // live instances of an older version
  int64_t live = 0;                        // launched and not known to have ended
  std::string why = {};                    // what it waits for, or the last problem; for people
  std::string failed = {};                 // why the update to this version makes no progress
  std::string rolled_back = {};            // the version before the rollback, and why
  std::optional<ServiceScale> scale = {};  // set if it is scaled by its load
  bool operator==(const ServiceAppRow&) const = default;
};

// A version of an app, present or past.
struct ServiceVersionRow {
  uint64_t version = 0;
  Time applied_at = {};
  std::string applied_by = {};  // a user; empty: unknown
  bool present = false;
  bool was_ready = false;    // at one time all its instances were ready
  std::string failed = {};   // why an update to it was given up
  std::string command = {};  // the beginning of its command; for people
  bool operator==(const ServiceVersionRow&) const = default;
};

// A key of an app file whose value changes: before and after, cut if long.
struct ServiceDifference {
  std::string key = {};
  std::string before = {};
  std::string after = {};
  bool operator==(const ServiceDifference&) const = default;
};

// The changes that an app file, or a rollback to a version, would make.
struct ServicePlan {
  std::string app = {};
  std::string result = {};              // the result as if it were applied: "updated to version 4"
  std::vector<std::string> steps = {};  // in words, in order
  std::vector<ServiceDifference> differences = {};
  int64_t further = 0;  // number of differences that are left out
  // All instances of the target version as one ask, if they are wanted at once; else none.
  std::vector<LiveAsk> wants = {};
  bool operator==(const ServicePlan&) const = default;
};

// The result of a request for an app: "created", "updated to version 4".
struct ServiceChange {
  std::string app = {};
  std::string result = {};
  bool operator==(const ServiceChange&) const = default;
};

// The load of an instance in thousandths; for cpu and memory, of its own resources.
struct ServiceFigure {
  TaskId task = {};
  int64_t milli = 0;
  bool operator==(const ServiceFigure&) const = default;
};

// The least time between two rounds of measurements.
inline constexpr Duration kMeasuredEveryMin = seconds(1);
inline constexpr Duration kMeasuredEveryMax = seconds(20);

// An instance that clients may use.
struct ServerRow {
  std::string app = {};
  TaskId task = {};
  AgentId agent = {};
  int64_t slot = 0;
  std::string host = {};                       // empty: unknown
  std::map<std::string, uint16_t> ports = {};  // by name
  bool operator==(const ServerRow&) const = default;
};

// The servers of some apps, or of all.
inline constexpr Duration kServersWaitMax = minutes(1);  // the longest wait for an answer
struct ServersPage {
  std::string version = {};               // differs if something has changed, or might have
  std::vector<ServerRow> servers = {};    // by app and task id
  std::vector<std::string> unknown = {};  // apps of the request that do not exist
  std::string next = {};                  // the next page begins after it
  bool operator==(const ServersPage&) const = default;
};

struct ServiceAppsPage {
  std::vector<ServiceAppRow> apps = {};  // by name
  std::string next = {};                 // as above
  bool operator==(const ServiceAppsPage&) const = default;
};

struct ServiceStatusPage {
  ServiceAppRow app = {};
  std::vector<ServiceInstanceRow> instances = {};  // by task id
  std::string next = {};                           // the next page begins after it
  bool operator==(const ServiceStatusPage&) const = default;
};

}  // namespace proffer::proto
