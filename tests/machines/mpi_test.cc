// The Open MPI program of examples/batch with its ranks on three machines. Each machine has its own
// network; all have the same host name.

#include <set>

#include "proto/json/json.h"
#include "tests/integration/batch_examples.h"
#include "tests/machines/joined.h"

namespace proffer::mpi_test {
namespace {

using namespace test;

class Mpi : public ThreeAgents {};

TEST_F(Mpi, ProcessesOnThreeMachinesComputeTogether) {
  if (const std::string why = why_no_mpi(); !why.empty()) GTEST_SKIP() << why;
  const BatchExample example = mpi_example(home_.path());
  start_three_agents();
  const auto scheduler = start_batch();
  Words words = example.run(home_ / "out");
  words.insert(words.begin(), home_ / "proffer");
  // No machine has room for two ranks of this size.
  const Words more = {"--resources", "cpus:1.1;mem:128", "-p", "ranks=3",
                      "--master=" + socket_path()};
  words.insert(words.end(), more.begin(), more.end());
  const Exit done = master_machine_->runs(words, Seconds(120));
  ASSERT_EQ(done.code, 0) << done.err << done.out;
  const std::string results = operates({"batch", "results", "mpi-1"}).out;
  EXPECT_EQ(without_groups(results),
            "pi is 3.1415926536\nrank 0 runs in gang rank 0\nrank 1 runs in gang rank 1\n"
            "rank 2 runs in gang rank 2\n")
      << results;
  std::set<std::string> agents;
  const auto rows = proto::parse_tasks(operates({"tasks", "--all", "--json"}).out);
  ASSERT_TRUE(rows);
  for (const proto::TaskRow& row : *rows) {
    if (row.task.str().find(".range-") != std::string::npos) agents.insert(row.agent.str());
  }
  EXPECT_EQ(agents, (std::set<std::string>{"a1", "a2", "a3"}));
}

}  // namespace
}  // namespace proffer::mpi_test
