#pragma once

// The service scheduler: apps as people want them, instances as the cluster runs them, and what to
// do about the difference. Pure; the shell (frameworks/service/shell, sim) feeds it what the SDK
// hears and what people ask, and carries out its commands.
//
//   request → record written → applied → plan → asks → offer → record written → launched → told
//
// Events only mark apps as changed; plans are made in Tick, which is asked for at once. What plans
// are made of is in plan.h, what is durable in records.h.

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

// Requests that wait for one before them; further ones are refused.
inline constexpr size_t kRequestsWaitingMax = 1'000;
// Watches that wait for a change; further ones are answered at once. Each is one of the
// kRelaysPerFrameworkMax requests that a scheduler may have to answer.
inline constexpr size_t kWatchersMax = 50;
static_assert(kWatchersMax < kRelaysPerFrameworkMax);

struct ServiceOptions {
  // Keeps apps and instances in the frameworks' store, and begins with what is there. Else nothing
  // outlives the process.
  bool has_store = true;
  // Instances run as the user that created their app; only that user and operators change it. Else
  // all run as the framework's user, and the master lets only that one and operators ask.
  bool serves_users = false;
  // Letters and digits, another for each life of a scheduler: a part of the instances' ids.
  std::string life = "0";
};

// --- events and actions ------------------------------------------------------------------------

// The apps of a file: all of them, or none.
struct Apply {
  std::vector<AppSpec> specs = {};  // 1 to kAppsPerFileMax, CHECKed with check_app, no name twice
  std::vector<int> lines = {};      // where each begins in the file, for errors; or none
};
struct Scale {
  std::string app = {};
  int64_t instances = 0;
};
struct Stop {
  std::string app = {};
};
// Back to a version of before; none: to the last one that was ready as a whole, but the present.
struct Rollback {
  std::string app = {};
  std::optional<uint64_t> version = {};
};
// An update goes no further; what ends by itself is replaced by what was there.
struct Pause {
  std::string app = {};
};
// A paused update goes on, and a canary is promoted.
struct Resume {
  std::string app = {};
};
// The scheduler's own: how the update to a version went. Nobody else asks for it.
struct Judge {
  std::string app = {};
  uint64_t version = 0;
  std::string failed = {};  // why; empty: all its instances are ready
};
// The scheduler's own: the apps that this one waits for are ready.
struct Begin {
  std::string app = {};
};
// The scheduler's own: what a report of its load led to.
struct AutoScale {
  std::string app = {};
  int64_t from = 0;  // as many as there were to be then
  int64_t instances = 0;
};
using Change = std::variant<Apply, Scale, Stop, Rollback, Pause, Resume, Judge, Begin, AutoScale>;

// A user that asks, as the master names it.
struct Caller {
  std::string user = {};
  bool is_operator = false;
};

// The SDK sees to it that what is asked twice comes once.
struct Request {
  uint64_t relay = 0;  // repeated in the answer; the scheduler's own have none
  Change change = {};
  Caller by = {};
};
// The instances in service of these apps, or of all, are wanted: as soon as ServersPage::version is
// not `seen`, and after `wait` anyway.
struct Watch {
  uint64_t relay = 0;  // repeated in the answer
  std::vector<std::string> apps = {};
  std::string seen = {};
  Duration wait = {};      // to proto::kServersWaitMax
  std::string after = {};  // the page behind this task
};
// Figures of an app's instances, by a user that may change the app. Answered at once, with the
// consequences.
struct Figures {
  uint64_t relay = 0;  // repeated in the answer
  std::string app = {};
  // In thousandths (autoscale.h), by task id. At most kFigureMax each; of what is not ready none
  // counts.
  std::map<TaskId, int64_t> of = {};
  Caller by = {};
};
struct Tick {};
using ServiceEvent = std::variant<sdk::Notification, Request, Watch, Figures, Tick>;

struct Answer {
  uint64_t relay = 0;
  // To each app, in the order of the request.
  Result<std::vector<proto::ServiceChange>> result =
      Result<std::vector<proto::ServiceChange>>(std::vector<proto::ServiceChange>());
};

struct WatchAnswer {
  uint64_t relay = 0;
  proto::ServersPage page = {};
  std::optional<Error> error = {};  // instead of the page
};

struct ServiceOutbox {
  std::vector<sdk::Command> commands = {};  // in this order
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
  // As one that has read these entries from the store.
  Service(ServiceOptions options, const Entries& snapshot);
  ~Service();
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  void handle(const ServiceEvent& event, Time now, ServiceOutbox& out);
  std::optional<Time> next_deadline() const;

  bool connected() const;
  // What the store holds has been read. Until then nothing is launched and requests wait.
  bool loaded() const;
  const FrameworkId& framework() const;
  std::vector<proto::ServiceAppRow> status() const;  // by name
  // An app is scaled by its load, so figures are wanted.
  bool wants_figures() const;
  // Pages, each as large as one answer that the master relays may be; behind app or task `after`.
  proto::ServiceAppsPage apps(const std::string& after) const;
  // Errors: kNotFound names the nearest app.
  Result<proto::ServiceStatusPage> status_of(const std::string& app,
                                             const std::string& after) const;
  // Its versions, by number. Errors: kNotFound; kPermissionDenied, the app is another user's.
  Result<std::vector<proto::ServiceVersionRow>> history(const std::string& app,
                                                        const Caller& by) const;
  // What the change would do to each app, and how; nothing is done. The errors of the change.
  Result<std::vector<proto::ServicePlan>> preview(const Change& change, Time now,
                                                  const Caller& by) const;
  // What the store holds once all that was said is written.
  Entries snapshot() const;
  // Broken invariants; O(instances). For tests and the simulator.
  std::vector<Violation> violations() const;

 private:
  class State;
  std::unique_ptr<State> state_;
};

}  // namespace proffer::service
