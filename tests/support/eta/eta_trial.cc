#include "tests/support/eta/eta_trial.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "common/check.h"
#include "common/text.h"
#include "master/core/trace.h"
#include "master/forecast/calibration.h"
#include "master/forecast/remembered_durations.h"
#include "sim/forecast.h"
#include "sim/scenario_run.h"

namespace proffer::eta_trial {
namespace {

using sim::Scenario;
using sim::ScenarioFramework;
using sim::ScenarioTasks;

// The distribution of durations of a kind of task.
struct Durations {
  double least_s = 0;
  double tail = 0;  // exponent of the Pareto distribution
  double most_s = 0;
};

struct Work {
  Scenario scenario = {};
  std::map<std::pair<uint32_t, uint32_t>, Durations> durations = {};  // no entry: for ever
};

double fraction(Prng& chance) {
  return (static_cast<double>(chance.below(1'000'000)) + 1) / 1'000'001;
}

Duration drawn(const Durations& of, Prng chance) {
  const double s = of.least_s * std::pow(fraction(chance), -1 / of.tail);
  return milliseconds(static_cast<int64_t>(std::min(s, of.most_s) * 1000));
}

ScenarioTasks& add_tasks(Work& work, std::string name, int64_t count, std::string_view shape,
                         Duration arrives, const Durations& durations) {
  ScenarioFramework& framework = work.scenario.frameworks.back();
  const auto f = static_cast<uint32_t>(work.scenario.frameworks.size() - 1);
  const auto g = static_cast<uint32_t>(framework.tasks.size());
  if (durations.least_s > 0) work.durations[{f, g}] = durations;
  return framework.tasks.emplace_back(ScenarioTasks{.name = std::move(name),
                                                    .count = count,
                                                    .resources = parse_shape(shape).value(),
                                                    .arrives = arrives});
}

void add_agents(Work& work, int64_t count, std::string_view resources) {
  work.scenario.agents.push_back(
      {.name = "a", .count = count, .resources = parse_resources(resources).value()});
}

void add_framework(Work& work, std::string name, std::string role, Duration joins = {}) {
  work.scenario.frameworks.push_back(
      {.name = std::move(name), .role = RoleName(std::move(role)), .joins = joins});
}

// Jobs that arrive at random, of recurring kinds, so that the work is about what the cluster can
// do.
void add_jobs(Work& work, Prng& chance, Duration lasts, Duration every, int64_t tasks_max,
              std::string_view shape, const Durations& durations) {
  Duration at = work.scenario.frameworks.back().joins;
  for (int number = 0; number < 240; ++number) {
    at = at + milliseconds(static_cast<int64_t>(-std::log(fraction(chance)) *
                                                static_cast<double>(every.millis())));
    if (at >= lasts) return;
    add_tasks(work, text("sort-", number), chance.between(1, tasks_max), shape, at, durations);
  }
}

Work work_of(Workload workload, const TrialOptions& options) {
  const uint64_t seed = options.seed;
  const Duration lasts = options.lasts;
  const auto sized = [&](int64_t count) {
    return std::max<int64_t>(count * options.size / 100, 1);
  };
  const auto every = [&](Duration span) { return span * 100 / options.size; };
  Prng chance(seed * 3 + static_cast<uint64_t>(workload));
  Work work;
  work.scenario.seed = seed;
  work.scenario.until = lasts;
  switch (workload) {
    case Workload::kWaves:
      add_agents(work, sized(10), "cpus:8;mem:32GiB");
      for (int f = 0; f < 6; ++f) {
        add_framework(work, text("batch", static_cast<char>('a' + f)),
                      text("team", static_cast<char>('a' + f)));
        add_jobs(work, chance, lasts, every(seconds(200)), 40, "cpus:1;mem:1GiB",
                 {.least_s = 40, .tail = 1.5, .most_s = 7'200});
      }
      return work;
    case Workload::kWeights:
      work.scenario.roles[RoleName("eng")].weight = 3 * kWeightOne;
      add_agents(work, sized(8), "cpus:16;mem:64GiB");
      for (int f = 0; f < 8; ++f) {
        add_framework(work, text(f % 2 == 0 ? "eng-" : "lab-", f), f % 2 == 0 ? "eng" : "lab",
                      seconds(chance.between(0, 600)));
        if (f >= 4) {
          work.scenario.frameworks.back().joins =
              seconds(chance.between(600, lasts.millis() / 4'000));
          work.scenario.frameworks.back().leaves =
              lasts - seconds(chance.between(600, lasts.millis() / 4'000));
        }
        add_jobs(work, chance, lasts, every(seconds(240)), 30,
                 f % 3 == 0 ? "cpus:4;mem:4GiB" : "cpus:2;mem:8GiB",
                 {.least_s = 60, .tail = 3, .most_s = 1'800});
      }
      return work;
    case Workload::kGangs:
      add_agents(work, sized(12), "cpus:16;mem:64GiB");
      add_framework(work, "web", "web");
      add_tasks(work, "serve", sized(24), "cpus:2;mem:4GiB", Duration(), {});
      add_framework(work, "mpi", "mpi");
      // The same density for any length, up to the maximum of a scenario.
      for (int64_t job = 0; job < std::min<int64_t>(sized(90 * lasts.millis() / 14'400'000), 240);
           ++job) {
        const int64_t members = 2 * chance.between(1, 4);
        add_tasks(work, text("solve-", job), members, "cpus:8;mem:8GiB",
                  seconds(chance.between(0, lasts.millis() / 1'000)),
                  {.least_s = 200, .tail = 4, .most_s = 1'800})
            .ask.gang = members;
      }
      for (int f = 0; f < 3; ++f) {
        add_framework(work, text("quick", static_cast<char>('a' + f)), "quick");
        add_jobs(work, chance, lasts, every(seconds(180)), 80, "cpus:1;mem:1GiB",
                 {.least_s = 20, .tail = 2, .most_s = 1'200});
      }
      return work;
  }
  return work;
}

// The first forecasts of an ask's next task and of its last one, until they start.
class Predictions {
 public:
  struct Outcome {
    Duration took = {};
    Duration p50 = {};
    Duration p90 = {};
  };

  void add(const proto::Forecast& forecast) {
    for (const proto::AskForecast& row : forecast.asks) {
      add({row.framework, row.ask, false}, row.first, 1, forecast.as_of);
      if (row.tasks > 1) add({row.framework, row.ask, true}, row.last, row.tasks, forecast.as_of);
    }
  }
  void launched(const FrameworkId& framework, const AskName& ask, Time now) {
    for (const bool is_last : {false, true}) {
      const auto at = open_.find({framework, ask, is_last});
      if (at == open_.end() || --at->second.after > 0) continue;
      const Open& open = at->second;
      (is_last ? lasts_ : firsts_).push_back({now - open.as_of, *open.says.p50, *open.says.p90});
      open_.erase(at);
    }
  }
  const std::vector<Outcome>& firsts() const { return firsts_; }
  const std::vector<Outcome>& lasts() const { return lasts_; }

 private:
  using Key = std::tuple<FrameworkId, AskName, bool>;
  struct Open {
    Time as_of = {};
    proto::StartForecast says = {};
    int64_t after = 0;
  };

  void add(const Key& key, const proto::StartForecast& says, int64_t after, Time as_of) {
    if (says.p50 && says.p90) open_.try_emplace(key, Open{as_of, says, after});
  }

  std::map<Key, Open> open_;
  std::vector<Outcome> firsts_;
  std::vector<Outcome> lasts_;
};

proto::EtaFigures figures_of(const std::vector<Predictions::Outcome>& outcomes) {
  proto::EtaFigures figures;
  for (const Predictions::Outcome& one : outcomes) {
    ++figures.starts;
    figures.below_p50 += one.took <= one.p50;
    figures.below_p90 += one.took <= one.p90;
  }
  return figures;
}

template <class T>
T median(std::vector<T> values) {
  if (values.empty()) return {};
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// A master that is asked at this interval.
struct AskedMaster {
  void hear(const FrameworkId& framework, const AskName& ask, Time asked_at, Time now) {
    calibration.launched(framework, ask, asked_at, now);
    predictions.launched(framework, ask, now);
  }
  void forecast(const proto::LiveSnapshot& live, proto::Forecast made) {
    calibration.begin(live);
    calibration.correct(made);
    predictions.add(made);
  }
  Told told(Duration asked_every) const {
    Told told{.asked_every = asked_every, .starts = calibration.figures(), .first = first};
    std::vector<Duration> spreads;
    std::vector<int64_t> of_waits;
    for (const auto* outcomes : {&predictions.firsts(), &predictions.lasts()}) {
      for (const Predictions::Outcome& one : *outcomes) {
        spreads.push_back(one.p90 - one.p50);
        of_waits.push_back((one.p90 + seconds(1)).millis() * 1'000 /
                           (one.took + seconds(1)).millis());
      }
    }
    told.spread = median(std::move(spreads));
    told.p90_of_wait = median(std::move(of_waits));
    return told;
  }

  master::Calibration calibration = {};
  Predictions predictions = {};
  proto::EtaFigures first = {};
};

// The master's knowledge from each step.
class Learner final : public master::StepWatcher {
 public:
  void begins(const master::MasterOptions&, const master::MasterSnapshot&) override {}
  void hears(const master::MasterEvent&, Time now) override { now_ = now; }
  void says(const master::MasterOutbox& out) override {
    for (const TraceEvent& event : out.trace) {
      if (const auto* declined = event.as<master::OfferDeclined>()) {
        hear_declined(declined->framework, declined->asks);
      } else if (const auto* accepted = event.as<master::OfferAccepted>()) {
        hear_declined(accepted->framework, accepted->unused_for);
      }
      const auto* launched = event.as<master::TaskLaunched>();
      if (launched == nullptr) continue;
      for (AskedMaster& one : masters) {
        one.hear(launched->framework, launched->ask, launched->asked_at, now_);
      }
      raw.launched(launched->framework, launched->ask, now_);
    }
    for (const proto::HistoryRecord& record : out.history) {
      if (const auto* ended = std::get_if<proto::EndedTask>(&record)) durations.remember(*ended);
    }
  }
  void ends() override {}

  master::RememberedDurations durations = {};
  std::vector<AskedMaster> masters = {};
  Predictions raw = {};

 private:
  void hear_declined(const FrameworkId& framework, const std::vector<AskName>& asks) {
    for (AskedMaster& one : masters) {
      for (const AskName& ask : asks) one.calibration.declined(framework, ask, now_);
    }
  }

  Time now_ = {};
};

}  // namespace

std::string_view to_text(Workload workload) {
  constexpr std::string_view kNames[] = {"waves", "weights", "gangs"};
  return kNames[static_cast<size_t>(workload)];
}

Trial run_trial(Workload workload, const TrialOptions& options) {
  const Work work = work_of(workload, options);
  const Result<void> checked = sim::check_scenario(work.scenario);
  CHECK(checked.has_value()) << checked.error().message();
  Learner learner;
  learner.masters.resize(options.each.size());
  sim::ScenarioRun run(work.scenario, nullptr, {}, {.keeps_history = true, .watcher = &learner});
  run.world().set_check_every(uint64_t{1} << 62);
  run.set_durations([&](const sim::TaskRef& ref) -> std::optional<Duration> {
    const auto of = work.durations.find({ref.framework, ref.group});
    if (of == work.durations.end()) return std::nullopt;
    const uint64_t key = (uint64_t{ref.framework} << 48) ^ (uint64_t{ref.group} << 32) ^
                         (uint64_t{ref.number} << 8) ^ ref.attempt;
    return drawn(of->second, Prng(Prng(options.seed ^ (key * 0x9E3779B97F4A7C15u)).next()));
  });
  Trial trial;
  bool has_learnt = false;
  Prng chance(options.seed + 77);
  // No task has ended in the first minutes.
  Duration at = minutes(5);
  while (true) {
    at = at + milliseconds(static_cast<int64_t>(-std::log(fraction(chance)) *
                                                static_cast<double>(options.asked_every.millis())));
    if (at >= options.lasts) break;
    if (!has_learnt && at >= options.lasts / 3) {
      run.run_until(options.lasts / 3);
      for (AskedMaster& one : learner.masters) one.first = one.calibration.figures();
      has_learnt = true;
    }
    run.run_until(at);
    proto::ForecastRequest request{.live = run.master().live_snapshot(run.world().now())};
    request.durations = learner.durations.used_by(request.live);
    Result<proto::Forecast> made =
        sim::forecast(request, {.runs = options.runs, .seed = chance.next()});
    CHECK(made.has_value()) << made.error().message();
    learner.raw.add(*made);
    for (size_t i = 0; i < options.each.size(); ++i) {
      if (trial.forecasts % options.each[i] != 0) continue;
      learner.masters[i].forecast(request.live, *made);
    }
    ++trial.forecasts;
    for (const proto::AskForecast& row : made->asks) {
      ++trial.asks;
      trial.without += !row.first.p90.has_value();
    }
  }
  run.run_until(options.lasts);
  CHECK(run.world().violations().empty()) << run.world().violations().front().what;
  for (size_t i = 0; i < options.each.size(); ++i) {
    trial.told.push_back(learner.masters[i].told(options.asked_every * options.each[i]));
  }
  trial.raw = figures_of(learner.raw.firsts());
  return trial;
}

}  // namespace proffer::eta_trial
