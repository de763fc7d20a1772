// Fewer agents for the same work. Read compact first: the largest agents that fit are found by
// bisection, because fewer of them are needed; then parts of these are left out, in ever smaller
// pieces.

#include "sim/compact.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "sim/scenario_run.h"

namespace proffer::sim {
namespace {

using Report = proto::SimulateReport;

// Each agent separately, with its name among those of its entry.
std::vector<ScenarioAgent> one_by_one(const std::vector<ScenarioAgent>& agents) {
  std::vector<ScenarioAgent> all;
  for (const ScenarioAgent& agent : agents) {
    for (int64_t i = 0; i < agent.count; ++i) {
      ScenarioAgent& one = all.emplace_back(agent);
      one.name = agent.name_of(i).str();
      one.count = 1;
    }
  }
  return all;
}

std::set<std::string> agents_in_use(const Scenario& scenario) {
  std::set<std::string> names;
  for (const ScenarioFramework& framework : scenario.frameworks) {
    for (const ScenarioTasks& tasks : framework.tasks) {
      for (const ScenarioRunning& running : tasks.running) names.insert(running.agent.str());
    }
  }
  return names;
}

// Its largest fraction of the cluster in any kind, in millionths.
int64_t size_of(const ScenarioAgent& agent, const ResourceVector& total) {
  int64_t size = 0;
  for (const ResourceKind kind : kResourceKinds) {
    if (total[kind] == 0) continue;
    __extension__ using Wide = __int128;
    size = std::max(
        size, static_cast<int64_t>(Wide{agent.resources.amounts[kind]} * 1'000'000 / total[kind]));
  }
  return size;
}

Duration allowed_wait(Duration with_all) { return with_all + with_all / 10 + kCompactWait; }

// The number of the largest agents that have as much of each kind as the work takes on average, if
// it is spread evenly over the time until `until`. With fewer it cannot be done in time, with any
// placement.
int64_t least_by_volume(const std::vector<ScenarioAgent>& agents, const Report& report,
                        Duration until) {
  int64_t least = 1;
  for (const ResourceKind kind : kResourceKinds) {
    std::vector<int64_t> amounts;
    for (const ScenarioAgent& agent : agents) amounts.push_back(agent.resources.amounts[kind]);
    std::sort(amounts.rbegin(), amounts.rend());
    const int64_t total = std::accumulate(amounts.begin(), amounts.end(), int64_t{0});
    const int64_t thousandths = report.end.cluster.mean_utilisation[static_cast<size_t>(kind)];
    __extension__ using Wide = __int128;
    // Rounded down.
    const auto wanted =
        static_cast<int64_t>(Wide{total} * std::max<int64_t>(thousandths - 1, 0) / 1'000 *
                             report.end.at.millis() / std::max<int64_t>(until.millis(), 1));
    int64_t count = 0;
    for (int64_t sum = 0; sum < wanted; ++count) sum += amounts[static_cast<size_t>(count)];
    least = std::max(least, count);
  }
  return least;
}

class Compaction {
 public:
  explicit Compaction(Scenario scenario)
      : scenario_(std::move(scenario)), agents_(one_by_one(scenario_.agents)) {}

  Report run() {
    best_ = ScenarioRun(scenario_).run();
    if (!best_.violations.empty()) return best_;
    with_all_ = best_.end.frameworks;
    Duration longest;
    for (const auto& [name, framework] : with_all_) longest = std::max(longest, framework.wait_max);
    if (!scenario_.until) scenario_.until = best_.end.at + allowed_wait(longest);
    at_least_ = least_by_volume(agents_, best_, *scenario_.until);
    order();
    halve();
    leave_out_parts();
    best_.compact = {.agents = static_cast<int64_t>(kept_.size()),
                     .of = static_cast<int64_t>(agents_.size()),
                     .at_least = at_least_,
                     .replays = replays_};
    return std::move(best_);
  }

 private:
  // Agents in use first, then the largest.
  void order() {
    ResourceVector total;
    for (const ScenarioAgent& agent : agents_) total += agent.resources.amounts;
    const std::set<std::string> in_use = agents_in_use(scenario_);
    const auto rank = [&](size_t i) {
      return std::pair(in_use.count(agents_[i].name) == 0, -size_of(agents_[i], total));
    };
    kept_.resize(agents_.size());
    std::iota(kept_.begin(), kept_.end(), 0);
    std::stable_sort(kept_.begin(), kept_.end(),
                     [&](size_t a, size_t b) { return rank(a) < rank(b); });
    for (const ScenarioAgent& agent : agents_) fixed_ += in_use.count(agent.name);
  }

  // Keeps the first part of the order.
  void halve() {
    const std::vector<size_t> all = kept_;
    size_t fails = std::max<size_t>(fixed_, 1) - 1;
    while (fails + 1 < kept_.size() && may_replay()) {
      const size_t middle = fails + (kept_.size() - fails) / 2;
      const auto end = all.begin() + static_cast<std::ptrdiff_t>(middle);
      if (!try_with({all.begin(), end})) fails = middle;
    }
  }

  // From the end: the smallest of them.
  void leave_out_parts() {
    for (size_t part = kept_.size() / 4; part > 0; part /= 2) {
      for (size_t end = kept_.size(); end > fixed_ && may_replay();) {
        const size_t begin = std::max(fixed_, end - std::min(part, end));
        std::vector<size_t> rest(kept_.begin(), kept_.begin() + static_cast<std::ptrdiff_t>(begin));
        rest.insert(rest.end(), kept_.begin() + static_cast<std::ptrdiff_t>(end), kept_.end());
        try_with(rest);
        end = begin;
      }
    }
  }

  bool may_replay() const {
    return replays_ < kCompactReplaysMax && best_.violations.empty() &&
           static_cast<int64_t>(kept_.size()) > at_least_;
  }

  // Keeps these agents if the work fits on them.
  bool try_with(const std::vector<size_t>& some) {
    if (some.empty()) return false;
    ++replays_;
    scenario_.agents.clear();
    for (const size_t i : some) scenario_.agents.push_back(agents_[i]);
    Report report = ScenarioRun(scenario_).run();
    const bool is_wrong = !report.violations.empty();
    if (!is_wrong && !fits(report)) return false;
    best_ = std::move(report);
    kept_ = some;
    return true;
  }

  bool fits(const Report& report) const {
    for (const auto& [name, framework] : report.end.frameworks) {
      const Report::Framework& before = with_all_.at(name);
      if (framework.pending > before.pending) return false;
      if (framework.wait_max > allowed_wait(before.wait_max)) return false;
    }
    return true;
  }

  Scenario scenario_;
  std::vector<ScenarioAgent> agents_;
  std::vector<size_t> kept_;  // indices in `agents_`
  size_t fixed_ = 0;          // this many of the first are in use
  Report best_;
  std::map<std::string, Report::Framework> with_all_;
  int64_t at_least_ = 1;
  int64_t replays_ = 0;
};

}  // namespace

Report compact(Scenario scenario) { return Compaction(std::move(scenario)).run(); }

}  // namespace proffer::sim
