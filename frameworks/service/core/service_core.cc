// The life of the scheduler: read `handle` first. A session begins (on_subscribed), the store is
// read (on_loaded), then events mark apps, and on_tick plans them and declares their asks.

#include "frameworks/service/core/service_core.h"

#include <algorithm>
#include <utility>

#include "common/check.h"
#include "common/text.h"
#include "frameworks/service/core/state.h"
#include "frameworks/service/core/trace.h"

namespace proffer::service {
namespace {

// After a session began: answers to reconciliation have usually come by then.
constexpr Duration kSettleTime = seconds(2);
// Between questions about instances without an update.
constexpr Duration kConfirmEvery = seconds(10);
// In addition to its grace, until a kill is sent again: a master that was just restarted drops the
// kill of a task whose agent is not back yet.
constexpr Duration kKillAgain = seconds(30);

// After this time beyond its deadline, the master has killed the revoked task.
constexpr Duration kRevokeOver = seconds(30);

}  // namespace

Service::State::State(ServiceOptions options)
    : options_(std::move(options)), journal_(options_.has_store), loaded_(!options_.has_store) {
  CHECK(is_valid_name(options_.life));
}

void Service::State::handle(const ServiceEvent& event, Time now, ServiceOutbox& out) {
  Step step{now, out};
  std::visit(
      Overloaded{
          [&](const sdk::Notification& notification) { on_notification(step, notification); },
          [&](const Request& request) { on_request(step, request); },
          [&](const Watch& watch) { on_watch(step, watch); },
          [&](const Figures& figures) { on_figures(step, figures); },
          [&](const Tick&) { on_tick(step); },
      },
      event);
  settle(step);
  const bool is_due = std::any_of(watchers_.begin(), watchers_.end(), [&](const Watcher& watcher) {
    return watcher.until <= step.now;
  });
  if (is_due || watchers_stale_) answer_watchers(step);
}

std::optional<Time> Service::State::next_deadline() const {
  std::optional<Time> next = journal_.next_deadline();
  const auto at = [&next](const std::optional<Time>& time) {
    if (time) next = next ? std::min(*next, *time) : *time;
  };
  for (const Watcher& watcher : watchers_) at(watcher.until);
  if (!connected_ || !loaded_) return next;
  if (asks_stale_) at(Time());  // at once
  for (const std::string& name : changed_) {
    const auto app = apps_.find(name);
    at(app == apps_.end() ? Time() : app->second.planned_until);
  }
  at(settled_at_);
  at(confirm_at_);
  at(next_turn_);
  for (const std::string& name : measured_) at(*apps_.at(name).figures_at + kFiguresOld);
  at(looks_.next());
  return next;
}

// --- sessions ----------------------------------------------------------------------------------

void Service::State::on_notification(Step& step, const sdk::Notification& notification) {
  std::visit(
      Overloaded{
          [&](const proto::Subscribed& subscribed) { on_subscribed(step, subscribed); },
          [&](const proto::Offers& offers) {
            for (const Offer& offer : offers.offers) on_offer(step, offer);
          },
          [&](const proto::TaskStatus& status) { on_status(step, status); },
          [&](const proto::AskReport& report) { on_ask_report(report); },
          [&](const proto::RevokeNotice& notice) { on_revoke(step, notice); },
          [&](const proto::RevokeWithdrawn& withdrawn) { on_revoke_withdrawn(step, withdrawn); },
          [&](const sdk::AllTasksKnown&) { on_all_tasks_known(step); },
          [&](const proto::StoreResult& result) { journal_.on_result(result, step.now); },
          [&](const sdk::Disconnected&) {
            connected_ = false;
            watchers_.clear();  // No caller waits for an answer to an earlier request.
          },
          // A rescinded offer is refused when it is used; tasks of lost agents have updates;
          // requests are separate events; no executors send messages. Instances do not wait for
          // sdk::AllTasksKnown: each was in the store before its launch and holds its slot until
          // its end is reported. The master reports the end of an unknown task only when all agents
          // are back.
          [](const auto&) {},
      },
      notification);
}

void Service::State::on_subscribed(Step& step, const proto::Subscribed& subscribed) {
  framework_ = subscribed.framework;
  connected_ = true;
  asks_stale_ = true;  // asks end with the connection on which they were declared
  settled_at_ = step.now + kSettleTime;
  if (!unconfirmed_.empty()) confirm_at_ = step.now;
  early_revokes_.clear();  // valid notices are sent again
  for (auto& [name, app] : apps_) {
    mark(name);
    for (auto& [task, instance] : app.app.instances) instance.revoke_told = false;
  }
  const bool is_loading =
      std::any_of(continuations_.begin(), continuations_.end(),
                  [](const auto& row) { return std::holds_alternative<Load>(row.second); });
  if (!loaded_ && !is_loading) load_more();
}

void Service::State::on_ask_report(const proto::AskReport& report) {
  for (const proto::AskReport::Row& row : report.rows) {
    const auto [app, version] = find_ask(row.ask);
    if (app == nullptr) continue;
    app->cannot_fit = row.could_ever_fit ? ""
                      : row.why.empty()  ? "no agent could ever run it"
                                         : row.why;
    if (app->app.spec.daemon) mark(app->app.spec.name);  // It may leave agents for that reason.
  }
}

// They continue while their replacements are launched. The notice is repeated after a reconnect, so
// it is not stored. A notice that comes before the store is read is kept until then.
void Service::State::on_revoke(Step& step, const proto::RevokeNotice& notice) {
  if (!loaded_) {
    proto::RevokeNotice one = notice;
    for (const TaskId& task : notice.tasks) {
      one.tasks = {task};
      early_revokes_[task] = {step.now + notice.grace, one};
    }
    return;
  }
  const Time until = step.now + notice.grace;
  for (const TaskId& task : notice.tasks) {
    RunningApp* running = nullptr;
    Instance* instance = find(task, &running);
    if (instance == nullptr) continue;
    mark(running->app.spec.name);
    // At least half of the time is for its replacement.
    instance->revoked_until = until;
    instance->revoke_leaves_at = until - std::min(running->app.spec.drain_delay, notice.grace / 2);
    instance->revoke_told = true;
    if (std::exchange(instance->revoked, true)) continue;
    step.trace(InstanceToLeave{task, notice.agent, notice.reason, notice.grace});
  }
}

// Its agent is undrained. A replacement that is not ready yet is killed.
void Service::State::on_revoke_withdrawn(Step& step, const proto::RevokeWithdrawn& withdrawn) {
  for (const TaskId& task : withdrawn.tasks) {
    early_revokes_.erase(task);
    RunningApp* running = nullptr;
    Instance* instance = find(task, &running);
    if (instance != nullptr) stay(step, task, *instance);
  }
}

// The master has now repeated all valid notices. A drain that was cancelled while the scheduler
// was away is not among them.
void Service::State::on_all_tasks_known(Step& step) {
  for (auto& [name, running] : apps_) {
    for (auto& [task, instance] : running.app.instances) {
      if (!instance.revoke_told) stay(step, task, instance);
    }
  }
}

// An instance that was already killed stays in its slot until it has ended.
void Service::State::stay(Step& step, const TaskId& task, Instance& instance) {
  if (!std::exchange(instance.revoked, false)) return;
  mark(instance.id.app);
  if (instance.kill_asked) return;
  step.trace(InstanceToStay{task, instance.agent});
}

// --- the store ---------------------------------------------------------------------------------

void Service::State::load_more() { continuations_[journal_.add(loader_.next())] = Load{}; }

void Service::State::on_loaded(Step& step,
                               const std::vector<proto::StoreResult::Outcome>& outcomes) {
  if (!loader_.take(outcomes)) {
    step.trace(sdk::StoreAnsweredSomethingElse{});
    loader_ = new_loader();
  }
  if (!loader_.done()) return load_more();
  restore(std::move(loader_).entries());
  step.trace(AppsRead{apps_.size(), unconfirmed_.size()});
  confirm_at_ = step.now;
  settled_at_ = step.now + kSettleTime;
  for (const auto& [task, status] : std::exchange(early_, {})) on_status(step, status);
  for (auto& [task, early] : std::exchange(early_revokes_, {})) {
    auto& [until, notice] = early;
    notice.grace = std::max(until - step.now, Duration());
    on_revoke(step, notice);
  }
  next_request(step);
}

void Service::State::restore(const Entries& entries) {
  loaded_ = true;
  for (const auto& [key, value] : entries) {
    if (!key.starts_with(kAppsPrefix)) continue;
    // Unreadable entries are left alone, since a newer scheduler may have written them.
    const Result<AppRecord> record = decode_app(value);
    if (!record || key != app_key(record->spec.name)) continue;
    App& app = apps_[record->spec.name].app;
    static_cast<AppRecord&>(app) = *record;
    mark(record->spec.name);
    if (record->waits) waiting_.insert(record->spec.name);
  }
  for (const auto& [key, value] : entries) {
    if (!key.starts_with(kVersionsPrefix)) continue;
    const auto app = apps_.find(key.substr(kVersionsPrefix.size()));
    if (app == apps_.end()) continue;
    Result<Versions> versions = decode_versions(value);
    if (!versions) continue;
    app->second.app.earlier = *std::move(versions);
    app->second.versions_bytes = bytes_of(app->second.app.earlier);
  }
  const auto take = [&](App& app, const TaskId& task, const InstanceRecord& record) {
    Instance instance;
    instance.id = *parse_task_id(task);
    instance.state = InstanceState::kStaging;
    instance.agent = record.agent;
    instance.host = record.host;
    instance.has_health_check = record.has_health_check;
    instance.healthy = record.healthy;
    instance.unconfirmed = true;
    instance.launched_at = record.launched_at;
    instance.ports = record.ports;
    instance.told_ready = record.told_ready;
    Slot& slot = app.slots.try_emplace(instance.id.slot).first->second;
    if (app.spec.daemon) slot.agent = instance.agent;
    app.add(task, std::move(instance));
    unconfirmed_.insert(task);
  };
  std::vector<TaskId> moved;
  for (const auto& [key, value] : entries) {
    if (!key.starts_with(kInstancesPrefix)) continue;
    const TaskId task(key.substr(kInstancesPrefix.size()));
    const std::optional<InstanceId> id = parse_task_id(task);
    const Result<InstanceRecord> record = decode_instance(value);
    const auto app = id ? apps_.find(id->app) : apps_.end();
    if (!record || app == apps_.end()) continue;
    take(app->second.app, task, *record);
    moved.push_back(task);
  }
  for (const auto& [key, value] : entries) {
    const std::optional<BlockName> name = parse_block_key(key);
    const auto app = name ? apps_.find(name->app) : apps_.end();
    if (app == apps_.end()) continue;
    const Result<InstanceBlock> block = decode_block(name->app, value);
    if (!block) continue;
    for (const auto& [task, record] : *block) {
      if (block_name_of(task) == *name) take(app->second.app, task, record);
    }
  }
  move_into_blocks(moved);
  for (auto& [name, running] : apps_) look_at_servers(running);
  watchers_stale_ = true;
}

Entries Service::State::snapshot() const {
  Entries entries;
  for (const auto& [name, running] : apps_) {
    const App& app = running.app;
    entries[app_key(name)] = encode(record_of(app));
    if (!app.earlier.empty()) entries[versions_key(name)] = encode(app.earlier);
    for (const auto& [number, tasks] : app.blocks) {
      const BlockName block{.app = name, .number = number};
      entries[block_key(block)] = encode(block_of(block));
    }
  }
  return entries;
}

// The work that waited for the store continues, and the next group of writes is sent.
void Service::State::settle(Step& step) {
  for (std::vector<sdk::StoreJournal::Settled> settled = journal_.take_settled(); !settled.empty();
       settled = journal_.take_settled()) {
    for (const sdk::StoreJournal::Settled& one : settled) {
      auto waiting = continuations_.extract(one.ticket);
      if (waiting.empty()) continue;
      std::visit(Overloaded{
                     [&](const Load&) {
                       if (one.error) {
                         step.trace(StoreCannotBeRead{one.error->message()});
                         loader_ = new_loader();
                         load_more();
                       } else {
                         on_loaded(step, one.outcomes);
                       }
                     },
                     [&](const std::vector<Changed>& changes) {
                       for (const std::string& name : std::exchange(changing_, {})) mark(name);
                       if (one.error) {
                         answer(step, Error(*one.error).in("cannot store the app"));
                       } else {
                         for (const Changed& changed : changes) apply(step, changed);
                         answer(step, done_by(changes));
                       }
                       next_request(step);
                     },
                     [&](const Launch& launch) { on_written(step, launch, one.error); },
                 },
                 waiting.mapped());
    }
  }
  write_stale_blocks();
  if (std::optional<proto::StoreRequest> request = journal_.next(step.now)) {
    step.out.commands.push_back(*std::move(request));
  }
}

// --- plans -------------------------------------------------------------------------------------

void Service::State::on_tick(Step& step) {
  if (!connected_ || !loaded_) return;
  if (settled_at_ && *settled_at_ <= step.now) {
    settled_at_.reset();
    for (const auto& [name, app] : apps_) mark(name);
  }
  if (confirm_at_ && *confirm_at_ <= step.now) confirm(step);
  while (const std::optional<std::string> name = looks_.pop(step.now)) mark(*name);
  forget_old_figures(step);
  for (const std::string& name : std::exchange(changed_, {})) {
    const auto app = apps_.find(name);
    if (app != apps_.end() && app->second.planned_until > step.now) {
      mark(name);
    } else {
      plan(step, name);
    }
  }
  declare_asks(step);
}

void Service::State::confirm(Step& step) {
  confirm_at_.reset();
  if (unconfirmed_.empty()) return;
  proto::Reconcile question{.tasks = {unconfirmed_.begin(), unconfirmed_.end()}};
  for (const TaskId& task : question.tasks) {
    RunningApp* running = nullptr;
    const Instance* instance = find(task, &running);
    question.agents.push_back(instance == nullptr ? AgentId() : instance->agent);
  }
  step.out.commands.push_back(std::move(question));
  confirm_at_ = step.now + kConfirmEvery;
}

void Service::State::plan(Step& step, const std::string& name) {
  const auto found = apps_.find(name);
  if (found == apps_.end()) return;
  RunningApp& running = found->second;
  App& app = running.app;
  running.look_again.reset();
  looks_.cancel(name);
  if (app.stopping && app.instances.empty()) {
    // Unless it was requested again just now.
    return changing_.count(name) > 0 ? void() : forget(step, name);
  }
  const Plan plan = plan_app(app, step.now, !settled_at_);
  for (const int64_t slot : plan.dropped_slots) app.slots.erase(slot);
  for (const int64_t slot : plan.added_slots) app.slots.try_emplace(slot);
  for (const Kill& kill : plan.kills) {
    Instance& instance = app.instances.at(kill.task);
    if (instance.is_ready() && app.spec.drain_delay > Duration()) {
      instance.leaves_at = step.now + app.spec.drain_delay;
    }
    instance.kill_asked = true;
    instance.was_unhealthy = kill.reason == KillReason::kUnhealthy;
    instance.ready_since.reset();
    step.trace(InstanceKilled{kill.task, kill.reason});
    // An instance that is not launched yet is given up when its record is written (on_written).
    if (instance.state == InstanceState::kPlanned || instance.leaves_at) continue;
    say_kill(step, kill.task, instance);
  }
  const auto size = static_cast<int64_t>(app.instances.size());
  if (size > kPlannedAtOnceMax) running.planned_until = step.now + kPlanRest * size;
  running.launches = plan.launches;
  running.shared = plan.shared;
  running.look_again = plan.look_again;
  for (auto& [task, instance] : app.instances) {
    const bool is_leaving = instance.leaves_at && instance.state == InstanceState::kRunning;
    if (is_leaving && *instance.leaves_at <= step.now) say_kill(step, task, instance);
    if (is_leaving && *instance.leaves_at > step.now) {
      running.look_again =
          std::min(running.look_again.value_or(*instance.leaves_at), *instance.leaves_at);
    }
    // A master of an earlier version does not report that a drain was cancelled. Instances that
    // still run stay.
    if (instance.revoked && !instance.kill_asked && instance.state == InstanceState::kRunning) {
      const Time stays_at = instance.revoked_until + kRevokeOver;
      if (stays_at <= step.now) {
        instance.revoked = false;
        mark(name);
      } else {
        running.look_again = std::min(running.look_again.value_or(stays_at), stays_at);
      }
    }
    if (!instance.kill_asked || instance.state != InstanceState::kKilling) continue;
    const Duration patience = app.spec.kill_grace + kKillAgain;
    if (instance.kill_said_at + patience <= step.now) say_kill(step, task, instance);
    const Time again = instance.kill_said_at + patience;
    running.look_again = running.look_again ? std::min(*running.look_again, again) : again;
  }
  follow_agents(step, running);
  const std::string alone = app.waits ? "" : why_alone(running);
  alone.empty() ? (void)alone_.erase(name) : (void)alone_.insert(name);
  running.why = app.waits ? why_waits(app) : alone.empty() ? plan.why : alone;
  running.last_words = plan.last_words;
  look_at_servers(running);
  judge(step, running, plan);
  if (app.waits && running.why.empty()) begin(step, running);
  if (running.look_again) looks_.arm(name, *running.look_again);
  tell_followers(name);
  tell_neighbours(name);
}

void Service::State::say_kill(Step& step, const TaskId& task, Instance& instance) {
  instance.state = InstanceState::kKilling;
  instance.kill_said_at = step.now;
  step.out.commands.push_back(proto::KillTask{.framework = {}, .task = task, .grace = {}});
}

std::pair<RunningApp*, uint64_t> Service::State::find_ask(const AskName& ask) {
  const size_t dot = ask.str().rfind('.');
  const auto found = dot == std::string::npos ? apps_.end() : apps_.find(ask.str().substr(0, dot));
  if (found == apps_.end()) return {};
  const App& app = found->second.app;
  for (const uint64_t version : {app.version, app.ready_version}) {
    if (app.is_wanted(version) && ask == ask_name(found->first, version)) {
      return {&found->second, version};
    }
  }
  return {};
}

// Planned instances are still asked for: their offer is used only when they are written.
void Service::State::declare_asks(Step& step) {
  std::vector<Wanted> wanted;  // by app
  int64_t all = 0;
  for (const auto& [name, running] : apps_) all += running.app.wanted();
  const int64_t room = options_.has_store ? kInstancesKeptMax - all : kInstancesMax;
  for (const auto& [name, running] : apps_) {
    const App& app = running.app;
    if (app.spec.daemon) {
      for (Wanted& one : daemon_asks(running, room)) wanted.push_back(std::move(one));
      continue;
    }
    std::map<uint64_t, int64_t> counts;  // by version
    for (const auto& [slot, version] : running.launches) counts[version] += app.is_wanted(version);
    for (const TaskId& task : running.planned) {
      const auto instance = app.instances.find(task);
      if (instance->second.kill_asked || !app.is_wanted(instance->second.id.version)) continue;
      ++counts[instance->second.id.version];
    }
    for (const auto& [version, count] : counts) {
      if (count > 0) wanted.push_back({.app = &app, .version = version, .count = count});
    }
  }
  if (wanted.size() <= kAsksMax) {
    next_turn_.reset();
  } else {
    auto first = std::find_if(wanted.begin(), wanted.end(),
                              [&](const Wanted& one) { return one.app->spec.name >= asks_from_; });
    if (next_turn_ && *next_turn_ <= step.now) {
      first = std::next(wanted.begin(), (first - wanted.begin() + kAsksMax) % wanted.size());
      next_turn_.reset();
    }
    if (!next_turn_) next_turn_ = step.now + kAsksTurn;
    if (first != wanted.end()) asks_from_ = first->app->spec.name;
    std::rotate(wanted.begin(), first, wanted.end());
    wanted.resize(kAsksMax);
  }
  std::vector<Ask> asks;
  for (const Wanted& one : wanted) {
    const AppSpec spec = one.app->spec_of(one.version);
    const std::optional<std::vector<Constraint>> beside = constrain(spec, one.app->owner);
    if (!beside) continue;
    Ask ask = make_ask(spec, one.version, one.count);
    for (const auto* more : {&one.agents, &*beside}) {
      ask.constraints.insert(ask.constraints.end(), more->begin(), more->end());
    }
    asks.push_back(std::move(ask));
  }
  if (!asks_stale_ && asks == declared_) return;
  asks_stale_ = false;
  declared_ = std::move(asks);
  step.out.commands.push_back(proto::DeclareAsks{.generation = 0, .asks = declared_});
}

// --- interface -------------------------------------------------------------------------------

Service::Service(ServiceOptions options) : state_(std::make_unique<State>(std::move(options))) {}
Service::Service(ServiceOptions options, const Entries& snapshot)
    : state_(std::make_unique<State>(std::move(options))) {
  state_->restore(snapshot);
}
Service::~Service() = default;
void Service::handle(const ServiceEvent& event, Time now, ServiceOutbox& out) {
  state_->handle(event, now, out);
}
std::optional<Time> Service::next_deadline() const { return state_->next_deadline(); }
bool Service::connected() const { return state_->connected(); }
bool Service::loaded() const { return state_->loaded(); }
const FrameworkId& Service::framework() const { return state_->framework(); }
std::vector<proto::ServiceAppRow> Service::status() const { return state_->status(); }
bool Service::wants_figures() const { return state_->wants_figures(); }
proto::ServiceAppsPage Service::apps(const std::string& after) const { return state_->apps(after); }
Result<proto::ServiceStatusPage> Service::status_of(const std::string& app,
                                                    const std::string& after) const {
  return state_->status_of(app, after);
}
Result<std::vector<proto::ServiceVersionRow>> Service::history(const std::string& app,
                                                               const Caller& by) const {
  return state_->history(app, by);
}
Result<std::vector<proto::ServicePlan>> Service::preview(const Change& change, Time now,
                                                         const Caller& by) const {
  return state_->preview(change, now, by);
}
Entries Service::snapshot() const { return state_->snapshot(); }
std::vector<Violation> Service::violations() const { return state_->violations(); }

}  // namespace proffer::service
