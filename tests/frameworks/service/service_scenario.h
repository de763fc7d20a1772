#pragma once

// The service scheduler's core with a small cluster: a store, agents with room, and tasks that the
// test controls. The cluster outlives the scheduler, which may be killed at any time. After each
// step it checks violations() and the two laws of plan.h: kills leave as many ready instances as
// the budget requires, and no launch uses a taken slot.

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "common/text.h"
#include "frameworks/service/core/plan.h"
#include "frameworks/service/core/records.h"
#include "frameworks/service/core/service_core.h"
#include "frameworks/service/core/trace.h"

namespace proffer::service {

class ServiceScenario {
 public:
  using State = proto::TaskState;
  using Reason = proto::TaskReason;

  struct Task {
    AgentId agent = {};
    proto::TaskSpec spec = {};
    State state = State::kStaging;  // as last reported
    bool kill_asked = false;
  };

  explicit ServiceScenario(bool has_store = true, bool serves_users = false)
      : has_store_(has_store), serves_users_(serves_users) {
    start();
  }

  // --- the scheduler ---------------------------------------------------------------------------
  // Starts a new scheduler process, which finds the store and the cluster unchanged.
  void start() {
    requests_.clear();
    asks_.clear();
    offers_.clear();
    connected_ = false;
    is_watching_ = false;
    core_ = std::make_unique<Service>(ServiceOptions{
        .has_store = has_store_, .serves_users = serves_users_, .life = text("life", ++lives_)});
    connect();
  }
  void connect() {
    connected_ = true;
    notify(proto::Subscribed{.framework = FrameworkId("service-1-1"),
                             .session = SessionEpoch(++sessions_)});
    serve_store();
    // The driver reconciles all tasks; the scheduler repeats kills that were lost.
    for (const auto& [id, task] : std::map(tasks_)) tell(id, task.state);
    for (const std::string& id : revoked_) {
      if (tasks_.count(id) == 0 || undrained_.count(id) > 0) continue;
      notify(proto::RevokeNotice{.tasks = {TaskId(id)},
                                 .agent = tasks_.at(id).agent,
                                 .reason = RevokeReason::kDraining,
                                 .grace = revoked_until_[id] - now_});
    }
    notify(sdk::AllTasksKnown{});
    for (const std::string& id : std::exchange(undrained_, {})) revoked_.erase(id);
  }
  void disconnect() {
    connected_ = false;
    is_watching_ = false;
    asks_.clear();
    offers_.clear();
    notify(sdk::Disconnected{"gone"});
  }
  Service& core() { return *core_; }

  // --- users -----------------------------------------------------------------------------------
  static AppSpec app(int64_t instances, const std::string& name = "web") {
    AppSpec spec;
    spec.name = name;
    spec.instances = instances;
    spec.command = "serve";
    return spec;
  }
  static AppSpec with_health(AppSpec spec) {
    spec.ports = {"http"};
    spec.health = proto::HealthCheck{.port = "http"};
    return spec;
  }
  std::string apply(const AppSpec& spec, const Caller& by = {}) {
    return request(Apply{{spec}}, by);
  }
  // The apps of one file, each with ten lines.
  std::string apply_all(const std::vector<AppSpec>& specs, const Caller& by = {}) {
    Apply apply{.specs = specs};
    for (size_t i = 0; i < specs.size(); ++i) apply.lines.push_back(static_cast<int>(10 * i + 1));
    return request(std::move(apply), by);
  }
  std::string scale(const std::string& name, int64_t instances) {
    return request(Scale{name, instances});
  }
  std::string stop(const std::string& name) { return request(Stop{name}); }
  // The answer, or "none yet".
  std::string request(Change change, const Caller& by = {}) {
    handle(Request{++relays_, std::move(change), by});
    return answer(relays_);
  }
  std::string answer(uint64_t relay) const {
    const auto found = answers_.find(relay);
    return found == answers_.end() ? "none yet" : found->second;
  }

