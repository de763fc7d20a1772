// Replays a tree and compares use with entitlement. Read measure() first.

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "common/text.h"
#include "tests/support/fair_churn/fair_churn.h"

namespace proffer::fair_churn {
namespace {

constexpr Duration kFirstSample = seconds(200);
constexpr Duration kLastSample = seconds(600);
constexpr Duration kEachSample = seconds(5);
constexpr Duration kSettled = seconds(2);  // if no task ends, all is allocated by then
constexpr int64_t kDecisionsMax = 2'000'000;

Amounts amounts_of(const ResourceVector& use) {
  return {static_cast<double>(use[ResourceKind::kCpus]) / 1000,
          static_cast<double>(use[ResourceKind::kMem]) / (1024 * 1000)};
}
void add(Amounts& sum, const Amounts& more) {
  for (size_t k = 0; k < kKinds; ++k) sum[k] += more[k];
}
size_t largest(const Amounts& amounts) {
  return static_cast<size_t>(std::max_element(amounts.begin(), amounts.end()) - amounts.begin());
}
// The utilisation of the most used kind.
double utilisation_of(const std::vector<Amounts>& use, const Amounts& pool) {
  Amounts sum = {};
  for (const Amounts& each : use) add(sum, each);
  double most = 0;
  for (size_t k = 0; k < kKinds; ++k) most = std::max(most, sum[k] / pool[k]);
  return most;
}

std::vector<Amounts> use_of(const replay::Replay& run, const Tree& tree) {
  std::vector<Amounts> use;
  for (const Leaf& leaf : tree.leaves) {
    use.push_back(amounts_of(run.use_of(FrameworkId(leaf.framework))));
  }
  return use;
}

// The allocation if all frameworks are there from the beginning and no task ends.
std::vector<Amounts> from_empty(const Tree& tree, const MeasureOptions& options) {
  sim::Scenario scenario = tree.scenario;
  for (sim::ScenarioFramework& framework : scenario.frameworks) {
    framework.joins = {};
    for (sim::ScenarioTasks& tasks : framework.tasks) tasks.duration.reset();
  }
  replay::Replay run(std::move(scenario),
                     {.allocator = options.allocator, .audit = options.audit, .trace = false});
  run.run_until(kSettled);
  return use_of(run, tree);
}

Summary::Percentiles percentiles(std::vector<double> ratios) {
  if (ratios.empty()) return {};
  std::sort(ratios.begin(), ratios.end());
  const auto at = [&](size_t percent) { return ratios[ratios.size() * percent / 100]; };
  return {.count = ratios.size(),
          .least = ratios[0],
          .p1 = at(1),
          .p5 = at(5),
          .p10 = at(10),
          .p25 = at(25),
          .p50 = at(50)};
}

// The longest lack of a task for each framework and role of a tree.
class Lacks {
 public:
  explicit Lacks(const Tree& tree) {
    std::map<RoleName, size_t> known;
    for (size_t i = 0; i < tree.leaves.size(); ++i) {
      const Leaf& leaf = tree.leaves[i];
      const auto largest_need = static_cast<double>(leaf.largest_need());
      watched_.push_back({{tree.seed, leaf.framework, {}}, {i}, leaf.entitled, largest_need});
      for (RoleName role(leaf.role); !role.empty(); role = parent_of(role)) {
        const auto [at, is_new] = known.try_emplace(role, watched_.size());
        if (is_new) watched_.push_back({{tree.seed, text("role ", role.str()), {}}});
        Watched& of_role = watched_[at->second];
        of_role.leaves.push_back(i);
        add(of_role.entitled, leaf.entitled);
        of_role.largest_need = std::max(of_role.largest_need, largest_need);
      }
    }
  }

  void sample(const std::vector<Amounts>& use, Duration since_last) {
    for (Watched& one : watched_) {
      const size_t kind = largest(one.entitled);
      double has = 0;
      for (const size_t leaf : one.leaves) has += use[leaf][kind];
      const bool lacks = has + one.largest_need < one.entitled[kind];
      one.now = lacks ? one.now + since_last : Duration();
      one.lack.longest = std::max(one.lack.longest, one.now);
    }
  }

  std::vector<Lack> all() const {
    std::vector<Lack> lacks;
    for (const Watched& one : watched_) lacks.push_back(one.lack);
    return lacks;
  }

