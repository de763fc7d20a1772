// Some apps: the constructor writes the script, go_on follows it. Each life of the scheduler gets a
// request again until it is answered.

#include "sim/service_workload.h"

#include <algorithm>

#include "common/check.h"
#include "common/text.h"
#include "sim/sim_task.h"

namespace proffer::sim {
namespace {

// Longer than any run: such an instance ends only if it is killed.
constexpr Duration kForLong = hours(900);

// The variables in which an instance carries the apps that it may run beside, and those that it may
// not.
constexpr const char* kBeside = "BESIDE";
constexpr const char* kApart = "APART";

// Ids of answers to load reports begin here.
constexpr uint64_t kReportsFrom = 1'000'000;

std::optional<service::ScalePolicy> draw_scale(Prng& chance) {
  if (!chance.chance(1, 3)) return std::nullopt;
  return service::ScalePolicy{.min = 1,
                              .max = 3,
                              .target = 500,
                              .up_after = seconds(chance.between(0, 5)),
                              .down_after = seconds(chance.between(0, 10)),
                              .is_dry_run = chance.chance(1, 8)};
}

service::AppSpec draw_app(int64_t number, bool must_run, Prng& chance) {
  service::AppSpec app;
  app.name = text("app", number);
  app.instances = chance.between(must_run ? 1 : 0, 3);
  app.update.max_unavailable = chance.between(0, 2);
  app.update.max_surge = chance.between(app.update.max_unavailable == 0 ? 1 : 0, 1);
  if (!must_run && chance.chance(1, 4)) app.update.canary = 1;
  app.update.progress_deadline = seconds(chance.between(20, 120));
  app.update.rolls_back = !must_run;
  app.resources = ResourceVector::of(chance.between(1, 2) * 100, 64'000);
  app.kill_grace = seconds(chance.between(1, 5));
  if (chance.chance(1, 3)) app.drain_delay = milliseconds(chance.between(100, 3'000));
  // The instances of one app need a port; an agent has four.
  if (number == 0) app.ports = {"http"};
  SimTask task{.runs = kForLong, .stubborn = chance.chance(1, 4)};
  if (!must_run && chance.chance(1, 3)) {  // a version that does not work
    task.runs = milliseconds(chance.between(10, 5'000));
    task.exit_code = static_cast<int32_t>(chance.between(0, 1));
  }
  app.command = to_command(task);
  app.env["VERSION"] = std::to_string(chance.below(4));
  // The third app is a daemon.
  app.daemon = number == 2;
  // Refused if that app does not exist; at the end of the script all exist.
  if (number > 0 && chance.chance(1, 3)) app.after = {text("app", number - 1)};
  return app;
}

// The neighbours of the first app: an app that others run beside does not run beside others itself.
// In the end there must be room for all, so no app is apart from others then.
void draw_neighbours(service::AppSpec& app, bool must_run, Prng& chance) {
  if (app.name == "app0" || !chance.chance(1, 2)) return;
  const bool is_apart = !must_run && chance.chance(1, 2);
  (is_apart ? app.apart_from : app.with) = {"app0"};
  app.env[is_apart ? kApart : kBeside] = "app0";
}

}  // namespace

ServiceWorkload::ServiceWorkload(ServiceWorkloadOptions options)
    : options_(std::move(options)), loads_(options_.seed + 1) {
  stands_by_ = loads_.chance(1, 2);
  Prng chance(options_.seed);
  Prng neighbours(options_.seed + 2);
  Time at = Time();
  const auto draw = [&](int64_t number, bool must_run) {
    service::AppSpec app = draw_app(number, must_run, chance);
    app.scale = app.daemon ? std::nullopt : draw_scale(loads_);
    draw_neighbours(app, must_run, neighbours);
    return app;
  };
  for (int64_t i = 0; i < options_.changes; ++i) {
    const int64_t app = chance.between(0, options_.apps - 1);
    Wish wish{.at = at, .change = service::Apply{{draw(app, false)}}};
    if (chance.chance(1, 4)) wish.change = service::Scale{text("app", app), chance.between(0, 3)};
    if (chance.chance(1, 8)) wish.change = service::Stop{text("app", app)};
    if (chance.chance(1, 8)) wish.change = service::Rollback{.app = text("app", app)};
    if (chance.chance(1, 8)) wish.change = service::Pause{text("app", app)};
    if (chance.chance(1, 8)) wish.change = service::Resume{text("app", app)};
    script_.push_back(std::move(wish));
    at = at + milliseconds(chance.between(0, 2 * options_.every.millis()));
  }
  for (int64_t app = 0; app < options_.apps; ++app) {
    script_.push_back({.at = at, .change = service::Apply{{draw(app, true)}}});
    script_.push_back({.at = at, .change = service::Resume{text("app", app)}});
  }
  script_.push_back({.at = at, .change = std::nullopt, .until = Until::kAllRun});
  for (int64_t app = 0; app < options_.apps; ++app) {
    script_.push_back({.at = at, .change = service::Stop{text("app", app)}});
  }
  script_.push_back({.at = at, .change = std::nullopt, .until = Until::kAllGone});
}

sdk::DriverOptions ServiceWorkload::options() const {
  sdk::DriverOptions options;
  options.name = options_.name;
  options.role = options_.role;
  options.stands_by = stands_by_;
  return options;
}

// State outside the store is forgotten.
void ServiceWorkload::begin(Time now) {
  service_ = std::make_unique<service::Service>(
      service::ServiceOptions{.has_store = true, .life = text("life", ++lives_)});
  asked_.reset();
  look_at_ = now + kWorkloadLook;
}

void ServiceWorkload::hear(const sdk::Notification& notification, Time now, Commands& out) {
  // A framework that was torn down is refused; its apps are over.
  if (std::holds_alternative<sdk::Refused>(notification)) refused_ = true;
  handle(notification, now, out);
}

void ServiceWorkload::tick(Time now, Commands& out) {
  if (look_at_ && *look_at_ <= now) {
    look_at_ = now + kWorkloadLook;
    go_on(now, out);
    report_loads(now, out);
  }
  handle(service::Tick{}, now, out);
}

std::optional<Time> ServiceWorkload::next_deadline() const {
  if (service_ == nullptr) return std::nullopt;
  std::optional<Time> next = service_->next_deadline();
  if (look_at_ && !is_done()) next = next ? std::min(*next, *look_at_) : look_at_;
  return next;
}

void ServiceWorkload::handle(const service::ServiceEvent& event, Time now, Commands& out) {
  service::ServiceOutbox outbox;
  service_->handle(event, now, outbox);
  for (sdk::Command& command : outbox.commands) {
    if (const auto* accept = std::get_if<proto::Accept>(&command)) {
      for (const proto::Operation& operation : accept->operations) {
        for (const proto::TaskSpec& task : proto::launched_by(operation)) check_launch(task);
      }
    }
    out.push_back(std::move(command));
  }
  if (std::holds_alternative<sdk::Notification>(event)) look_at_neighbours();
  for (const service::Answer& answer : outbox.answers) {
    if (answer.relay >= kReportsFrom) continue;
    if (asked_ != answer.relay) {
      found_.push_back({text("request ", answer.relay, " was answered and not asked")});
      continue;
    }
    // A request to scale or stop an app that is missing or stopping is refused; that is an answer.
    asked_.reset();
    ++next_;
  }
}

// Checks each instance that has just been planned.
void ServiceWorkload::look_at_neighbours() {
  if (!service_->loaded()) return;
  std::map<AgentId, Beside> agents;
  std::map<TaskId, AgentId> planned;
  for (const proto::ServiceAppRow& row : service_->status()) {
    const auto page = service_->status_of(row.app, "");
    if (!page) continue;
    for (const proto::ServiceInstanceRow& one : page->instances) {
      if (one.state == "planned") planned[one.task] = one.agent;
      if (one.state != "killing") agents[one.agent].present.insert(row.app);
      if (one.ready || one.state == "planned") agents[one.agent].staying.insert(row.app);
    }
  }
  std::erase_if(beside_, [&](const auto& one) { return !planned.contains(one.first); });
  for (const auto& [task, agent] : planned) beside_.try_emplace(task, agents.at(agent));
}

void ServiceWorkload::check_launch(const proto::TaskSpec& task) {
  const auto named = [&](const char* variable) {
    const auto at = task.environment.find(variable);
    return at == task.environment.end() ? std::string() : at->second;
  };
  const auto seen = beside_.find(task.id);
  if (seen == beside_.end()) return;
  const std::string with = named(kBeside);
  const std::string apart = named(kApart);
  if (!with.empty() && !seen->second.present.contains(with)) {
    found_.push_back({text(task.id.str(), " is launched without an instance of ", with)});
  }
  if (!apart.empty() && seen->second.staying.contains(apart)) {
    found_.push_back({text(task.id.str(), " is launched beside an instance of ", apart)});
  }
}

void ServiceWorkload::go_on(Time now, Commands& out) {
  if (is_done() || asked_) return;
  const Wish& wish = script_[next_];
  if (wish.at > now) return;
  if (!wish.change) {
    if (is_true(wish.until)) ++next_;
    return;
  }
  asked_ = next_;
  handle(service::Request{next_, *wish.change}, now, out);
}

// Any load, while the script has changes.
void ServiceWorkload::report_loads(Time now, Commands& out) {
  if (is_done() || !script_[next_].change || !service_->loaded()) return;
  for (const proto::ServiceAppRow& row : service_->status()) {
    const auto page = service_->status_of(row.app, "");
    if (!row.scale || !page) continue;
    service::Figures figures{.relay = kReportsFrom + ++reports_, .app = row.app};
    for (const proto::ServiceInstanceRow& one : page->instances) {
      if (loads_.chance(4, 5)) figures.of[one.task] = loads_.between(0, 1'500);
    }
    handle(figures, now, out);
  }
}

bool ServiceWorkload::is_true(Until until) const {
  if (!service_->loaded()) return false;
  const std::vector<proto::ServiceAppRow> rows = service_->status();
  if (until == Until::kAllGone) return rows.empty();
  return static_cast<int64_t>(rows.size()) == options_.apps &&
         std::all_of(rows.begin(), rows.end(), [](const proto::ServiceAppRow& row) {
           return row.state == "running" && row.ready == row.instances && row.outdated == 0;
         });
}

std::vector<Violation> ServiceWorkload::violations() const {
  std::vector<Violation> found = found_;
  if (service_ == nullptr) return found;
  for (Violation& violation : service_->violations()) found.push_back(std::move(violation));
  return found;
}

std::string ServiceWorkload::progress() const {
  std::string out = text(next_, " of ", script_.size(), " wishes");
  if (service_ == nullptr) return out;
  for (const proto::ServiceAppRow& row : service_->status()) {
    out += text("; ", row.app, " ", row.state, " ", row.ready, "/", row.instances, " live ",
                row.live, row.why.empty() ? "" : text(" (", row.why, ")"));
  }
  return out;
}

}  // namespace proffer::sim