  // --- clients ---------------------------------------------------------------------------------
  // Follows the servers of all apps from now on, as a proxy does. The law: when nothing more
  // happens, the follower knows exactly the ready instances, except those that a new scheduler has
  // not heard of.
  void follow() {
    follows_ = true;
    watch();
  }
  // The servers last received, by task id.
  const std::map<std::string, proto::ServerRow>& followed() const { return followed_; }
  // The answer to a watch that does not wait.
  proto::ServersPage servers(std::vector<std::string> apps = {}) {
    handle(Watch{.relay = ++watches_, .apps = std::move(apps)});
    return last_page_;
  }
  // The page of a watch, if it has been answered.
  std::optional<proto::ServersPage> page(uint64_t relay) const {
    const auto found = pages_.find(relay);
    return found == pages_.end() ? std::nullopt : std::optional(found->second);
  }

  // --- the cluster -----------------------------------------------------------------------------
  void agent(const std::string& name, int room) { agents_[AgentId(name)] = room; }
  // Its tasks may still run; their updates do not arrive.
  void unreachable(const std::string& name) {
    away_.insert(AgentId(name));
    for (const std::string& id : tasks_on(name)) tell(id, State::kUnreachable);
  }
  void returns(const std::string& name) {
    away_.erase(AgentId(name));
    for (const std::string& id : tasks_on(name)) {
      if (tasks_.count(id) > 0) tell(id, State::kRunning);
    }
  }
  void gone(const std::string& name) {
    away_.erase(AgentId(name));
    agents_.erase(AgentId(name));
    for (const std::string& id : tasks_on(name)) end(id, State::kGone, Reason::kAgentRemoved);
  }
  // The agent gets no more tasks, and its tasks must leave.
  void drain(const std::string& name, Duration grace) {
    agents_[AgentId(name)] = 0;
    proto::RevokeNotice notice{
        .agent = AgentId(name), .reason = RevokeReason::kDraining, .grace = grace};
    for (const std::string& id : tasks_on(name)) {
      notice.tasks.emplace_back(id);
      revoked_.insert(id);
      undrained_.erase(id);
      revoked_until_[id] = now_ + grace;
    }
    if (connected_) notify(notice);
  }
  // Cancels the drain. Masters of earlier versions do not report this.
  void undrain(const std::string& name, int room) {
    agent(name, room);
    proto::RevokeWithdrawn withdrawn{.agent = AgentId(name)};
    for (const std::string& id : tasks_on(name)) {
      if (revoked_.count(id) == 0) continue;
      undrained_.insert(id);
      withdrawn.tasks.emplace_back(id);
    }
    if (!connected_ || !tells_undrain_ || withdrawn.tasks.empty()) return;
    notify(withdrawn);
    for (const TaskId& task : withdrawn.tasks) {
      undrained_.erase(task.str());
      revoked_.erase(task.str());
    }
  }
  void tells_undrain(bool is) { tells_undrain_ = is; }
  // The master kills revoked instances at the end of their time.
  void end_drains() {
    for (const std::string& id : std::set(revoked_)) {
      if (tasks_.count(id) == 0 || undrained_.count(id) > 0 || revoked_until_.at(id) > now_)
        continue;
      if (away_.count(tasks_.at(id).agent) > 0) continue;
      end(id, State::kKilled, Reason::kDrained);
    }
  }
  // Writes are neither carried out nor answered until `held` is false.
  void hold_store(bool held) {
    store_held_ = held;
    serve_store();
  }
  void refuse_writes(std::optional<ErrorCode> code) { write_error_ = code; }

