#pragma once

// The events of the service scheduler, by noun. A field is `free_text` if another party wrote it
// and it is unchecked, or if it may contain spaces.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "common/ids.h"
#include "common/offers.h"
#include "common/text.h"
#include "common/time.h"
#include "common/trace.h"
#include "frameworks/service/core/plan.h"

namespace proffer::service {

// --- apps --------------------------------------------------------------------------------------

struct AppChanged {
  enum class To : uint8_t { kApplied, kUpdated, kUpdateFailed, kWaitsNoLonger, kStopping };

  std::string app;
  uint64_t version = 0;
  int64_t instances = 0;
  To to = To::kApplied;

  TraceKind kind() const {
    constexpr std::string_view kWhat[] = {"app applied", "app updated", "app update failed",
                                          "app waits no longer", "app stopping"};
    return {TraceLevel::kLongLived, kWhat[static_cast<size_t>(to)]};
  }
  void fields(TraceFields& f) const { f("app", app)("version", version)("instances", instances); }
};

struct AppRolledBack {
  std::string app;
  uint64_t version = 0;  // its present version
  std::string reason;

  static constexpr TraceKind kind() { return {TraceLevel::kLongLived, "app rolled back"}; }
  void fields(TraceFields& f) const {
    f("app", app)("version", version).free_text("reason", reason);
  }
};

struct AppScaled {
  std::string app;
  int64_t instances = 0;  // the wanted number
  std::string reason;

  static constexpr TraceKind kind() { return {TraceLevel::kLongLived, "app scaled by its load"}; }
  void fields(TraceFields& f) const {
    f("app", app)("instances", instances).free_text("reason", reason);
  }
};

struct AppStopped {
  std::string app;

  static constexpr TraceKind kind() { return {TraceLevel::kLongLived, "app stopped"}; }
  void fields(TraceFields& f) const { f("app", app); }
};

// --- instances ---------------------------------------------------------------------------------

struct InstanceLaunched {
  TaskId instance;
  AgentId agent;

  static constexpr TraceKind kind() { return {TraceLevel::kShortLived, "instance launched"}; }
  void fields(TraceFields& f) const { f("instance", instance)("agent", agent); }
};

struct InstanceChanged {
  enum class To : uint8_t {
    kStaging,
    kRunning,
    kNotReady,
    kReady,
    kUnhealthy,
    kUnreachable,
    kEnding
  };

  TaskId instance;
  AgentId agent;
  To to = To::kStaging;
  std::string reason;                     // may be empty
  std::map<std::string, uint16_t> ports;  // by name

  TraceKind kind() const {
    constexpr std::string_view kWhat[] = {
        "instance staging",   "instance running",     "instance not ready", "instance ready",
        "instance unhealthy", "instance unreachable", "instance ending"};
    const bool is_bad = to == To::kUnhealthy || to == To::kUnreachable;
    return {is_bad ? TraceLevel::kMisbehaved : TraceLevel::kShortLived,
            kWhat[static_cast<size_t>(to)]};
  }
  void fields(TraceFields& f) const {
    f("instance", instance)("agent", agent);
    if (!reason.empty()) f.free_text("reason", reason);
    for (const auto& [name, port] : ports) f.free_text("port", text(name, ':', port));
  }
};

struct InstanceEnded {
  TaskId instance;
  AgentId agent;
  std::string reason;
  std::optional<Duration> again_in = {};  // none: at once, or not needed
  bool was_wanted = false;

  TraceKind kind() const {
    return {was_wanted ? TraceLevel::kMisbehaved : TraceLevel::kShortLived, "instance ended"};
  }
  void fields(TraceFields& f) const {
    f("instance", instance)("agent", agent).free_text("reason", reason);
    if (again_in) f("again_in", *again_in);
  }
};

struct InstanceKilled {
  TaskId instance;
  KillReason reason = {};

  static constexpr TraceKind kind() { return {TraceLevel::kShortLived, "instance killed"}; }
  void fields(TraceFields& f) const { f("instance", instance)("reason", to_text(reason)); }
};

struct UnknownInstanceKilled {
  TaskId instance;
  AgentId agent;

  static constexpr TraceKind kind() { return {TraceLevel::kMisbehaved, "unknown instance killed"}; }
  void fields(TraceFields& f) const { f("instance", instance)("agent", agent); }
};

// Its agent must be given back.
struct InstanceToLeave {
  TaskId instance;
  AgentId agent;
  RevokeReason reason = {};
  Duration grace;

  static constexpr TraceKind kind() { return {TraceLevel::kShortLived, "instance to leave"}; }
  void fields(TraceFields& f) const {
    f("instance", instance)("agent", agent)("reason", to_text(reason))("grace", grace);
  }
};

struct InstanceToStay {
  TaskId instance;
  AgentId agent;

  static constexpr TraceKind kind() { return {TraceLevel::kShortLived, "instance to stay"}; }
  void fields(TraceFields& f) const { f("instance", instance)("agent", agent); }
};

// --- the store ---------------------------------------------------------------------------------

struct AppsRead {
  size_t apps = 0;
  size_t instances = 0;

  static constexpr TraceKind kind() { return {TraceLevel::kLongLived, "apps read from the store"}; }
  void fields(TraceFields& f) const { f("apps", apps)("instances", instances); }
};

struct StoreCannotBeRead {
  std::string error;

  static constexpr TraceKind kind() { return {TraceLevel::kOperator, "the store cannot be read"}; }
  void fields(TraceFields& f) const { f.free_text("error", error); }
};

struct InstancesCannotBeWritten {
  std::string error;

  static constexpr TraceKind kind() {
    return {TraceLevel::kOperator, "instances cannot be written down"};
  }
  void fields(TraceFields& f) const { f.free_text("error", error); }
};

}  // namespace proffer::service
