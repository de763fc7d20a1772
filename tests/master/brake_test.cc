// Many agents are lost at once: some are given up, and the others are held back until time passes
// or an operator lifts the brake.

#include "master/core/brake.h"

#include "tests/master/cluster.h"

namespace proffer::master::brake_test {
namespace {

using proto::AgentState;
using proto::TaskState;

constexpr Time kStart = Time::from_nanos(1'000'000'000'000);

TEST(BrakeCount, IsAPercentageAndNeverLessThanTheFloor) {
  const Brake brake({.percent = 10, .floor = 5});
  EXPECT_EQ(brake.most(0), 5);
  EXPECT_EQ(brake.most(5), 5);
  EXPECT_EQ(brake.most(50), 5);
  EXPECT_EQ(brake.most(51), 6);
  EXPECT_EQ(brake.most(1'000), 100);
}

TEST(BrakeCount, LetsSoManyPassInAnyPeriod) {
  Brake brake({.percent = 10, .floor = 2, .period = minutes(1)});
  EXPECT_TRUE(brake.pass(10, kStart));
  EXPECT_TRUE(brake.pass(10, kStart + seconds(30)));
  EXPECT_FALSE(brake.pass(10, kStart + seconds(59)));
  EXPECT_EQ(brake.next(), kStart + minutes(1));
  EXPECT_TRUE(brake.pass(10, kStart + minutes(1)));
  EXPECT_FALSE(brake.pass(10, kStart + minutes(1)));
  EXPECT_EQ(brake.next(), kStart + seconds(90));
}

TEST(BrakeCount, LiftedCountsNothing) {
  Brake brake({.percent = 10, .floor = 1, .period = minutes(1)});
  brake.lift(kStart + seconds(10));
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(brake.pass(10, kStart + seconds(9)));
  EXPECT_TRUE(brake.pass(10, kStart + seconds(10)));
  EXPECT_FALSE(brake.pass(10, kStart + seconds(10)));
}

TEST(BrakeCount, OfAHundredPercentHoldsNothingBack) {
  Brake brake({.percent = 100, .floor = 0});
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(brake.pass(1, kStart));
}

// Agents a0, a1, …, each with one running task of `f`.
struct Rack {
  explicit Rack(MasterScenario& s, size_t size) : scenario(s) {
    for (size_t i = 0; i < size; ++i) {
      agents.push_back(&s.registered_agent(text("a", i), "cpus:1;mem:1GiB"));
    }
    f = &s.subscribed("f");
    f->asks("cpus:1;mem:1GiB", static_cast<int64_t>(size));
    s.settle();
    const std::vector<Offer> offers = f->offers;
    for (size_t i = 0; i < offers.size(); ++i) {
      f->accepts({offers[i]}, {f->spec(text("t", i), "cpus:1;mem:1GiB")});
    }
    for (TestAgent* agent : agents) {
      for (const auto& [key, task] : std::map(agent->tasks)) {
        agent->updates(key.first, key.second.str(), TaskState::kRunning);
      }
    }
    f->told();
  }
  void lose_all() {
    for (TestAgent* agent : agents) agent->lose();
  }
  int64_t in(AgentState state) const {
    int64_t count = 0;
    for (const proto::AgentRow& row : scenario.master->agents()) count += row.state == state;
    return count;
  }
  MasterScenario& scenario;
  std::vector<TestAgent*> agents = {};
  TestScheduler* f = nullptr;
};

TEST(Brake, HoldsBackAgentsThatAreLostAtOnceAndTheirTasksCount) {
  MasterScenario s({.brake = {.percent = 10, .floor = 2, .period = minutes(2)}});
  Rack rack(s, 6);
  rack.lose_all();
  s.advance(s.options.agent_timeout + seconds(1));
  EXPECT_EQ(rack.in(AgentState::kUnreachable), 2);
  EXPECT_EQ(rack.in(AgentState::kDisconnected), 4);
  EXPECT_EQ(rack.f->told().size(), 2u);
  EXPECT_EQ(s.allocated(), "cpus:4;mem:4096");
  const proto::MasterStatus status = s.master->status();
  EXPECT_EQ(status.agents_held_back, 4);
  EXPECT_EQ(status.agents_lost_max, 2);
  EXPECT_EQ(status.agents_lost_period, minutes(2));
  ASSERT_TRUE(status.agents_lost_next);
  EXPECT_GT(*status.agents_lost_next, s.now);
  EXPECT_TRUE(s.agent_row("a5").held_back);
  EXPECT_FALSE(s.agent_row("a0").held_back);
}

TEST(Brake, LetsTheNextPassWhenAPeriodIsOverTheLongestAwayFirst) {
  MasterScenario s({.reregistration_timeout = hours(1),
                    .brake = {.percent = 10, .floor = 2, .period = minutes(2)}});
  Rack rack(s, 5);
  for (const size_t i : {4, 3, 2, 1, 0}) {
    rack.agents[i]->lose();
    s.advance(seconds(1));
  }
  s.advance(s.options.agent_timeout + seconds(1));
  EXPECT_EQ(rack.in(AgentState::kUnreachable), 2);
  s.advance(minutes(2));
  EXPECT_EQ(rack.in(AgentState::kUnreachable), 4);
  EXPECT_EQ(s.agent_row("a0").state, AgentState::kDisconnected);
  s.advance(minutes(2));
  EXPECT_EQ(rack.in(AgentState::kUnreachable), 5);
  EXPECT_EQ(s.master->status().agents_held_back, 0);
}

TEST(Brake, AgentsThatComeBackWereNeverTold) {
  MasterScenario s({.brake = {.percent = 10, .floor = 1, .period = minutes(2)}});
  Rack rack(s, 4);
  rack.lose_all();
  s.advance(s.options.agent_timeout + seconds(1));
  ASSERT_EQ(rack.f->told().size(), 1u);
  for (TestAgent* agent : rack.agents) agent->registers();
  EXPECT_EQ(rack.in(AgentState::kConnected), 4);
  EXPECT_EQ(rack.f->told().size(), 1u);  // from the agent that was given up: its task runs again
  EXPECT_EQ(s.master->status().agents_held_back, 0);
  s.advance(minutes(10));
  EXPECT_EQ(rack.f->told(), Lines{});
}

TEST(Brake, IsLiftedByAnOperatorForAWhile) {
  MasterScenario s({.brake = {.percent = 10, .floor = 1, .period = minutes(2)}});
  Rack rack(s, 5);
  for (const size_t i : {0, 1, 2}) rack.agents[i]->lose();
  s.advance(s.options.agent_timeout + seconds(1));
  EXPECT_EQ(rack.in(AgentState::kUnreachable), 1);
  EXPECT_EQ(s.calls(LiftBrake{.span = minutes(1)}), "done");
  EXPECT_EQ(rack.in(AgentState::kUnreachable), 3);
  EXPECT_EQ(s.master->status().agents_held_back, 0);
  EXPECT_TRUE(s.master->status().brake_lifted_until);
  rack.agents[3]->lose();
  s.advance(s.options.agent_timeout + seconds(1));
  EXPECT_EQ(rack.in(AgentState::kUnreachable), 4);
  s.advance(minutes(1));
  EXPECT_FALSE(s.master->status().brake_lifted_until);
}

TEST(Brake, IsNotForOthersThanOperatorsToLift) {
  MasterScenario s;
  const auto ada = std::make_shared<Principal>(Principal{.user = "ada", .uid = 1001});
  EXPECT_EQ(s.calls(LiftBrake{.by = ada}), "user 'ada' may not lift the brake on lost agents");
  EXPECT_FALSE(s.master->status().brake_lifted_until);
}

// As in a cluster with default options: up to five agents are given up without delay.
TEST(Brake, LeavesSmallClustersAsTheyWere) {
  MasterScenario s;
  Rack rack(s, 5);
  rack.lose_all();
  s.advance(s.options.agent_timeout + seconds(1));
  EXPECT_EQ(rack.in(AgentState::kUnreachable), 5);
  s.advance(s.options.reregistration_timeout);
  EXPECT_TRUE(s.master->agents().empty());
}

// An agent that this master gave up has already passed the brake.
TEST(Brake, HoldsNoAgentTwiceInOneAbsence) {
  MasterScenario s({.brake = {.percent = 10, .floor = 2, .period = hours(2)}});
  Rack rack(s, 4);
  rack.lose_all();
  s.advance(s.options.agent_timeout + s.options.reregistration_timeout + seconds(1));
  EXPECT_EQ(s.master->agents().size(), 2u);
  EXPECT_EQ(rack.in(AgentState::kDisconnected), 2);
}

// A new master waits for agents that an earlier one gave up. If many do not return, the new
// master's own network is the likely cause.
TEST(Brake, HoldsBackRemovalsAfterAFailover) {
  MasterScenario s({.brake = {.percent = 10, .floor = 2, .period = minutes(5)}});
  Rack rack(s, 6);
  rack.lose_all();
  s.advance(s.options.agent_timeout + seconds(1));
  EXPECT_EQ(s.calls(LiftBrake{}), "done");
  ASSERT_EQ(rack.in(AgentState::kUnreachable), 6);
  s.restart_master();
  s.advance(s.options.reregistration_timeout + seconds(1));
  EXPECT_EQ(s.master->agents().size(), 4u);
  EXPECT_EQ(s.master->status().agents_held_back, 4);
  s.advance(minutes(5));
  EXPECT_EQ(s.master->agents().size(), 2u);
}

TEST(Brake, HoldsBackAgentsThatANewMasterDoesNotHearOf) {
  MasterScenario s({.brake = {.percent = 10, .floor = 2, .period = minutes(5)}});
  Rack rack(s, 6);
  s.restart_master();
  s.advance(s.options.agent_timeout + seconds(1));
  EXPECT_EQ(rack.in(AgentState::kUnreachable), 2);
  EXPECT_EQ(rack.in(AgentState::kDisconnected), 4);
  for (TestAgent* agent : rack.agents) agent->registers();
  EXPECT_EQ(rack.in(AgentState::kConnected), 6);
}

}  // namespace
}  // namespace proffer::master::brake_test
