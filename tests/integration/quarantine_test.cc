// An agent that cannot start executors: its tasks fail, it takes no more tasks, and reports why.
// When the missing program is back, it takes tasks again.

#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/text.h"
#include "proto/json/json.h"
#include "tests/integration/processes.h"

namespace proffer::test {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

// The agent of dev is too small for these tasks.
TEST(Quarantine, AnAgentWithoutItsExecutorProgramTakesNoTasksUntilItIsBack) {
  Cluster cluster({.resources = "cpus:1;mem:256"});
  const TemporaryDirectory programs;
  const fs::path folder = fs::path(program("proffer")).parent_path();
  const auto link = [&](const std::string& name) {
    fs::create_symlink(folder / name, fs::path(programs / name));
  };
  link("proffer-fetch");
  Process broken(cluster.agent_command("broken", "cpus:4;mem:512"),
                 {{"PROFFER_BIN_DIR", programs / ""}});
  ASSERT_TRUE(eventually(
      [&] { return cluster.proffer({"agents"}).out.find("broken") != std::string::npos; }));
  const auto trouble = [&] {
    const auto agents = proto::parse_agents(cluster.proffer({"agents", "--json"}).out);
    if (!agents) return std::string("?");
    for (const proto::AgentRow& row : *agents) {
      if (row.agent.str() == "broken") return row.trouble;
    }
    return std::string("?");
  };

  const Words task = {"run", "--name", "large", "--cpus", "3", "--mem", "64", "--", "true"};
  for (int i = 0; i < 3; ++i) EXPECT_NE(cluster.proffer(task).code, 0);
  ASSERT_TRUE(eventually([&] { return !trouble().empty(); }));
  EXPECT_THAT(trouble(), HasSubstr("executors cannot be started here: there is no program"));
  EXPECT_THAT(cluster.proffer({"agents"}).out, HasSubstr("connected, takes no tasks: executors"));

  // Another task waits, and explain gives the reason.
  const auto waiting = cluster.start(task);
  EXPECT_TRUE(eventually([&] {
    return cluster.proffer({"explain", "framework", "large"})
               .out.find("taking no tasks: executors cannot be started here") != std::string::npos;
  }));
  EXPECT_TRUE(eventually([&] {
    return cluster.proffer({"explain", "framework", "large"})
               .out.find("when agent broken takes tasks again: executors") != std::string::npos;
  }));
  link("proffer-executor");
  const Exit ended = waiting->wait();
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_EQ(trouble(), "");
  broken.kill(SIGTERM);
  EXPECT_EQ(broken.wait().code, 0);
}

}  // namespace
}  // namespace proffer::test
