// The entitlement gate: owed tasks come first while tasks come and go (allocator/waiting/gate.h).

#include <gtest/gtest.h>

#include "tests/allocator/scenario.h"

namespace proffer {
namespace {

// The gate reproduces the example of the DRF paper.
TEST(Gate, ExampleOfThePaper) {
  AllocatorScenario s;
  s.agent("a1", "cpus:9;mem:18GiB");
  s.framework("A").asks("cpus:1;mem:4GiB");
  s.framework("B").asks("cpus:3;mem:1GiB");

  s.run_until_nothing_fits();

  EXPECT_EQ(s.framework("A").tasks(), 3);
  EXPECT_EQ(s.framework("B").tasks(), 2);
}

// A task that needs both kinds gets its share beside tasks that need one each: neither a freed CPU
// nor freed memory goes to a framework that has its share already.
TEST(Gate, TaskOfTwoKindsIsServedBesideTasksOfOneKind) {
  for (const bool no_gate : {false, true}) {
    AllocatorScenario s(AllocatorOptions{.claim_after = hours(24), .naive = {.no_gate = no_gate}});
    s.agent("a1", "cpus:12;mem:12GiB");
    s.framework("cpus").in_role("one").asks("cpus:1", 100'000);
    s.framework("mem").in_role("one").asks("mem:1GiB", 100'000);
    s.run_until_nothing_fits();
    s.framework("both").in_role("two").asks("cpus:2;mem:2GiB", 100'000);

    // One task of each ends at a time.
    for (int second = 0; second < 30; ++second) {
      for (const char* name : {"cpus", "mem"}) {
        if (s.framework(name).tasks() > 0) s.framework(name).ends(1);
        s.advance(seconds(1));
        s.run_until_nothing_fits();
      }
    }

    EXPECT_EQ(s.framework("both").tasks(), no_gate ? 0 : 3) << "without the gate: " << no_gate;
  }
}

// Ten small tasks end one after the other; each place goes back to the framework whose task ended,
// as it is entitled to it.
TEST(Gate, PlaceOfATaskGoesBackToItsAsk) {
  AllocatorScenario s;
  s.agent("a1", "cpus:4;mem:4GiB");
  s.agent("a2", "cpus:4;mem:4GiB");
  s.framework("x").asks("cpus:2;mem:2GiB", 100'000);
  s.framework("y").asks("cpus:1;mem:1GiB", 100'000);
  s.run_until_nothing_fits();
  ASSERT_EQ(s.framework("x").tasks(), 2);
  ASSERT_EQ(s.framework("y").tasks(), 4);

  for (int i = 0; i < 10; ++i) {
    s.framework(i % 2 == 0 ? "x" : "y").ends(1);
    s.advance(seconds(1));
    s.run_until_nothing_fits();
    ASSERT_EQ(s.framework("x").tasks(), 2);
    ASSERT_EQ(s.framework("y").tasks(), 4);
  }
}

// All tasks of x end at once. One of x and one of y fit, but only if that of x goes to the small
// agent.
TEST(Gate, PlaceGoesToAnAskThatFitsNowhereElse) {
  AllocatorScenario s;
  s.agent("a1", "cpus:3;mem:3GiB");
  s.agent("a2", "cpus:1;mem:1GiB");
  s.weight("y", 3 * kWeightOne);
  s.framework("x").in_role("x").asks("cpus:1;mem:1GiB", 100'000);
  s.run_until_nothing_fits();
  ASSERT_EQ(s.framework("x").tasks(), 4);
  s.framework("y").in_role("y").asks("cpus:3;mem:3GiB", 100'000);
  s.framework("x").ends(4);
  s.run_until_nothing_fits();
  EXPECT_EQ(s.framework("x").tasks_on("a2"), 1);
  EXPECT_EQ(s.framework("y").tasks_on("a1"), 1);
}

// x took the memory of the agent with the many CPUs while it was alone. When its task ends there,
// the place goes to y, which suits it better; also with a policy that does not look at that.
TEST(Gate, PlaceGoesToAnAskThatSuitsTheAgentBetter) {
  for (const Placement placement : {Placement::kBalanced, Placement::kBestFit}) {
    AllocatorScenario s(AllocatorOptions{.placement = placement});
    s.agent("cpus", "cpus:16;mem:4GiB");
    s.agent("memory", "cpus:4;mem:64GiB");
    s.framework("x").asks("cpus:1;mem:4GiB", 100'000);
    s.run_until_nothing_fits();
    ASSERT_EQ(s.framework("x").tasks_on("cpus"), 1);
    s.framework("y").asks("cpus:1;mem:200", 100'000);
    s.framework("x").ends(s.framework("x").tasks());
    s.run_until_nothing_fits();
    EXPECT_EQ(s.framework("x").tasks_on("cpus"), 0) << to_text(placement);
    EXPECT_EQ(s.framework("y").tasks_on("cpus"), 16) << to_text(placement);
  }
}

// Many frameworks of one role do not count more than one of another, also after ends that coincide.
TEST(Gate, ManyFrameworksInARoleHaveOneShare) {
  AllocatorScenario s;
  s.agent("a1", "cpus:8;mem:8GiB");
  for (int i = 0; i < 20; ++i) {
    s.framework(text("r", i)).in_role("r").asks("cpus:1;mem:1GiB", 100'000);
  }
  s.run_until_nothing_fits();
  s.framework("s").in_role("s").asks("cpus:1;mem:1GiB", 100'000);
  for (int second = 0; second < 10; ++second) {
    for (int i = 0; i < 20; ++i) {
      const std::string name = text("r", i);
      if (s.framework(name).tasks() > 0) s.framework(name).ends(1);
    }
    s.advance(seconds(1));
    s.run_until_nothing_fits();
  }
  EXPECT_EQ(s.framework("s").tasks(), 4);
}

// large has a claim. over is above its entitlement and small is not, so only places of over are for
// the claim.
TEST(Gate, ClaimTakesNoPlacesOfAsksWithinTheirEntitlement) {
  AllocatorScenario s;
  s.agent("a1", "cpus:12;mem:12GiB");
  s.framework("over").asks("cpus:1;mem:1GiB", 100'000);
  s.run_until_nothing_fits();
  s.framework("small").asks("cpus:1;mem:1GiB", 100'000);
  s.framework("over").ends(4);
  s.run_until_nothing_fits();
  ASSERT_EQ(s.framework("small").tasks(), 4);
  s.framework("large").asks("cpus:4;mem:4GiB", 100'000);
  s.framework("over").ends(1);
  s.run_until_nothing_fits();
  ASSERT_EQ(s.framework("large").ask().kept.size(), 1u);

  s.framework("small").ends(2);
  s.run_until_nothing_fits();
  EXPECT_EQ(s.framework("small").tasks(), 4);
  EXPECT_EQ(s.framework("large").ask().kept.size(), 1u);

  s.framework("over").ends(3);
  s.run_until_nothing_fits();
  EXPECT_EQ(s.framework("large").tasks(), 1);
}

// Two agents, each with much of one kind, have room for fewer tasks than one pool of both, so both
// frameworks stay below their entitlements. The second arrives when all places are taken, and still
// gets its turn: a place does not return to the same ask forever.
TEST(Gate, PlaceChangesHandsWhereAllAreBelowTheirPart) {
  AllocatorScenario s;
  s.agent("memory", "cpus:2;mem:8GiB");
  s.agent("cpus", "cpus:8;mem:2GiB");
  s.framework("first").asks("cpus:2;mem:2GiB", 100'000);
  s.run_until_nothing_fits();
  ASSERT_EQ(s.framework("first").tasks(), 2);
  s.framework("second").asks("cpus:1.5;mem:1536", 100'000);

  std::map<std::string, int> seconds_run;
  for (int second = 0; second < 600; ++second) {
    for (const char* name : {"first", "second"}) {
      if (second % 10 == 0 && s.framework(name).tasks() > 0) s.framework(name).ends(1);
    }
    s.advance(seconds(1));
    s.run_until_nothing_fits();
    for (const char* name : {"first", "second"}) {
      if (s.framework(name).tasks() > 0) ++seconds_run[name];
    }
  }

  EXPECT_GT(seconds_run["first"], 300);
  EXPECT_GT(seconds_run["second"], 300);
}

// Only the number of wanted tasks changes, soon after the last entitlements, and nothing follows.
TEST(Gate, EntitlementsFollowCountsInAQuietCluster) {
  AllocatorScenario s;
  s.agent("a1", "cpus:4;mem:4GiB");
  s.framework("x").asks("cpus:1;mem:1GiB", 100);
  s.framework("y").asks("cpus:1;mem:1GiB", 1);
  s.run_until_nothing_fits();
  s.advance(seconds(10));
  s.framework("z").asks("cpus:1;mem:1GiB", 1);
  s.decide();
  s.advance(milliseconds(100));
  s.framework("y").asks("cpus:1;mem:1GiB", 100);
  s.decide();
  const std::optional<Time> next = s.allocator().next_decision(s.now());
  ASSERT_TRUE(next);
  EXPECT_LE(*next - s.now(), milliseconds(150));
  s.advance(milliseconds(150));
  s.decide();
  EXPECT_GT(s.allocator().next_decision(s.now()).value_or(Time() + hours(1)), s.now() + seconds(1));
}

// A service runs on the only agent, and an ask that is owed a task waits for the whole agent. The
// kept resources are given up in time without further events; if the service is declared to have no
// end, nothing is kept.
TEST(Gate, ClaimWhereAServiceRunsIsGivenUpInAQuietCluster) {
  for (const Duration declared : {Duration(), kDurationMax}) {
    AllocatorScenario s;
    s.agent("a1", "cpus:8;mem:8GiB");
    s.framework("service").asks({.name = AskName("task"),
                                 .shape = parse_shape("cpus:6;mem:6GiB").value(),
                                 .count = 1,
                                 .duration = declared});
    s.run_until_nothing_fits();
    s.framework("large").asks("cpus:8;mem:8GiB", 1);
    s.framework("small").asks("cpus:1;mem:1GiB", 100'000);
    s.run_until_nothing_fits();
    bool was_kept = false;
    for (int second = 0; second < 200 && !was_kept; ++second) {
      s.framework("small").ends(s.framework("small").tasks());
      s.advance(seconds(1));
      was_kept = !s.framework("large").ask().kept.empty();
      if (!was_kept) s.run_until_nothing_fits();
    }
    EXPECT_EQ(was_kept, declared == Duration());
    s.advance(kClaimAfter * 2 + seconds(1));
    s.framework("small").accepts_all();
    s.run_until_nothing_fits();
    EXPECT_EQ(s.framework("small").tasks(), 2);
  }
}

}  // namespace
}  // namespace proffer
