// Each job of examples/batch gives exactly the result that the comments in its file promise.

#include "tests/integration/batch_examples.h"

#include <cstdlib>
#include <filesystem>
#include <set>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/text.h"
#include "tests/integration/batch_kills.h"

namespace proffer::test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

constexpr int kLines = 6'000;

// All examples run at the same time.
TEST(BatchExamples, GiveWhatAnIndependentComputationGives) {
  const TemporaryDirectory home;
  const std::vector<BatchExample> examples = batch_examples(home.path(), kLines);
  const Cluster cluster({.agents = 2, .resources = "cpus:4;mem:2048", .batch = true});
  std::vector<std::unique_ptr<Process>> running;
  for (const BatchExample& example : examples) {
    running.push_back(cluster.start(example.run(home / "out-" + example.name)));
  }
  std::map<std::string, std::string> pipelines;  // ids by example
  for (size_t i = 0; i < examples.size(); ++i) {
    const Exit done = running[i]->wait(Seconds(120));
    EXPECT_EQ(done.code, 0) << examples[i].name << "\n" << done.err << done.out;
    // In "licences-1 has finished", licences-1 is a pipeline; `batch list` has only its stages.
    const size_t end = done.out.rfind(" has finished");
    if (examples[i].stage.empty() || end == std::string::npos) continue;
    const size_t begin = done.out.rfind('\n', end) + 1;
    pipelines[examples[i].name] = done.out.substr(begin, end - begin);
  }
  const std::string listed = cluster.proffer({"batch", "list", "--all"}).out;
  for (const BatchExample& example : examples) {
    std::istringstream rows(listed);
    std::string id;
    while (rows >> id && !id.starts_with(example.job + "-")) rows.ignore(10'000, '\n');
    if (pipelines.contains(example.name)) id = pipelines[example.name];
    EXPECT_EQ(example.given(home / "out-" + example.name, id,
                            [&](const Words& words) { return cluster.proffer(words); }),
              example.expected)
        << example.name << " " << id;
  }
}

// The cgroups of a rank's processes, from its lines.
std::vector<std::string> groups_in(const std::string& results) {
  std::vector<std::string> groups;
  std::istringstream in(results);
  for (std::string line; std::getline(in, line);) {
    const size_t at = line.find(", cgroup ");
    if (at != std::string::npos) groups.push_back(line.substr(at + 9));
  }
  return groups;
}

// Both agents have the same host name, and each has room for two ranks.
TEST(BatchExamples, ProcessesOfOpenMpiRunInTheTasksOfTheirRanks) {
  if (const std::string why = why_no_mpi(); !why.empty()) GTEST_SKIP() << why;
  const TemporaryDirectory home;
  const BatchExample example = mpi_example(home.path());
  const Cluster cluster({.agents = 2, .resources = "cpus:2;mem:1024", .batch = true});
  const Exit done = cluster.proffer(example.run(home / "out"), Seconds(120));
  ASSERT_EQ(done.code, 0) << done.err << done.out;
  const std::string results = cluster.proffer({"batch", "results", "mpi-1"}).out;
  EXPECT_EQ(without_groups(results), example.expected) << results;
  // The ranks' directory is removed, and all processes have ended.
  EXPECT_EQ(fs::exists(home / "mpi-1-1"), false);
  EXPECT_EQ(cluster.running_tasks(), 0);
  const std::vector<std::string> groups = groups_in(results);
  ASSERT_EQ(groups.size(), 4u) << results;
  if (cluster.proffer({"agents"}).out.find("not enforced") != std::string::npos) return;
  // Each rank has its own limits: PARENT/AGENT/NUMBER.
  EXPECT_EQ(std::set<std::string>(groups.begin(), groups.end()).size(), 4u) << results;
  std::map<std::string, int> by_agent;
  for (const std::string& group : groups) ++by_agent[fs::path(group).parent_path()];
  EXPECT_EQ(by_agent.size(), 2u) << results;
}

TEST(BatchExamples, AGangThatCannotRunMpirunFailsWithWhatItSaid) {
  if (const std::string why = why_no_mpi(); !why.empty()) GTEST_SKIP() << why;
  const TemporaryDirectory home;
  BatchExample example = mpi_example(home.path());
  example.parameters = {"-p", "meet=" + home.path(), "-p", "program=" + (home / "nothing")};
  const Cluster cluster({.agents = 2, .resources = "cpus:2;mem:1024", .batch = true});
  const Exit failed = cluster.proffer(example.run(home / "out"), Seconds(120));
  EXPECT_EQ(failed.code, 1) << failed.out;
  EXPECT_THAT(failed.err, HasSubstr(home / "nothing")) << failed.err;
  EXPECT_EQ(cluster.running_tasks(), 0);
}

// A short run of `build/tests/batch_kills --kills 100`.
TEST(BatchExamples, GiveTheSameWhateverIsKilled) {
  const char* given = std::getenv("PROFFER_KILL_SEED");
  const uint64_t seed = given == nullptr ? 1 : std::strtoull(given, nullptr, 10);
  const TemporaryDirectory home;
  BatchKills options{.seed = seed, .dir = home.path()};
  options.examples = batch_examples(home.path(), kLines);
  if (why_no_mpi().empty()) options.examples.push_back(mpi_example(home.path()));

  const BatchKillsReport report = run_batch_kills(options);

  for (const std::string& violation : report.violations) ADD_FAILURE() << violation;
  EXPECT_EQ(report.runs.size(), options.examples.size()) << report.summary();
  for (const char* kind : {"master", "agent", "executor", "scheduler", "command"}) {
    EXPECT_EQ(report.kills.count(kind), 1u) << kind;
  }
  std::cout << "seed " << seed << ": " << report.summary() << std::endl;
}

}  // namespace
}  // namespace proffer::test
