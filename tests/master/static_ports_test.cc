// A fixed port: offered where it is free, to one task per agent at a time.

#include "tests/master/cluster.h"

namespace proffer::master::static_ports_test {
namespace {

using proto::TaskState;
using testing::HasSubstr;

class StaticPorts : public testing::Test {
 protected:
  StaticPorts() { declares(5); }
  void declares(int64_t count, uint16_t port = 80) {
    Ask ask{.name = AskName("t"),
            .shape = *parse_shape("cpus:1;mem:64"),
            .count = count,
            .ports = 1,
            .static_ports = {port}};
    web.sends(proto::DeclareAsks{.generation = ++web.generation, .asks = {ask}});
    s.settle();
  }
  static proto::TaskSpec task(const std::string& id) {
    proto::TaskSpec spec = TestScheduler::spec(id, "cpus:1;mem:64");
    spec.port_names = {"http"};
    spec.static_ports = {{"http", 80}};
    return spec;
  }
  std::string answer() const {
    const proto::Explanation all = *s.master->explain("web", nullptr);
    std::string words = all.answer;
    for (const auto& ask : all.fair.asks) {
      for (const auto& hindered : ask.hindered) words += "; " + to_text(hindered);
    }
    return words;
  }

  MasterScenario s;
  TestAgent& a1 = s.registered_agent("a1", "cpus:4;mem:4096;ports:[80-89]");
  TestAgent& a2 = s.registered_agent("a2", "cpus:4;mem:4096;ports:[90-99]");
  TestScheduler& web = s.subscribed("web");
};

TEST_F(StaticPorts, ATaskGetsItAndTheNextOneWaitsForItsEnd) {
  ASSERT_EQ(web.offers.size(), 1u);
  EXPECT_EQ(web.offers[0].agent, AgentId("a1"));
  EXPECT_EQ(web.offers[0].fills[0].count, 1);
  web.accepts({web.offers[0]}, {task("t1")});
  s.advance(seconds(10));
  EXPECT_EQ(a1.take_one<proto::RunTask>().assignment.ports,
            (std::map<std::string, uint16_t>{{"http", 80}}));
  EXPECT_TRUE(web.offers.empty());
  EXPECT_THAT(answer(), HasSubstr("port 80 is in use by a task"));
  EXPECT_THAT(answer(), HasSubstr("without port 80 among its ports"));

  a1.updates(web.id, "t1", TaskState::kRunning);
  a1.updates(web.id, "t1", TaskState::kFinished);
  s.advance(seconds(10));
  ASSERT_EQ(web.offers.size(), 1u);
  web.accepts({web.offers[0]}, {task("t2")});
  s.settle();
  EXPECT_EQ(a1.take_one<proto::RunTask>().assignment.ports.at("http"), 80);
}

// A plan uses the snapshot to count the agents on which a port is free.
TEST_F(StaticPorts, IsInTheLiveSnapshotAlsoOfATaskThatAMasterOfBeforeLaunched) {
  ASSERT_EQ(web.offers.size(), 1u);
  web.accepts({web.offers[0]}, {task("t1")});
  s.settle();
  a1.updates(web.id, "t1", TaskState::kRunning);
  const auto ports = [this] {
    const proto::LiveSnapshot all = s.master->live_snapshot(s.now);
    return all.tasks.size() == 1 ? all.tasks[0].ports : std::vector<uint16_t>{};
  };
  EXPECT_THAT(ports(), testing::ElementsAre(80));
  s.restart_master();
  a1.registers();
  EXPECT_THAT(ports(), testing::ElementsAre(80));
}

// Another framework's task got the port as an arbitrary one.
TEST_F(StaticPorts, IsWaitedForWhereAnotherTaskWasGivenIt) {
  MasterScenario other;
  TestAgent& agent = other.registered_agent("a1", "cpus:4;mem:4096;ports:[80-80]");
  TestScheduler& any = other.subscribed("any");
  any.sends(proto::DeclareAsks{
      .generation = 1,
      .asks = {
          {.name = AskName("t"), .shape = *parse_shape("cpus:1;mem:64"), .count = 1, .ports = 1}}});
  other.settle();
  ASSERT_EQ(any.offers.size(), 1u);
  proto::TaskSpec spec = TestScheduler::spec("t1", "cpus:1;mem:64");
  spec.port_names = {"x"};
  any.accepts({any.offers[0]}, {spec});
  other.settle();
  EXPECT_EQ(agent.take_one<proto::RunTask>().assignment.ports.at("x"), 80);

  TestScheduler& fixed = other.subscribed("fixed");
  fixed.sends(proto::DeclareAsks{.generation = 1,
                                 .asks = {{.name = AskName("t"),
                                           .shape = *parse_shape("cpus:1;mem:64"),
                                           .count = 1,
                                           .ports = 1,
                                           .static_ports = {80}}}});
  other.advance(seconds(5));
  EXPECT_TRUE(fixed.offers.empty());
  agent.updates(any.id, "t1", TaskState::kRunning);
  agent.updates(any.id, "t1", TaskState::kFinished);
  other.advance(seconds(5));
  EXPECT_EQ(fixed.offers.size(), 1u);
}

TEST_F(StaticPorts, APortThatNoAgentHasIsReportedAsOne) {
  web.take<proto::AskReport>();
  declares(5, 7000);
  s.advance(seconds(5));
  const std::vector<proto::AskReport> reports = web.take<proto::AskReport>();
  ASSERT_FALSE(reports.empty());
  ASSERT_EQ(reports.back().rows.size(), 1u);
  EXPECT_FALSE(reports.back().rows[0].could_ever_fit);
  EXPECT_THAT(reports.back().rows[0].why, HasSubstr("port 7000"));
}

}  // namespace
}  // namespace proffer::master::static_ports_test
