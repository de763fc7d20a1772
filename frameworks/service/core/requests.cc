// Requests for apps: on_request. Requests are handled one after the other, since each decision
// depends on the result of the previous one. A change is applied and answered when its record is
// durable.

#include <algorithm>
#include <set>
#include <string>

#include "common/check.h"
#include "common/text.h"
#include "frameworks/service/core/state.h"
#include "frameworks/service/core/trace.h"
#include "sdk/store.h"

namespace proffer::service {

void Service::State::on_request(Step& step, const Request& request) {
  if (const auto* apply = std::get_if<Apply>(&request.change)) {
    CHECK(!apply->specs.empty() && apply->specs.size() <= kAppsPerFileMax);
    std::set<std::string_view> names;
    for (const AppSpec& spec : apply->specs) {
      const Result<void> valid = check_app(spec);
      CHECK(valid.has_value()) << valid.error().message();
      CHECK(names.insert(spec.name).second) << spec.name;
    }
  }
  if (requests_.size() >= kRequestsWaitingMax) {
    const Result<std::vector<proto::ServiceChange>> refused =
        Error::resource_exhausted("too many requests are waiting; try again in a moment");
    step.out.answers.push_back(Answer{request.relay, refused});
    return;
  }
  requests_.push_back(request);
  next_request(step);
}

void Service::State::next_request(Step& step) {
  while (loaded_ && changing_.empty() && !requests_.empty()) {
    Result<Changes> changes = decide_all(step, requests_.front());
    if (!changes) {
      answer(step, changes.error());
      continue;
    }
    Result<std::vector<proto::StoreOperation>> writes = writes_of(*changes);
    if (!writes) {
      answer(step, writes.error());
      continue;
    }
    if (writes->empty()) {
      answer(step, done_by(*changes));
      continue;
    }
    for (const Changed& changed : *changes) changing_.insert(changed.record.spec.name);
    continuations_[journal_.add(*std::move(writes))] = *std::move(changes);
  }
}

Result<std::vector<proto::StoreOperation>> Service::State::writes_of(Changes& changes) const {
  size_t all_versions = 0;
  for (const auto& [name, running] : apps_) all_versions += running.versions_bytes;
  std::vector<proto::StoreOperation> writes;
  size_t bytes = 0;
  for (Changed& changed : changes) {
    const std::string& name = changed.record.spec.name;
    const auto app = apps_.find(name);
    const bool is_known = app != apps_.end();
    const size_t before = is_known ? app->second.versions_bytes : 0;
    const size_t others = std::min(all_versions - before, kAllVersionsBytesMax);
    trim(changed.earlier, changed.record.ready_version,
         std::min({kVersionBytesMax, kAllVersionsBytesMax - others,
                   kStoreRequestBytesMax / 2 / changes.size()}));
    all_versions = others + bytes_of(changed.earlier);
    const bool has_versions_changed =
        is_known ? app->second.app.earlier != changed.earlier : !changed.earlier.empty();
    if (is_known && record_of(app->second.app) == changed.record && !has_versions_changed) continue;
    writes.push_back(sdk::put(app_key(name), encode(changed.record)));
    bytes += writes.back().key.size() + writes.back().value.size();
    if (!has_versions_changed) continue;
    writes.push_back(changed.earlier.empty()
                         ? sdk::erase(versions_key(name))
                         : sdk::put(versions_key(name), encode(changed.earlier)));
    bytes += writes.back().key.size() + writes.back().value.size();
  }
  if (changes.size() == 1 || bytes <= kStoreRequestBytesMax) return writes;
  return Error::resource_exhausted(text("the ", changes.size(), " apps and their versions have ",
                                        bytes, " bytes together; at most ", kStoreRequestBytesMax,
                                        " can be written at once"))
      .with_hint("apply them in several files");
}

std::vector<proto::ServiceChange> Service::State::done_by(const Changes& changes) {
  std::vector<proto::ServiceChange> done;
  for (const Changed& changed : changes) {
    done.push_back({.app = changed.record.spec.name, .result = changed.words});
  }
  return done;
}

void Service::State::answer(Step& step, const Result<std::vector<proto::ServiceChange>>& result) {
  CHECK(!requests_.empty());
  const Request request = std::move(requests_.front());
  requests_.pop_front();
  const auto* judge = std::get_if<Judge>(&request.change);
  const auto* begin = std::get_if<Begin>(&request.change);
  const auto* scale = std::get_if<AutoScale>(&request.change);
  if (judge == nullptr && begin == nullptr && scale == nullptr) {
    step.out.answers.push_back(Answer{request.relay, result});
    return;
  }
  const std::string& name = judge != nullptr   ? judge->app
                            : begin != nullptr ? begin->app
                                               : scale->app;
  const auto app = apps_.find(name);
  if (app == apps_.end()) return;
  if (scale != nullptr) {
    app->second.is_scaled = false;
    if (!result) app->second.scaling = text("cannot be scaled: ", result.error().message());
    return mark(name);
  }
  app->second.is_judged = false;
  if (!result) app->second.judge_at = step.now + kBackoffMax;
  mark(name);
}

namespace {

// The app with an earlier version. If the present version lacks the port for the figures of load,
// the app could not be scaled; with the earlier version it can be again.
AppSpec at_version(const AppSpec& version, const AppSpec& now) {
  AppSpec spec = with_task_of(version, now);
  if (now.scale || !version.scale || version.scale->source != LoadSource::kHttp) return spec;
  if (std::count(now.ports.begin(), now.ports.end(), version.scale->port) > 0) return spec;
  spec.scale = version.scale;
  spec.instances = std::clamp(spec.instances, spec.scale->min, spec.scale->max);
  return spec;
}

// The text for people if a rollback begins or ends scaling by load; else empty.
std::string changed_scale(const AppSpec& now, const AppSpec& back, uint64_t version) {
  if (!now.scale && back.scale) return "scaled by load again";
  if (!now.scale || back.scale) return "";
  return text("no longer scaled by load: version ", version, " has no port ",
              quoted(now.scale->port));
}

}  // namespace

// --- the effect of a request on an app ---------------------------------------------------------

Result<Service::State::Changes> Service::State::decide_all(Step& step,
                                                           const Request& request) const {
  return std::visit(
      [&](const auto& change) -> Result<Changes> {
        if constexpr (requires { change.specs; }) {
          return decide_all(step, change, request.by);
        } else {
          Result<Changed> changed = decide(step, change, request.by);
          if (!changed) return std::move(changed).error();
          return Changes{*std::move(changed)};
        }
      },
      request.change);
}

// An error about one of several apps names the app.
Result<Service::State::Changes> Service::State::decide_all(Step& step, const Apply& apply,
                                                           const Caller& by) const {
  Changes changes;
  std::map<std::string, int64_t> instances;
  for (size_t i = 0; i < apply.specs.size(); ++i) {
    const AppSpec& spec = apply.specs[i];
    Result<Changed> changed = decide(step, spec, by);
    if (!changed) return in_file(apply, i, std::move(changed).error());
    const auto app = apps_.find(spec.name);
    instances[spec.name] = !spec.daemon         ? changed->record.spec.instances
                           : app == apps_.end() ? 0
                                                : app->second.app.wanted();
    changes.push_back(*std::move(changed));
  }
  if (Result<void> ok = has_room(instances); !ok) return std::move(ok).error();
  if (Result<void> ok = check_order(apply); !ok) return std::move(ok).error();
  if (Result<void> ok = check_neighbours(apply, by); !ok) return std::move(ok).error();
  return changes;
}

// An app from the time before its scheduler served users has no owner: operators change it.
Result<void> Service::State::may_change(const App& app, const Caller& by) const {
  if (!options_.serves_users || by.is_operator) return {};
  if (!app.owner.empty() && app.owner == by.user) return {};
  return Error::permission_denied(text("user ", quoted(by.user), " may not change app ",
                                       quoted(app.spec.name), " of ",
                                       app.owner.empty() ? "the scheduler's own user"
                                                         : text("user ", quoted(app.owner))))
      .with_hint(
          "only that user and operators may; app names are unique in the cluster, so choose "
          "another");
}

Result<const App*> Service::State::find_app(const std::string& name, const Caller& by) const {
  const auto found = apps_.find(name);
  if (found == apps_.end()) return unknown_app(name);
  const App& app = found->second.app;
  if (Result<void> may = may_change(app, by); !may) return std::move(may).error();
  if (!app.stopping) return &app;
  return Error::failed_precondition(text("app ", quoted(name), " is stopping"))
      .with_hint("apply its file to start it again");
}

Result<Service::State::Changed> Service::State::decide(Step& step, const AppSpec& spec,
                                                       const Caller& by) const {
  const auto found = apps_.find(spec.name);
  if (found != apps_.end()) {
    if (Result<void> may = may_change(found->second.app, by); !may) return std::move(may).error();
  }
  if (found == apps_.end()) {
    return Changed{.record = {.spec = spec,
                              .owner = options_.serves_users ? by.user : "",
                              .applied_at = step.now,
                              .applied_by = by.user,
                              .waits = !spec.after.empty()},
                   .words = "created"};
  }
  const App& app = found->second.app;
  if (app.spec.daemon != spec.daemon) {
    return Error::failed_precondition(text("app ", quoted(spec.name), " is ",
                                           app.spec.daemon
                                               ? "a daemon, and cannot become an app with instances"
                                               : "not a daemon, and cannot become one"))
        .with_hint(text("stop it first: proffer service stop ", spec.name, " --wait"));
  }
  Changed changed{.record = record_of(app), .earlier = app.earlier, .words = "unchanged"};
  changed.record.stopping = false;
  // An app that is started again waits like a new one, unless an instance of it still runs.
  const bool is_over =
      app.stopping && std::all_of(app.instances.begin(), app.instances.end(),
                                  [](const auto& one) { return one.second.is_ending(); });
  changed.record.waits = !spec.after.empty() && (app.waits || is_over);
  changed.record.rolled_back.clear();
  // For an app that is scaled by its load a file gives only the initial number.
  AppSpec wanted = spec;
  if (spec.scale && app.spec.scale && !app.stopping) {
    wanted.instances = std::clamp(app.spec.instances, spec.scale->min, spec.scale->max);
  }
  return decide_known(step, app, std::move(changed), wanted, by);
}

// For an existing app.
Result<Service::State::Changed> Service::State::decide_known(Step& step, const App& app,
                                                             Changed changed, const AppSpec& spec,
                                                             const Caller& by) const {
  if (!same_task(app.spec, spec)) {
    keep_way_back(changed.record, app);
    changed.words = move_to(changed.record, changed.earlier, spec, step.now, by.user);
    return changed;
  }
  changed.record.spec = spec;
  changed.record.failed.clear();  // A retry.
  const bool is_promoted = app.hold && app.hold->is_canary && spec.update.canary == 0;
  if (is_promoted) changed.record.hold.reset();
  if (app.stopping) {
    changed.words = "started again";
  } else if (is_promoted) {
    changed.words = text("promoted version ", app.version);
  } else if (app.spec.instances != spec.instances) {
    changed.words = text("scaled from ", app.spec.instances, " to ", spec.instances, " instances");
  } else if (app.spec.after != spec.after) {
    changed.words = "changed in its dependencies (after)";
  } else if (app.spec.scale != spec.scale) {
    changed.words = "changed in its scale settings";
  } else if (app.spec != spec) {
    changed.words = "changed in its update settings";
  }
  return changed;
}

Result<Service::State::Changed> Service::State::decide(Step&, const Scale& scale,
                                                       const Caller& by) const {
  const Result<const App*> found = find_app(scale.app, by);
  if (!found) return found.error();
  const App& app = **found;
  if (app.spec.daemon) {
    return Error::failed_precondition(
               text("app ", quoted(scale.app), " is a daemon: it has an instance on each agent"))
        .with_hint("use constraints in its file to choose the agents");
  }
  if (scale.instances < 0 || scale.instances > kInstancesMax) {
    return Error::invalid_argument(
        text("instances must be from 0 to ", kInstancesMax, ", not ", scale.instances));
  }
  if (app.spec.scale &&
      (scale.instances < app.spec.scale->min || scale.instances > app.spec.scale->max)) {
    return Error::failed_precondition(
               text("app ", quoted(scale.app), " is scaled by its load, from ", app.spec.scale->min,
                    " to ", app.spec.scale->max, " instances, not to ", scale.instances))
        .with_hint("apply its file with other bounds in scale, or without scale");
  }
  if (Result<void> ok = has_room({{scale.app, scale.instances}}); !ok) return std::move(ok).error();
  Changed changed{.record = record_of(app), .earlier = app.earlier, .words = "unchanged"};
  if (app.spec.instances != scale.instances) {
    changed.words = text("scaled from ", app.spec.instances, " to ", scale.instances, " instances");
  }
  changed.record.spec.instances = scale.instances;
  return changed;
}

Result<Service::State::Changed> Service::State::decide(Step&, const Stop& stop,
                                                       const Caller& by) const {
  const auto found = apps_.find(stop.app);
  if (found == apps_.end()) return unknown_app(stop.app);
  const App& app = found->second.app;
  if (Result<void> may = may_change(app, by); !may) return std::move(may).error();
  Changed changed{.record = record_of(app),
                  .earlier = app.earlier,
                  .words = app.stopping ? "already stopping"
                                        : text("stopping ", app.instances.size(), " instances")};
  changed.record.stopping = true;
  return changed;
}

Result<Service::State::Changed> Service::State::decide(Step& step, const Rollback& rollback,
                                                       const Caller& by) const {
  const Result<const App*> found = find_app(rollback.app, by);
  if (!found) return found.error();
  const App& app = **found;
  Changed changed{.record = record_of(app), .earlier = app.earlier};
  const std::optional<uint64_t> to =
      rollback.version ? rollback.version : version_before(app.earlier);
  if (to == app.version) {
    changed.words = text("unchanged: it already has version ", *to);
    return changed;
  }
  const auto version = to ? app.earlier.find(*to) : app.earlier.end();
  if (version == app.earlier.end()) {
    std::string known;
    for (const auto& [number, one] : app.earlier) {
      known += text(known.empty() ? "" : ", ", number);
    }
    return Error::not_found(to ? text("app ", quoted(rollback.app), " has no version ", *to)
                               : text("app ", quoted(rollback.app), " has no other version"))
        .with_hint(known.empty() ? "apply another file instead"
                                 : text("besides version ", app.version, " it has ", known));
  }
  changed.record.rolled_back.clear();
  const AppSpec spec = at_version(version->second.spec, app.spec);
  if (spec.instances != app.spec.instances) {
    if (Result<void> ok = has_room({{rollback.app, spec.instances}}); !ok) return ok.error();
  }
  const std::string scaled = changed_scale(app.spec, spec, *to);
  keep_way_back(changed.record, app);
  changed.words = move_to(changed.record, changed.earlier, spec, step.now, by.user);
  if (!scaled.empty()) changed.words += text(", ", scaled);
  changed.record.hold.reset();  // A version that has run before needs no canary.
  return changed;
}

Result<Service::State::Changed> Service::State::decide(Step&, const Pause& pause,
                                                       const Caller& by) const {
  const Result<const App*> found = find_app(pause.app, by);
  if (!found) return found.error();
  const App& app = **found;
  Changed changed{.record = record_of(app), .earlier = app.earlier};
  if (app.hold) {
    changed.words = app.hold->is_canary ? "unchanged: its canary waits for promotion"
                                        : "unchanged: it is already paused";
    return changed;
  }
  if (!app.is_updating()) {
    return Error::failed_precondition(text("app ", quoted(pause.app), " is not being updated"))
        .with_hint("an update can be paused only while `proffer service status` shows updating");
  }
  std::set<int64_t> slots;
  for (const auto& [task, instance] : app.instances) {
    if (instance.id.version == app.version && !instance.is_ending()) slots.insert(instance.id.slot);
  }
  changed.record.hold = Hold{.slots = static_cast<int64_t>(slots.size())};
  changed.words = text("paused with ", slots.size(), " of ", app.wanted(), " instances of version ",
                       app.version);
  return changed;
}

Result<Service::State::Changed> Service::State::decide(Step&, const Resume& resume,
                                                       const Caller& by) const {
  const Result<const App*> found = find_app(resume.app, by);
  if (!found) return found.error();
  const App& app = **found;
  Changed changed{.record = record_of(app), .earlier = app.earlier};
  if (!app.hold) {
    return Error::failed_precondition(
               text("app ", quoted(resume.app), " has no canary, and its update is not paused"))
        .with_hint(text("see its state with: proffer service status ", resume.app));
  }
  changed.words = text(app.hold->is_canary ? "promoted version " : "resumed the update to version ",
                       app.version);
  changed.record.hold.reset();
  return changed;
}

// Another version may have been applied meanwhile.
Result<Service::State::Changed> Service::State::decide(Step& step, const Judge& judge,
                                                       const Caller&) const {
  const auto found = apps_.find(judge.app);
  if (found == apps_.end()) return unknown_app(judge.app);
  const App& app = found->second.app;
  Changed changed{.record = record_of(app), .earlier = app.earlier};
  AppRecord& record = changed.record;
  if (app.stopping || app.version != judge.version) return changed;
  if (judge.failed.empty()) {
    record.was_ready = true;
    record.ready_version = app.version;
    record.failed.clear();
    trim(changed.earlier, record.ready_version);
    return changed;
  }
  record.failed = judge.failed;
  const auto back = app.earlier.find(app.ready_version);
  if (!app.spec.update.rolls_back || !app.is_updating() || back == app.earlier.end()) {
    return changed;
  }
  AppSpec spec = at_version(back->second.spec, app.spec);
  if (spec.instances != app.spec.instances && !has_room({{judge.app, spec.instances}})) {
    spec = with_task_of(back->second.spec, app.spec);
  }
  move_to(record, changed.earlier, spec, step.now, app.applied_by);
  record.hold.reset();
  record.rolled_back = text("version ", judge.version, " failed: ", judge.failed);
  const std::string scaled = changed_scale(app.spec, spec, app.ready_version);
  if (!scaled.empty()) record.rolled_back += text("; ", scaled);
  return changed;
}

Result<Service::State::Changed> Service::State::decide(Step&, const Begin& begin,
                                                       const Caller&) const {
  const auto found = apps_.find(begin.app);
  if (found == apps_.end()) return unknown_app(begin.app);
  const App& app = found->second.app;
  Changed changed{.record = record_of(app), .earlier = app.earlier};
  // It may wait for other apps meanwhile.
  if (why_waits(app).empty()) changed.record.waits = false;
  return changed;
}

Result<void> Service::State::has_room(const std::map<std::string, int64_t>& instances) const {
  size_t apps = apps_.size();
  int64_t all = 0;
  for (const auto& [name, count] : instances) {
    apps += apps_.count(name) == 0 ? 1 : 0;
    all += count;
  }
  if (apps > kAppsMax && apps > apps_.size()) {
    return Error::resource_exhausted(
               instances.size() == 1
                   ? text("there are ", apps_.size(), " apps; at most ", kAppsMax, " are allowed")
                   : text("there would be ", apps, " apps; at most ", kAppsMax, " are allowed"))
        .with_hint("stop one with: proffer service stop NAME");
  }
  if (!options_.has_store) return {};
  for (const auto& [name, running] : apps_) {
    if (instances.count(name) == 0) all += running.app.wanted();
  }
  if (all <= kInstancesKeptMax) return {};
  return Error::resource_exhausted(text("all apps together would have ", all,
                                        " instances; at most ", kInstancesKeptMax, " are allowed"))
      .with_hint("run a large app without the scheduler: proffer service run FILE");
}

Error Service::State::unknown_app(const std::string& name) const {
  std::vector<std::string_view> known;
  for (const auto& [other, running] : apps_) known.push_back(other);
  for (const std::string_view app : known) {
    if (!name.starts_with(app) || name.substr(app.size(), 1) != ".") continue;
    return Error::not_found(text("there is no app ", quoted(name), "; it names an instance of app ",
                                 quoted(app)))
        .with_hint(text("name the app, ", app,
                        "; the output of one instance is printed by proffer "
                        "logs ",
                        name));
  }
  const std::string_view near = nearest(name, known);
  return Error::not_found(text("there is no app ", quoted(name)))
      .with_hint(near.empty() ? std::string("list apps with: proffer service list")
                              : text("did you mean ", quoted(near), "?"));
}

// --- after a durable write --------------------------------------------------------------------

void Service::State::apply(Step& step, const Changed& changed) {
  const AppRecord& record = changed.record;
  const std::string& name = record.spec.name;
  RunningApp& running = apps_[name];
  App& app = running.app;
  // A new version starts without the old version's failures and with no verdict on whether it fits;
  // so does a failed version that is applied again.
  if (app.version != record.version || (!app.failed.empty() && record.failed.empty())) {
    for (auto& [number, slot] : app.slots) slot = Slot{.agent = slot.agent};
    running.cannot_fit.clear();
    running.updated = 0;
    running.updated_at.reset();
    running.why = text("its instances of version ", record.version, " are not launched yet");
  }
  if (app.hold != record.hold) running.updated_at.reset();
  const AppRecord before = app;
  if (before.spec != record.spec || before.stopping) running.looks_until = Time();
  static_cast<AppRecord&>(app) = record;
  app.earlier = changed.earlier;
  running.versions_bytes = bytes_of(app.earlier);
  // The next plan is for the new spec.
  running.launches.clear();
  running.shared.clear();
  mark(name);
  if (record.waits) waiting_.insert(name);
  if (!record.rolled_back.empty() && record.rolled_back != before.rolled_back) {
    step.trace(AppRolledBack{name, record.version, record.rolled_back});
    return;
  }
  using To = AppChanged::To;
  const To to = record.stopping                                   ? To::kStopping
                : before.waits && !record.waits                   ? To::kWaitsNoLonger
                : record.ready_version != before.ready_version    ? To::kUpdated
                : !record.failed.empty() && before.failed.empty() ? To::kUpdateFailed
                                                                  : To::kApplied;
  step.trace(AppChanged{name, record.version, app.wanted(), to});
}

void Service::State::forget(Step& step, const std::string& name) {
  if (!apps_.at(name).app.earlier.empty()) erase(versions_key(name));
  erase(app_key(name));
  apps_.erase(name);
  looks_.cancel(name);
  measured_.erase(name);
  forgotten_ = ++changes_;
  watchers_stale_ = true;
  waiting_.erase(name);
  tell_followers(name);
  step.trace(AppStopped{name});
}

}  // namespace proffer::service
