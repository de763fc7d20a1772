#pragma once

// The service scheduler: the wanted apps, the running instances, and the actions that reconcile
// them. Pure. The shell (frameworks/service/shell, sim) passes it the SDK's events and the requests
// of users, and carries out its commands.
//
//   request → record written → applied → plan → asks → offer → record written → launched
//
// Events only mark apps as changed; plans are made in Tick, which is requested at once. plan.h has
// the plans, records.h the durable state.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "common/trace.h"
#include "frameworks/service/core/app.h"
#include "proto/service_status.h"
#include "sdk/notifications.h"
#include "sdk/store_loader.h"

namespace proffer::service {

using Entries = sdk::StoreEntries;

// Requests that wait for an earlier one. Further ones are refused.
inline constexpr size_t kRequestsWaitingMax = 1'000;
// Watches that wait for a change. Further ones are answered at once. Each is one of the
// kRelaysPerFrameworkMax requests that a scheduler may have open.
inline constexpr size_t kWatchersMax = 50;
static_assert(kWatchersMax < kRelaysPerFrameworkMax);

struct ServiceOptions {
  // Stores apps and instances in the framework's store, and reads them at the start. Otherwise no
  // state outlives the process.
  bool has_store = true;
  // Instances run as the user that created their app; only that user and operators may change it.
  // Otherwise all run as the framework's user, and the master lets only that user and operators
  // send requests.
  bool serves_users = false;
  // Letters and digits that differ for each life of a scheduler; a part of the instances' ids.
  std::string life = "0";
};

// --- events and actions ------------------------------------------------------------------------

// The apps of a file; all are applied, or none.
struct Apply {
  std::vector<AppSpec> specs = {};  // 1 to kAppsPerFileMax, CHECKed with check_app, distinct names
  std::vector<int> lines = {};      // the line of each app in the file, for errors; may be empty
};
struct Scale {
  std::string app = {};
  int64_t instances = 0;
};
struct Stop {
  std::string app = {};
};
// Rolls back to an earlier version; none: the last one that was ready as a whole, except the
// present one.
struct Rollback {
  std::string app = {};
  std::optional<uint64_t> version = {};
};
// Pauses an update; instances that end are replaced by their own version.
struct Pause {
  std::string app = {};
};
// Resumes a paused update, or promotes a canary.
struct Resume {
  std::string app = {};
};
// Only from the scheduler itself: the result of the update to a version.
struct Judge {
  std::string app = {};
  uint64_t version = 0;
  std::string failed = {};  // the reason; empty: all its instances are ready
};
// Only from the scheduler itself: the apps that this one waits for are ready.
struct Begin {
  std::string app = {};
};
// Only from the scheduler itself: the result of a load report.
struct AutoScale {
  std::string app = {};
  int64_t from = 0;  // the wanted number at that time
  int64_t instances = 0;
};
using Change = std::variant<Apply, Scale, Stop, Rollback, Pause, Resume, Judge, Begin, AutoScale>;

// The user of a request, as the master identifies it.
struct Caller {
  std::string user = {};
  bool is_operator = false;
};

// The SDK ensures that a repeated request arrives once.
struct Request {
  uint64_t relay = 0;  // returned in the answer; 0 for the scheduler's own requests
  Change change = {};
  Caller by = {};
};
// A request for the instances in service of these apps, or of all. It is answered when
// ServersPage::version is not `seen`, or after `wait`.
struct Watch {
  uint64_t relay = 0;  // returned in the answer
  std::vector<std::string> apps = {};
  std::string seen = {};
  Duration wait = {};      // at most proto::kServersWaitMax
  std::string after = {};  // return the page after this task
};
// Figures of an app's instances, from a user that may change the app. Answered at once, with the
// result.
struct Figures {
  uint64_t relay = 0;  // returned in the answer
  std::string app = {};
  // In thousandths (autoscale.h), by task id, at most kFigureMax each. Figures of instances that
  // are not ready are ignored.
  std::map<TaskId, int64_t> of = {};
  Caller by = {};
};
struct Tick {};
using ServiceEvent = std::variant<sdk::Notification, Request, Watch, Figures, Tick>;

struct Answer {
  uint64_t relay = 0;
  // The result for each app, in the order of the request.
  Result<std::vector<proto::ServiceChange>> result =
      Result<std::vector<proto::ServiceChange>>(std::vector<proto::ServiceChange>());
};

struct WatchAnswer {
  uint64_t relay = 0;
  proto::ServersPage page = {};
  std::optional<Error> error = {};  // instead of the page
};

struct ServiceOutbox {
  std::vector<sdk::Command> commands = {};  // sent in this order
  std::vector<Answer> answers = {};
  std::vector<WatchAnswer> servers = {};
  std::vector<TraceEvent> trace = {};

  void clear() {
    commands.clear();
    answers.clear();
    servers.clear();
    trace.clear();
  }
};

// --- the core ----------------------------------------------------------------------------------

class Service {
 public:
  explicit Service(ServiceOptions options);
  // As a core that has read these entries from the store.
  Service(ServiceOptions options, const Entries& snapshot);
  ~Service();
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  void handle(const ServiceEvent& event, Time now, ServiceOutbox& out);
  std::optional<Time> next_deadline() const;

  bool connected() const;
  // The store has been read. Before that nothing is launched, and requests wait.
  bool loaded() const;
  const FrameworkId& framework() const;
  std::vector<proto::ServiceAppRow> status() const;  // by name
  // True if an app is scaled by its load, so that figures are needed.
  bool wants_figures() const;
  // Pages that fit into one relayed answer, starting after app or task `after`.
  proto::ServiceAppsPage apps(const std::string& after) const;
  // Errors: kNotFound names the nearest app.
  Result<proto::ServiceStatusPage> status_of(const std::string& app,
                                             const std::string& after) const;
  // Its versions, by number. Errors: kNotFound; kPermissionDenied: the app belongs to another user.
  Result<std::vector<proto::ServiceVersionRow>> history(const std::string& app,
                                                        const Caller& by) const;
  // The effect that the change would have on each app; nothing is changed. Errors: those of the
  // change.
  Result<std::vector<proto::ServicePlan>> preview(const Change& change, Time now,
                                                  const Caller& by) const;
  // The content of the store when all writes are done.
  Entries snapshot() const;
  // Broken invariants; O(instances). For tests and the simulator.
  std::vector<Violation> violations() const;

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace proffer::service
