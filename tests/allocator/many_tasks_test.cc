// Many tasks are given at once while resources are plentiful: as fair as one at a time, in fewer
// offers.

#include <gtest/gtest.h>

#include "common/text.h"
#include "tests/allocator/scenario.h"

namespace proffer::many_tasks_test {
namespace {

void add_agents(AllocatorScenario& s, int64_t count, const std::string& resources) {
  for (int64_t i = 0; i < count; ++i) s.agent(text("a", 100 + i), resources);
}

// Their shares tie at every step, so with single turns each offer would hold one task.
TEST(ManyTasks, OfEachFrameworkComeTogetherOnItsAgents) {
  AllocatorScenario s;
  add_agents(s, 12, "cpus:16;mem:16GiB");
  s.framework("A").asks("cpus:1;mem:1GiB");
  s.framework("B").asks("cpus:2;mem:2GiB");
  s.framework("C").asks("cpus:4;mem:4GiB");

  EXPECT_EQ(s.decide().grants.size(), 12u);
  s.run_until_nothing_fits();

  EXPECT_EQ(s.framework("A").tasks(), 64);
  EXPECT_EQ(s.framework("B").tasks(), 32);
  EXPECT_EQ(s.framework("C").tasks(), 16);
}

// Weights count, and roles first, then the frameworks in them.
TEST(ManyTasks, AreSharedAsInTheTreeOfRoles) {
  AllocatorScenario s;
  add_agents(s, 30, "cpus:10;mem:10GiB");
  s.weight("eng", 2'000);
  s.framework("A").in_role("eng/a").asks("cpus:1;mem:1GiB");
  s.framework("B").in_role("eng/b").asks("cpus:2;mem:1GiB");
  s.framework("C").in_role("ops").asks("cpus:1;mem:2GiB");

  s.run_until_nothing_fits();

  // Engineering has twice the share of operations: 200 CPUs beside 100 GiB.
  EXPECT_EQ(s.framework("A").tasks(), 100);
  EXPECT_EQ(s.framework("B").tasks(), 50);
  EXPECT_EQ(s.framework("C").tasks(), 50);
}

// Its turn comes while the others get many tasks; they wait for it.
TEST(ManyTasks, LeaveItsTurnToAFrameworkWithOtherWishes) {
  AllocatorScenario s;
  add_agents(s, 12, "cpus:16;mem:16GiB");
  s.framework("A").asks("cpus:1;mem:1GiB");
  s.framework("B").asks("cpus:2;mem:2GiB");
  s.framework("S").asks({.name = AskName("task"),
                         .shape = parse_shape("cpus:4;mem:4GiB").value(),
                         .count = 40,
                         .spread = "host"});

  s.run_until_nothing_fits();

  EXPECT_EQ(s.framework("A").tasks(), 64);
  EXPECT_EQ(s.framework("B").tasks(), 32);
  EXPECT_EQ(s.framework("S").tasks(), 16);
}

}  // namespace
}  // namespace proffer::many_tasks_test
