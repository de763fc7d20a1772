// The current agent in a work directory from before users and limits; checkpoint_test.cc has the
// checkpoint. Its tasks ran before a reboot. It continues as the same agent, reports this to its
// master, and starts none of the tasks again.

#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include "tests/integration/processes.h"

namespace proffer::test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

TEST(Upgrade, AnAgentOfBeforeUsersGoesOnAndRunsNothingTwice) {
  const Cluster cluster({.resources = "cpus:0.1;mem:16"});
  const std::string work_dir = cluster.dir() + "/a1";
  fs::create_directory(work_dir);
  fs::copy_file(std::string(PROFFER_SOURCE_DIR) + "/tests/upgrade/fixtures/5fce925/checkpoint.log",
                work_dir + "/checkpoint.log");
  const auto agent = cluster.start_agent("a1", "cpus:4;mem:1024");
  const auto status = [&] { return get_http(cluster.told_by("a1", "http"), "/v1/status"); };
  ASSERT_TRUE(eventually([&] {
    return cluster.proffer({"agents"}).out.find("a1") != std::string::npos;
  })) << agent->err();
  // The results of its tasks are reported and acknowledged.
  EXPECT_TRUE(eventually([&] {
    return status().find("\"updates_unacknowledged\":0") != std::string::npos;
  })) << status();
  EXPECT_THAT(status(), HasSubstr("\"tasks\":0"));
  EXPECT_EQ(cluster.running_tasks(), 0);

  EXPECT_EQ(cluster.proffer({"run", "--mem", "64", "--", "echo new"}).out, "new\n");
  std::vector<std::string> frameworks;
  for (const auto& entry : fs::directory_iterator(work_dir + "/sandboxes")) {
    frameworks.push_back(entry.path().filename());
  }
  EXPECT_THAT(frameworks, testing::ElementsAre(HasSubstr("run-")));
  agent->kill(SIGTERM);
  EXPECT_EQ(agent->wait().code, 0) << agent->err();
}

}  // namespace
}  // namespace proffer::test
