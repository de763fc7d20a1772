// How long `proffer replay` takes for an hour of a cluster in which 100,000 tasks were launched and
// the master changed once. The hour is simulated time: the production master, agents and drivers
// under the simulator, recorded in the format of --record.
//
//   build/bin/replay_bench [RUNS] [RESULTS.md]

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <sys/resource.h>

#include "bench/results.h"
#include "common/check.h"
#include "common/text.h"
#include "sim/life_recorder.h"
#include "sim/scenario_run.h"
#include "store/checkpoint_log.h"
#include "tests/integration/processes.h"

namespace {

using namespace proffer;
namespace fs = std::filesystem;

constexpr int64_t kAgents = 128;
constexpr int64_t kFrameworks = 8;
constexpr int64_t kTasks = 100'000;  // in total
constexpr Duration kHour = hours(1);
constexpr Duration kMasterEnds = minutes(30);
constexpr Duration kMasterFollows = seconds(5);

// Tasks of a minute on average, of eight frameworks in four roles with weights. They arrive evenly
// until shortly before the end of the hour, and take four fifths of the cluster.
sim::Scenario an_hour() {
  sim::Scenario scenario;
  scenario.until = kHour;
  scenario.options["heartbeat"] = text(kHeartbeatInterval.millis(), "ms");
  scenario.agents.push_back({.name = "a",
                             .count = kAgents,
                             .resources = parse_agent_resources("cpus:16;mem:64GiB").value()});
  const Duration arrivals = kHour - minutes(4);
  for (int64_t f = 0; f < kFrameworks; ++f) {
    const RoleName role(text("r", f % 4));
    scenario.roles[role].weight = 1'000 * (1 + f % 4);
    sim::ScenarioTasks tasks{.name = "t",
                             .count = kTasks / kFrameworks,
                             .resources = parse_shape("cpus:1;mem:2GiB").value(),
                             .duration = minutes(1),
                             .duration_spread = 900'000};
    tasks.every = nanoseconds(arrivals.nanos() / tasks.count);
    scenario.frameworks.push_back(
        {.name = text("f", f), .role = role, .tasks = {std::move(tasks)}});
  }
  CHECK(sim::check_scenario(scenario).has_value());
  return scenario;
}

void record(const std::string& directory) {
  std::map<LeaderEpoch, std::unique_ptr<CheckpointLog>> logs;
  sim::LifeRecorder recorder([&](LeaderEpoch leader, const std::vector<std::string>& records) {
    std::unique_ptr<CheckpointLog>& log = logs[leader];
    if (log == nullptr) {
      auto opened = CheckpointLog::open(text(directory, "/", leader.value(), ".rec"));
      CHECK(opened.has_value()) << opened.error().message();
      log = std::move(opened->log);
    }
    const Result<void> written = log->append(records);
    CHECK(written.has_value()) << written.error().message();
  });
  sim::ScenarioRun run(an_hour(), nullptr, {}, {.watcher = &recorder});
  run.world().at(run.zero() + kMasterEnds, [&] { run.master_node().crash(); });
  run.world().at(run.zero() + kMasterEnds + kMasterFollows, [&] { run.master_node().start(); });
  const proto::SimulateReport report = run.run();
  recorder.ends();
  for (const std::string& violation : report.violations) LOG(FATAL) << violation;
  int64_t finished = 0;
  for (const auto& [name, framework] : report.end.frameworks) finished += framework.finished;
  CHECK_EQ(finished, kTasks);
  CHECK_EQ(logs.size(), 2u) << "a second master followed";
}

// Runs `proffer` with these words, which must succeed, and returns its last line; adds its time to
// `micros`.
std::string last_line_of(test::Words words, std::vector<int64_t>& micros) {
  words.insert(words.begin(), test::program("proffer"));
  const auto begin = std::chrono::steady_clock::now();
  const test::Exit said = test::run(words);
  const auto taken = std::chrono::steady_clock::now() - begin;
  micros.push_back(std::chrono::duration_cast<std::chrono::microseconds>(taken).count());
  CHECK_EQ(said.code, 0) << said.out << said.err;
  return said.out.substr(said.out.rfind('\n', said.out.size() - 2) + 1);
}

// "123" of the number `name` of a JSON object in one line.
std::string number_in(const std::string& json, const std::string& name) {
  const size_t at = json.find(text("\"", name, "\":"));
  CHECK(at != std::string::npos) << name;
  const size_t from = at + name.size() + 3;
  return json.substr(from, json.find_first_of(",}", from) - from);
}

std::string seconds_text(int64_t micros) { return bench::hundredths(micros / 10'000); }

}  // namespace

int main(int argc, char** argv) {
  const int runs = argc > 1 ? std::atoi(argv[1]) : 5;
  const std::string results = argc > 2 ? argv[2] : "bench/RESULTS.md";
  CHECK_GT(runs, 0);
  test::TemporaryDirectory home;
  record(home / "");
  uintmax_t bytes = 0;
  for (const auto& entry : fs::directory_iterator(home / "")) bytes += entry.file_size();

  std::vector<int64_t> micros;
  std::vector<int64_t> with_micros;  // with another policy
  std::string total;
  for (int i = 0; i < runs; ++i) {
    const std::string last = last_line_of({"replay", home / "", "--json"}, micros);
    CHECK(total.empty() || last == total) << "another hash: " << last << " not " << total;
    total = last;
    last_line_of({"replay", home / "", "--json", "--with", "role r1 weight=10"}, with_micros);
  }
  CHECK_EQ(number_in(total, "tasks"), std::to_string(kTasks));
  rusage used{};
  CHECK_EQ(getrusage(RUSAGE_CHILDREN, &used), 0);
  const std::string hash = number_in(total, "hash");

  std::string body = text("An hour of simulated time: ", kAgents, " agents of 16 CPUs, ",
                          kFrameworks, " frameworks in 4 roles, ", kTasks,
                          " tasks launched. A master ends after 30 min, and another "
                          "leads 5 s later; both are recorded. ",
                          number_in(total, "steps"), " steps in ", bytes >> 20,
                          " MiB. `proffer replay`, ", runs, " times, all with the hash ", hash,
                          "; seconds.\n\n| | median | least | most |\n|---|---|---|---|\n",
                          "| replay of both lives | ", seconds_text(bench::percentile(micros, 50)),
                          " | ", seconds_text(bench::percentile(micros, 0)), " | ",
                          seconds_text(bench::percentile(micros, 100)),
                          " |\n| and the work simulated twice, `--with 'role r1 weight=10'` | ",
                          seconds_text(bench::percentile(with_micros, 50)), " | ",
                          seconds_text(bench::percentile(with_micros, 0)), " | ",
                          seconds_text(bench::percentile(with_micros, 100)), " |\n\nAt most ",
                          used.ru_maxrss >> 10, " MiB of memory.\n");
  bench::write_section(results, "replay", text("build/bin/replay_bench ", runs), body);
  return 0;
}