  // --- tasks -----------------------------------------------------------------------------------
  void tell(const std::string& id, State state, std::optional<bool> healthy = {},
            const std::string& data = "", const std::string& message = "") {
    Task& task = tasks_.at(id);
    if (away_.count(task.agent) > 0 && state != State::kUnreachable) return;
    if (state == State::kUnreachable) was_away_.insert(id);
    task.state = task.kill_asked && state == State::kRunning ? State::kKilling : state;
    proto::TaskStatus status;
    status.task = TaskId(id);
    status.agent = task.agent;
    status.state = task.state;
    status.healthy = healthy;
    status.data = data;
    status.message = message;
    if (connected_) notify(status);
  }
  // Reports readiness like an executor, with the reason if it is not ready.
  void ready(const std::string& id, bool is, const std::string& why = "") {
    Task& task = tasks_.at(id);
    task.state = task.kill_asked ? State::kKilling : State::kRunning;
    proto::TaskStatus status{.task = TaskId(id), .agent = task.agent, .state = task.state};
    status.message = why;
    status.ready = is;
    if (connected_) notify(status);
  }
  void healthy(const std::string& id, bool is, const std::string& why = "") {
    tell(id, State::kRunning, is, "", why);
  }
  void end(const std::string& id, State state, Reason reason = Reason::kNone,
           const std::string& message = "", const std::string& data = "") {
    const Task task = tasks_.at(id);
    tasks_.erase(id);
    proto::TaskStatus status;
    status.task = TaskId(id);
    status.agent = task.agent;
    status.state = state;
    status.reason = reason;
    status.message = message;
    status.data = data;
    if (connected_) {
      notify(status);
    } else {
      later_.push_back(status);  // repeated until acknowledged
    }
  }
  void crash(const std::string& id) {
    end(id, State::kFailed, Reason::kCommandExited, "exit code 1");
  }

  // --- automatic steps -------------------------------------------------------------------------
  // Offers arrive, launched tasks run and killed tasks end, until nothing more happens now.
  void settle() {
    for (int round = 0; round < 10'000; ++round) {
      bool moved = tick();
      moved = offer_once(1) || moved;
      for (const auto& [id, task] : std::map(tasks_)) {
        if (away_.count(task.agent) > 0) continue;
        if (task.kill_asked && obey_kills_) {
          end(id, State::kKilled, Reason::kKilledByScheduler);
          moved = true;
        } else if (task.state == State::kStaging && start_tasks_) {
          tell(id, State::kRunning,
               task.spec.health && auto_healthy_ ? std::optional(true) : std::nullopt,
               "{\"ports\":{\"http\":31000}}");
          if (says_ready_ && task.spec.readiness) ready(id, false);
          moved = true;
        }
      }
      if (!moved) return;
    }
    std::string last;
    for (size_t i = traced_.size() - std::min<size_t>(traced_.size(), 12); i < traced_.size();
         ++i) {
      last += text('\n', traced_[i]);
    }
    FAIL() << "it never comes to rest; the last events:" << last;
  }
  void advance(Duration duration) {
    const Time until = now_ + duration;
    settle();
    while (core_->next_deadline() && *core_->next_deadline() <= until) {
      now_ = std::max(now_, *core_->next_deadline());
      settle();
    }
    now_ = std::max(now_, until);
    settle();
  }
  // Makes one offer for one ask on the emptiest agent; true if it was used at once.
  bool offer_once(int64_t at_most = 1'000) {
    if (!connected_) return false;
    std::vector<std::pair<int64_t, AgentId>> order;
    for (const auto& [name, room] : agents_) order.emplace_back(busy(name), name);
    std::sort(order.begin(), order.end());
    for (const auto& [taken, name] : order) {
      if (away_.count(name) > 0) continue;
      const int64_t free = std::min<int64_t>(at_most, agents_.at(name) - taken);
      for (const Ask& ask : asks_) {
        int64_t open = ask.count;  // not yet offered
        for (const auto& [id, fill] : offers_) open -= fill.ask == ask.name ? fill.count : 0;
        if (free <= 0 || open <= 0 || !suits(ask, name)) continue;
        Offer offer{.id = OfferId(++offer_count_), .agent = name};
        offer.host = "host-" + name.str();
        const int64_t most = ask.max_per.empty() ? open : 1;
        offer.fills.push_back(AskFill{ask.name, std::min({free, open, most})});
        offers_[offer.id] = offer.fills[0];
        offered_[offer.id] = name;
        const uint64_t before = accepts_;
        notify(proto::Offers{{offer}});
        return accepts_ > before;
      }
    }
    return false;
  }
  void forget_kills() {
    for (auto& [id, task] : tasks_) task.kill_asked = false;
  }
  void expire_offers() { offers_.clear(); }
  bool tick() {
    bool moved = false;
    for (int i = 0; i < 1'000 && core_->next_deadline() && *core_->next_deadline() <= now_; ++i) {
      handle(Tick{});
      moved = true;
    }
    if (follows_ && connected_ && core_->loaded()) check_followed();
    return moved;
  }

