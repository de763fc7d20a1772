// How good are the times that are told for starts? Figures of tests/support/eta.
//   ninja -C build eta_bench && build/bin/eta_bench [SEEDS [HOURS [WORK]]]

#include <cstdlib>

#include <fmt/format.h>

#include "tests/support/eta/eta_trial.h"

namespace {

using namespace proffer;

double percent(int64_t part, int64_t whole) {
  return whole == 0 ? 0 : 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

}  // namespace

int main(int argc, char** argv) {
  const int seeds = argc > 1 ? std::atoi(argv[1]) : 5;
  const int lasts = argc > 2 ? std::atoi(argv[2]) : 12;
  fmt::print("{:8} {:>5} {:>9} {:>7} {:>10} {:>10} {:>12} {:>12} {:>12} {:>8}\n", "work", "seed",
             "forecasts", "starts", "below p50", "below p90", "later: p90", "raw: p50", "raw: p90",
             "no p90");
  for (const eta_trial::Workload workload : eta_trial::kWorkloads) {
    if (argc > 3 && eta_trial::to_text(workload) != argv[3]) continue;
    for (int seed = 1; seed <= seeds; ++seed) {
      const eta_trial::Trial trial = eta_trial::run_trial(
          workload, {.seed = static_cast<uint64_t>(seed), .lasts = hours(lasts)});
      fmt::print(
          "{:8} {:>5} {:>9} {:>7} {:>9.1f}% {:>9.1f}% {:>11.1f}% {:>11.1f}% {:>11.1f}% {:>7.1f}%\n",
          eta_trial::to_text(workload), seed, trial.forecasts, trial.told.starts,
          percent(trial.told.below_p50, trial.told.starts),
          percent(trial.told.below_p90, trial.told.starts),
          percent(trial.later.below_p90, trial.later.starts),
          percent(trial.raw.below_p50, trial.raw.starts),
          percent(trial.raw.below_p90, trial.raw.starts), percent(trial.without, trial.asks));
      std::fflush(stdout);
    }
  }
}
