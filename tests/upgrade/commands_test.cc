// The `proffer` command of one version with a master of the other, for users who have not upgraded
// their machine yet. A long test.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/upgrade/long_upgrade.h"

namespace proffer::upgrade_test {
namespace {

using namespace test;
using testing::HasSubstr;

class PreviousCommands : public LongUpgrade {
 protected:
  // The output of common commands, with a running task.
  static void expect_it_is_shown(const MixedCluster& cluster, Of of) {
    for (const Words& words : {Words{"status"},
                               {"tasks"},
                               {"frameworks"},
                               {"role", "list"},
                               {"offers"},
                               {"explain", "framework", "watched"}}) {
      const Exit shown = cluster.proffer(of, words);
      EXPECT_EQ(shown.code, 0) << words.front() << ": " << shown.err;
    }
    EXPECT_THAT(cluster.proffer(of, {"tasks"}).out, HasSubstr("watched"));
    EXPECT_EQ(cluster.proffer(of, {"run", "--", "exit 3"}).code, 3);
    EXPECT_EQ(cluster.proffer(of, {"role", "set", "eng", "--weight", "2"}).code, 0);
    EXPECT_EQ(cluster.proffer(of, {"kill", "watched"}).code, 0);
  }
};
INSTANTIATE_TEST_SUITE_P(Of, PreviousCommands, testing::ValuesIn(versions()), name_of);

TEST_P(PreviousCommands, OfBeforeWorkAtAMasterOfTodayButForTheListOfAgents) {
  MixedCluster cluster(version());
  cluster.set_master(Of::kToday);
  cluster.set_agent(Of::kToday);
  ASSERT_TRUE(eventually([&] { return cluster.has_agent(Of::kToday); })) << cluster.agent().err();
  const auto watched =
      cluster.start(Of::kToday, {"run", "--name", "watched", "--", "echo begun; sleep 1000"});
  ASSERT_TRUE(watched->line_with("begun")) << watched->err();
  expect_it_is_shown(cluster, Of::kBefore);
  // The words for agent states have changed since.
  const Exit agents = cluster.proffer(Of::kBefore, {"agents"});
  EXPECT_NE(agents.code, 0);
  EXPECT_THAT(agents.err, HasSubstr("state"));
}

TEST_P(PreviousCommands, OfTodayWorkAtAMasterOfBefore) {
  MixedCluster cluster(version());
  cluster.set_master(Of::kBefore);
  cluster.set_agent(Of::kBefore);
  ASSERT_TRUE(eventually([&] { return cluster.has_agent(Of::kBefore); })) << cluster.agent().err();
  const auto watched =
      cluster.start(Of::kBefore, {"run", "--name", "watched", "--", "echo begun; sleep 1000"});
  ASSERT_TRUE(watched->line_with("begun")) << watched->err();
  expect_it_is_shown(cluster, Of::kToday);
  EXPECT_THAT(cluster.proffer(Of::kToday, {"agents"}).out, HasSubstr("connected"));
}

}  // namespace
}  // namespace proffer::upgrade_test