  // Whether launched tasks start, killed tasks end, and checked tasks become healthy by themselves.
  void start_tasks(bool is) { start_tasks_ = is; }
  void obey_kills(bool is) { obey_kills_ = is; }
  void auto_healthy(bool is) { auto_healthy_ = is; }
  // Whether executors check readiness; then the test reports it. Executors of earlier versions do
  // not.
  void says_ready(bool is) { says_ready_ = is; }

  // --- results ---------------------------------------------------------------------------------
  const std::map<std::string, Task>& tasks() const { return tasks_; }
  std::vector<std::string> tasks_of(const std::string& app, uint64_t version = 0) const {
    std::vector<std::string> ids;
    for (const auto& [id, task] : tasks_) {
      const auto parts = parse_task_id(TaskId(id));
      if (parts && parts->app == app && (version == 0 || parts->version == version)) {
        ids.push_back(id);
      }
    }
    return ids;
  }
  std::vector<std::string> tasks_on(const std::string& agent) const {
    std::vector<std::string> ids;
    for (const auto& [id, task] : tasks_) {
      if (task.agent.str() == agent) ids.push_back(id);
    }
    return ids;
  }
  proto::ServiceAppRow row(const std::string& app = "web") const {
    for (const proto::ServiceAppRow& one : core_->status()) {
      if (one.app == app) return one;
    }
    return {};
  }
  const Entries& store() const { return store_; }
  // Prepares the store for the next scheduler.
  void put_into_store(const std::string& key, const std::string& value) { store_[key] = value; }
  void erase_from_store(const std::string& key) { store_.erase(key); }
  const std::vector<Ask>& asks() const { return asks_; }
  const std::vector<std::string>& traced() const { return traced_; }
  Time now() const { return now_; }
  bool is_connected() const { return connected_; }

  void notify(sdk::Notification what) { handle(std::move(what)); }
  void handle(const ServiceEvent& event) {
    const std::vector<proto::ServiceAppRow> rows = core_->status();
    std::map<std::string, Ready> before;
    for (const proto::ServiceAppRow& one : rows) before[one.app] = ready_of(one.app);
    const Entries specs = core_->snapshot();
    specs_ = specs;
    ServiceOutbox out;
    core_->handle(event, now_, out);
    check_kills(before, rows, specs, out);
    for (const Answer& one : out.answers) {
      EXPECT_EQ(answers_.count(one.relay), 0u) << "answered twice";
      answers_[one.relay] = to_text(one.result);
    }
    for (const WatchAnswer& one : out.servers) {
      EXPECT_FALSE(one.error) << one.error->message();
      EXPECT_TRUE(pages_.emplace(one.relay, one.page).second) << "answered twice";
      last_page_ = one.page;
      if (one.relay == follower_) is_watching_ = false;
    }
    for (const TraceEvent& one : out.trace) traced_.push_back(proffer::to_text(one));
    check_order(rows, specs);
    for (const sdk::Command& command : out.commands) {
      std::visit([this](const auto& what) { on(what); }, command);
    }
    for (const Violation& violation : core_->violations()) ADD_FAILURE() << violation.what;
    serve_store();
    watch();
  }

