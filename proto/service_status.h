#pragma once

// Pictures of the service framework as plain values. proto/json prints them; the CLI reads them.

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
  std::string host = {};  // where its ports are reached; empty: unknown
  int64_t slot = 0;
  uint64_t version = 0;
  // As of a task, or "planned" before it is launched, "leaving" before it is told to end.
  std::string state = {};
  bool ready = false;
  std::optional<bool> healthy = {};
  std::string why = {};                        // it is not ready although it runs; for people
  std::map<std::string, uint16_t> ports = {};  // by name; empty until told
  Time launched_at = {};
  bool operator==(const ServiceInstanceRow&) const = default;
};

// By what load an app is scaled, and what the last figures led to.
struct ServiceScale {
  std::string source = {};  // "cpu", "memory" or "http"
  std::string port = {};    // of http: where a GET of the path is answered by a number
  std::string path = {};
  std::string said = {};  // for people; empty: no figures were told for a while
  bool operator==(const ServiceScale&) const = default;
};

struct ServiceAppRow {
  std::string app = {};
  std::string owner = {};  // that its instances run as; empty: the scheduler's own user
  uint64_t version = 0;
  // "running": as wanted; "waiting": for other apps; "starting"; "updating"; "canary": some
  // instances are of the new version, until it is promoted; "paused": an update; "stopping";
  // "unattended": the scheduler is away, and the rest is as the master knows, without how many
  // instances are wanted (0).
  std::string state = {};
  int64_t instances = 0;  // wanted
  int64_t ready = 0;
  int64_t outdated = 0;                    // that live and are of an older version
  int64_t live = 0;                        // launched and not known to have ended
  std::string why = {};                    // what it waits for, or what went wrong last; for people
  std::string failed = {};                 // why the update to this version makes no progress
  std::string rolled_back = {};            // which version gave way to this one, and why
  std::optional<ServiceScale> scale = {};  // it is scaled by its load
  bool operator==(const ServiceAppRow&) const = default;
};

// A version of an app, present or before.
struct ServiceVersionRow {
  uint64_t version = 0;
  Time applied_at = {};
  std::string applied_by = {};  // a user; empty: nobody knows
  bool present = false;
  bool was_ready = false;    // all its instances, at one time
  std::string failed = {};   // why an update to it was given up
  std::string command = {};  // its beginning; for people
  bool operator==(const ServiceVersionRow&) const = default;
};

// A key of an app file with another value: before and after, cut where they are long.
struct ServiceDifference {
  std::string key = {};
  std::string before = {};
  std::string after = {};
  bool operator==(const ServiceDifference&) const = default;
};

// What an app file, or going back to a version, would change.
struct ServicePlan {
  std::string app = {};
  std::string result = {};              // as the answer to doing it: "updated to version 4"
  std::vector<std::string> steps = {};  // in words, in their order
  std::vector<ServiceDifference> differences = {};
  int64_t further = 0;  // differences that are left out
  // All instances of the version that it leads to, if they are wanted at once: one ask, or none.
  std::vector<LiveAsk> wants = {};
  bool operator==(const ServicePlan&) const = default;
};

// What a request did to an app: "created", "updated to version 4".
struct ServiceChange {
  std::string app = {};
  std::string result = {};
  bool operator==(const ServiceChange&) const = default;
};

// The load of an instance, in thousandths: of cpu and memory, of what it has.
struct ServiceFigure {
  TaskId task = {};
  int64_t milli = 0;
  bool operator==(const ServiceFigure&) const = default;
};

// Between two rounds of measurements.
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

// The instances in service of some apps, or of all.
inline constexpr Duration kServersWaitMax = minutes(1);  // until a request for them is answered
struct ServersPage {
  std::string version = {};               // another one if something has changed, or might have
  std::vector<ServerRow> servers = {};    // by app and task id
  std::vector<std::string> unknown = {};  // apps that were asked for and that there are none of
  std::string next = {};                  // the page behind this one begins after it
  bool operator==(const ServersPage&) const = default;
};

struct ServiceAppsPage {
  std::vector<ServiceAppRow> apps = {};  // by name
  std::string next = {};                 // likewise
  bool operator==(const ServiceAppsPage&) const = default;
};

struct ServiceStatusPage {
  ServiceAppRow app = {};
  std::vector<ServiceInstanceRow> instances = {};  // by task id
  std::string next = {};                           // the page behind this one begins after it
  bool operator==(const ServiceStatusPage&) const = default;
};

}  // namespace proffer::proto
