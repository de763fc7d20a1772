// What of an earlier version cannot work any more, by decision, and how it is told so: on the side
// of before and on today's. Long.

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

// Nobody proves a user over TCP, and tasks of an agent that is root run as any user.
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
  // At the socket it may.
  EXPECT_EQ(cluster.proffer(Of::kToday, {"run", "--", "true"}).code, 0);
}

// It would run tasks as whatever user somebody at that port names. So masters come first.
TEST_P(RefusedUpgrade, AnAgentThatIsRootDoesNotBeginAtAMasterThatHasNoSocket) {
  MixedCluster cluster(version(), false);
  cluster.set_master(Of::kBefore);
  const Exit refused = cluster.start_agent(Of::kToday, "a1")->wait();
  EXPECT_EQ(refused.code, 2) << refused.out;
  EXPECT_THAT(refused.err,
              AllOf(HasSubstr("takes tasks only from a master's Unix socket or by keys"),
                    HasSubstr("plain TCP does not identify the user of the master")));
}

// The schema of the registry goes one way.
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
