// The error of forecasts of another policy (`proffer replay --with`), compared with the policy's
// real effect: five workloads, each with several seeds, are simulated and recorded; the policy is
// tried on the recording alone, and the workload is simulated once more with the policy.
//
//   build/bin/policy_trial_bench [SEEDS] [RESULTS.md]

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "bench/results.h"
#include "common/check.h"
#include "common/text.h"
#include "tests/support/trial_cases.h"

namespace {

using namespace proffer;

// "1.2%" of thousandths.
std::string percent_text(int64_t thousandths) { return text(print_milli(thousandths * 100), "%"); }

}  // namespace

int main(int argc, char** argv) {
  const int seeds = argc > 1 ? std::atoi(argv[1]) : 5;
  const std::string results = argc > 2 ? argv[2] : "bench/RESULTS.md";
  CHECK_GT(seeds, 0);
  std::string body = text(
      "Mean wait of each role with the change: the error of the forecast from the recording, "
      "compared with a rerun of the workload in the simulator. Last column: the error of the "
      "simulation without the change, compared with the recording, over all tasks. ",
      seeds,
      " seeds of each, in virtual time, so further runs of a seed give the same.\n\n"
      "| workload and change | median | least | most | without the change, most |\n"
      "|---|---|---|---|---|\n");
  for (sim::TrialCase one : sim::trial_cases()) {
    std::vector<int64_t> off;
    std::vector<int64_t> unchanged;
    for (int seed = 1; seed <= seeds; ++seed) {
      one.seed = static_cast<uint64_t>(seed);
      const sim::TrialOutcome outcome = sim::try_case(one);
      for (const auto& [role, waits] : outcome.roles) off.push_back(sim::off_thousandths(waits));
      const proto::PolicyTrial::Role& all = outcome.trial.all;
      unchanged.push_back(
          sim::off_thousandths({.truth = all.recorded.wait_mean, .forecast = all.again.wait_mean}));
    }
    body += text(
        "| ", one.name, ": `", one.change, "` | ", percent_text(bench::percentile(off, 50)), " | ",
        percent_text(bench::percentile(off, 0)), " | ", percent_text(bench::percentile(off, 100)),
        " | ", percent_text(bench::percentile(unchanged, 100)), " |\n");
  }
  bench::write_section(results, "policy_trial", text("build/bin/policy_trial_bench ", seeds), body);
  return 0;
}
