// Standby schedulers of services and batch: one serves, and if it is killed or hangs, another one
// takes over its apps and jobs.

#include <csignal>
#include <memory>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/text.h"
#include "proto/json/service_json.h"
#include "tests/integration/processes.h"

namespace proffer::test::standby_test {
namespace {

using testing::HasSubstr;

class Standby : public testing::Test {
 protected:
  std::unique_ptr<Process> start(const std::string& framework) const {
    return std::make_unique<Process>(Words{program("proffer-" + framework), "scheduler",
                                           "--standby", "--master=" + cluster_.master()});
  }
  // The ids of the app's running tasks.
  std::vector<std::string> running() const {
    std::vector<std::string> ids;
    const auto page =
        proto::parse_service_status(cluster_.proffer({"service", "status", "web", "--json"}).out);
    if (!page) return ids;
    for (const proto::ServiceInstanceRow& row : page->instances) {
      if (row.ready) ids.push_back(row.task.str());
    }
    return ids;
  }

  TemporaryDirectory home_;
  Cluster cluster_{{.agents = 1}};
  // A master that soon notices a scheduler that hangs.
  const std::unique_ptr<Process> master_ =
      cluster_.restart_master({text("--agent_timeout=", 3 * slowdown(), "s")});
};

// The master delivers secret values; a scheduler never has them.
TEST_F(Standby, OfServicesGivesSecretsAfterATakeover) {
  write_file(home_ / "value", "of-the-secret");
  ASSERT_EQ(cluster_.proffer({"secret", "set", "password", "--file", home_ / "value"}).code, 0);
  auto first = start("service");
  ASSERT_TRUE(first->complains("info: subscribed"));
  auto second = start("service");
  ASSERT_TRUE(second->complains("info: stands by")) << second->err();
  write_file(
      home_ / "web.yaml",
      text("name: web\ninstances: 1\ncommand: '[ \"$P\" = of-the-secret ] && exec sleep 1000'"
           "\nresources: 'cpus:0.1;mem:32'\nready: {after: 1s}\n"
           "secrets: {password: {env: P}}\n"));
  ASSERT_EQ(cluster_.proffer({"service", "apply", home_ / "web.yaml", "--wait"}).code, 0);
  first->kill(SIGKILL);
  ASSERT_TRUE(second->complains("info: subscribed")) << second->err();
  const Exit scaled = cluster_.proffer({"service", "scale", "web", "3", "--wait"});
  EXPECT_EQ(scaled.code, 0) << scaled.err;
  EXPECT_EQ(running().size(), 3u);
}

TEST_F(Standby, OfServicesTakesTheAppsOverAndTheOneOfBeforeIsRefused) {
  auto first = start("service");
  ASSERT_TRUE(first->complains("info: subscribed"));
  auto second = start("service");
  ASSERT_TRUE(second->complains("info: stands by")) << second->err();
  write_file(home_ / "web.yaml",
             "name: web\ninstances: 2\ncommand: sleep 1000\n"
             "resources: 'cpus:0.1;mem:32'\nready: {after: 10ms}\n");
  ASSERT_EQ(cluster_.proffer({"service", "apply", home_ / "web.yaml", "--wait"}).code, 0);
  const std::vector<std::string> before = running();
  ASSERT_EQ(before.size(), 2u);

  // It hangs, and the master notices.
  first->kill(SIGSTOP);
  ASSERT_TRUE(second->complains("info: subscribed")) << second->err();
  const Exit scaled = cluster_.proffer({"service", "scale", "web", "3", "--wait"});
  EXPECT_EQ(scaled.code, 0) << scaled.err;
  EXPECT_THAT(running(), testing::IsSupersetOf(before));
  EXPECT_EQ(running().size(), 3u);
  first->kill(SIGCONT);
  const Exit refused = first->wait();
  EXPECT_EQ(refused.code, 1);
  EXPECT_THAT(refused.err, HasSubstr("another scheduler has taken it over"));

  // Now it is killed.
  auto third = start("service");
  ASSERT_TRUE(third->complains("info: stands by")) << third->err();
  second->kill(SIGKILL);
  ASSERT_TRUE(third->complains("info: subscribed")) << third->err();
  EXPECT_TRUE(eventually([&] { return running().size() == 3; }));
  EXPECT_THAT(running(), testing::IsSupersetOf(before));
  EXPECT_EQ(cluster_.running_tasks("service"), 3);
  third->kill(SIGTERM);
  EXPECT_EQ(third->wait().code, 0);
}

TEST_F(Standby, OfBatchFinishesTheJob) {
  auto first = start("batch");
  ASSERT_TRUE(first->complains("info: subscribed"));
  auto second = start("batch");
  ASSERT_TRUE(second->complains("info: stands by")) << second->err();
  const std::string go = home_ / "go";
  const Exit submitted = cluster_.proffer(
      {"batch", "array", "1-4", "--output", home_ / "out", "--detach", "--", "sh", "-c",
       text("until test -e ", go, "; do sleep 0.05; done; echo $PROFFER_ARRAY_INDEX")});
  ASSERT_EQ(submitted.code, 0) << submitted.err;
  ASSERT_TRUE(eventually([&] { return cluster_.running_tasks("batch") > 0; }))
      << first->err() << cluster_.proffer({"batch", "status", "array-1"}).out
      << cluster_.proffer({"explain"}).out;
  first->kill(SIGKILL);
  ASSERT_TRUE(second->complains("info: subscribed")) << second->err();
  write_file(go, "");
  const std::string job = submitted.out.substr(0, submitted.out.find_first_of(" \n"));
  const Exit waited = cluster_.proffer({"batch", "wait", job});
  EXPECT_EQ(waited.code, 0) << waited.out << waited.err << submitted.out;
  const Exit results = cluster_.proffer({"batch", "results", job});
  EXPECT_EQ(results.out, "1\n2\n3\n4\n") << results.err;
}

TEST_F(Standby, NeedsNoSessionFile) {
  const Exit both = run({program("proffer-service"), "scheduler", "--standby",
                         "--session-file=" + (home_ / "session"), "--master=" + cluster_.master()});
  EXPECT_EQ(both.code, 2);
  EXPECT_THAT(both.err, HasSubstr("--standby"));
}

}  // namespace
}  // namespace proffer::test::standby_test