 private:
  // For several apps: "db: created; web: unchanged".
  static std::string to_text(const Result<std::vector<proto::ServiceChange>>& result) {
    if (!result) return "error: " + result.error().message();
    if (result->size() == 1) return result->front().result;
    std::string out;
    for (const proto::ServiceChange& one : *result) {
      out += text(out.empty() ? "" : "; ", one.app, ": ", one.result);
    }
    return out;
  }

  void watch() {
    if (!follows_ || !connected_ || is_watching_) return;
    if (const std::optional<proto::ServersPage> told = page(follower_)) {
      EXPECT_EQ(told->next, "");
      seen_ = told->version;
      followed_.clear();
      for (const proto::ServerRow& row : told->servers) followed_[row.task.str()] = row;
    }
    is_watching_ = true;
    handle(Watch{.relay = follower_ = ++watches_, .seen = seen_, .wait = proto::kServersWaitMax});
  }

  void check_followed() const {
    std::set<std::string> expected;
    std::set<std::string> unconfirmed;
    for (const proto::ServiceAppRow& app : core_->status()) {
      const auto page = core_->status_of(app.app, "");
      for (const proto::ServiceInstanceRow& one : page->instances) {
        if (one.ready) expected.insert(one.task.str());
        if (one.state == "unconfirmed") unconfirmed.insert(one.task.str());
      }
    }
    for (const auto& [task, row] : followed_) {
      if (unconfirmed.count(task) > 0) expected.insert(task);
    }
    std::set<std::string> told;
    for (const auto& [task, row] : followed_) told.insert(task);
    EXPECT_EQ(told, expected) << last_events();
  }

  // Checks the constraint on the agent's name, and that each agent has at most one task of the ask.
  bool suits(const Ask& ask, const AgentId& agent) const {
    for (const Constraint& one : ask.constraints) {
      const bool is_named =
          std::find(one.values.begin(), one.values.end(), agent.str()) != one.values.end();
      if (one.attribute == "host" && is_named != (one.op == Constraint::Operator::kIn))
        return false;
    }
    if (ask.max_per.empty()) return true;
    for (const auto& [id, fill] : offers_) {
      if (fill.ask == ask.name && offered_.at(id) == agent) return false;
    }
    return std::none_of(tasks_.begin(), tasks_.end(), [&](const auto& one) {
      return one.second.agent == agent && one.second.spec.ask == ask.name;
    });
  }

  using Ready = std::map<int64_t, std::set<TaskId>>;  // by slot

  Ready ready_of(const std::string& app) const {
    Ready ready;
    std::string after;
    do {
      const auto page = core_->status_of(app, after);
      for (const proto::ServiceInstanceRow& one : page->instances) {
        if (one.ready && !is_to_leave(one.task.str())) ready[one.slot].insert(one.task);
      }
      after = page->next;
    } while (!after.empty());
    return ready;
  }

  // The law of the budget, for updates, drains and preemptions. After a kill by the scheduler, at
  // least instances - max_unavailable slots, or as many as before, have a ready instance that need
  // not leave. Kills by the master at the end of the time, failures, and ends of instances whose
  // time is nearly over do not count. Instances above the wanted number do not count either.
  void check_kills(std::map<std::string, Ready> ready,
                   const std::vector<proto::ServiceAppRow>& rows, const Entries& specs,
                   const ServiceOutbox& out) const {
    for (const proto::ServiceAppRow& one : rows) {
      const auto spec = specs.find(app_key(one.app));
      const AppSpec app = decode_app(spec->second)->spec;
      int64_t unavailable = app.update.max_unavailable;
      if (app.daemon) {  // unreachable instances may be ready, and count
        unavailable += std::count_if(tasks_.begin(), tasks_.end(), [&](const auto& task) {
          return task.second.state == State::kUnreachable &&
                 parse_task_id(TaskId(task.first))->app == one.app;
        });
      }
      Ready& left = ready[one.app];
      auto before = static_cast<int64_t>(left.size());
      for (const TraceEvent& event : out.trace) {
        const auto* killed = event.as<InstanceKilled>();
        if (killed == nullptr) continue;
        const auto parts = parse_task_id(killed->instance);
        if (parts->app != one.app || left.count(parts->slot) == 0) continue;
        if (left[parts->slot].erase(killed->instance) > 0 &&
            killed->reason == KillReason::kScaledDown) {
          --before;
        }
        if (left[parts->slot].empty()) left.erase(parts->slot);
      }
      EXPECT_GE(static_cast<int64_t>(left.size()), std::min(before, one.instances - unavailable))
          << "kills left too few of " << one.app << " ready" << last_events();
    }
  }

