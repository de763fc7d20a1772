// 100,000 short tasks through one agent, and the memory and files that it keeps for them. Then all
// of their sandboxes are removed, while the agent is asked for its status.
//
//   build/bin/many_tasks [TASKS [RESULTS.md]]

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <sys/stat.h>
#include <unistd.h>

#include "bench/agent_load.h"
#include "bench/results.h"
#include "common/check.h"
#include "common/text.h"

namespace {

using namespace proffer;
namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

int64_t micros_since(Clock::time_point begin) {
  return std::chrono::duration_cast<std::chrono::microseconds>(Clock::now() - begin).count();
}

// "VmRSS:   12345 kB" of /proc/PID/status, in KiB.
int64_t memory_of(pid_t pid) {
  std::ifstream in(text("/proc/", pid, "/status"));
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with("VmRSS:")) return std::atoll(line.c_str() + 6);
  }
  return 0;
}

int64_t entries_of(const fs::path& directory) {
  std::error_code none;
  return std::distance(fs::directory_iterator(directory, none), fs::directory_iterator());
}

struct Disk {
  int64_t files = 0;  // including directories and links
  int64_t bytes = 0;  // of their blocks
};
Disk disk_of(const fs::path& root) {
  Disk disk;
  std::error_code none;
  for (auto at = fs::recursive_directory_iterator(root, none);
       at != fs::recursive_directory_iterator(); at.increment(none)) {
    struct stat found = {};
    if (none || lstat(at->path().c_str(), &found) != 0) continue;
    ++disk.files;
    disk.bytes += found.st_blocks * 512;
  }
  return disk;
}

std::string row(const bench::LoadedAgent& loaded, int64_t tasks, int64_t per_second) {
  const fs::path dir = loaded.dir();
  std::error_code none;
  const Disk disk = disk_of(dir / "sandboxes");
  const pid_t agent = loaded.agent();
  return text("| ", tasks, " | ", per_second, " | ", memory_of(agent), " | ",
              entries_of(text("/proc/", agent, "/fd")), " | ", memory_of(loaded.master()), " | ",
              fs::file_size(dir / "checkpoint.log", none) / 1024, " | ", disk.files, " | ",
              disk.bytes >> 20, " |\n");
}

}  // namespace

int main(int argc, char** argv) {
  FLAGS_logtostderr = true;
  FLAGS_minloglevel = google::GLOG_WARNING;
  google::InitGoogleLogging(argv[0]);
  const int tasks = argc > 1 ? std::atoi(argv[1]) : 100'000;
  const std::string path = argc > 2 ? argv[2] : "bench/RESULTS.md";
  constexpr int kSteps = 10;
  CHECK_GE(tasks, kSteps);
  setenv("PROFFER_BIN_DIR", test::program("").c_str(), 0);

  bench::LoadedAgent loaded({"--sandbox_age=1d"});
  std::string rows = row(loaded, 0, 0);
  for (int step = 1; step <= kSteps; ++step) {
    const bench::LoadCost cost = loaded.run_true(tasks / kSteps, 8);
    rows += row(loaded, int64_t{tasks} / kSteps * step,
                int64_t{tasks} / kSteps * 1'000'000 / cost.micros);
  }

  // its next life finds that all of them are old
  sleep(2);
  const Clock::time_point begin = Clock::now();
  loaded.restart({"--sandbox_age=1s"});
  std::vector<int64_t> answers;
  const fs::path dir = loaded.dir();
  const auto is_done = [&] {
    std::error_code none;
    for (const auto& framework : fs::directory_iterator(dir / "sandboxes", none)) {
      if (fs::is_directory(framework.symlink_status()) && entries_of(framework.path()) > 0) {
        return false;
      }
    }
    return entries_of(dir / "trash") == 0;
  };
  while (!is_done() && micros_since(begin) < 1'200'000'000) {
    const Clock::time_point asked = Clock::now();
    CHECK(!test::get_http(loaded.http(), "/healthz").empty());
    answers.push_back(micros_since(asked));
  }
  const int64_t removal = micros_since(begin);

  const std::string body =
      text(tasks, " × `true`, 8 at a time, on one agent. KiB; the last column is in MiB.\n\n",
           "| tasks | tasks/s | agent's memory | its descriptors | master's memory | checkpoint | "
           "files in sandboxes | their MiB |\n|---|---|---|---|---|---|---|---|\n",
           rows, "\nAll sandboxes were removed ", removal / 1'000'000,
           " s after the agent got a sandbox age of one second; meanwhile /healthz answered in ",
           bench::millis(bench::percentile(answers, 50)), " ms (p50), ",
           bench::millis(bench::percentile(answers, 99)), " ms (p99), ",
           bench::millis(bench::percentile(answers, 100)), " ms (maximum) of ", answers.size(),
           " requests.\n");
  bench::write_section(path, "many_tasks", text("build/bin/many_tasks ", tasks), body);
  return 0;
}
