#pragma once

// What somebody wants kept running: so many instances of one command.

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

// Every maximum with its reason; an app beyond one is refused.
inline constexpr size_t kAppNameBytesMax = 64;    // a part of its tasks' ids
inline constexpr int64_t kInstancesMax = 10'000;  // of one app
inline constexpr size_t kPortNameBytesMax = 64;   // a part of a variable's name
inline constexpr Duration kKillGraceMax = hours(24);
inline constexpr size_t kAfterMax = 16;         // apps that an app waits for
inline constexpr size_t kFindMax = 8;           // apps whose servers an app is told
inline constexpr size_t kNeighboursMax = 8;     // apps that it runs beside, or apart from
inline constexpr size_t kFoundServersMax = 64;  // of each of them
// Of all variables that tell them.
inline constexpr size_t kFoundBytesMax = 16 * 1024;
inline constexpr size_t kAppsPerFileMax = 100;  // applied by one write of the store
// Of one scheduler, and of all its apps if it keeps its state in the store: what fits there, in
// records.h.
inline constexpr size_t kAppsMax = 1'000;
inline constexpr int64_t kInstancesKeptMax = 10'000;

// An app without ports and without a health check is ready when it has run for so long. A command
// that cannot start (no such program, a wrong flag, a missing file) has ended by then; an app
// that needs longer says so.
inline constexpr Duration kReadyAfter = seconds(2);

inline constexpr std::string_view kDefaultResources = "cpus:0.1;mem:64";

// Until an update has failed: see UpdatePolicy.
inline constexpr Duration kProgressDeadline = minutes(10);
inline constexpr Duration kUpdateTimeMax = hours(24);  // of its durations

// How an app rolls from one version to the next.
struct UpdatePolicy {
  // While it rolls, at least instances - max_unavailable are ready, and at most instances +
  // max_surge are there. One of the two is at least 1.
  int64_t max_unavailable = 1;
  int64_t max_surge = 0;
  // So many instances of a new version run beside the old ones until somebody promotes it.
  int64_t canary = 0;
  // An instance of the new version counts once it has been ready for so long.
  Duration healthy_for = {};
  // Without one more such instance for so long, the update has failed; zero: it never has.
  Duration progress_deadline = kProgressDeadline;
  // What has failed gives way to the last version whose instances were all ready.
  bool rolls_back = true;
  bool operator==(const UpdatePolicy&) const = default;
};

struct AppSpec {
  std::string name = {};
  int64_t instances = 1;
  std::string command = {};
  ResourceVector resources = ResourceVector::of(100, 64'000);  // of each instance
  std::vector<proto::FetchedFile> fetch = {};  // that are in the sandbox before it starts
  proto::Environment env = {};
  // Small files that are in the sandbox before the command starts, by name (files.h).
  std::map<std::string, std::string> files = {};
  std::vector<std::string> ports = {};  // each a free port of the agent, told as $PORT_<name>
  // Of these, the ones whose number is given; an agent runs one instance of such an app at a time.
  std::map<std::string, uint16_t> static_ports = {};
  // Secrets of the app's user that each instance is given when it starts; in order of their names.
  std::vector<proto::SecretUse> secrets = {};
  // Command lines that run in the instance's sandbox before the command, one after the other.
  std::vector<std::string> init = {};
  // Command lines that run beside it, by name; the end of one is the end of the instance.
  std::map<std::string, std::string> sidecars = {};
  std::vector<Constraint> constraints = {};
  // An instance on each agent that it fits on; then `instances`, `spread` and `max_per` do not
  // count.
  bool daemon = false;
  // The agents' attribute over whose values instances are spread as evenly as possible; "host":
  // over the agents. Empty: they go where they fit best.
  std::string spread = "host";
  std::vector<MaxPer> max_per = {};  // sorted by attribute
  std::optional<proto::HealthCheck> health = {};
  // When an instance is ready, if no health check says it. None: when it listens on all its ports,
  // or without ports after kReadyAfter.
  std::optional<proto::Readiness> ready = {};
  UpdatePolicy update = {};
  // Then `instances` is only how many there are at first, and is changed by the load.
  std::optional<ScalePolicy> scale = {};
  // Apps that are ready when the first instances of this one are launched; sorted.
  std::vector<std::string> after = {};
  // Instances are launched only on agents with an instance of each of these apps; sorted.
  std::vector<std::string> with = {};
  // Never on an agent with an instance of one of these, nor those beside this one; sorted.
  std::vector<std::string> apart_from = {};
  // Apps whose servers each instance is told when it starts, by variables; sorted.
  std::vector<std::string> find = {};
  // A ready instance that is to end is not ready any more for so long before it gets its signal:
  // proxies that follow the service hear of it first.
  Duration drain_delay = {};
  Duration kill_grace = kKillGrace;
  int32_t kill_signal = proto::kKillSignal;

  bool operator==(const AppSpec&) const = default;
};

// Errors: kInvalidArgument says which value is wrong, what is allowed and what to do. Expressions
// of constraints are not compiled here.
Result<void> check_app(const AppSpec& app);
// The key of an app file to which the error of check_app() belongs.
struct WrongValue {
  std::string_view key = {};
  Error error;
};
std::optional<WrongValue> find_wrong_value(const AppSpec& app);

// Whether an instance of one is as good as an instance of the other: all that a task sees is equal.
// Such specs are of one version.
bool same_task(const AppSpec& a, const AppSpec& b);
// The variable that tells servers of this app, and the beginning of those that tell its ports:
// "PROFFER_SERVICE_MY_APP".
std::string find_variable(std::string_view app);

// What tasks see of `version`; how many there are, where they go and how they are updated as in
// `now`. It is not scaled by its load if `version` has no port that tells it.
AppSpec with_task_of(const AppSpec& version, const AppSpec& now);

// --- instances as tasks ------------------------------------------------------------------------

// An instance's task id, <app>.<version>.<slot>-<unique>, in parts.
struct InstanceId {
  std::string app = {};
  uint64_t version = 0;  // counts the specs of the app that tasks could tell apart
  int64_t slot = 0;
  std::string unique = {};  // letters and digits
  bool operator==(const InstanceId&) const = default;
};
TaskId to_task_id(const InstanceId& id);
// Nothing if it is none that to_task_id makes.
std::optional<InstanceId> parse_task_id(const TaskId& id);

AskName ask_name(const std::string& app, uint64_t version);
Ask make_ask(const AppSpec& app, uint64_t version, int64_t count);
// Of an app that does not say when it is ready.
proto::Readiness default_readiness(const AppSpec& app);
proto::TaskSpec make_task(const AppSpec& app, const InstanceId& id);

}  // namespace proffer::service
