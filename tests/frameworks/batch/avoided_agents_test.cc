// Agents on which several tasks of a job failed are avoided for some time.

#include "frameworks/batch/core/avoided_agents.h"

#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/prng.h"
#include "tests/frameworks/batch/job_scenario.h"

namespace proffer::batch::avoided_agents_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using State = proto::TaskState;

const AgentId kBad("bad");

// Twelve maps on four agents with three slots each; the maps on "bad" have failed.
class BadAgent : public ::testing::Test {
 protected:
  BadAgent() : s(12, 1) {
    for (const char* name : {"a", "b", "bad", "c"}) s.agent(name, 3);
    s.subscribe();
    s.offer_all();
    for (const std::string& id : s.running_ids()) {
      if (s.agent_of(id) == "bad") s.fail(id, "the disk is full");
    }
  }
  void finish_all_but_on(const std::string& agent) {
    for (const std::string& id : s.running_ids()) {
      if (s.agent_of(id) != agent) s.finish(id);
    }
  }

  JobScenario s;
};

}  // namespace

TEST(AvoidedAgents, AreThoseOnWhichThreeTasksFailed) {
  AvoidedAgents agents;
  EXPECT_FALSE(agents.add_failure(kBad, TaskKind::kMap, 1, Time(), 9));
  // A second failure of the same task is no further evidence against the agent.
  EXPECT_FALSE(agents.add_failure(kBad, TaskKind::kMap, 1, Time(), 9));
  EXPECT_FALSE(agents.add_failure(kBad, TaskKind::kReduce, 1, Time(), 9));
  EXPECT_TRUE(agents.add_failure(kBad, TaskKind::kMap, 2, Time(), 9));
  EXPECT_TRUE(agents.contains(kBad));
  EXPECT_FALSE(agents.add_failure(kBad, TaskKind::kMap, 3, Time(), 9));
}

TEST(AvoidedAgents, AreAThirdOfAllAtMost) {
  EXPECT_EQ(avoided_max(2), 0U);
  EXPECT_EQ(avoided_max(3), 1U);
  EXPECT_LT(avoided_max(1'000'000), kConstraintValuesMax);
  AvoidedAgents agents;
  for (int agent = 0; agent < 6; ++agent) {
    for (uint32_t task = 0; task < 10; ++task) {
      agents.add_failure(AgentId(text("a", agent)), TaskKind::kMap, task, Time(), 6);
    }
  }
  EXPECT_THAT(agents.all(), ElementsAre(AgentId("a0"), AgentId("a1")));
}

TEST(AvoidedAgents, AreForgivenAfterATime) {
  AvoidedAgents agents;
  for (uint32_t task = 0; task < 3; ++task) {
    agents.add_failure(kBad, TaskKind::kMap, task, Time(), 3);
  }
  ASSERT_EQ(agents.next_deadline(), Time() + kAvoidFor);
  agents.forgive(Time() + kAvoidFor - milliseconds(1));
  EXPECT_TRUE(agents.contains(kBad));
  agents.forgive(Time() + kAvoidFor);
  EXPECT_FALSE(agents.contains(kBad));
  EXPECT_EQ(agents.next_deadline(), std::nullopt);
  // The count starts again.
  EXPECT_FALSE(agents.add_failure(kBad, TaskKind::kMap, 7, Time() + kAvoidFor, 3));
}

TEST(AvoidedAgents, OldFailuresDoNotAddUp) {
  AvoidedAgents agents;
  for (uint32_t task = 0; task < 10; ++task) {
    EXPECT_FALSE(agents.add_failure(kBad, TaskKind::kMap, task, Time() + kAvoidFor * task, 9));
  }
}

TEST(AvoidedAgents, AreThoseOnWhichThreeTasksInARowWereSlow) {
  AvoidedAgents agents;
  const auto ends = [&](bool was_slow) { return agents.add_end(kBad, was_slow, Time(), 3); };
  EXPECT_FALSE(ends(true));
  EXPECT_FALSE(ends(true));
  EXPECT_FALSE(ends(false));
  EXPECT_FALSE(ends(true));
  EXPECT_FALSE(ends(true));
  EXPECT_TRUE(ends(true));
  EXPECT_FALSE(ends(true));
  EXPECT_TRUE(agents.contains(kBad));
  // The remaining tasks end in time: the agent is as fast as the others again.
  EXPECT_FALSE(ends(false));
  EXPECT_FALSE(agents.contains(kBad));
  EXPECT_EQ(agents.next_deadline(), std::nullopt);
}

