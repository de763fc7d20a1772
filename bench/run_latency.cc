// How long `proffer run -- true` takes on an idle local cluster: from the request leaving the
// client to the update "running" there, compared with fork and exec of the same command in the same
// run.
//
//   build/bin/run_latency [ROUNDS] [RESULTS.md]

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>

#include <spawn.h>
#include <sys/wait.h>

#include "bench/results.h"
#include "bench/run_once.h"
#include "common/check.h"
#include "common/text.h"
#include "tests/integration/processes.h"

extern char** environ;

namespace {

using namespace proffer;
using bench::Latency;
using bench::micros_since;
using Clock = std::chrono::steady_clock;

int64_t fork_and_exec() {
  const Clock::time_point begin = Clock::now();
  char shell[] = "/bin/sh";
  char flag[] = "-c";
  char command[] = "true";
  char* argv[] = {shell, flag, command, nullptr};
  pid_t pid = 0;
  CHECK_EQ(posix_spawn(&pid, shell, nullptr, nullptr, argv, environ), 0);
  CHECK_EQ(waitpid(pid, nullptr, 0), pid);
  return micros_since(begin);
}

}  // namespace

int main(int argc, char** argv) {
  FLAGS_logtostderr = true;
  FLAGS_minloglevel = google::GLOG_WARNING;
  google::InitGoogleLogging(argv[0]);
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 200;
  const std::string path = argc > 2 ? argv[2] : "bench/RESULTS.md";
  CHECK_GT(rounds, 0);
  setenv("PROFFER_BIN_DIR", test::program("").c_str(), 0);

  const test::Cluster cluster({.agents = 1});
  std::vector<int64_t> running;
  std::vector<int64_t> finished;
  std::vector<int64_t> whole;
  std::vector<int64_t> bare;
  for (int i = 0; i < rounds + 5; ++i) {  // alternating, for equal conditions
    const Latency latency = bench::run_once(cluster.master());
    const Clock::time_point begin = Clock::now();
    CHECK_EQ(cluster.proffer({"run", "--", "true"}).code, 0);
    const int64_t command = micros_since(begin);
    const int64_t spawned = fork_and_exec();
    if (i < 5) continue;  // warm up
    running.push_back(latency.running);
    finished.push_back(latency.finished);
    whole.push_back(command);
    bare.push_back(spawned);
  }
  bench::write_section(
      path, "run_latency", text("build/bin/run_latency ", rounds),
      text("`proffer run -- true` on an idle local cluster of one agent, ", rounds,
           " alternating rounds; milliseconds.\n\n| | p50 | p99 |\n|---|---|---|\n",
           bench::latency_row("request leaves the client → `running` heard there", running),
           bench::latency_row("request leaves the client → `finished` heard there", finished),
           bench::latency_row("whole command `proffer run -- true`, output streamed", whole),
           bench::latency_row("fork and exec of `sh -c true` to its end, no cluster", bare)));
  return 0;
}
