// Combinations with an earlier version that are refused by decision, and the messages on both
// sides. A long test.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/upgrade/long_upgrade.h"

namespace proffer::upgrade_test {
namespace {

using namespace test;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

std::vector<Version> by_tcp() {
  std::vector<Version> all = versions();
  std::erase_if(all, [](const Version& version) { return !version.by_tcp; });
  return all;
}

class RefusedUpgrade : public LongUpgrade {
 protected:
  void SetUp() override {
    LongUpgrade::SetUp();
    if (IsSkipped()) return;
    if (geteuid() != 0) GTEST_SKIP() << "not run: what is refused is what root would do";
  }
};
INSTANTIATE_TEST_SUITE_P(From, RefusedUpgrade, testing::ValuesIn(by_tcp()), name_of);

// TCP proves no user, and an agent that runs as root runs tasks as any user.
TEST_P(RefusedUpgrade, OldSchedulerGetsTheReasonWhenAnAgentRunsAsRoot) {
  MixedCluster cluster(version(), false);
  cluster.set_master(Of::kToday);
  cluster.set_agent(Of::kToday);
  ASSERT_TRUE(eventually([&] { return cluster.has_agent(Of::kToday); })) << cluster.agent().err();
  const Exit refused = cluster.proffer(Of::kBefore, {"run", "--", "true"});
  EXPECT_EQ(refused.code, 1) << refused.err;
  EXPECT_THAT(
      refused.err,
      AllOf(HasSubstr("no framework can subscribe over plain TCP here: agent 'a1' runs as root"),
            HasSubstr("use the master's Unix socket")));
  EXPECT_TRUE(cluster.master().complains("framework refused"));
  // On the socket it is permitted.
  EXPECT_EQ(cluster.proffer(Of::kToday, {"run", "--", "true"}).code, 0);
}

// Otherwise any process on that port could name the user of a task. So masters are upgraded first.
TEST_P(RefusedUpgrade, AnAgentThatIsRootDoesNotBeginAtAMasterThatHasNoSocket) {
  MixedCluster cluster(version(), false);
  cluster.set_master(Of::kBefore);
  const Exit refused = cluster.start_agent(Of::kToday, "a1")->wait();
  EXPECT_EQ(refused.code, 2) << refused.out;
  EXPECT_THAT(refused.err,
              AllOf(HasSubstr("takes tasks only from a master's Unix socket or by keys"),
                    HasSubstr("plain TCP does not identify the user of the master")));
}

// The schema of the registry can only be upgraded.
TEST_P(RefusedUpgrade, AMasterOfBeforeRefusesARegistryOfTodayAndChangesNothing) {
  MixedCluster cluster(version(), false);
  cluster.set_master(Of::kBefore);
  ASSERT_EQ(cluster.proffer(Of::kBefore, {"role", "set", "eng", "--weight", "3"}).code, 0);
  cluster.set_master(Of::kToday);
  cluster.end_master();
  const Exit refused = run({cluster.program(Of::kBefore, "proffer-master"),
                            "--data_dir=" + cluster.path("master"), "--port=0", "--http_port=0"});
  EXPECT_EQ(refused.code, 1);
  EXPECT_THAT(refused.err, AllOf(HasSubstr("registry.db"), HasSubstr("has schema 2")));
  cluster.set_master(Of::kToday);
  EXPECT_THAT(cluster.proffer(Of::kToday, {"role", "list", "eng"}).out, HasSubstr("3"));
}

}  // namespace
}  // namespace proffer::upgrade_test