TEST(AvoidedAgents, OnWhichTasksFailedAreNotForgivenForFastOnes) {
  AvoidedAgents agents;
  for (uint32_t task = 0; task < 3; ++task) {
    agents.add_failure(kBad, TaskKind::kMap, task, Time(), 3);
  }
  agents.add_end(kBad, false, Time(), 3);
  EXPECT_TRUE(agents.contains(kBad));
}

TEST_F(BadAgent, GetsNoFurtherTaskAndIsShown) {
  EXPECT_THAT(s.status().avoided_agents, ElementsAre("bad"));
  s.advance(seconds(2));  // now any agent with a failed task could get tasks again
  EXPECT_EQ(s.asked("map"), 3);
  EXPECT_EQ(s.offer_all(), 0);
  EXPECT_EQ(s.offer(kBad, AskName("map"), 3), 0);
  finish_all_but_on("bad");
  s.offer_all();
  for (const std::string& id : s.running_ids()) EXPECT_NE(s.agent_of(id), "bad");
  s.finish_all();
  s.offer_all();
  EXPECT_NE(s.agent_of("reduce-00000-1"), "bad");
  s.finish_all();
  EXPECT_TRUE(s.succeeded());
  EXPECT_THAT(s.status().avoided_agents, IsEmpty());
}

TEST_F(BadAgent, IsTakenAgainAfterATime) {
  s.advance(kAvoidFor);
  EXPECT_THAT(s.status().avoided_agents, IsEmpty());
  EXPECT_EQ(s.offer_all(), 3);
}

TEST_F(BadAgent, IsTakenAtOnceIfNoOtherCouldRunTheTasks) {
  s.notify(proto::AskReport{
      .rows = {{.ask = AskName("job-1.map"), .could_ever_fit = false, .why = "no other agent"}}});
  EXPECT_THAT(s.status().avoided_agents, IsEmpty());
  s.advance(seconds(2));
  EXPECT_EQ(s.offer_all(), 3);
}

namespace {
// Four agents with one slot each. A task takes one second, or five if `is_slow`.
void run_maps(JobScenario& s, int waves,
              const std::function<bool(const std::string& agent)>& is_slow) {
  s.begins_on({{"a", 1}, {"b", 1}, {"c", 1}, {"slow", 1}});
  std::map<std::string, int> ages;
  for (int second = 0; second < waves; ++second) {
    s.advance(seconds(1));
    for (const std::string& id : s.running_ids()) {
      if (++ages[id] < 5 && is_slow(s.agent_of(id))) continue;
      s.finish(id);
    }
    s.offer_all();
  }
}
}  // namespace

TEST(SlowAgentOfAJob, GetsNoFurtherTask) {
  JobScenario s(48, 4);
  run_maps(s, 15, [](const std::string& agent) { return agent == "slow"; });
  EXPECT_THAT(s.status().avoided_agents, ElementsAre("slow"));
  EXPECT_THAT(s.status().note, HasSubstr("slow there"));
  while (!s.over()) {
    for (const std::string& id : s.running_ids()) EXPECT_NE(s.agent_of(id), "slow") << id;
    s.finish_all();
    s.offer_all();
  }
  EXPECT_TRUE(s.succeeded());
}

// Some tasks of a job take longer on any agent.
TEST(SlowTasksOfAJob, OnAllAgentsAreNoReasonToAvoidOne) {
  JobScenario s(400, 0);
  Prng random(3);
  run_maps(s, 60, [&](const std::string&) { return random.chance(1, 8); });
  EXPECT_THAT(s.status().avoided_agents, IsEmpty());
}

TEST(AvoidedAgentsOfAnArray, AreThoseWhereItsTasksFailed) {
  JobScenario s(JobScenario::array(1'000));
  for (const char* name : {"a", "b", "bad"}) s.agent(name, 3);
  s.subscribe();
  s.offer_all();
  for (const std::string& id : s.running_ids()) {
    if (s.agent_of(id) == "bad") s.end(id, State::kFailed, proto::TaskReason::kExecutorEnded);
  }
  EXPECT_THAT(s.status().avoided_agents, ElementsAre("bad"));
  EXPECT_EQ(s.offer_all(), 0);
}

}  // namespace proffer::batch::avoided_agents_test
