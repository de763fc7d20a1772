#pragma once

// Pictures of the service framework as plain values. proto/json prints them; the CLI reads them.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "proto/messages.h"

namespace proffer::proto {

struct ServiceInstanceRow {
  TaskId task = {};
  AgentId agent = {};  // empty until launched
  int64_t slot = 0;
  uint64_t version = 0;
  std::string state = {};  // as of a task, or "planned" before it is launched
  bool ready = false;
  std::optional<bool> healthy = {};
  std::string why = {};                        // it is not ready although it runs; for people
  std::map<std::string, uint16_t> ports = {};  // by name; empty until told
  Time launched_at = {};
  bool operator==(const ServiceInstanceRow&) const = default;
};

struct ServiceAppRow {
  std::string app = {};
  std::string owner = {};  // that its instances run as; empty: the scheduler's own user
  uint64_t version = 0;
  // "running": as wanted; "starting"; "updating"; "canary": some instances are of the new version,
  // until it is promoted; "paused": an update; "stopping".
  std::string state = {};
  int64_t instances = 0;  // wanted
  int64_t ready = 0;
  int64_t outdated = 0;          // that live and are of an older version
  int64_t live = 0;              // launched and not known to have ended
  std::string why = {};          // what it waits for, or what went wrong last; for people
  std::string failed = {};       // why the update to this version makes no progress
  std::string rolled_back = {};  // which version gave way to this one, and why
  bool operator==(const ServiceAppRow&) const = default;
};

struct ServiceStatusPage {
  ServiceAppRow app = {};
  std::vector<ServiceInstanceRow> instances = {};  // by task id
  std::string next = {};                           // the page behind this one begins after it
  bool operator==(const ServiceStatusPage&) const = default;
};

}  // namespace proffer::proto
