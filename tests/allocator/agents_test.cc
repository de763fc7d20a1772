// Agents register, change, leave and reregister; and which agents suit an ask.

#include <gtest/gtest.h>

#include "tests/allocator/running.h"
#include "tests/allocator/scenario.h"

namespace proffer::agents_test {
namespace {

TEST(AgentLost, ItsOffersAreRescindedAndItsTasksForgotten) {
  AllocatorScenario s;
  s.agent("a1", "cpus:2;mem:2GiB");
  s.framework("x").asks("cpus:1;mem:1GiB", 1);
  s.run_until_nothing_fits();
  s.framework("y").asks("cpus:1;mem:1GiB", 1);
  s.decide();
  ASSERT_EQ(s.framework("y").offers().size(), 1u);

  s.loses("a1");
  EXPECT_EQ(s.framework("y").offers(), Offers{});
  s.decide();

  ASSERT_EQ(s.rescinds().size(), 1u);
  EXPECT_EQ(s.rescinds()[0].reason, RescindReason::kAgentLost);
  EXPECT_EQ(s.framework("x").dominant_share(), Share::of(0, 1));
  EXPECT_TRUE(s.allocator().total().is_zero());
}

TEST(AgentBack, WhatItRunsIsAdopted) {
  AllocatorScenario s;
  s.agent("a1", "cpus:2;mem:2GiB");
  s.framework("x").asks("cpus:1;mem:1GiB", 1);
  s.run_until_nothing_fits();
  const Resources task = s.framework("x").running().at(0).resources;
  s.loses("a1");
  s.decide();

  s.agent("a1", "cpus:2;mem:2GiB");
  s.allocator().adopt(AgentId("a1"), FrameworkId("x"), running_task("t", RoleName("x"), task));
  s.check();
  s.framework("y").asks("cpus:1;mem:1GiB");
  s.decide();

  EXPECT_EQ(s.framework("y").offers(), Offers{"a1 cpus:1;mem:1024"});
  EXPECT_EQ(s.framework("x").dominant_share(), Share::of(1, 2));
}

TEST(AgentBack, MayRunMoreThanItHasNow) {
  AllocatorScenario s;
  s.agent("a1", "cpus:2;mem:2GiB");
  s.framework("x").asks("cpus:1;mem:1GiB");
  const auto runs = [&](const std::string& id, std::string_view what) {
    s.allocator().adopt(AgentId("a1"), FrameworkId("x"),
                        running_task(id, RoleName("x"), {.amounts = parse_shape(what).value()}));
  };
  runs("t1", "cpus:2;mem:1GiB");
  runs("t2", "cpus:1");
  s.check();
  s.decide();
  EXPECT_EQ(to_text(s.allocator().agents().at(0).free), "mem:1024");
  EXPECT_EQ(s.framework("x").offers(), Offers{});

  s.allocator().release(AgentId("a1"), FrameworkId("x"), TaskId("t1"));
  s.decide();
  EXPECT_EQ(s.framework("x").offers(), Offers{"a1 cpus:1;mem:1024"});
}

TEST(AgentBack, WhatItRunsTakesBackWhatWasOfferedMeanwhile) {
  AllocatorScenario s;
  s.agent("a1", "cpus:2;mem:2GiB");
  s.framework("x").asks("cpus:1;mem:1GiB", 0);
  s.framework("open").subscribes();
  s.decide();
  ASSERT_EQ(s.framework("open").offers().size(), 1u);

  s.allocator().adopt(
      AgentId("a1"), FrameworkId("x"),
      running_task("t", RoleName("x"), {.amounts = parse_shape("cpus:1;mem:1GiB").value()}));
  s.check();
  s.decide();

  ASSERT_EQ(s.rescinds().size(), 1u);
  EXPECT_EQ(s.rescinds()[0].reason, RescindReason::kAgentChanged);
  EXPECT_EQ(s.framework("open").offers(), Offers{"a1 cpus:1;mem:1024"});
}

TEST(AgentChanged, ItsOffersAreRescindedAndItsTasksStay) {
  AllocatorScenario s;
  s.agent("a1", "cpus:2;mem:2GiB");
  s.framework("x").asks("cpus:1;mem:1GiB", 1);
  s.run_until_nothing_fits();
  s.framework("x").asks("cpus:1;mem:1GiB", 1);
  s.decide();

  s.agent("a1", "cpus:4;mem:4GiB");
  s.decide();

  ASSERT_EQ(s.rescinds().size(), 1u);
  EXPECT_EQ(s.rescinds()[0].reason, RescindReason::kAgentChanged);
  EXPECT_EQ(to_text(s.framework("x").status().allocated), "cpus:1;mem:1024");
  EXPECT_EQ(s.framework("x").dominant_share(), Share::of(2, 4));
}

TEST(AgentInactive, IsNotOfferedUntilItIsActiveAgain) {
  AllocatorScenario s;
  s.agent("a1", "cpus:2;mem:2GiB");
  s.framework("x").asks("cpus:1;mem:1GiB", 2);
  s.decide();
  s.allocator().set_agent_active(AgentId("a1"), false);
  s.check();
  s.advance(minutes(1));
  EXPECT_EQ(s.framework("x").offers(), Offers{});
  EXPECT_EQ(s.rescinds().size(), 1u);
  EXPECT_EQ(to_text(s.allocator().total()), "cpus:2;mem:2048") << "it counts in the total still";

  s.allocator().set_agent_active(AgentId("a1"), true);
  s.decide();

  EXPECT_EQ(s.framework("x").offers(), Offers{"a1 cpus:2;mem:2048"});
}

TEST(FrameworkLost, ItsOffersGoToOthersAndItsTasksCount) {
  AllocatorScenario s;
  s.agent("a1", "cpus:2;mem:2GiB");
  s.framework("x").asks("cpus:1;mem:1GiB", 1);
  s.run_until_nothing_fits();
  s.framework("x").asks("cpus:1;mem:1GiB", 1);
  s.decide();
  ASSERT_EQ(s.framework("x").offers().size(), 1u);
  s.framework("y").asks("cpus:1;mem:1GiB", 1);

  s.allocator().set_framework_active(FrameworkId("x"), false);
  s.check();
  s.decide();

  ASSERT_EQ(s.rescinds().size(), 1u);
  EXPECT_EQ(s.rescinds()[0].reason, RescindReason::kFrameworkLost);
  EXPECT_EQ(s.framework("y").offers(), Offers{"a1 cpus:1;mem:1024"});
  EXPECT_EQ(s.framework("x").dominant_share(), Share::of(1, 2));
  s.framework("y").declines("a1", hours(1));
  s.allocator().set_framework_active(FrameworkId("x"), true);
  s.decide();
  EXPECT_EQ(s.framework("x").offers(), Offers{"a1 cpus:1;mem:1024"});
}

TEST(FrameworkRemoved, NothingOfItIsLeft) {
  AllocatorScenario s;
  s.agent("a1", "cpus:2;mem:2GiB");
  s.framework("x").asks("cpus:1;mem:1GiB", 1);
  s.run_until_nothing_fits();
  s.framework("x").asks("cpus:1;mem:1GiB", 1);
  s.decide();

  s.allocator().remove_framework(FrameworkId("x"));
  s.check();
  s.decide();

  EXPECT_TRUE(s.rescinds().empty()) << "nobody is there to hear of them";
  EXPECT_EQ(to_text(s.allocator().agents().at(0).free), "cpus:2;mem:2048");
  EXPECT_TRUE(s.allocator().leaves().empty());
  EXPECT_TRUE(s.allocator().roles().empty());
}

TEST(Constraints, OnAttributesAndHostChooseTheAgent) {
  AllocatorScenario s;
  s.agent("a1", "cpus:4;mem:4GiB", "rack:r1");
  s.agent("a2", "cpus:4;mem:4GiB", "rack:r2");
  s.agent("b3", "cpus:4;mem:4GiB");
  s.framework("x")
      .asks("cpus:1", 1, "by-rack", "rack == r2")
      .asks("cpus:2", 1, "by-host", "host =~ b.*")
      .asks("cpus:3", 1, "none-such", "rack == r9");

  s.run_until_nothing_fits();

  EXPECT_EQ(s.framework("x").tasks("by-rack"), 1);
  EXPECT_EQ(s.framework("x").tasks_on("a2"), 1);
  EXPECT_EQ(s.framework("x").tasks_on("b3"), 1);
  EXPECT_FALSE(s.framework("x").ask("none-such").could_ever_fit);
}

TEST(Constraints, AreMetWhenTheAttributesChange) {
  AllocatorScenario s;
  s.agent("a1", "cpus:4;mem:4GiB", "rack:r1");
  s.framework("x").asks("cpus:1", 1, "task", "rack == r2");
  s.decide();
  EXPECT_EQ(s.framework("x").offers(), Offers{});

  s.agent("a1", "cpus:4;mem:4GiB", "rack:r2");
  s.decide();

  EXPECT_EQ(s.framework("x").offers(), Offers{"a1 cpus:1"});
}

TEST(Placement, BestFitKeepsLargePiecesWhole) {
  AllocatorScenario s;
  s.agent("a1", "cpus:8;mem:8GiB");
  s.agent("a2", "cpus:2;mem:2GiB");
  s.framework("x").asks("cpus:1;mem:1GiB", 2).asks("cpus:8;mem:8GiB", 1, "large");

  s.run_until_nothing_fits();

  EXPECT_EQ(s.framework("x").tasks_on("a2"), 2);
  EXPECT_EQ(s.framework("x").tasks("large"), 1);
}

TEST(Placement, AsksWithoutGpusAvoidTheAgentsThatHaveThem) {
  AllocatorScenario s;
  s.agent("a1", "cpus:2;mem:2GiB;gpus:1");
  s.agent("b2", "cpus:9;mem:9GiB");
  s.framework("x").asks("cpus:1;mem:1GiB", 9);
  s.run_until_nothing_fits();
  EXPECT_EQ(s.framework("x").tasks_on("b2"), 9);

  s.framework("x").asks("cpus:1;mem:1GiB", 1);
  s.run_until_nothing_fits();
  EXPECT_EQ(s.framework("x").tasks_on("a1"), 1) << "when nothing else is free they are used";
}

TEST(Gpus, AreGivenByDevice) {
  AllocatorScenario s;
  s.agent("a1", "cpus:8;mem:8GiB;gpus:2");
  s.framework("x").asks("cpus:1;gpus:0.6", 5);

  s.run_until_nothing_fits();

  // Two tasks of 0.6 GPU exceed one device, so each gets its own: a part never spans two devices.
  ASSERT_EQ(s.framework("x").tasks(), 2);
  EXPECT_EQ(s.framework("x").running()[0].resources.gpus, (std::vector<GpuDevice>{{0, 600}}));
  EXPECT_EQ(s.framework("x").running()[1].resources.gpus, (std::vector<GpuDevice>{{1, 600}}));

  s.framework("whole").asks("cpus:1;gpus:1", 1);
  s.run_until_nothing_fits();
  EXPECT_EQ(s.framework("whole").tasks(), 0);
  s.framework("x").asks("cpus:1;gpus:0.6", 0);
  s.framework("x").ends(1);
  s.run_until_nothing_fits();
  ASSERT_EQ(s.framework("whole").tasks(), 1);
  EXPECT_EQ(s.framework("whole").running()[0].resources.gpus, (std::vector<GpuDevice>{{0, 1000}}));
}

TEST(Ports, OfOffersAndTasksAreNotPromisedTwice) {
  AllocatorScenario s;
  s.agent("a1", "cpus:8;mem:8GiB;ports:[31000-31002]");
  s.framework("x").asks("cpus:1", 5, "task", "", 2);
  s.decide();
  EXPECT_EQ(s.framework("x").offers(), Offers{"a1 cpus:1"});
  EXPECT_EQ(to_text(s.framework("x").outstanding().at(0).offer.ports), "[31000-31002]");

  const Grant grant = s.framework("x").outstanding().at(0);
  RunningTask task =
      running_task("t", RoleName("x"), {.amounts = parse_shape("cpus:1").value()}, AskName("task"));
  task.ports = PortSet({{31000, 31001}});
  s.allocator().settle({grant.offer.id}, {task}, {}, s.now());
  s.decide();
  EXPECT_EQ(s.allocator().free_ports(AgentId("a1")), PortSet({{31002, 31002}}));
  EXPECT_EQ(s.framework("x").offers(), Offers{});

  s.allocator().release(AgentId("a1"), FrameworkId("x"), TaskId("t"));
  s.decide();
  EXPECT_EQ(s.framework("x").offers(), Offers{"a1 cpus:1"});
}

TEST(Slices, ReservedOrRevocableOnesAreNotOffered) {
  AllocatorScenario s;
  const Resources two{.amounts = parse_shape("cpus:2;mem:2GiB").value()};
  s.allocator().set_agent(AgentId("a1"),
                          {.slices = {Slice{.resources = two}, Slice{two, RoleName("other"), false},
                                      Slice{two, RoleName(), true}}});
  s.framework("open").subscribes();
  s.decide();
  EXPECT_EQ(s.framework("open").offers(), Offers{"a1 cpus:2;mem:2048"});
}

}  // namespace
}  // namespace proffer::agents_test
