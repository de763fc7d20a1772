// The effect of careless schedulers on launches: the latency of a task of an honest framework,
// alone and beside five schedulers that each repeat one wrong launch forever, in turn.
//
//   build/bin/careless_neighbours [PAIRS] [LAUNCHES] [RESULTS.md]

#include <cstdlib>
#include <memory>
#include <vector>

#include <signal.h>

#include "bench/results.h"
#include "bench/run_once.h"
#include "common/check.h"
#include "common/text.h"
#include "tests/integration/processes.h"

namespace {

using namespace proffer;

constexpr const char* kFaults[] = {"reused_id", "negative_shape", "no_ask", "wrong_ask",
                                   "too_large"};

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

Pair measure(const test::Cluster& cluster, int count) {
  Pair pair;
  pair.alone = launches(cluster, count);
  std::vector<std::unique_ptr<test::Process>> careless;
  for (const char* fault : kFaults) {
    careless.push_back(std::make_unique<test::Process>(
        test::Words{test::program_of_tests("careless_framework"), "--master=" + cluster.master(),
                    text("--name=", fault), text("--fault=", fault)}));
    CHECK(careless.back()->line_with("offer 2")) << fault;
  }
  pair.beside = launches(cluster, count);
  for (const auto& one : careless) one->kill(SIGTERM);
  return pair;
}

double ratio(const Pair& pair, int percent) {
  return static_cast<double>(bench::percentile(pair.beside, percent)) /
         static_cast<double>(bench::percentile(pair.alone, percent));
}

std::string median_ratio(const std::vector<Pair>& pairs, int percent) {
  std::vector<int64_t> hundredths;
  for (const Pair& pair : pairs) {
    hundredths.push_back(static_cast<int64_t>(100 * ratio(pair, percent) + 0.5));
  }
  return bench::hundredths(bench::percentile(hundredths, 50));
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
  launches(cluster, 20);  // warm up
  std::vector<Pair> all;
  Pair sum;
  for (int i = 0; i < pairs; ++i) {
    const Pair pair = measure(cluster, count);
    sum.alone.insert(sum.alone.end(), pair.alone.begin(), pair.alone.end());
    sum.beside.insert(sum.beside.end(), pair.beside.begin(), pair.beside.end());
    all.push_back(pair);
  }
  bench::write_section(
      path, "careless_neighbours", text("build/bin/careless_neighbours ", pairs, " ", count),
      text("The time from the request for a framework of one task until its client gets `running`, "
           "alone and beside five schedulers that endlessly repeat a wrong launch (a used task id, "
           "a negative shape, no ask, an unknown ask, more than offered); ",
           pairs, " alternating pairs of ", count,
           " launches each; milliseconds.\n\n| | p50 | p99 |\n|---|---|---|\n",
           bench::latency_row("alone", sum.alone), bench::latency_row("beside them", sum.beside),
           "| ratio, median of the pairs | ", median_ratio(all, 50), " | ", median_ratio(all, 99),
           " |\n"));
  return 0;
}
