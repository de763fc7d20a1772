// The effect of floods on launches: the latency of a task of a well-behaved framework while another
// user floods the master, and while the same flood goes to a process that only reads, in turn.
//
//   build/bin/flood_bench [PAIRS [LAUNCHES [RESULTS.md [KIND…]]]]   as root, to be another user
//
// An empty RESULTS.md writes no section; without kinds, all floods are measured.

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <signal.h>

#include "bench/cluster/processes.h"
#include "bench/results.h"
#include "bench/run_once.h"
#include "common/check.h"
#include "common/text.h"
#include "tests/integration/processes.h"

namespace {

using namespace proffer;
namespace fs = std::filesystem;

constexpr int kUsers = 10;  // 1 to 10, which Debian has
constexpr int kFloodSecondsMax = 600;
constexpr int kFloodedSeconds = 1;  // before the first launch that counts

struct Flood {
  const char* kind = "";
  int connections = 0;
};
constexpr Flood kFloods[] = {{"connections", 20}, {"messages", 20},  {"giants", 20},
                             {"asks", 20},        {"calls", 200},    {"unread", 20},
                             {"reconnects", 20},  {"unfinished", 20}};

// Until the update `running` arrives.
std::vector<int64_t> launches(const test::Cluster& cluster, int count) {
  std::vector<int64_t> running;
  for (int i = 0; i < count; ++i) running.push_back(bench::run_once(cluster.master()).running);
  return running;
}

void end(test::Process& process) {
  process.kill(SIGKILL);
  process.wait();
}

// Launches during the flood, which goes to the master, or to a separate sink.
std::vector<int64_t> beside(const test::Cluster& cluster, const Flood& flood, uid_t uid,
                            bool at_master, int count) {
  const std::string sink = cluster.dir() + "/sink.sock";
  const std::string tool = test::program_of_tests("flood");
  const std::string bound = text("--seconds=", kFloodSecondsMax);
  std::unique_ptr<test::Process> reader;
  if (!at_master) {
    fs::remove(sink);
    reader = std::make_unique<test::Process>(test::Words{tool, "--sink=" + sink, bound});
    CHECK(reader->line_with("reading")) << tool << ": " << reader->err();
  }
  test::Process flooder(
      {tool, text("--uid=", uid), text("--at=", at_master ? cluster.master() : sink),
       text("--kind=", flood.kind), text("--connections=", flood.connections), bound});
  CHECK(flooder.line_with("flooding")) << flooder.err();
  // The beginning differs: a user's initial allowance is used up by then.
  const auto from = std::chrono::steady_clock::now() + std::chrono::seconds(kFloodedSeconds);
  while (std::chrono::steady_clock::now() < from) launches(cluster, 1);
  std::vector<int64_t> running = launches(cluster, count);
  end(flooder);
  if (reader != nullptr) end(*reader);
  return running;
}

int64_t metric(const test::Cluster& cluster, const std::string& name) {
  std::istringstream lines(test::get_http(cluster.http(), "/metrics"));
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(name + " ")) return std::stoll(line.substr(name.size() + 1));
  }
  return 0;
}

std::string row_of(const Flood& flood, int pairs, int count) {
  // A separate cluster for each, so that its memory is that of this flood.
  const test::Cluster cluster({.agents = 1});
  const fs::path dir = cluster.dir();
  for (const fs::path& passed : {dir.parent_path(), dir}) {
    fs::permissions(passed, fs::perms::group_exec | fs::perms::others_exec, fs::perm_options::add);
  }
  launches(cluster, 20);  // warm up
  const pid_t master = cluster.pid_of("master");
  const int64_t idle_kib = bench::memory_kib(master, "VmRSS");
  std::vector<int64_t> at_sink;
  std::vector<int64_t> at_master;
  std::vector<int64_t> ratios;
  for (int pair = 0; pair < pairs; ++pair) {
    std::vector<int64_t> sink;
    std::vector<int64_t> own;
    // a user that has flooded cannot make connections for some seconds
    const uid_t uid = static_cast<uid_t>(pair % kUsers + 1);
    // The order alternates, so that a machine that becomes busier affects both equally.
    if (pair % 2 == 0) sink = beside(cluster, flood, uid, false, count);
    own = beside(cluster, flood, uid, true, count);
    if (pair % 2 == 1) sink = beside(cluster, flood, uid, false, count);
    ratios.push_back(bench::percentile(own, 99) * 100 / bench::percentile(sink, 99));
    at_sink.insert(at_sink.end(), sink.begin(), sink.end());
    at_master.insert(at_master.end(), own.begin(), own.end());
  }
  const auto cells = [](const std::vector<int64_t>& micros) {
    return text(bench::millis(bench::percentile(micros, 50)), " | ",
                bench::millis(bench::percentile(micros, 99)));
  };
  return text("| ", flood.kind, " × ", flood.connections, " | ", cells(at_sink), " | ",
              cells(at_master), " | ", bench::hundredths(bench::percentile(ratios, 50)), " | ",
              idle_kib / 1'024, " | ", bench::memory_kib(master, "VmHWM") / 1'024, " | ",
              metric(cluster, "proffer_calls_shed_total"), ", ",
              metric(cluster, "proffer_sessions_shed_total"), ", ",
              metric(cluster, "proffer_connections_refused_total{reason=\"unfinished\"}"), " |\n");
}

}  // namespace

int main(int argc, char** argv) {
  FLAGS_logtostderr = true;
  FLAGS_minloglevel = google::GLOG_WARNING;
  google::InitGoogleLogging(argv[0]);
  const int pairs = argc > 1 ? std::atoi(argv[1]) : 5;
  const int count = argc > 2 ? std::atoi(argv[2]) : 100;
  const std::string path = argc > 3 ? argv[3] : "bench/RESULTS.md";
  CHECK(pairs > 0 && count > 0);
  setenv("PROFFER_BIN_DIR", test::program("").c_str(), 0);
  std::string rows;
  const std::set<std::string> kinds(argv + std::min(argc, 4), argv + argc);
  for (const Flood& flood : kFloods) {
    if (!kinds.empty() && !kinds.contains(flood.kind)) continue;
    const std::string row = row_of(flood, pairs, count);
    std::fputs(row.c_str(), stdout);
    std::fflush(stdout);
    rows += row;
  }
  if (path.empty()) return 0;
  bench::write_section(
      path, "flood", text("build/bin/flood_bench ", pairs, " ", count),
      text("The time from the request for a framework of one task until its client gets `running`, "
           "while another user floods from many connections (tests/integration/flood): the sink, a "
           "process that only reads, or the master; ",
           pairs, " alternating pairs of ", count,
           " launches each, counted from one second after the start of the flood; milliseconds. "
           "Ratio: the median, over the pairs, of the ratio of p99. Memory of the master in MiB: "
           "idle, and maximum. Shed: calls, sessions, connections with unfinished messages.\n\n"
           "| flood | sink p50 | p99 | master p50 | p99 | ratio p99 | idle | most | shed |\n"
           "|---|---|---|---|---|---|---|---|---|\n",
           rows));
  return 0;
}
