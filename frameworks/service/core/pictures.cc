// What people see of apps: their status, their history, and the effect of a change.

#include <algorithm>
#include <set>
#include <string>

#include "common/printable.h"
#include "common/text.h"
#include "frameworks/service/core/state.h"

namespace proffer::service {

namespace {

// The most bytes of an app's row: why, failed and rolled_back are cut; name and owner are names.
constexpr size_t kPageOfAppBytes = 16 * 1'024;

// The remaining instances of a stopping app. An instance on an unreachable agent may run until the
// agent is back or given up, so the agent is named.
std::string still_there(const App& app) {
  int64_t live = 0;
  std::set<std::string> unreachable;
  for (const auto& [task, instance] : app.instances) {
    live += instance.state != InstanceState::kPlanned;
    if (instance.state == InstanceState::kUnreachable) unreachable.insert(instance.agent.str());
  }
  std::string why =
      live == 1 ? "1 instance has not ended yet" : text(live, " instances have not ended yet");
  if (unreachable.empty()) return why;
  std::string names;
  for (const std::string& name : unreachable) names += (names.empty() ? "" : ", ") + name;
  return text(why, "; waiting for unreachable agents to come back or be given up: ", names);
}

proto::ServiceAppRow row_of(const RunningApp& running) {
  const App& app = running.app;
  proto::ServiceAppRow row;
  row.app = app.spec.name;
  row.owner = app.owner;
  row.version = app.version;
  row.instances = app.wanted();
  row.ready = ready_slots(app);
  for (const auto& [task, instance] : app.instances) {
    if (instance.state == InstanceState::kPlanned) continue;
    row.live += 1;
    row.outdated += instance.id.version != app.version && !instance.is_ending() &&
                    instance.state != InstanceState::kUnreachable;
  }
  row.rolled_back = app.rolled_back;
  if (app.spec.scale) {
    row.scale = proto::ServiceScale{.source = std::string(to_text(app.spec.scale->source)),
                                    .port = app.spec.scale->port,
                                    .path = app.spec.scale->path,
                                    .said = running.scaling};
  }
  row.failed = app.failed;
  row.state = app.stopping       ? "stopping"
              : app.waits        ? "waiting"
              : app.hold         ? app.hold->is_canary ? "canary" : "paused"
              : row.outdated > 0 ? "updating"
              : row.ready < row.instances || running.is_looking ? "starting"
                                                                : "running";
  row.why = running.cannot_fit.empty() || running.launches.empty()
                ? running.why
                : text("no agent of the cluster could run it now: ", running.cannot_fit);
  if (!row.why.empty() && row.why == running.why && !running.last_words.empty()) {
    row.why += text("; its last output: ", running.last_words);
  }
  if (row.why.empty() && running.is_looking) row.why = "looking for more agents";
  if (row.why.empty() && app.spec.daemon && row.instances == 0) {
    row.why = "no agent has room for it and meets its constraints";
  }
  if (app.stopping && row.live > 0) row.why = still_there(app);
  return row;
}

proto::ServiceInstanceRow row_of(const TaskId& task, const Instance& instance) {
  proto::ServiceInstanceRow row;
  row.task = task;
  row.agent = instance.agent;
  row.host = instance.host;
  row.slot = instance.id.slot;
  row.version = instance.id.version;
  const bool is_leaving = instance.leaves_at && instance.state == InstanceState::kRunning;
  row.state = instance.unconfirmed ? "unconfirmed"
              : is_leaving         ? "leaving"
                                   : std::string(to_text(instance.state));
  row.ready = instance.is_ready();
  row.healthy = instance.healthy;
  if (instance.state == InstanceState::kRunning && !instance.is_ready()) {
    row.why = instance.is_unhealthy() ? instance.why_unhealthy : instance.why_not_ready;
  }
  row.ports = instance.ports;
  row.launched_at = instance.launched_at;
  return row;
}

}  // namespace

std::vector<proto::ServiceAppRow> Service::State::status() const {
  std::vector<proto::ServiceAppRow> rows;
  for (const auto& [name, running] : apps_) rows.push_back(row_of(running));
  return rows;
}

proto::ServiceAppsPage Service::State::apps(const std::string& after) const {
  proto::ServiceAppsPage page;
  PageRoom room;
  for (auto at = after.empty() ? apps_.begin() : apps_.upper_bound(after); at != apps_.end();
       ++at) {
    proto::ServiceAppRow row = row_of(at->second);
    size_t bytes = row.app.size() + row.owner.size() + row.why.size() + row.failed.size() +
                   row.rolled_back.size();
    if (row.scale) bytes += 64 + row.scale->port.size() + row.scale->path.size();
    if (row.scale) bytes += row.scale->said.size();
    if (!room.takes(bytes)) {
      page.next = page.apps.back().app;
      break;
    }
    page.apps.push_back(std::move(row));
  }
  return page;
}

Result<proto::ServiceStatusPage> Service::State::status_of(const std::string& name,
                                                           const std::string& after) const {
  const auto found = apps_.find(name);
  if (found == apps_.end()) return unknown_app(name);
  proto::ServiceStatusPage page;
  page.app = row_of(found->second);
  const std::map<TaskId, Instance>& instances = found->second.app.instances;
  PageRoom room;
  room.takes(kPageOfAppBytes);
  for (auto at = after.empty() ? instances.begin() : instances.upper_bound(TaskId(after));
       at != instances.end(); ++at) {
    proto::ServiceInstanceRow row = row_of(at->first, at->second);
    size_t bytes =
        row.task.str().size() + row.agent.str().size() + row.host.size() + row.why.size();
    for (const auto& [port, number] : row.ports) bytes += port.size() + 16;
    if (!room.takes(bytes) && !page.instances.empty()) {
      page.next = page.instances.back().task.str();
      break;
    }
    page.instances.push_back(std::move(row));
  }
  return page;
}

Result<std::vector<proto::ServiceVersionRow>> Service::State::history(const std::string& name,
                                                                      const Caller& by) const {
  const auto found = apps_.find(name);
  if (found == apps_.end()) return unknown_app(name);
  const App& app = found->second.app;
  if (Result<void> may = may_change(app, by); !may) return std::move(may).error();
  const auto row_of = [](uint64_t number, const Version& version) {
    return proto::ServiceVersionRow{.version = number,
                                    .applied_at = version.applied_at,
                                    .applied_by = version.applied_by,
                                    .was_ready = version.was_ready,
                                    .failed = version.failed,
                                    .command = printable(version.spec.command)};
  };
  std::vector<proto::ServiceVersionRow> rows;
  for (const auto& [number, version] : app.earlier) rows.push_back(row_of(number, version));
  rows.push_back(row_of(app.version, present_of(app)));
  rows.back().present = true;
  std::sort(rows.begin(), rows.end(),
            [](const auto& a, const auto& b) { return a.version < b.version; });
  return rows;
}

namespace {

// The next steps of an update, in words.
std::vector<std::string> steps_of(const App& app, const AppRecord& next) {
  const auto count = [](int64_t number, std::string_view what) {
    return text(number, ' ', what, number == 1 ? "" : "s");
  };
  std::vector<std::string> steps;
  if (next.waits) {
    constexpr size_t kNamed = 4;
    std::string names;
    for (size_t i = 0; i < std::min(next.spec.after.size(), kNamed); ++i) {
      names += text(i == 0 ? "" : ", ", next.spec.after[i]);
    }
    if (next.spec.after.size() > kNamed) {
      names += text(" and ", next.spec.after.size() - kNamed, " more");
    }
    steps.push_back(text("wait until all instances of ", names, " are ready"));
  }
  const int64_t now = app.wanted();
  const int64_t wanted = next.stopping ? 0 : next.spec.daemon ? now : next.spec.instances;
  if (next.spec.daemon && app.spec.name.empty()) {
    steps.push_back("launch an instance on each agent where it fits");
  }
  if (wanted > now) steps.push_back(text("launch ", count(wanted - now, "instance")));
  if (wanted < now) steps.push_back(text("end ", count(now - wanted, "instance")));
  const int64_t kept = std::count_if(app.instances.begin(), app.instances.end(), [&](auto& one) {
    return one.second.id.version == next.version && !one.second.is_ending();
  });
  const int64_t changed = std::max<int64_t>(std::min(now, wanted) - kept, 0);
  if (changed == 0 || next.version == app.version) return steps;
  if (kept > 0) steps.push_back(text("keep ", count(kept, "instance"), " of that version"));
  if (next.hold && next.hold->is_canary) {
    steps.push_back(text("launch ", count(std::min(next.hold->slots, wanted), "canary instance"),
                         " beside the others, then wait for: proffer service promote ",
                         next.spec.name));
  }
  const UpdatePolicy& update = next.spec.update;
  steps.push_back(
      text("replace ", count(changed, "instance"), ", at most ", update.max_unavailable,
           " missing and ", update.max_surge, " extra at a time",
           update.healthy_for > Duration()
               ? text(", each after the previous one was ready for ", to_text(update.healthy_for))
               : ""));
  if (app.ready_version != 0 && update.rolls_back) {
    steps.push_back(
        text("roll back to version ", app.ready_version, " if its instances fail 3 times in a row",
             update.progress_deadline > Duration()
                 ? text(", or if no further one is ready for ", to_text(update.progress_deadline))
                 : ""));
  }
  return steps;
}

}  // namespace

Result<std::vector<proto::ServicePlan>> Service::State::preview(const Change& change, Time now,
                                                                const Caller& by) const {
  ServiceOutbox unused;
  Step step{now, unused};
  const Result<Changes> changes = decide_all(step, Request{.relay = 0, .change = change, .by = by});
  if (!changes) return changes.error();
  // Without their differences, all apps fit into an answer.
  size_t shown = 0;
  std::vector<proto::ServicePlan> plans;
  App none;
  none.spec.instances = 0;
  for (const Changed& changed : *changes) {
    const AppSpec& spec = changed.record.spec;
    proto::ServicePlan& plan =
        plans.emplace_back(proto::ServicePlan{.app = spec.name, .result = changed.words});
    const auto found = apps_.find(spec.name);
    plan.steps = steps_of(found == apps_.end() ? none : found->second.app, changed.record);
    const AppRecord& next = changed.record;
    if (!plan.steps.empty() && !next.stopping) {
      std::vector<std::string> rules = rules_of(spec, next.owner);
      plan.steps.insert(plan.steps.begin() + (next.waits ? 1 : 0), rules.begin(), rules.end());
    }
    const std::optional<std::vector<Constraint>> beside = constrain(spec, next.owner);
    if (!next.stopping && !next.waits && !next.hold && !spec.daemon && beside) {
      Ask ask = make_ask(spec, next.version, spec.instances);
      ask.constraints.insert(ask.constraints.end(), beside->begin(), beside->end());
      plan.wants.push_back({.ask = std::move(ask)});
    }
    if (found == apps_.end()) continue;
    constexpr size_t kShown = 200;
    for (Difference& one : differences(found->second.app.spec, spec)) {
      if (shown >= kShown) {
        ++plan.further;
        continue;
      }
      ++shown;
      plan.differences.push_back({.key = std::move(one.key),
                                  .before = std::move(one.before),
                                  .after = std::move(one.after)});
    }
  }
  return plans;
}

}  // namespace proffer::service
