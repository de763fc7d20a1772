#pragma once

// An app: a number of instances of one command that are kept running.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/attributes.h"
#include "common/ids.h"
#include "common/offers.h"
#include "common/resources.h"
#include "common/result.h"
#include "frameworks/service/core/autoscale.h"
#include "proto/messages.h"

namespace proffer::service {

// Every maximum, with its reason. An app beyond one is refused.
inline constexpr size_t kAppNameBytesMax = 64;                 // a part of its tasks' ids
inline constexpr size_t kAppEnvironmentBytesMax = 128 * 1024;  // names and values of env
inline constexpr int64_t kInstancesMax = 10'000;               // of one app
inline constexpr size_t kPortNameBytesMax = 64;                // a part of a variable's name
inline constexpr Duration kKillGraceMax = hours(24);
inline constexpr size_t kAfterMax = 16;         // apps that one app waits for
inline constexpr size_t kFindMax = 8;           // apps whose servers one app receives
inline constexpr size_t kNeighboursMax = 8;     // apps that one app runs beside, or apart from
inline constexpr size_t kFoundServersMax = 64;  // of each of these apps
// Of all variables with servers.
inline constexpr size_t kFoundBytesMax = 16 * 1024;
inline constexpr size_t kAppsPerFileMax = 100;  // applied by one write of the store
// Of one scheduler, and of all its apps if it keeps its state in the store; records.h has the room
// there.
inline constexpr size_t kAppsMax = 1'000;
inline constexpr int64_t kInstancesKeptMax = 10'000;

// An app without ports and without a health check is ready when it has run for this time. A command
// that cannot start (no such program, a wrong flag, a missing file) has ended by then. An app that
// needs longer sets `ready`.
inline constexpr Duration kReadyAfter = seconds(2);

inline constexpr std::string_view kDefaultResources = "cpus:0.1;mem:64";

// After this time without progress an update fails: see UpdatePolicy.
inline constexpr Duration kProgressDeadline = minutes(10);
inline constexpr Duration kUpdateTimeMax = hours(24);  // of its durations

// How an app is updated from one version to the next.
struct UpdatePolicy {
  // During the update at least instances - max_unavailable are ready, and at most instances +
  // max_surge exist. One of the two is at least 1.
  int64_t max_unavailable = 1;
  int64_t max_surge = 0;
  // This many instances of a new version run beside the old ones until the update is promoted.
  int64_t canary = 0;
  // An instance of the new version counts when it has been ready for this time.
  Duration healthy_for = {};
  // The update fails if no further instance counts for this time; zero: it never fails.
  Duration progress_deadline = kProgressDeadline;
  // A failed update is rolled back to the last version whose instances were all ready.
  bool rolls_back = true;
  bool operator==(const UpdatePolicy&) const = default;
};

struct AppSpec {
  std::string name = {};
  int64_t instances = 1;
  std::string command = {};
  ResourceVector resources = ResourceVector::of(100, 64'000);  // of each instance
  std::vector<proto::FetchedFile> fetch = {};  // put into the sandbox before it starts
  proto::Environment env = {};
  // Small files that are put into the sandbox before the command starts, by name (files.h).
  std::map<std::string, std::string> files = {};
  std::vector<std::string> ports = {};  // each is a free port, in $PORT_<name>
  // The ports of these with a given number. An agent runs one instance of such an app at a time.
  std::map<std::string, uint16_t> static_ports = {};
  // Secrets of the app's user that each instance gets when it starts; sorted by name.
  std::vector<proto::SecretUse> secrets = {};
  // Command lines that run in the instance's sandbox before the command, one after the other.
  std::vector<std::string> init = {};
  // Command lines that run beside it, by name. If one ends, the instance ends.
  std::map<std::string, std::string> sidecars = {};
  std::vector<Constraint> constraints = {};
  // An instance on each agent that it fits on. `instances`, `spread` and `max_per` are then
  // ignored.
  bool daemon = false;
  // The attribute of agents over whose values instances are spread as evenly as possible; "host":
  // over the agents. Empty: best fit.
  std::string spread = "host";
  std::vector<MaxPer> max_per = {};  // sorted by attribute
  std::optional<proto::HealthCheck> health = {};
  // The readiness test, if there is no health check. None: an instance is ready when it listens on
  // all its ports, or without ports after kReadyAfter.
  std::optional<proto::Readiness> ready = {};
  UpdatePolicy update = {};
  // If set, `instances` is only the initial number, and the load changes it.
  std::optional<ScalePolicy> scale = {};
  // Apps that must be ready before the first instances of this one are launched; sorted.
  std::vector<std::string> after = {};
  // Instances are launched only on agents with an instance of each of these apps; sorted.
  std::vector<std::string> with = {};
  // Instances are never on an agent with an instance of one of these, and the reverse; sorted.
  std::vector<std::string> apart_from = {};
  // Apps whose servers each instance gets in variables when it starts; sorted.
  std::vector<std::string> find = {};
  // A ready instance that must end stops being ready this long before its signal, so that proxies
  // that follow the service learn of it first.
  Duration drain_delay = {};
  Duration kill_grace = kKillGrace;
  int32_t kill_signal = proto::kKillSignal;

  bool operator==(const AppSpec&) const = default;
};

// Errors: kInvalidArgument names the value, what is allowed and the remedy. Expressions of
// constraints are not compiled here.
Result<void> check_app(const AppSpec& app);
// The key of an app file to which an error of check_app() belongs.
struct WrongValue {
  std::string_view key = {};
  Error error;
};
std::optional<WrongValue> find_wrong_value(const AppSpec& app);

// True if an instance of one can replace an instance of the other, since their tasks are equal.
// Such specs have one version.
bool same_task(const AppSpec& a, const AppSpec& b);
// The variable with the servers of this app, and the prefix of those with its ports:
// "PROFFER_SERVICE_MY_APP".
std::string find_variable(std::string_view app);

// The tasks of `version`, with the number, placement and update policy of `now`. It is not scaled
// by its load if `version` lacks the port for the figures.
AppSpec with_task_of(const AppSpec& version, const AppSpec& now);

// --- instances as tasks ------------------------------------------------------------------------

// An instance's task id, <app>.<version>.<slot>-<unique>, in parts.
struct InstanceId {
  std::string app = {};
  uint64_t version = 0;  // counts the specs of the app whose tasks differ
  int64_t slot = 0;
  std::string unique = {};  // letters and digits
  bool operator==(const InstanceId&) const = default;
};
TaskId to_task_id(const InstanceId& id);
// None if to_task_id cannot have made it.
std::optional<InstanceId> parse_task_id(const TaskId& id);

AskName ask_name(const std::string& app, uint64_t version);
Ask make_ask(const AppSpec& app, uint64_t version, int64_t count);
// For an app without `ready`.
proto::Readiness default_readiness(const AppSpec& app);
proto::TaskSpec make_task(const AppSpec& app, const InstanceId& id);

}  // namespace proffer::service
