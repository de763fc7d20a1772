// Gangs: all tasks at once or none, over several agents.

#include <gtest/gtest.h>

#include "tests/allocator/scenario.h"

namespace proffer::gangs_test {
namespace {

Ask gang_of(int64_t gang, const std::string& shape, int64_t count) {
  return {
      .name = AskName("task"), .shape = parse_shape(shape).value(), .count = count, .gang = gang};
}

TEST(Gang, IsOfferedOverSeveralAgentsWithOneNumber) {
  AllocatorScenario s;
  s.agent("a1", "cpus:2;mem:2GiB");
  s.agent("a2", "cpus:2;mem:2GiB");
  s.framework("f").asks(gang_of(3, "cpus:1", 6));
  s.decide();
  const std::vector<Grant> offers = s.framework("f").outstanding();
  ASSERT_EQ(offers.size(), 2u);
  EXPECT_NE(offers[0].offer.gang, 0u);
  EXPECT_EQ(offers[0].offer.gang, offers[1].offer.gang);
  EXPECT_EQ(s.allocator().gang_offers(offers[0].offer.gang).size(), 2u);
  EXPECT_EQ(s.framework("f").ask().offered, 3);

  s.framework("f").accepts_all();
  EXPECT_EQ(s.framework("f").tasks(), 3);
  EXPECT_TRUE(s.rescinds().empty());
  s.decide();
  EXPECT_EQ(s.framework("f").offers(), Offers{}) << "one is free, and a gang is three";
  EXPECT_TRUE(s.rescinds().empty());
  EXPECT_TRUE(s.allocator().gang_offers(offers[0].offer.gang).empty());
}

TEST(Gang, IsNeverGivenInPart) {
  AllocatorScenario s;
  s.agent("a1", "cpus:2;mem:2GiB");
  s.framework("f").asks(gang_of(3, "cpus:1", 3));
  s.decide();
  EXPECT_EQ(s.framework("f").offers(), Offers{});
  s.agent("a2", "cpus:1;mem:1GiB");
  s.decide();
  EXPECT_EQ(s.framework("f").offers(), (Offers{"a1 cpus:2", "a2 cpus:1"}));
}

TEST(Gang, DecliningOneOfItsOffersTakesTheOthersBack) {
  AllocatorScenario s;
  s.agent("a1", "cpus:1;mem:1GiB");
  s.agent("a2", "cpus:1;mem:1GiB");
  s.agent("a3", "cpus:1;mem:1GiB");
  s.framework("f").asks(gang_of(2, "cpus:1", 2));
  s.decide();
  const std::vector<std::string> first = s.framework("f").offers();
  ASSERT_EQ(first.size(), 2u);
  const std::string declined = first[0].substr(0, 2);
  s.framework("f").declines(declined);
  EXPECT_EQ(s.framework("f").offers(), Offers{});
  s.decide();
  ASSERT_EQ(s.rescinds().size(), 1u);
  EXPECT_EQ(s.rescinds()[0].reason, RescindReason::kGangBroken);
  // The two other agents fit the gang.
  EXPECT_EQ(s.framework("f").offers().size(), 2u);
  for (const std::string& offer : s.framework("f").offers()) {
    EXPECT_NE(offer.substr(0, 2), declined);
  }
}

TEST(Gang, LaunchingLessThanItTakesTheOthersBack) {
  AllocatorScenario s;
  s.agent("a1", "cpus:1;mem:1GiB");
  s.agent("a2", "cpus:1;mem:1GiB");
  s.framework("f").asks(gang_of(2, "cpus:1", 2));
  s.decide();
  const std::vector<Grant> offers = s.framework("f").outstanding();
  ASSERT_EQ(offers.size(), 2u);
  s.allocator().settle({offers[0].offer.id}, {}, {}, s.now());
  s.check();
  EXPECT_TRUE(s.allocator().gang_offers(offers[0].offer.gang).empty());
  EXPECT_EQ(s.framework("f").ask().offered, 0);
}

TEST(Gang, EndsTogetherWhenItsLeaseOrAnAgentOfItEnds) {
  AllocatorScenario s;
  s.agent("a1", "cpus:1;mem:1GiB");
  s.agent("a2", "cpus:1;mem:1GiB");
  s.framework("f").asks(gang_of(2, "cpus:1", 2));
  s.decide();
  s.allocator().set_agent_active(AgentId("a1"), false);
  s.check();
  EXPECT_EQ(s.framework("f").offers(), Offers{});
  s.allocator().set_agent_active(AgentId("a1"), true);
  s.decide();
  EXPECT_EQ(s.framework("f").offers().size(), 2u);
  const uint64_t gang = s.framework("f").outstanding()[0].offer.gang;
  s.advance(kOfferTimeout);
  for (const Grant& grant : s.framework("f").outstanding()) EXPECT_NE(grant.offer.gang, gang);
}

TEST(Gang, KeepsToMaxPerAndSpreads) {
  AllocatorScenario s;
  s.agent("a1", "cpus:8;mem:8GiB", "rack:r1");
  s.agent("a2", "cpus:8;mem:8GiB", "rack:r1");
  s.agent("a3", "cpus:8;mem:8GiB", "rack:r2");
  Ask ask = gang_of(4, "cpus:1", 4);
  ask.max_per = {{"host", 2}, {"rack", 2}};
  s.framework("f").asks(ask);
  s.run_until_nothing_fits();
  EXPECT_EQ(s.framework("f").tasks_on("a1") + s.framework("f").tasks_on("a2"), 2);
  EXPECT_EQ(s.framework("f").tasks_on("a3"), 2);

  Ask even = gang_of(6, "cpus:1", 6);
  even.spread = "host";
  s.framework("g").asks(even);
  s.run_until_nothing_fits();
  for (const char* agent : {"a1", "a2", "a3"}) EXPECT_EQ(s.framework("g").tasks_on(agent), 2);

  ask.max_per = {{"rack", 1}};
  s.framework("h").asks(ask);
  s.decide();
  EXPECT_FALSE(s.framework("h").ask().could_ever_fit) << "there are two racks";
}

TEST(Gang, CouldEverFitIsOfAllItsTasks) {
  AllocatorScenario s;
  s.agent("a1", "cpus:2;mem:2GiB");
  s.framework("f").asks(gang_of(3, "cpus:1", 3));
  s.decide();
  EXPECT_FALSE(s.framework("f").ask().could_ever_fit);
  const AskExplanation ask = s.allocator().explain(FrameworkId("f"), s.now()).asks.at(0);
  ASSERT_EQ(ask.hindered.size(), 1u);
  EXPECT_EQ(to_text(ask.hindered[0]),
            "has room for a task, but 3 tasks must start together, and at most 2 fit now");
}

TEST(Gang, NumbersBeginAboveThoseThatRun) {
  AllocatorScenario s(AllocatorOptions{.gangs_before = 100});
  s.agent("a1", "cpus:4;mem:4GiB");
  s.framework("f").asks(gang_of(2, "cpus:1", 2));
  s.decide();
  EXPECT_EQ(s.framework("f").outstanding().at(0).offer.gang, 101u);
  s.framework("f").accepts_all();
  RunningTask task{.task = TaskId("old"),
                   .claim = {.slices = {{.resources = {.amounts = ResourceVector::of(1'000, 0)}}},
                             .role = RoleName("f"),
                             .gang = 500}};
  s.allocator().adopt(AgentId("a1"), FrameworkId("f"), task);
  s.framework("g").asks(gang_of(1, "cpus:0.1", 0));
  Ask more = gang_of(2, "cpus:0.5", 2);
  s.framework("g").asks(more);
  s.decide();
  EXPECT_EQ(s.framework("g").outstanding().at(0).offer.gang, 501u);
}

}  // namespace
}  // namespace proffer::gangs_test
