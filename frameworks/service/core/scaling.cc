// Apps that are scaled by their load: on_figures. The history decides the result of a report
// (autoscale.h); a change is written like one that people request.

#include <algorithm>
#include <string>

#include "common/text.h"
#include "frameworks/service/core/state.h"
#include "frameworks/service/core/trace.h"

namespace proffer::service {
namespace {

// During an update there are old and new instances, and new ones start.
bool is_changing(const App& app) { return app.waits || app.is_updating() || app.hold; }

}  // namespace

void Service::State::on_figures(Step& step, const Figures& figures) {
  Answer answer{.relay = figures.relay};
  Result<std::string> said = take_figures(step, figures);
  if (said) {
    answer.result = std::vector{proto::ServiceChange{.app = figures.app, .result = *said}};
  } else {
    answer.result = std::move(said).error();
  }
  step.out.answers.push_back(std::move(answer));
}

Result<std::string> Service::State::take_figures(Step& step, const Figures& figures) {
  if (!loaded_) {
    return Error::unavailable("the service scheduler is still reading its apps from the store")
        .with_hint("try again in a moment");
  }
  const Result<const App*> found = find_app(figures.app, figures.by);
  if (!found) return found.error();
  const App& app = **found;
  if (!app.spec.scale) {
    return Error::failed_precondition(text("app ", quoted(figures.app), " is not scaled by load"))
        .with_hint("add scale to its file, for example: scale: {min: 2, max: 10, cpu: 60%}");
  }
  RunningApp& running = apps_.at(figures.app);
  if (is_changing(app) || settled_at_ || running.is_scaled) {
    std::string why = text("stays at ", app.spec.instances, " until its other changes are done");
    // The app is measured, though the report has no effect.
    if (!running.is_scaled) {
      running.figures_at = step.now;
      measured_.insert(figures.app);
      running.scaling = why;
    }
    return why;
  }
  if (running.figures_at && step.now - *running.figures_at < kFiguresEvery) {
    return Error::resource_exhausted(
        text("measurements of an app are accepted at most once in ", to_text(kFiguresEvery)));
  }
  LoadReport report;
  for (const auto& [task, instance] : app.instances) {
    if (!instance.is_ready()) continue;
    ++report.ready;
    const auto figure = figures.of.find(task);
    if (figure == figures.of.end()) continue;
    ++report.measured;
    report.sum += std::clamp<int64_t>(figure->second, 0, kFigureMax);
  }
  running.figures_at = step.now;
  measured_.insert(figures.app);
  ScaleVerdict verdict =
      running.scale_history.take(*app.spec.scale, app.spec.instances, report, step.now);
  running.scaling = verdict.why;
  if (verdict.instances == app.spec.instances || app.spec.scale->is_dry_run) return verdict.why;
  step.trace(AppScaled{figures.app, verdict.instances, verdict.why});
  running.is_scaled = true;
  requests_.push_back(
      Request{.relay = 0,
              .change = AutoScale{
                  .app = figures.app, .from = app.spec.instances, .instances = verdict.instances}});
  next_request(step);
  return verdict.why;
}

bool Service::State::wants_figures() const {
  return std::any_of(apps_.begin(), apps_.end(), [](const auto& one) {
    return one.second.app.spec.scale && !one.second.app.stopping;
  });
}

// The app is no longer measured, and the last report is out of date.
void Service::State::forget_old_figures(Step& step) {
  std::erase_if(measured_, [&](const std::string& name) {
    RunningApp& running = apps_.at(name);
    if (step.now - *running.figures_at < kFiguresOld) return false;
    running.figures_at.reset();
    running.scaling.clear();
    return true;
  });
}

Result<Service::State::Changed> Service::State::decide(Step&, const AutoScale& scale,
                                                       const Caller&) const {
  const auto found = apps_.find(scale.app);
  if (found == apps_.end()) return unknown_app(scale.app);
  const App& app = found->second.app;
  Changed changed{.record = record_of(app), .earlier = app.earlier, .words = "unchanged"};
  // A change that people made meanwhile has priority.
  if (app.stopping || !app.spec.scale || app.spec.scale->is_dry_run || app.spec.daemon ||
      app.spec.instances != scale.from || is_changing(app)) {
    return changed;
  }
  const int64_t instances = std::clamp(scale.instances, app.spec.scale->min, app.spec.scale->max);
  if (Result<void> ok = has_room({{scale.app, instances}}); !ok) return std::move(ok).error();
  changed.words = text("scaled from ", app.spec.instances, " to ", instances, " instances");
  changed.record.spec.instances = instances;
  return changed;
}

}  // namespace proffer::service
