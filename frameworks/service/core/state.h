#pragma once

// The state of the service scheduler, and its handlers: one file for each subject. Used only inside
// this folder.

#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "common/deadlines.h"
#include "frameworks/service/core/autoscale.h"
#include "frameworks/service/core/plan.h"
#include "frameworks/service/core/records.h"
#include "frameworks/service/core/service_core.h"
#include "sdk/store_journal.h"

namespace proffer::service {

template <class... Ts>
struct Overloaded : Ts... {
  using Ts::operator()...;
};
template <class... Ts>
Overloaded(Ts...) -> Overloaded<Ts...>;

// An app, and the work that the last plan left.
struct RunningApp {
  App app = {};
  std::map<int64_t, uint64_t> launches = {};  // shared in the same way: see Plan
  std::set<int64_t> shared = {};
  std::optional<Time> look_again = {};
  Time planned_until = {};  // no new plan before this
  // For an update: the most slots that were ever updated, and the time when this last rose.
  int64_t updated = 0;
  std::optional<Time> updated_at = {};
  // A write is in progress: the app is whole, has failed, or no longer waits for other apps.
  bool is_judged = false;
  // For an app that is scaled by its load.
  ScaleHistory scale_history = {};
  std::optional<Time> figures_at = {};  // the last time
  std::string scaling = {};             // the last result, for people
  bool is_scaled = false;               // its write is in progress
  // For a daemon: until when further agents are likely, and whether this held at the last plan.
  Time looks_until = {};
  bool is_looking = false;
  Time judge_at = {};  // no write before this; the last one failed
  std::string why = {};
  std::string last_words = {};
  std::string cannot_fit = {};  // the reason, if no agent of the cluster could run it
  std::vector<proto::ServerRow> servers = {};  // its instances in service, by task id
  std::set<TaskId> planned = {};               // instances whose launch is being written
  uint64_t servers_changed = 0;                // State::changes_ at that time
  size_t versions_bytes = 0;                   // bytes_of(app.earlier)
};

// An answer that the master relays has at most kRelayedBytesMax bytes. A row takes its texts, at
// most doubled as JSON, and some overhead.
class PageRoom {
 public:
  // Whether a row with this many bytes of text fits the page; the first row always does.
  bool takes(size_t bytes) {
    const bool is_first = used_ == 0;
    used_ += 2 * bytes + 320;
    return is_first || used_ <= kRelayedBytesMax - 8 * 1'024;
  }

 private:
  size_t used_ = 0;
};

// The stored part of an app and of an instance.
inline const AppRecord& record_of(const App& app) { return app; }
inline InstanceRecord record_of(const Instance& instance) {
  return {.agent = instance.agent,
          .host = instance.host,
          .launched_at = instance.launched_at,
          .has_health_check = instance.has_health_check,
          .healthy = instance.healthy,
          .ports = instance.ports,
          .told_ready = instance.told_ready};
}

// Makes `spec`, which differs from the record's for tasks, the current version: a new version, or
// the earlier one with this content. A new version starts as a canary if the spec says so. Returns
// the answer for people: "updated to version 4".
std::string move_to(AppRecord& record, Versions& earlier, const AppSpec& spec, Time now,
                    const std::string& by);

// Called before an app moves to another version. If it has no version to roll back to, but all its
// instances are ready now, this version becomes it, even if they were not ready for `healthy_for`.
void keep_way_back(AppRecord& record, const App& app);

// Adds line and name to an error about one app of a file with several apps.
Error in_file(const Apply& apply, size_t place, Error error);

// A plan takes time for each instance, about a tenth of this. An app with more instances is planned
// again later, so that thousands of events do not cause thousands of plans.
inline constexpr int64_t kPlannedAtOnceMax = 256;
inline constexpr Duration kPlanRest = microseconds(5);

// Asks that take turns are declared for this long.
inline constexpr Duration kAsksTurn = seconds(10);

// Reads what an earlier scheduler has stored: apps, then instances.
inline sdk::StoreLoader new_loader() {
  constexpr size_t kInstanceBytesMax = 4'096 - kStoreKeyBytesMax;
  return sdk::StoreLoader(
      {{.prefix = std::string(kInstancesPrefix), .value_bytes_max = kInstanceBytesMax},
       {.prefix = std::string(kBlocksPrefix), .value_bytes_max = kBlockBytesMax},
       {.prefix = std::string(kVersionsPrefix)},
       {.prefix = std::string(kAppsPrefix)}});
}

class Service::State {
 public:
  explicit State(ServiceOptions options);
  void restore(const Entries& entries);

  void handle(const ServiceEvent& event, Time now, ServiceOutbox& out);
  std::optional<Time> next_deadline() const;
  bool connected() const { return connected_; }
  bool loaded() const { return loaded_; }
  const FrameworkId& framework() const { return framework_; }
  std::vector<proto::ServiceAppRow> status() const;
  bool wants_figures() const;
  proto::ServiceAppsPage apps(const std::string& after) const;
  Result<proto::ServiceStatusPage> status_of(const std::string& name,
                                             const std::string& after) const;
  Result<std::vector<proto::ServiceVersionRow>> history(const std::string& name,
                                                        const Caller& by) const;
  Result<std::vector<proto::ServicePlan>> preview(const Change& change, Time now,
                                                  const Caller& by) const;
  Entries snapshot() const;
  std::vector<Violation> violations() const;

