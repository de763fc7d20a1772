#pragma once

// What a service scheduler keeps in the frameworks' store, as bytes: apps/<name> and
// instances/<task id>. Everything else is told by the cluster.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "frameworks/service/core/app.h"

namespace proffer::service {

inline constexpr std::string_view kAppsPrefix = "apps/";
inline constexpr std::string_view kInstancesPrefix = "instances/";

struct AppRecord {
  AppSpec spec = {};
  uint64_t version = 1;
  bool stopping = false;
  std::string owner = {};  // that its instances run as; empty: the framework's user
  bool operator==(const AppRecord&) const = default;
};

// Written before the instance is launched, and again when it tells something that nobody tells
// twice. Its task id is the key.
struct InstanceRecord {
  AgentId agent = {};
  Time launched_at = {};
  bool has_health_check = false;
  std::optional<bool> healthy = {};
  std::map<std::string, uint16_t> ports = {};
  std::optional<bool> told_ready = {};
  bool operator==(const InstanceRecord&) const = default;
};

std::string app_key(const std::string& name);
std::string instance_key(const TaskId& task);

std::string encode(const AppRecord& record);
std::string encode(const InstanceRecord& record);
// The inverse. Errors: kCorruption, for anything that encode() does not make.
Result<AppRecord> decode_app(std::string_view bytes);
Result<InstanceRecord> decode_instance(std::string_view bytes);

}  // namespace proffer::service
