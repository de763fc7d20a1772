// How accurate are estimated start times? Figures of tests/support/eta.
//   ninja -C build eta_bench && build/bin/eta_bench [SEEDS [RESULTS.md [HOURS [FIRST_SEED]]]]

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "bench/results.h"
#include "common/check.h"
#include "common/text.h"
#include "tests/support/eta/eta_trial.h"

namespace {

using namespace proffer;

// "91.2 %".
std::string percent_text(int64_t part, int64_t whole) {
  if (whole == 0) return "-";
  const int64_t tenths = (part * 2'000 + whole) / (whole * 2);
  return text(tenths / 10, ".", tenths % 10, " %");
}

proto::EtaFigures operator+(const proto::EtaFigures& a, const proto::EtaFigures& b) {
  return {.starts = a.starts + b.starts,
          .below_p50 = a.below_p50 + b.below_p50,
          .below_p90 = a.below_p90 + b.below_p90};
}

constexpr std::pair<eta_trial::Workload, std::string_view> kWork[] = {
    {eta_trial::Workload::kWaves, "waves with heavy tails"},
    {eta_trial::Workload::kWeights, "unequal roles under churn"},
    {eta_trial::Workload::kGangs, "gangs beside short tasks"}};

constexpr int kWorkers = 4;

// One for each seed.
struct Lives {
  std::string_view work = {};
  eta_trial::Workload workload = {};
  int64_t size = 0;
  std::vector<eta_trial::Trial> trials = {};
};

// The row of all seeds.
std::string row(const Lives& lives, size_t master) {
  const auto& [work, workload, size, trials] = lives;
  proto::EtaFigures all;
  proto::EtaFigures first;
  proto::EtaFigures raw;
  std::vector<std::pair<int64_t, std::string>> shares;
  std::vector<int64_t> spreads;
  std::vector<int64_t> of_waits;
  for (const eta_trial::Trial& trial : trials) {
    const eta_trial::Told& told = trial.told[master];
    all = all + told.starts;
    first = first + told.first;
    raw = raw + trial.raw;
    shares.emplace_back(
        told.starts.below_p90 * 1'000'000 / std::max<int64_t>(told.starts.starts, 1),
        percent_text(told.starts.below_p90, told.starts.starts));
    spreads.push_back(told.spread.millis());
    of_waits.push_back(told.p90_of_wait);
  }
  const auto [least, most] = std::minmax_element(shares.begin(), shares.end());
  return text("| ", work, ", ", size, " % | ", trials[0].told[master].asked_every.millis() / 1'000,
              " s | ", all.starts, " | ", percent_text(all.below_p50, all.starts), " | ",
              percent_text(all.below_p90, all.starts), " | ", least->second, " to ", most->second,
              " | ", percent_text(first.below_p90, first.starts), " | ",
              bench::percentile(spreads, 50) / 1'000, " s | ",
              print_milli(bench::percentile(of_waits, 50) / 10 * 10), " | ",
              percent_text(raw.below_p90, raw.starts), " |\n");
}

// Sums over all sizes, seeds and masters.
proto::EtaFigures of_kind(const std::vector<Lives>& all, eta_trial::Workload workload) {
  proto::EtaFigures sum;
  for (const Lives& lives : all) {
    if (lives.workload != workload) continue;
    for (const eta_trial::Trial& trial : lives.trials) {
      for (const eta_trial::Told& told : trial.told) sum = sum + told.starts;
    }
  }
  return sum;
}

}  // namespace

int main(int argc, char** argv) {
  const int seeds = argc > 1 ? std::atoi(argv[1]) : 3;
  const std::string results = argc > 2 ? argv[2] : "bench/RESULTS.md";
  const int lasts = argc > 3 ? std::atoi(argv[3]) : 4;
  const int seed = argc > 4 ? std::atoi(argv[4]) : 1;
  CHECK_GT(seeds, 0);
  std::string body = text(
      "Starts that were forecast at random instants in ", lasts, " simulated hours, ", seeds,
      " seeds of each, 20 runs a forecast: how many were not later than forecast. *from seed to "
      "seed*: minimum and maximum of one life; *first third*: of each life, in which the master "
      "learns; *spread*: how far p90 is behind p50, and *p90 of wait*: p90 divided by the real "
      "wait, both medians of the lives' medians; *raw*: the result of the runs before the "
      "correction, for next tasks. tests/support/eta has the three kinds of work; *size* is the "
      "percentage of its agents and jobs. Virtual time, so further runs of a seed give the "
      "same.\n\n"
      "| work, size | forecast each | starts | below p50 | below p90 | from seed to seed | first "
      "third: p90 | spread | p90 of wait | raw: p90 |\n"
      "|---|---|---|---|---|---|---|---|---|---|\n");
  std::vector<Lives> all;
  for (const auto& [workload, name] : kWork) {
    for (const int64_t size : {int64_t{40}, int64_t{100}}) {
      all.push_back(
          {name, workload, size, std::vector<eta_trial::Trial>(static_cast<size_t>(seeds))});
    }
  }
  // each life is computed independently
  std::atomic<size_t> next = 0;
  const auto run_some = [&] {
    while (true) {
      const size_t i = next++;
      if (i >= all.size() * static_cast<size_t>(seeds)) return;
      Lives& lives = all[i / static_cast<size_t>(seeds)];
      const size_t number = i % static_cast<size_t>(seeds);
      lives.trials[number] =
          eta_trial::run_trial(lives.workload, {.seed = static_cast<uint64_t>(seed) + number,
                                                .lasts = hours(lasts),
                                                .size = lives.size});
    }
  };
  std::vector<std::thread> workers;
  for (int i = 0; i < kWorkers; ++i) workers.emplace_back(run_some);
  for (std::thread& worker : workers) worker.join();
  for (const Lives& lives : all) {
    for (size_t master = 0; master < lives.trials[0].told.size(); ++master) {
      body += row(lives, master);
    }
  }
  body += "\nOf all starts of a kind of work, below p90:";
  for (const auto& [workload, name] : kWork) {
    const proto::EtaFigures figures = of_kind(all, workload);
    body += text(workload == kWork[0].first ? " " : ", ", name, " ",
                 percent_text(figures.below_p90, figures.starts));
  }
  body += ".\n";
  bench::write_section(results, "eta", text("build/bin/eta_bench ", seeds), body);
  return 0;
}