 private:
  struct Step {
    Time now;
    ServiceOutbox& out;

    void trace(TraceEvent happened) { out.trace.push_back(std::move(happened)); }
  };
  // The actions that wait for a ticket of the journal.
  struct Load {};
  struct Changed {
    AppRecord record = {};
    Versions earlier = {};
    std::string words = {};
  };
  struct Launch {
    OfferId offer = {};
    AgentId agent = {};
    std::vector<TaskId> tasks = {};
  };
  using Continuation = std::variant<Load, std::vector<Changed>, Launch>;

  // service_core.cc: sessions, time, asks.
  void on_notification(Step& step, const sdk::Notification& notification);
  void on_subscribed(Step& step, const proto::Subscribed& subscribed);
  void on_ask_report(const proto::AskReport& report);
  void on_revoke(Step& step, const proto::RevokeNotice& notice);
  void on_revoke_withdrawn(Step& step, const proto::RevokeWithdrawn& withdrawn);
  void on_all_tasks_known(Step& step);
  void stay(Step& step, const TaskId& task, Instance& instance);
  void on_tick(Step& step);
  void confirm(Step& step);
  void plan(Step& step, const std::string& name);
  static void say_kill(Step& step, const TaskId& task, Instance& instance);
  void declare_asks(Step& step);
  void settle(Step& step);
  void load_more();
  void on_loaded(Step& step, const std::vector<proto::StoreResult::Outcome>& outcomes);

  // requests.cc: requests of users.
  void on_request(Step& step, const Request& request);
  void next_request(Step& step);
  // The new record of each app after the request; an equal record if nothing changes.
  using Changes = std::vector<Changed>;
  Result<Changes> decide_all(Step& step, const Request& request) const;
  Result<Changes> decide_all(Step& step, const Apply& apply, const Caller& by) const;
  Result<Changed> decide(Step& step, const AppSpec& spec, const Caller& by) const;
  Result<Changed> decide_known(Step& step, const App& app, Changed changed, const AppSpec& spec,
                               const Caller& by) const;
  Result<Changed> decide(Step& step, const Scale& scale, const Caller& by) const;
  Result<Changed> decide(Step& step, const Stop& stop, const Caller& by) const;
  Result<Changed> decide(Step& step, const Rollback& rollback, const Caller& by) const;
  Result<Changed> decide(Step& step, const Pause& pause, const Caller& by) const;
  Result<Changed> decide(Step& step, const Resume& resume, const Caller& by) const;
  Result<Changed> decide(Step& step, const Judge& judge, const Caller& by) const;
  Result<Changed> decide(Step& step, const Begin& begin, const Caller& by) const;
  // Finds an app that this user may change, and that is not stopping.
  Result<const App*> find_app(const std::string& name, const Caller& by) const;
  Result<void> may_change(const App& app, const Caller& by) const;
  // Drops versions beyond the limits, and collects what must be written; empty if nothing has
  // changed. Errors: more than one write may contain.
  Result<std::vector<proto::StoreOperation>> writes_of(Changes& changes) const;
  Result<void> has_room(const std::map<std::string, int64_t>& instances) const;
  Error unknown_app(const std::string& name) const;
  void apply(Step& step, const Changed& changed);
  static std::vector<proto::ServiceChange> done_by(const Changes& changes);
  void answer(Step& step, const Result<std::vector<proto::ServiceChange>>& result);
  void forget(Step& step, const std::string& name);

  // order.cc: apps that wait for others.
  Result<void> check_order(const Apply& apply) const;
  std::string why_waits(const App& app) const;
  void begin(Step& step, RunningApp& running);
  void tell_followers(const std::string& name);

  // blocks.cc: how instances are stored.
  static BlockName block_name_of(const TaskId& task);
  InstanceBlock block_of(const BlockName& name) const;
  proto::StoreOperation write_of(BlockName name);
  void write_later(BlockName name) { stale_blocks_.insert(std::move(name)); }
  void write_stale_blocks();
  void move_into_blocks(const std::vector<TaskId>& tasks);

  // daemons.cc: apps with an instance on each agent.
  struct Wanted {
    const App* app = nullptr;
    uint64_t version = 0;
    int64_t count = 0;
    std::vector<Constraint> agents = {};  // beside the app's own constraints
  };
  static std::optional<int64_t> daemon_slot(Step& step, RunningApp& running, uint64_t version,
                                            const AgentId& agent);
  static void follow_agents(Step& step, RunningApp& running);
  static std::vector<Wanted> daemon_asks(const RunningApp& running, int64_t room);
  static bool leaves_its_agent(const proto::TaskStatus& status);