 private:
  struct Watched {
    Lack lack = {};
    std::vector<size_t> leaves = {};
    Amounts entitled = {};
    double largest_need = 0;
    Duration now = {};
  };
  std::vector<Watched> watched_;
};

std::string row(std::string_view name, const Summary::Percentiles& p) {
  return fmt::format("{:<16} {:>6} {:>6.2f} {:>6.2f} {:>6.2f} {:>6.2f} {:>6.2f} {:>6.2f}\n", name,
                     p.count, p.least, p.p1, p.p5, p.p10, p.p25, p.p50);
}

}  // namespace

Measured measure(const Tree& tree, const MeasureOptions& options) {
  replay::Replay run(tree.scenario, {.allocator = options.allocator,
                                     .audit = options.audit,
                                     .trace = false,
                                     .cpu_clock = options.cpu_clock,
                                     .decisions_max = kDecisionsMax});
  std::vector<Amounts> mean(tree.leaves.size());
  Lacks lacks(tree);
  double samples = 0;
  for (Duration at = kFirstSample; at <= kLastSample; at = at + kEachSample) {
    run.run_until(at);
    const std::vector<Amounts> use = use_of(run, tree);
    for (size_t i = 0; i < use.size(); ++i) add(mean[i], use[i]);
    lacks.sample(use, kEachSample);
    ++samples;
  }
  for (Amounts& each : mean) {
    for (double& amount : each) amount /= samples;
  }

  const std::vector<Amounts> empty = from_empty(tree, options);
  Measured measured{.lacks = lacks.all(),
                    .utilisation = utilisation_of(mean, tree.pool),
                    .empty_utilisation = utilisation_of(empty, tree.pool),
                    .revokes = run.revokes(),
                    .decisions = run.decisions(),
                    .decision_cpu = run.decision_cpu(),
                    .wrong = run.wrong()};
  for (size_t i = 0; i < tree.leaves.size(); ++i) {
    const Leaf& leaf = tree.leaves[i];
    const size_t kind = largest(leaf.entitled);
    const size_t empty_kind = largest(empty[i]);
    const double two = 2.0 * static_cast<double>(leaf.largest_need());
    measured.shares.push_back({.seed = tree.seed,
                               .framework = leaf.framework,
                               .kind = kind,
                               .entitled = leaf.entitled[kind],
                               .mean = mean[i][kind],
                               .counts = leaf.entitled[kind] >= two,
                               .empty_kind = empty_kind,
                               .from_empty = empty[i][empty_kind],
                               .empty_mean = mean[i][empty_kind],
                               .empty_counts = empty[i][empty_kind] >= two});
  }
  return measured;
}

Summary summarise(const std::vector<Measured>& all) {
  Summary summary;
  std::vector<double> ratios;
  std::vector<double> empty_ratios;
  double watched = 0;
  for (const Measured& each : all) {
    for (const Share& share : each.shares) {
      if (share.counts) ratios.push_back(share.ratio());
      if (share.empty_counts) empty_ratios.push_back(share.empty_ratio());
    }
    for (const Lack& lack : each.lacks) {
      if (lack.longest > summary.longest_lack.longest) summary.longest_lack = lack;
      summary.long_lacks += lack.longest > kLongLack ? 1 : 0;
      ++watched;
    }
    summary.utilisation += each.utilisation / static_cast<double>(all.size());
    summary.empty_utilisation += each.empty_utilisation / static_cast<double>(all.size());
    summary.revokes += each.revokes;
    summary.decisions += each.decisions;
    summary.decision_cpu = summary.decision_cpu + each.decision_cpu;
  }
  if (watched > 0) summary.long_lacks /= watched;
  summary.of_entitlement = percentiles(std::move(ratios));
  summary.of_empty = percentiles(std::move(empty_ratios));
  return summary;
}

std::string to_text(const Summary& summary) {
  std::string out = fmt::format("{:<16} {:>6} {:>6} {:>6} {:>6} {:>6} {:>6} {:>6}\n", "use over",
                                "count", "least", "1 %", "5 %", "10 %", "25 %", "50 %");
  out += row("entitlement", summary.of_entitlement);
  out += row("given from empty", summary.of_empty);
  out += fmt::format("utilisation {:.4f} (from empty {:.4f}), {} revokes, {} decisions",
                     summary.utilisation, summary.empty_utilisation, summary.revokes,
                     summary.decisions);
  out += fmt::format(
      "; {:.1f} % of frameworks and roles lacked a task for over {:.0f} s, longest {:.0f} s ({} of "
      "seed {})",
      summary.long_lacks * 100, kLongLack.seconds(), summary.longest_lack.longest.seconds(),
      summary.longest_lack.name, summary.longest_lack.seed);
  if (summary.decision_cpu > Duration()) {
    out += fmt::format(" of {:.2f} s of CPU time", summary.decision_cpu.seconds());
  }
  return out + "\n";
}

}  // namespace proffer::fair_churn