  // The law of order: before a waiting app starts, all instances of each app in its `after` have
  // been ready at one time since the wait began, or `after` is empty. A new apply starts the wait
  // again.
  void check_order(const std::vector<proto::ServiceAppRow>& rows, const Entries& specs) {
    ++events_;
    for (const proto::ServiceAppRow& row : rows) {
      if (row.ready >= row.instances && row.instances > 0) ready_at_[row.app] = events_;
    }
    for (const auto& [key, value] : core_->snapshot()) {
      const auto before = specs.find(key);
      if (!key.starts_with(kAppsPrefix) || (before != specs.end() && before->second == value)) {
        continue;
      }
      const AppRecord now = *decode_app(value);
      if (now.waits && (before == specs.end() || !decode_app(before->second)->waits)) {
        waits_since_[now.spec.name] = events_;
      }
      if (now.waits || before == specs.end() || !decode_app(before->second)->waits) continue;
      for (const std::string& name : now.spec.after) {
        EXPECT_GE(ready_at_[name], waits_since_[now.spec.name])
            << now.spec.name << " began before " << name << " was ready" << last_events();
      }
    }
  }

  std::string last_events() const {
    std::string last;
    for (size_t i = traced_.size() - std::min<size_t>(traced_.size(), 20); i < traced_.size();
         ++i) {
      last += text('\n', traced_[i]);
    }
    return last;
  }

  bool is_out_of_the_way(const std::string& id) const {
    return tasks_.at(id).state == State::kUnreachable || is_to_leave(id);
  }
  // As this scheduler knows it. A cancelled drain ends some time after its deadline.
  bool is_to_leave(const std::string& id) const {
    return revoked_.count(id) > 0 && now_ < revoked_until_.at(id) + seconds(30);
  }

  // Whether the store has it.
  bool is_kept(const TaskId& task) const {
    const InstanceId id = *parse_task_id(task);
    const auto entry = store_.find(block_key({.app = id.app, .number = id.slot / kSlotsPerBlock}));
    if (entry == store_.end()) return false;
    const auto block = decode_block(id.app, entry->second);
    return block && block->count(task) == 1;
  }

  // The law of surges: when a slot gets a second instance, at most max_surge slots have two
  // instances, or as many as there are canaries.
  void check_sharing(const std::string& app, int64_t slot) const {
    // A step may apply a change and launch for the record before it.
    int64_t allowed = 0;
    for (const Entries& entries : {specs_, core_->snapshot()}) {
      const auto entry = entries.find(app_key(app));
      if (entry == entries.end()) continue;
      const AppRecord record = *decode_app(entry->second);
      const bool has_canary = record.hold && record.hold->is_canary;
      allowed = std::max(allowed, has_canary ? record.hold->slots : record.spec.update.max_surge);
    }
    std::set<std::string> leaving;
    const auto page = core_->status_of(app, "");
    for (const proto::ServiceInstanceRow& one : page->instances) {
      if (one.state == "leaving") leaving.insert(one.task.str());
    }
    std::map<int64_t, int> tasks;
    for (const auto& [id, task] : tasks_) {
      if (leaving.count(id) > 0) continue;
      const InstanceId parts = *parse_task_id(TaskId(id));
      // An instance that returned may be beside its replacement until the next plan.
      if (parts.app != app || task.kill_asked || is_out_of_the_way(id)) continue;
      if (was_away_.count(id) == 0) ++tasks[parts.slot];
    }
    if (tasks[slot] < 2) return;
    EXPECT_LE(std::count_if(tasks.begin(), tasks.end(), [](auto& one) { return one.second > 1; }),
              allowed)
        << "too many instances of " << app << last_events();
  }

