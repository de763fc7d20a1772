// The same short tasks through one agent and through the tools that people use without a cluster,
// in the same run, two at a time. Run it by bench/peers.
//
//   build/bin/peer_tasks [TASKS] [RESULTS.md]

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include <sys/resource.h>
#include <unistd.h>

#include "bench/results.h"
#include "common/check.h"
#include "common/text.h"
#include "sdk/scheduler.h"
#include "tests/integration/processes.h"

namespace {

using namespace proffer;
using Clock = std::chrono::steady_clock;

struct Cost {
  std::string what = {};
  int64_t micros = 0;
  int64_t cpu_micros = 0;  // user and system, of all that took part
  std::string parts = {};  // of it, for people
};

int64_t micros_of(const timeval& time) { return int64_t{time.tv_sec} * 1'000'000 + time.tv_usec; }
int64_t used_by(int who) {
  rusage used{};
  CHECK_EQ(getrusage(who, &used), 0);
  return micros_of(used.ru_utime) + micros_of(used.ru_stime);
}

// Microseconds of a process, and of all children that it has waited for.
struct Used {
  int64_t own = 0;
  int64_t children = 0;
};
Used used_by_process(pid_t pid) {
  std::ifstream in(text("/proc/", pid, "/stat"));
  std::string line;
  std::getline(in, line);
  std::istringstream fields(line.substr(line.rfind(')') + 2));
  std::string skipped;
  for (int field = 3; field < 14; ++field) fields >> skipped;
  int64_t user = 0;
  int64_t system = 0;
  int64_t children_user = 0;
  int64_t children_system = 0;
  fields >> user >> system >> children_user >> children_system;
  const int64_t tick = 1'000'000 / sysconf(_SC_CLK_TCK);
  return {(user + system) * tick, (children_user + children_system) * tick};
}

// Of the children that a process has now: an agent's stem, from which executors are forked.
int64_t used_by_live_children(pid_t pid) {
  std::ifstream in(text("/proc/", pid, "/task/", pid, "/children"));
  int64_t used = 0;
  for (pid_t child = 0; in >> child;) used += used_by_process(child).own;
  return used;
}

int64_t micros_since(Clock::time_point begin) {
  return std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - begin).count();
}

// A shell pipeline that runs the tasks by itself.
Cost run_tool(const std::string& what, const std::string& pipeline) {
  const int64_t before = used_by(RUSAGE_CHILDREN);
  const Clock::time_point begin = Clock::now();
  const test::Exit exit = test::run({"sh", "-c", pipeline}, {}, "", test::Seconds(600));
  CHECK_EQ(exit.code, 0) << exit.err;
  return {what, micros_since(begin), used_by(RUSAGE_CHILDREN) - before, {}};
}

// One scheduler, one agent. The CPU of the processes that go on (master, agent) is read before and
// after; executors and their tasks are waited for by the agent, so they are its children's, and
// the one process that they are forked from lives on beside it.
Cost run_cluster(const std::string& what, const std::string& shape, int tasks) {
  const test::Cluster cluster({.agents = 1, .resources = "cpus:2;mem:4096"});
  const pid_t master = cluster.pid_of("master");
  const pid_t agent = cluster.pid_of("agent-1");
  const Used master_before = used_by_process(master);
  const Used agent_before = used_by_process(agent);
  const int64_t stem_before = used_by_live_children(agent);
  const int64_t scheduler_before = used_by(RUSAGE_SELF);
  const Clock::time_point begin = Clock::now();
  int ended = 0;
  sdk::Scheduler scheduler({.name = "peers", .master = cluster.master()});
  scheduler.ask("true", shape, tasks);
  scheduler.on_offer([&](const Offer& offer) { scheduler.launch(offer, "true"); });
  scheduler.on_update([&](const proto::TaskStatus& status) {
    if (!proto::is_terminal(status.state)) return;
    CHECK(status.state == proto::TaskState::kFinished) << status.message;
    if (++ended == tasks) scheduler.stop();
  });
  CHECK_EQ(scheduler.run(), 0);
  const int64_t micros = micros_since(begin);
  const int64_t of_master = used_by_process(master).own - master_before.own;
  const Used agent_after = used_by_process(agent);
  const int64_t of_agent = agent_after.own - agent_before.own;
  const int64_t of_children =
      agent_after.children - agent_before.children + used_by_live_children(agent) - stem_before;
  const int64_t of_scheduler = used_by(RUSAGE_SELF) - scheduler_before;
  return {
      what, micros, of_master + of_agent + of_children + of_scheduler,
      text("master ", bench::millis(of_master / tasks), ", agent ", bench::millis(of_agent / tasks),
           ", executors and tasks ", bench::millis(of_children / tasks), ", scheduler ",
           bench::millis(of_scheduler / tasks))};
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
  costs.push_back(run_cluster("Proffer, one agent: 2 at a time, an executor for each task",
                              "cpus:1;mem:128", tasks));
  costs.push_back(run_cluster("Proffer, one agent: 8 at a time, an executor for each task",
                              "cpus:0.25;mem:128", tasks));
  // Once more, so that a machine that became quieter meanwhile favours nobody.
  costs.push_back(run_tool("`xargs -P2 -n1 sh -c true`, again",
                           "seq " + count + " | xargs -P2 -n1 sh -c true"));

  std::string body =
      text(tasks,
           " × `true` as a shell command, two at a time where nothing else is said. CPU: "
           "user and system of all processes that took part, in milliseconds per task.\n\n"
           "| | tasks/s | CPU | tasks/s by those of the first row | of the CPU |\n"
           "|---|---|---|---|---|\n");
  for (const Cost& cost : costs) body += row(cost, base, tasks);
  bench::write_section(path, "peers", text("bench/peers ", tasks), body);
  return 0;
}
