#include "bench/agent_load.h"

#include <chrono>
#include <filesystem>
#include <fstream>

#include <grp.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common/check.h"
#include "common/text.h"
#include "sdk/scheduler.h"

namespace proffer::bench {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

constexpr uint32_t kNobody = 65534;
constexpr int kMilliCpus = 2'000;

// CPU time of the present children of a process, and of their children. An agent has its fork
// server, from which executors are forked, and executors that wait for another task.
int64_t cpu_time_of_live_children(pid_t pid) {
  std::ifstream in(text("/proc/", pid, "/task/", pid, "/children"));
  int64_t used = 0;
  for (pid_t child = 0; in >> child;) {
    const CpuTime one = cpu_time_of(child);
    used += one.own + one.children;
  }
  return used;
}

int schedule_true(const std::string& master, int tasks, int at_once) {
  int ended = 0;
  sdk::Scheduler scheduler({.name = "load", .master = master});
  const std::string cpus = text("0.", std::to_string(1'000 + kMilliCpus / at_once).substr(1));
  scheduler.ask("true", text("cpus:", at_once > 2 ? cpus : "1", ";mem:128"), tasks);
  scheduler.on_offer([&](const Offer& offer) { scheduler.launch(offer, "true"); });
  scheduler.on_update([&](const proto::TaskStatus& status) {
    if (!proto::is_terminal(status.state)) return;
    CHECK(status.state == proto::TaskState::kFinished) << status.message;
    if (++ended == tasks) scheduler.stop();
  });
  return scheduler.run();
}

void become_nobody() {
  CHECK(setgroups(0, nullptr) == 0 && setresgid(kNobody, kNobody, kNobody) == 0 &&
        setresuid(kNobody, kNobody, kNobody) == 0)
      << "only root can become another user";
}

}  // namespace

// The cluster's own agent is too small for any task. Another user must be able to enter its
// directory.
LoadedAgent::LoadedAgent(const test::Words& flags)
    : cluster_({.agents = 1, .resources = "cpus:0.1;mem:16"}) {
  const fs::path dir = cluster_.dir();
  for (const fs::path& passed : {dir.parent_path(), dir}) {
    fs::permissions(passed, fs::perms::group_exec | fs::perms::others_exec, fs::perm_options::add);
  }
  start(flags);
}

LoadedAgent::~LoadedAgent() {
  agent_->kill(SIGTERM);
  agent_->wait();
}

void LoadedAgent::start(const test::Words& flags) {
  agent_ = cluster_.start_agent("loaded", "cpus:2;mem:4096", flags);
  CHECK(test::eventually([&] {
    return cluster_.proffer({"agents"}).out.find("loaded") != std::string::npos;
  })) << agent_->err();
}

void LoadedAgent::restart(const test::Words& flags) {
  agent_->kill(SIGTERM);
  agent_->wait();
  start(flags);
}

LoadCost LoadedAgent::run_true(int tasks, int at_once, bool as_nobody) const {
  const CpuTime master_before = cpu_time_of(master());
  const CpuTime agent_before = cpu_time_of(agent());
  const int64_t live_before = cpu_time_of_live_children(agent());
  const Clock::time_point begin = Clock::now();
  const pid_t scheduler = fork();
  CHECK_GE(scheduler, 0);
  if (scheduler == 0) {
    if (as_nobody) become_nobody();
    _exit(schedule_true(cluster_.master(), tasks, at_once));
  }
  int status = 0;
  rusage used{};
  CHECK_EQ(wait4(scheduler, &status, 0, &used), scheduler);
  CHECK_EQ(status, 0) << "the scheduler failed";
  const auto micros =
      std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - begin).count();
  const CpuTime agent_after = cpu_time_of(agent());
  return {.micros = micros,
          .master = cpu_time_of(master()).own - master_before.own,
          .agent = agent_after.own - agent_before.own,
          .executors = agent_after.children - agent_before.children +
                       cpu_time_of_live_children(agent()) - live_before,
          .scheduler = micros_of(used)};
}

}  // namespace proffer::bench