  int64_t busy(const AgentId& agent) const {
    return std::count_if(tasks_.begin(), tasks_.end(),
                         [&](const auto& entry) { return entry.second.agent == agent; });
  }

  // --- the master ------------------------------------------------------------------------------
  void on(const proto::DeclareAsks& declare) {
    EXPECT_LE(declare.asks.size(), kAsksMax);
    std::set<AskName> names;
    for (const Ask& ask : declare.asks) {
      EXPECT_GT(ask.count, 0);
      EXPECT_TRUE(names.insert(ask.name).second);
    }
    if (connected_) asks_ = declare.asks;
  }
  void on(const proto::Accept& accept) {
    ++accepts_;
    const bool valid = connected_ && offers_.erase(accept.offers.at(0)) > 0;
    for (const proto::Operation& operation : accept.operations) {
      const auto& launch = std::get<proto::Launch>(operation);
      for (const proto::TaskSpec& spec : launch.tasks) launch_one(launch.agent, spec, valid);
    }
  }
  void launch_one(const AgentId& agent, const proto::TaskSpec& spec, bool valid) {
    const InstanceId id = *parse_task_id(spec.id);
    const Entries kept = core_->snapshot();
    const auto record = kept.find(app_key(id.app));
    EXPECT_FALSE(record != kept.end() && decode_app(record->second)->waits)
        << spec.id.str() << " is launched although its app waits for others";
    // The law of the store: a launch is stored before it is sent.
    EXPECT_TRUE(!has_store_ || is_kept(spec.id)) << spec.id.str();
    if (!valid) {
      proto::TaskStatus refused;
      refused.task = spec.id;
      refused.agent = agent;
      refused.state = State::kRefused;
      refused.reason = Reason::kOfferNotValid;
      later_.push_back(refused);
      return;
    }
    // The law of slots: another task in the slot is unreachable, must leave, or has another
    // version.
    for (const auto& [other, task] : tasks_) {
      const InstanceId taken = *parse_task_id(TaskId(other));
      if (taken.app != id.app || taken.slot != id.slot) continue;
      EXPECT_TRUE(is_out_of_the_way(other) || (taken.version != id.version && !task.kill_asked))
          << spec.id.str() << " is launched beside " << other;
    }
    EXPECT_EQ(tasks_.count(spec.id.str()), 0u) << "an id is used twice";
    EXPECT_TRUE(used_.insert(spec.id).second) << "an id is used twice";
    tasks_[spec.id.str()] = Task{agent, spec};
    check_sharing(id.app, id.slot);
    for (Ask& ask : asks_) {
      if (ask.name == spec.ask) ask.count -= 1;
    }
    std::erase_if(asks_, [](const Ask& ask) { return ask.count <= 0; });
  }
  void on(const proto::Decline& decline) {
    EXPECT_GT(decline.refusal.refuse_for, Duration()) << "the same offer would come again at once";
    offers_.erase(decline.offers.at(0));
  }
  void on(const proto::KillTask& kill) {
    const auto task = tasks_.find(kill.task.str());
    if (task != tasks_.end()) task->second.kill_asked = true;
  }
  void on(const proto::Reconcile& reconcile) {
    for (const TaskId& id : reconcile.tasks) {
      proto::TaskStatus status;
      status.task = id;
      const auto task = tasks_.find(id.str());
      status.state = task == tasks_.end() ? State::kLost : task->second.state;
      if (task == tasks_.end()) status.reason = Reason::kTaskUnknown;
      if (task != tasks_.end()) status.agent = task->second.agent;
      later_.push_back(status);
    }
  }
  void on(const proto::StoreRequest& request) { requests_.push_back(request); }
  template <class Other>
  void on(const Other&) {
    ADD_FAILURE() << "an unexpected command";
  }

