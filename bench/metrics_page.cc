// The cost of a page of /metrics for a master with many agents and frameworks: CPU of the thread
// that runs the loop, for each page, and the time of the page.
//
//   build/bin/metrics_page --agents 10000 --frameworks 1000

#include <algorithm>
#include <fstream>

#include <gflags/gflags.h>
#include <signal.h>
#include <unistd.h>

#include "bench/cluster/processes.h"
#include "bench/cluster/shared.h"
#include "bench/results.h"
#include "common/check.h"
#include "common/text.h"
#include "net/descriptors.h"

DEFINE_int32(agents, 1'000, "number of simulated agents");
DEFINE_int32(frameworks, 100, "number of simulated frameworks");
DEFINE_int32(pages, 50, "pages per round");
DEFINE_int32(rounds, 5, "number of rounds with pages, each beside one without");
DEFINE_string(results, "bench/RESULTS.md", "file whose section is replaced; empty: none");

namespace {

using namespace proffer;
using namespace proffer::bench;

// CPU of the first thread, which runs the loop, in microseconds.
int64_t loop_cpu_micros(pid_t pid) {
  std::ifstream in(text("/proc/", pid, "/task/", pid, "/schedstat"));
  int64_t nanos = 0;
  CHECK(in >> nanos);
  return nanos / 1'000;
}

void wait_for(int64_t nanos) {
  const int64_t until = monotonic_nanos() + nanos;
  while (monotonic_nanos() < until) nap();
}

}  // namespace

int main(int argc, char** argv) {
  FLAGS_logtostderr = true;
  FLAGS_minloglevel = google::GLOG_WARNING;
  gflags::SetUsageMessage("what a page of /metrics costs a large master");
  gflags::ParseCommandLineFlags(&argc, &argv, true);
  google::InitGoogleLogging(argv[0]);
  CHECK(FLAGS_agents > 0 && FLAGS_agents <= static_cast<int>(kAgentsMax)) << "--agents";
  CHECK(FLAGS_frameworks > 0 && FLAGS_frameworks <= static_cast<int>(kSimFrameworksMax))
      << "--frameworks";
  CHECK(FLAGS_pages > 0 && FLAGS_rounds > 0);
  raise_descriptor_limit();

  Phase phase{.agents = FLAGS_agents,
              .agent_processes = std::min(4, FLAGS_agents),
              .frameworks = FLAGS_frameworks,
              .slots = 2,
              .tasks = FLAGS_frameworks,
              .task_nanos = 1'000'000 * kSecond};
  MasterProcess master({});
  phase.master_port = master.port();
  SharedMapping shared;
  std::vector<pid_t> agents;
  for (int i = 0; i < phase.agent_processes; ++i) {
    agents.push_back(fork_body([&] { run_agents(phase, i, *shared); }));
  }
  wait_until("the agents", 300, [&] { return shared->registrations == phase.agents; });
  const pid_t frameworks = fork_body([&] { run_frameworks(phase, 0, *shared); });
  wait_until("the frameworks", 120,
             [&] { return shared->frameworks_subscribed == phase.frameworks; });
  shared->go = true;
  wait_until("the tasks", 120, [&] { return shared->running >= phase.tasks; });
  wait_for(3 * kSecond);

  // A page every 200 ms, compared with the same time without pages.
  constexpr int64_t kEvery = 200'000'000;
  std::vector<int64_t> extra;
  std::vector<int64_t> took;
  std::string page;
  for (int round = 0; round < FLAGS_rounds; ++round) {
    int64_t cpu = loop_cpu_micros(master.pid());
    int64_t begin = monotonic_nanos();
    for (int i = 0; i < FLAGS_pages; ++i) {
      const int64_t asked = monotonic_nanos();
      page = master.metrics();
      took.push_back((monotonic_nanos() - asked) / 1'000);
      wait_for(kEvery - (monotonic_nanos() - asked));
    }
    const int64_t with = loop_cpu_micros(master.pid()) - cpu;
    const int64_t span = monotonic_nanos() - begin;
    cpu = loop_cpu_micros(master.pid());
    begin = monotonic_nanos();
    wait_for(span);
    const int64_t without = loop_cpu_micros(master.pid()) - cpu;
    extra.push_back((with - without) / FLAGS_pages);
  }
  shared->stop = true;
  wait_for_end(agents);
  shared->frameworks_stop = true;
  wait_for_end({frameworks});

  const auto lines = static_cast<size_t>(std::count(page.begin(), page.end(), '\n'));
  const std::string body = text(
      FLAGS_agents, " simulated agents and ", FLAGS_frameworks, " frameworks, ", FLAGS_rounds,
      " rounds of ", FLAGS_pages,
      " pages, one every 200 ms, each compared with the same time without pages. The page has ",
      page.size() / 1'024, " KiB in ", lines,
      " lines. Milliseconds; the time to answer includes a shell and its socket.\n\n"
      "| | p50 | least to most |\n|---|---|---|\n| CPU of the loop's thread for one page | ",
      millis(percentile(extra, 50)), " | ", millis(percentile(extra, 0)), " to ",
      millis(percentile(extra, 100)), " |\n| from the request to the end of the page | ",
      millis(percentile(took, 50)), " | ", millis(percentile(took, 0)), " to ",
      millis(percentile(took, 100)), " |\n");
  if (FLAGS_results.empty()) {
    std::fputs(body.c_str(), stdout);
  } else {
    write_section(
        FLAGS_results, "metrics_page",
        text("build/bin/metrics_page --agents ", FLAGS_agents, " --frameworks ", FLAGS_frameworks),
        body);
  }
  return 0;
}
