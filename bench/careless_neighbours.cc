// The effect of careless schedulers on launches: the latency of a task of an honest framework,
// alone and beside one scheduler that is careless in one way (tests/integration/careless), as the
// same user and, if root runs this, as another one.
//
//   build/bin/careless_neighbours [PAIRS] [LAUNCHES] [RESULTS.md]

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <string>
#include <vector>

#include <signal.h>
#include <unistd.h>

#include "bench/results.h"
#include "bench/run_once.h"
#include "common/check.h"
#include "common/text.h"
#include "tests/integration/processes.h"

namespace {

using namespace proffer;
namespace fs = std::filesystem;

constexpr const char* kFaults[] = {
    "declines", "holds",   "silent", "stale", "reused_id",  "no_ask",   "fails",      "blocks",
    "stops",    "million", "asks",   "kills", "suppresses", "messages", "reconciles", "store"};
constexpr const char* kOtherUser = "65534";

// Until the update `running` arrives.
std::vector<int64_t> launches(const test::Cluster& cluster, int count) {
  std::vector<int64_t> running;
  for (int i = 0; i < count; ++i) running.push_back(bench::run_once(cluster.master()).running);
  return running;
}

struct Pair {
  std::vector<int64_t> alone = {};
  std::vector<int64_t> beside = {};
};

// `uid` is empty for the user of this process.
Pair measure(const test::Cluster& cluster, const std::string& fault, const std::string& uid,
             int count) {
  Pair pair;
  pair.alone = launches(cluster, count);
  test::Words words = {test::program_of_tests("careless_framework"), "--master=" + cluster.master(),
                       text("--name=", fault), text("--fault=", fault)};
  if (!uid.empty()) words.push_back("--uid=" + uid);
  test::Process careless(words);
  CHECK(careless.line_with("offer 1")) << fault << ": " << careless.err();
  pair.beside = launches(cluster, count);
  careless.kill(SIGCONT);
  careless.kill(SIGTERM);
  careless.wait();
  return pair;
}

std::string row(const std::string& name, const std::vector<Pair>& pairs) {
  std::vector<int64_t> beside;
  std::string cells;
  for (const Pair& pair : pairs) {
    beside.insert(beside.end(), pair.beside.begin(), pair.beside.end());
  }
  for (const int percent : {50, 99}) {
    std::vector<int64_t> ratios;
    for (const Pair& pair : pairs) {
      ratios.push_back(100 * bench::percentile(pair.beside, percent) /
                       std::max<int64_t>(1, bench::percentile(pair.alone, percent)));
    }
    cells += text(" | ", bench::hundredths(bench::percentile(beside, percent) / 10), " | ",
                  bench::hundredths(bench::percentile(ratios, 50)));
  }
  return text("| ", name, cells, " |\n");
}

}  // namespace

int main(int argc, char** argv) {
  FLAGS_logtostderr = true;
  FLAGS_minloglevel = google::GLOG_WARNING;
  google::InitGoogleLogging(argv[0]);
  const int pairs = argc > 1 ? std::atoi(argv[1]) : 5;
  const int count = argc > 2 ? std::atoi(argv[2]) : 300;
  const std::string path = argc > 3 ? argv[3] : "bench/RESULTS.md";
  CHECK_GT(pairs, 0);
  CHECK_GT(count, 0);
  setenv("PROFFER_BIN_DIR", test::program("").c_str(), 0);
  const test::Cluster cluster({.agents = 1});
  // Another user may reach the master's socket.
  const fs::path dir = cluster.dir();
  for (const fs::path& passed : {dir.parent_path(), dir}) {
    fs::permissions(passed, fs::perms::group_exec | fs::perms::others_exec, fs::perm_options::add);
  }
  launches(cluster, 20);  // warm up
  std::string rows;
  std::vector<std::string> users = {""};
  if (geteuid() == 0) users.emplace_back(kOtherUser);
  for (const char* fault : kFaults) {
    for (const std::string& uid : users) {
      std::vector<Pair> measured;
      for (int i = 0; i < pairs; ++i) measured.push_back(measure(cluster, fault, uid, count));
      const std::string line =
          row(text(fault, uid.empty() ? ", same user" : ", another user"), measured);
      std::cerr << line;
      rows += line;
    }
  }
  bench::write_section(
      path, "careless_neighbours", text("build/bin/careless_neighbours ", pairs, " ", count),
      text("The time from the request for a framework of one task until its client gets `running`, "
           "beside one scheduler that is careless in one way "
           "(tests/integration/careless/careless_framework.cc), and its ratio to the time alone "
           "just before; ",
           pairs, " pairs of ", count,
           " launches for each row; milliseconds, and medians of the pairs' ratios.\n\n"
           "| neighbour | p50 | by alone | p99 | by alone |\n|---|---|---|---|---|\n",
           rows));
  return 0;
}
