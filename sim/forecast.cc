// Read forecast last. Before it: the assumed durations, and the result of one run.

#include "sim/forecast.h"

#include <algorithm>
#include <set>

#include "common/prng.h"
#include "common/text.h"
#include "master/forecast/remembered_durations.h"
#include "sim/live_scenario.h"
#include "sim/scenario_run.h"

namespace proffer::sim {
namespace {

// Multiple of the longest known duration.
constexpr int64_t kBeyondTimes = 10;
constexpr int64_t kBeyondParts = 1'000;
// Names of frameworks with unknown durations.
constexpr size_t kUnknownNamed = 5;
// Checks for violations would cost more than the forecast; tests do them.
constexpr uint64_t kNeverChecked = uint64_t{1} << 62;

uint64_t mixed(uint64_t seed, std::initializer_list<uint64_t> parts) {
  for (const uint64_t part : parts) seed = Prng(seed ^ part).next();
  return seed;
}

// Asks that have claims in the live cluster are declared this long before the scenario begins, so
// that they get claims again in the first decision; the others are declared after it. Agents come
// back after it, so it must not be too long for them.
constexpr Duration kClaimsMade = milliseconds(20);
Duration claim_after(const Scenario& scenario) {
  master::MasterOptions options;
  for (const auto& [name, value] : scenario.options) {
    if (!set_option(name, value, options)) return {};
  }
  return std::min({options.allocator.claim_after, options.agent_timeout / 2, minutes(10)});
}

// One entry of tasks of the scenario.
struct Entry {
  const std::vector<Duration>* ran = nullptr;  // nullptr: as in the scenario
  std::vector<Duration> since = {};            // of running tasks, by number
  std::optional<Duration> limit = {};
};

class Forecaster {
 public:
  Forecaster(const proto::ForecastRequest& request, const LiveScenario& live,
             const ForecastOptions& options)
      : live_(live), options_(options), durations_(request.durations) {
    out_.as_of = request.live.taken;
    out_.reaches = options.reaches;
    std::set<std::string> unknown;
    for (size_t f = 0; f < live.origins.size(); ++f) {
      auto& entries = entries_.emplace_back();
      for (size_t g = 0; g < live.origins[f].size(); ++g) {
        const LiveOrigin& origin = live.origins[f][g];
        const ScenarioTasks& tasks = live.scenario.frameworks[f].tasks[g];
        entries.push_back(entry_of(origin, tasks));
        pending_ += tasks.count - tasks.running_count();
        const bool ends = entries.back().ran != nullptr || tasks.duration || entries.back().limit;
        if (!ends && !tasks.declared_duration) unknown.insert(origin.name);
        if (origin.pending == 0 || tasks.running_count() == tasks.count) continue;
        asks_.push_back({static_cast<uint32_t>(f), static_cast<uint32_t>(g)});
      }
    }
    for (const std::string& name : unknown) {
      if (out_.unknown.size() < kUnknownNamed) out_.unknown.push_back(name);
    }
    firsts_.resize(asks_.size());
    lasts_.resize(asks_.size());
  }

  Result<proto::Forecast> make() {
    for (int64_t run = 0; run < options_.runs && !asks_.empty(); ++run) {
      if (Result<void> done = run_once(run); !done) return std::move(done).error();
      ++out_.runs;
      if (options_.may_go_on && !options_.may_go_on()) break;
    }
    if (!asks_.empty() && out_.runs < std::min(options_.runs, options_.runs_least)) {
      return Error::resource_exhausted(text("only ", out_.runs, " of ", options_.runs_least,
                                            " runs were possible in the available time"));
    }
    for (size_t i = 0; i < asks_.size(); ++i) {
      const auto& [f, g] = asks_[i];
      const LiveOrigin& origin = live_.origins[f][g];
      out_.asks.push_back({.framework = origin.framework,
                           .ask = origin.ask,
                           .tasks = origin.pending,
                           .first = quantiles(firsts_[i]),
                           .last = quantiles(lasts_[i])});
    }
    return std::move(out_);
  }

 private:
  struct AskPlace {
    uint32_t framework = 0;
    uint32_t entry = 0;
  };
  // Since the scenario began; none: not in this run.
  using Starts = std::vector<std::optional<Duration>>;

  Entry entry_of(const LiveOrigin& origin, const ScenarioTasks& tasks) {
    Entry entry;
    for (const ScenarioRunning& one : tasks.running) {
      entry.since.insert(entry.since.end(), static_cast<size_t>(one.count), one.since);
    }
    if (tasks.ask.max_run_time > Duration()) {
      entry.limit = tasks.ask.max_run_time - milliseconds(1);  // before its agent ends it
    }
    const bool for_ever = tasks.declared_duration && !tasks.duration;
    if (origin.ending || for_ever) return entry;
    entry.ran = durations_.find(origin.name, origin.role, origin.kind);
    return entry;
  }

  Result<void> run_once(int64_t number);
  proto::StartForecast quantiles(Starts& starts) const;