  // neighbours.cc: apps that run beside others, or apart from them.
  struct Neighbours {
    bool has_with = false;
    std::set<std::string> with = {};   // agents with instances of all apps that it runs beside
    std::set<std::string> apart = {};  // agents with instances of apps that it runs apart from
    bool allow(const std::string& agent) const {
      return (!has_with || with.contains(agent)) && !apart.contains(agent);
    }
  };
  Result<void> check_neighbours(const Apply& apply, const Caller& by) const;
  std::set<std::string> agents_of(const std::string& app) const;
  Neighbours neighbours_of(const AppSpec& spec, const std::string& owner) const;
  // The constraints of an ask of the owner's app, besides its own; empty: no agent would do now.
  std::optional<std::vector<Constraint>> constrain(const AppSpec& spec,
                                                   const std::string& owner) const;
  // The same in words, for a plan.
  std::vector<std::string> rules_of(const AppSpec& spec, const std::string& owner) const;
  std::string why_alone(const RunningApp& running) const;
  void tell_neighbours(const std::string& name);

  // find.cc: the variables with the servers of other apps.
  proto::Environment found_servers(const AppSpec& spec, int64_t slot) const;

  // servers.cc: the instances in service.
  struct Watcher {
    Watch watch = {};
    Time until = {};
  };
  void look_at_servers(RunningApp& running);
  std::string servers_version(const std::vector<std::string>& apps) const;
  proto::ServersPage servers(const std::vector<std::string>& apps, const std::string& after) const;
  void on_watch(Step& step, const Watch& watch);
  void answer_watchers(Step& step);

  // scaling.cc: apps that are scaled by their load.
  void on_figures(Step& step, const Figures& figures);
  void forget_old_figures(Step& step);
  Result<std::string> take_figures(Step& step, const Figures& figures);
  Result<Changed> decide(Step& step, const AutoScale& scale, const Caller& by) const;

  // rollouts.cc: the progress of an update.
  void judge(Step& step, RunningApp& running, const Plan& plan);
  std::optional<std::string> why_failed(Step& step, RunningApp& running, const Plan& plan) const;

  // launches.cc: offers, and the writes for launches.
  void on_offer(Step& step, const Offer& offer);
  std::optional<TaskId> plan_instance(Step& step, const AskName& ask, const Offer& offer,
                                      size_t& bytes);
  void on_written(Step& step, const Launch& launch, const std::optional<Error>& error);
  // The app of an ask, and the version; null: the ask is no longer wanted.
  std::pair<RunningApp*, uint64_t> find_ask(const AskName& ask);
  static bool is_free(const RunningApp& running, int64_t slot, uint64_t version,
                      const TaskId& except);

  // updates.cc: status updates of instances.
  void on_status(Step& step, const proto::TaskStatus& status);
  void on_alive(Step& step, RunningApp& app, Instance& instance, const proto::TaskStatus& status);
  void on_ended(Step& step, RunningApp& app, const TaskId& task, const proto::TaskStatus& status);
  void on_unknown(Step& step, const proto::TaskStatus& status);
  // An instance has failed by its own fault, or must wait for another reason. `words`: the end of
  // its stderr.
  void count_failure(Step& step, App& app, const Instance& instance, const std::string& why,
                     std::string_view words);
  void erase(const std::string& key);
  Instance* find(const TaskId& task, RunningApp** app);

  void mark(const std::string& app) { changed_.insert(app); }

  const ServiceOptions options_;
  sdk::StoreJournal journal_;
  std::map<sdk::StoreJournal::Ticket, Continuation> continuations_;
  sdk::StoreLoader loader_ = new_loader();

  bool connected_ = false;
  bool loaded_ = false;
  FrameworkId framework_;
  std::optional<Time> settled_at_;  // in this session; running instances are known by then
  std::map<std::string, RunningApp> apps_;
  // The time at which an app's plan changes without an event: RunningApp::look_again of apps that
  // are not due.
  DeadlineQueue<std::string> looks_;
  std::set<std::string> measured_;  // apps with RunningApp::figures_at

  uint64_t launched_ = 0;             // counts instances, for their ids
  std::set<std::string> changed_;     // apps to plan
  std::set<std::string> waiting_;     // apps that wait for others; perhaps more
  std::set<std::string> alone_;       // apps that want an agent with instances of others
  std::set<BlockName> stale_blocks_;  // to write when the step ends
  std::set<TaskId> unconfirmed_;
  std::optional<Time> confirm_at_;  // when instances are confirmed again
  // Updates that came before the store was read; for revokes with their end.
  std::map<TaskId, proto::TaskStatus> early_;
  std::map<TaskId, std::pair<Time, proto::RevokeNotice>> early_revokes_;

  bool asks_stale_ = true;
  // If there are more asks than a framework may declare, they take turns: now from this app on.
  std::string asks_from_;
  std::optional<Time> next_turn_;
  std::vector<Ask> declared_;  // the master's count, lowered by later launches

  uint64_t changes_ = 0;         // of the servers of any app
  uint64_t forgotten_ = 0;       // the value of changes_ when an app was last forgotten
  bool watchers_stale_ = false;  // some watchers may have their answer
  std::vector<Watcher> watchers_;

  std::deque<Request> requests_;
  std::set<std::string> changing_;  // the apps of the first change, while it is written
};

}  // namespace proffer::service