  // --- the store -------------------------------------------------------------------------------
  void serve_store() {
    if (std::exchange(serving_, true)) return;
    while (connected_ && (!requests_.empty() || !later_.empty())) {
      if (!later_.empty()) {
        const proto::TaskStatus status = later_.front();
        later_.pop_front();
        notify(status);
        continue;
      }
      if (store_held_) break;
      const proto::StoreRequest request = requests_.front();
      requests_.pop_front();
      notify(serve(request));
    }
    serving_ = false;
  }
  proto::StoreResult serve(const proto::StoreRequest& request) {
    using Kind = proto::StoreOperation::Kind;
    proto::StoreResult result{.id = request.id, .outcomes = {}, .error = {}};
    const bool writes =
        std::any_of(request.operations.begin(), request.operations.end(),
                    [](const proto::StoreOperation& one) { return one.kind == Kind::kPut; });
    if (writes && write_error_) {
      result.error = proto::ErrorMessage{.code = *write_error_, .message = "no room"};
      return result;
    }
    for (const proto::StoreOperation& one : request.operations) {
      proto::StoreResult::Outcome outcome;
      if (one.kind == Kind::kPut) store_[one.key] = one.value;
      if (one.kind == Kind::kDelete) store_.erase(one.key);
      if (one.kind == Kind::kGet && store_.count(one.key) > 0) {
        outcome.version = 1;
        outcome.value = store_[one.key];
      }
      if (one.kind == Kind::kList) {
        for (auto at = store_.upper_bound(std::max(one.key, one.after)); at != store_.end(); ++at) {
          if (!at->first.starts_with(one.key)) break;
          outcome.more = outcome.entries.size() == 3;  // small pages, to test paging
          if (outcome.more) break;
          outcome.entries.push_back({at->first, 1});
        }
      }
      result.outcomes.push_back(std::move(outcome));
    }
    return result;
  }

  const bool has_store_;
  const bool serves_users_;
  std::unique_ptr<Service> core_;
  Time now_ = Time() + seconds(1'000);
  int lives_ = 0;
  uint64_t sessions_ = 0;
  uint64_t relays_ = 0;
  std::map<uint64_t, std::string> answers_;
  bool connected_ = false;

  std::map<AgentId, int> agents_;
  std::set<AgentId> away_;
  std::set<std::string> revoked_;
  std::map<std::string, Time> revoked_until_;
  std::set<std::string> undrained_;
  std::set<std::string> was_away_;
  uint64_t events_ = 0;
  std::map<std::string, uint64_t> ready_at_;     // by app, the last event at which it was ready
  std::map<std::string, uint64_t> waits_since_;  // by app
  Entries specs_;                                // before this step
  std::map<std::string, Task> tasks_;
  std::set<TaskId> used_;
  std::vector<Ask> asks_;
  std::map<OfferId, AskFill> offers_;   // outstanding offers
  std::map<OfferId, AgentId> offered_;  // all offers, outstanding or not
  uint64_t offer_count_ = 0;
  uint64_t accepts_ = 0;
  std::deque<proto::TaskStatus> later_;
  std::vector<std::string> traced_;

  Entries store_;
  std::deque<proto::StoreRequest> requests_;
  bool store_held_ = false;
  bool serving_ = false;
  std::optional<ErrorCode> write_error_;

  bool follows_ = false;
  bool is_watching_ = false;
  uint64_t watches_ = 1'000'000;
  uint64_t follower_ = 0;  // the follower's last watch
  std::string seen_;
  std::map<std::string, proto::ServerRow> followed_;
  std::map<uint64_t, proto::ServersPage> pages_;
  proto::ServersPage last_page_;

  bool start_tasks_ = true;
  bool obey_kills_ = true;
  bool says_ready_ = false;
  bool tells_undrain_ = true;
  bool auto_healthy_ = true;
};

}  // namespace proffer::service