  const LiveScenario& live_;
  const ForecastOptions& options_;
  const master::DurationsByKind durations_;
  proto::Forecast out_;
  std::vector<std::vector<Entry>> entries_;  // by framework and entry of the scenario
  int64_t pending_ = 0;
  std::vector<AskPlace> asks_;
  std::vector<Starts> firsts_;  // by ask
  std::vector<Starts> lasts_;
};

// Each run uses other durations: as many as are known, drawn with repetition (bootstrap). A small
// sample may differ more from the true durations of the kind, and then runs differ more.
Result<void> Forecaster::run_once(int64_t number) {
  Scenario scenario = live_.scenario;
  scenario.seed = mixed(options_.seed, {static_cast<uint64_t>(number)});
  std::map<const std::vector<Duration>*, std::vector<Duration>> believed;
  uint64_t kinds = 0;
  for (const auto& entries : entries_) {
    for (const Entry& entry : entries) {
      if (entry.ran == nullptr || believed.contains(entry.ran)) continue;
      Prng chance(mixed(scenario.seed, {~uint64_t{0}, ++kinds}));
      std::vector<Duration>& drawn = believed[entry.ran];
      for (size_t i = 0; i < entry.ran->size(); ++i) {
        drawn.push_back((*entry.ran)[chance.below(entry.ran->size())]);
      }
      std::sort(drawn.begin(), drawn.end());
    }
  }
  const Duration before = claim_after(scenario);
  ScenarioRun run(scenario, nullptr, {}, {.looks_at_waits = false, .begun_before = before});
  run.set_arrivals([&](uint32_t framework, uint32_t group) {
    return live_.origins[framework][group].claims ? Duration() - before : kClaimsMade;
  });
  run.world().set_check_every(kNeverChecked);
  run.set_durations([&](const TaskRef& ref) -> std::optional<Duration> {
    const Entry& entry = entries_[ref.framework][ref.group];
    const ScenarioTasks& tasks = scenario.frameworks[ref.framework].tasks[ref.group];
    std::optional<Duration> lasts = tasks.duration;
    if (entry.ran != nullptr) {
      const bool has_run = ref.attempt == 1 && ref.number < entry.since.size();
      lasts =
          draw_one_more(believed.at(entry.ran), has_run ? entry.since[ref.number] : Duration(),
                        mixed(scenario.seed, {ref.framework, ref.group, ref.number, ref.attempt}));
    }
    if (entry.limit) lasts = std::min(lasts.value_or(*entry.limit), *entry.limit);
    return lasts;
  });
  const int64_t starts = std::min(pending_, options_.starts_max / options_.runs);
  run.run_until(options_.reaches, [&] { return run.book().started() >= starts; });
  if (!run.world().violations().empty()) {
    return Error::internal(
        text("a simulated run broke an invariant: ", run.world().violations().front().what));
  }
  for (size_t i = 0; i < asks_.size(); ++i) {
    const auto& [f, g] = asks_[i];
    const std::vector<Time>& started = run.book().starts(f, g);
    const auto pending = static_cast<size_t>(live_.origins[f][g].pending);
    const auto since = [&](Time at) { return std::max(Duration(), at - run.book().zero()); };
    firsts_[i].push_back(started.empty() ? std::nullopt : std::optional(since(started.front())));
    lasts_[i].push_back(started.size() < pending ? std::nullopt
                                                 : std::optional(since(started[pending - 1])));
  }
  return {};
}

// The nearest ranks.
proto::StartForecast Forecaster::quantiles(Starts& starts) const {
  std::sort(starts.begin(), starts.end(), [](const auto& a, const auto& b) {
    return a.has_value() && (!b.has_value() || *a < *b);
  });
  const auto at = [&](size_t tenths) { return starts[(starts.size() * tenths + 9) / 10 - 1]; };
  return {.p50 = at(5), .p90 = at(9)};
}

}  // namespace

Duration draw_one_more(const std::vector<Duration>& ran, Duration since, uint64_t chance) {
  Prng prng(chance);
  const auto longer = std::upper_bound(ran.begin(), ran.end(), since);
  const auto count = static_cast<uint64_t>(ran.end() - longer);
  const uint64_t gap = prng.below(count + 1);
  const auto upper = longer + static_cast<std::ptrdiff_t>(gap);
  const Duration from = gap == 0 ? since : *(upper - 1);
  if (upper != ran.end()) {
    return nanoseconds(prng.between(from.nanos(), upper->nanos()));
  }
  const int64_t parts = prng.between(kBeyondParts / kBeyondTimes, kBeyondParts);
  const int64_t millis = std::max<int64_t>(from.millis(), 1);
  return std::min(milliseconds(millis * kBeyondParts / parts), kDurationMax);
}

Result<proto::Forecast> forecast(const proto::ForecastRequest& request,
                                 const ForecastOptions& options) {
  const Result<LiveScenario> live = scenario_of(request.live, options.reaches);
  if (!live) return live.error();
  return Forecaster(request, *live, options).make();
}

}  // namespace proffer::sim
