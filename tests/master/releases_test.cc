// Released files of a framework: which agents are told, and when.

#include "tests/master/cluster.h"

namespace proffer::master::releases_test {
namespace {

using Names = std::vector<std::string>;

void releases(TestScheduler& f, Names begins, std::vector<std::string> agents = {}) {
  proto::ReleaseFiles message{.framework = FrameworkId("somebody"), .begins = std::move(begins)};
  for (const std::string& agent : agents) message.agents.emplace_back(agent);
  f.sends(message);
}

TEST(Releases, AreToldToTheNamedAgentsInTheNameOfTheFramework) {
  MasterScenario s;
  TestAgent& a = s.registered_agent("a");
  TestAgent& b = s.registered_agent("b");
  TestScheduler& f = s.subscribed("f");
  releases(f, {"job-1.", "job-2."}, {"a", "nobody", "a"});
  const auto told = a.take_one<proto::ReleaseFiles>();
  EXPECT_EQ(told,
            (proto::ReleaseFiles{.framework = f.id, .begins = {"job-1.", "job-2."}, .agents = {}}));
  EXPECT_TRUE(b.take<proto::ReleaseFiles>().empty());
  EXPECT_FALSE(f.was_dropped());
}

TEST(Releases, ThatNameNoAgentAreToldToAll) {
  MasterScenario s;
  TestAgent& a = s.registered_agent("a");
  TestAgent& b = s.registered_agent("b");
  releases(s.subscribed("f"), {"job-1."});
  EXPECT_EQ(a.take_one<proto::ReleaseFiles>().begins, Names{"job-1."});
  EXPECT_EQ(b.take_one<proto::ReleaseFiles>().begins, Names{"job-1."});
}

// The agent may have been disconnected, or killed before it removed them.
TEST(Releases, AreToldAgainAtEachRegistration) {
  MasterScenario s;
  TestAgent& a = s.registered_agent("a");
  TestScheduler& f = s.subscribed("f");
  TestScheduler& g = s.subscribed("g");
  releases(f, {"job-1."}, {"a"});
  a.take<proto::ReleaseFiles>();
  a.lose();
  releases(f, {"job-2.", "job-1."}, {"a"});
  releases(g, {"job-1."}, {"a"});
  a.registers();
  std::vector<proto::ReleaseFiles> told = a.take<proto::ReleaseFiles>();
  ASSERT_EQ(told.size(), 2u);
  EXPECT_EQ(told[0].framework, f.id);
  EXPECT_EQ(told[0].begins, (Names{"job-2.", "job-1."}));
  EXPECT_EQ(told[1].framework, g.id);
  EXPECT_EQ(told[1].begins, Names{"job-1."});
}

TEST(Releases, OfAnAgentAreTheNewestOnly) {
  MasterScenario s;
  TestAgent& a = s.registered_agent("a");
  TestScheduler& f = s.subscribed("f");
  for (size_t i = 0; i <= kReleasesKeptMax; ++i) releases(f, {text("job-", i, ".")}, {"a"});
  a.take<proto::ReleaseFiles>();
  a.registers();
  const Names told = a.take_one<proto::ReleaseFiles>().begins;
  EXPECT_EQ(told.size(), kReleasesKeptMax);
  EXPECT_EQ(told.front(), "job-1.");
  EXPECT_EQ(told.back(), text("job-", kReleasesKeptMax, "."));
}

}  // namespace
}  // namespace proffer::master::releases_test
