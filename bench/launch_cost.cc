// The cost of identity and limits for a launch: short commands of another user in groups with
// limits, and the same commands of the agent's own user without limits, in turn.
//
//   build/bin/launch_cost [TASKS [PAIRS [RESULTS.md]]]   as root

#include <algorithm>
#include <cstdlib>

#include "bench/agent_load.h"
#include "bench/results.h"
#include "common/check.h"
#include "common/text.h"

namespace {

using namespace proffer;

constexpr int kAtOnce = 8;

// "1.04"
std::string ratio(int64_t value, int64_t base) {
  return bench::hundredths(value * 100 / std::max<int64_t>(base, 1));
}

}  // namespace

int main(int argc, char** argv) {
  FLAGS_logtostderr = true;
  FLAGS_minloglevel = google::GLOG_WARNING;
  google::InitGoogleLogging(argv[0]);
  const int tasks = argc > 1 ? std::atoi(argv[1]) : 2'000;
  const int pairs = argc > 2 ? std::atoi(argv[2]) : 5;
  const std::string path = argc > 3 ? argv[3] : "bench/RESULTS.md";
  CHECK(tasks > 0 && pairs > 0);
  setenv("PROFFER_BIN_DIR", test::program("").c_str(), 0);

  const auto measure = [&](bool is_on) {
    const bench::LoadedAgent loaded({is_on ? "--limits=required" : "--limits=none"});
    loaded.run_true(100, kAtOnce, is_on);  // the first ones find no warm executor
    return loaded.run_true(tasks, kAtOnce, is_on);
  };
  std::string rows;
  std::vector<int64_t> cpu_ratios;
  std::vector<int64_t> time_ratios;
  for (int pair = 0; pair < pairs; ++pair) {
    // The order alternates, so that a machine that becomes busier affects both equally.
    const bool on_first = pair % 2 == 1;
    bench::LoadCost on;
    if (on_first) on = measure(true);
    const bench::LoadCost off = measure(false);
    if (!on_first) on = measure(true);
    const auto cells = [&](const bench::LoadCost& cost) {
      return text(cost.micros / tasks, " | ", cost.cpu() / tasks, " (", cost.master / tasks, ", ",
                  cost.agent / tasks, ", ", cost.executors / tasks, ", ", cost.scheduler / tasks,
                  ")");
    };
    rows += text("| ", pair + 1, " | ", cells(off), " | ", cells(on), " | ",
                 ratio(on.micros, off.micros), " | ", ratio(on.cpu(), off.cpu()), " |\n");
    time_ratios.push_back(on.micros * 10'000 / off.micros);
    cpu_ratios.push_back(on.cpu() * 10'000 / off.cpu());
  }
  const std::string body = text(
      tasks, " × `true`, ", kAtOnce,
      " at a time, on one agent. Off: tasks run as the agent's user, `--limits=none`. On: tasks "
      "run "
      "as another user, `--limits=required`. Microseconds per task: elapsed, and total CPU (in "
      "brackets: the master, the agent, executors with their commands, and the scheduler).\n\n"
      "| pair | off, elapsed | CPU | on, elapsed | CPU | elapsed, on by off | CPU, on by off |\n"
      "|---|---|---|---|---|---|---|\n",
      rows, "\nMedians of the ratios: elapsed ", ratio(bench::percentile(time_ratios, 50), 10'000),
      ", CPU ", ratio(bench::percentile(cpu_ratios, 50), 10'000), ".\n");
  bench::write_section(path, "launch_cost", text("build/bin/launch_cost ", tasks, " ", pairs),
                       body);
  return 0;
}
