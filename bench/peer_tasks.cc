// Runs the same short tasks through one agent and through tools without a cluster, in the same run,
// two at a time. bench/peers runs it.
//
//   build/bin/peer_tasks [TASKS] [RESULTS.md]

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "bench/agent_load.h"
#include "bench/results.h"
#include "common/check.h"
#include "common/text.h"
#include "tests/integration/processes.h"

namespace {

using namespace proffer;
using Clock = std::chrono::steady_clock;

struct Cost {
  std::string what = {};
  int64_t micros = 0;
  int64_t cpu_micros = 0;  // user and system, of all processes involved
  std::string parts = {};  // its parts, for people
};

int64_t micros_since(Clock::time_point begin) {
  return std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - begin).count();
}

// A shell pipeline that runs the tasks by itself.
Cost run_tool(const std::string& what, const std::string& pipeline) {
  const int64_t before = bench::cpu_time_of_children();
  const Clock::time_point begin = Clock::now();
  const test::Exit exit = test::run({"sh", "-c", pipeline}, {}, "", test::Seconds(600));
  CHECK_EQ(exit.code, 0) << exit.err;
  return {what, micros_since(begin), bench::cpu_time_of_children() - before, {}};
}

// One scheduler, one agent. The CPU of the permanent processes (master, agent) is read before and
// after. The agent reaps executors and their tasks, so they count as its children; the one process
// from which they are forked stays alive beside it.
Cost run_cluster(const std::string& what, int at_once, int tasks) {
  const bench::LoadCost cost = bench::LoadedAgent().run_true(tasks, at_once);
  return {what, cost.micros, cost.cpu(),
          text("master ", bench::millis(cost.master / tasks), ", agent ",
               bench::millis(cost.agent / tasks), ", executors and tasks ",
               bench::millis(cost.executors / tasks), ", scheduler ",
               bench::millis(cost.scheduler / tasks))};
}

std::string row(const Cost& cost, const Cost& base, int tasks) {
  const int64_t per_second = int64_t{tasks} * 1'000'000 / std::max<int64_t>(cost.micros, 1);
  const int64_t percent = base.micros * 100 / std::max<int64_t>(cost.micros, 1);
  return text("| ", cost.what, " | ", per_second, " | ", bench::millis(cost.cpu_micros / tasks),
              " | ", percent / 100, ".", percent % 100 / 10, percent % 10, " | ", cost.parts,
              " |\n");
}

}  // namespace

int main(int argc, char** argv) {
  FLAGS_logtostderr = true;
  FLAGS_minloglevel = google::GLOG_WARNING;
  google::InitGoogleLogging(argv[0]);
  const int tasks = argc > 1 ? std::atoi(argv[1]) : 2'000;
  const std::string path = argc > 2 ? argv[2] : "bench/RESULTS.md";
  CHECK_GT(tasks, 0);
  setenv("PROFFER_BIN_DIR", test::program("").c_str(), 0);

  const std::string count = std::to_string(tasks);
  std::vector<Cost> costs;
  costs.push_back(
      run_tool("`xargs -P2 -n1 sh -c true`", "seq " + count + " | xargs -P2 -n1 sh -c true"));
  const Cost base = costs.back();
  costs.push_back(run_tool("`xargs -P2 -n1 true`", "seq " + count + " | xargs -P2 -n1 true"));
  if (test::run({"sh", "-c", "command -v parallel"}).code == 0) {
    costs.push_back(
        run_tool("GNU `parallel -j2 true`", "seq " + count + " | parallel -j2 -n1 'true #'"));
  }
  costs.push_back(run_cluster("Proffer, one agent: 2 at a time", 2, tasks));
  costs.push_back(run_cluster("Proffer, one agent: 8 at a time", 8, tasks));
  // Once more, so that a machine that became quieter meanwhile favours neither.
  costs.push_back(run_tool("`xargs -P2 -n1 sh -c true`, again",
                           "seq " + count + " | xargs -P2 -n1 sh -c true"));

  std::string body =
      text(tasks,
           " × `true` as a shell command, two at a time unless stated otherwise. CPU: user "
           "and system time of all processes involved, in milliseconds per task.\n\n"
           "| | tasks/s | CPU | tasks/s by those of the first row | of the CPU |\n"
           "|---|---|---|---|---|\n");
  for (const Cost& cost : costs) body += row(cost, base, tasks);
  bench::write_section(path, "peers", text("bench/peers ", tasks), body);
  return 0;
}
