// No ask starves below a limit: large asks in a role that small tasks keep near its limit.

#include <gtest/gtest.h>

#include "tests/allocator/scenario.h"

namespace proffer::headroom_test {
namespace {

// One task of each of `churning` ends each second and is replaced as soon as possible. Returns the
// seconds until a task of `large` runs, at most `most`.
int64_t seconds_until_served(AllocatorScenario& s, const std::string& large, int64_t most,
                             const std::vector<std::string>& churning,
                             const std::string& ask = "task") {
  for (int64_t second = 0; second < most; ++second) {
    if (s.framework(large).tasks(ask) > 0) return second;
    for (const std::string& name : churning) {
      if (s.framework(name).tasks("small") > 0) s.framework(name).ends(1, "small");
    }
    s.advance(seconds(1));
    s.run_until_nothing_fits();
  }
  return most;
}

// The agent has room for all; the limit of `eng` allows four CPUs.
void crowd(AllocatorScenario& s, const std::string& role_of_small,
           const std::string& role_of_large) {
  s.agent("a1", "cpus:100;mem:100GiB");
  s.limit("eng", "cpus:4");
  s.framework("small").in_role(role_of_small);
  s.framework("small").asks("cpus:1;mem:1GiB", 100'000, "small");
  s.run_until_nothing_fits();
  ASSERT_EQ(s.framework("small").tasks("small"), 4);
  s.framework("large").in_role(role_of_large);
  s.framework("large").asks("cpus:3;mem:3GiB", 10);
  s.decide();
}

TEST(Headroom, IsKeptForALargeAskAmongSmallOnesOfItsRole) {
  AllocatorScenario s;
  crowd(s, "eng", "eng");
  // claim_after, and then one second for each CPU that must become free.
  EXPECT_LE(seconds_until_served(s, "large", 1'000, {"small"}), 30 + 4);
}

TEST(Headroom, IsWhatServesIt) {
  AllocatorScenario s(AllocatorOptions{.claim_after = hours(24 * 365)});
  crowd(s, "eng", "eng");
  EXPECT_EQ(seconds_until_served(s, "large", 1'000, {"small"}), 1'000) << "without it it starves";
}

// An ask that the limit stops meanwhile gets the explanation for which ask the room is kept.
TEST(Headroom, IsExplained) {
  AllocatorScenario s;
  crowd(s, "eng", "eng");
  s.advance(kClaimAfter);
  s.framework("small").ends(1, "small");
  s.decide();
  ASSERT_TRUE(s.framework("large").ask().has_headroom);
  const FrameworkExplanation why = s.allocator().explain(FrameworkId("small"), s.now());
  ASSERT_EQ(why.asks.size(), 1u);
  ASSERT_EQ(why.asks[0].hindered.size(), 1u);
  EXPECT_EQ(to_text(why.asks[0].hindered[0]),
            "above the limit of role 'eng': it takes 1 cpus, 0 are left; room is kept for large "
            "(cpus:3)");
  const auto role = s.allocator().explain_role(RoleName("eng"), s.now());
  bool is_told = false;
  for (const HeldAsks& held : role->held) {
    is_told = is_told || to_text(held).find("room is kept for large (cpus:3)") != std::string::npos;
  }
  EXPECT_TRUE(is_told);
}

TEST(Headroom, IsKeptBelowTheLimitOfARoleAbove) {
  AllocatorScenario s;
  crowd(s, "eng/ads", "eng/search");
  EXPECT_LE(seconds_until_served(s, "large", 1'000, {"small"}), 30 + 4);
}

TEST(Headroom, IsKeptFromOtherAsksOfTheSameFramework) {
  AllocatorScenario s;
  s.agent("a1", "cpus:100;mem:100GiB");
  s.limit("both", "cpus:4");
  s.framework("both").asks("cpus:1;mem:1GiB", 100'000, "small");
  s.run_until_nothing_fits();
  s.framework("both").asks("cpus:3;mem:3GiB", 10, "large");
  s.decide();
  EXPECT_LE(seconds_until_served(s, "both", 1'000, {"both"}, "large"), 30 + 4);
}

TEST(Headroom, IsKeptForAGangAsAWhole) {
  AllocatorScenario s;
  crowd(s, "eng", "eng");
  s.framework("large").asks({.name = AskName("task"),
                             .shape = parse_shape("cpus:1;mem:1").value(),
                             .count = 4,
                             .gang = 4});
  EXPECT_LE(seconds_until_served(s, "large", 1'000, {"small"}), 30 + 5);
}

TEST(Headroom, IsShownAndTakesNoMoreThanItNeeds) {
  AllocatorScenario s;
  crowd(s, "eng", "eng");
  EXPECT_FALSE(s.framework("large").ask().has_headroom);
  s.advance(kClaimAfter);
  s.framework("small").ends(1, "small");
  s.run_until_nothing_fits();
  EXPECT_TRUE(s.framework("large").ask().has_headroom);
  EXPECT_EQ(s.framework("small").tasks("small"), 3);
  s.framework("small").ends(3, "small");
  s.run_until_nothing_fits();
  EXPECT_EQ(s.framework("large").tasks(), 1);
  EXPECT_EQ(s.framework("small").tasks("small"), 1) << "what the large one leaves";
}

TEST(Headroom, IsEverybodysAgainWhenTheAskIsWithdrawnOrTheLimitChanges) {
  for (const bool withdrawn : {true, false}) {
    AllocatorScenario s;
    crowd(s, "eng", "eng");
    s.advance(kClaimAfter);
    s.framework("small").ends(2, "small");
    s.run_until_nothing_fits();
    ASSERT_EQ(s.framework("small").tasks("small"), 2);
    if (withdrawn) {
      s.framework("large").asks("cpus:3;mem:3GiB", 0);
    } else {
      s.limit("eng", "cpus:2.5");  // The ask can never run now.
      s.limit("eng", "cpus:4");
      s.framework("large").asks("cpus:5;mem:3GiB", 1);  // It can never run either.
    }
    s.run_until_nothing_fits();
    EXPECT_EQ(s.framework("small").tasks("small"), 4);
  }
}

TEST(Headroom, ServesTwoLargeOnesAfterEachOther) {
  AllocatorScenario s;
  crowd(s, "eng/small", "eng/large");
  s.framework("other").in_role("eng/other");
  s.framework("other").asks("cpus:3;mem:3GiB", 1);
  s.decide();
  const int64_t first = seconds_until_served(s, "large", 1'000, {"small"});
  EXPECT_LE(first, 30 + 4);
  s.framework("large").ends(1);
  EXPECT_LE(seconds_until_served(s, "other", 1'000, {"small"}), 4);
}

// Roles with separate limits do not wait for each other below the limit above, if it has room.
TEST(Headroom, OfTwoRolesIsKeptAtOnceWhereTheRoleAboveHasRoomForBoth) {
  AllocatorScenario s;
  s.agent("a1", "cpus:100;mem:100GiB");
  s.limit("eng", "cpus:20");
  for (const std::string team : {"a", "b"}) {
    s.limit("eng/" + team, "cpus:4");
    s.framework("small-" + team).in_role("eng/" + team);
    s.framework("small-" + team).asks("cpus:1;mem:1GiB", 100'000, "small");
  }
  s.run_until_nothing_fits();
  for (const std::string team : {"a", "b"}) {
    s.framework("large-" + team).in_role("eng/" + team);
    s.framework("large-" + team).asks("cpus:3;mem:3GiB", 1);
  }
  s.decide();
  s.advance(kClaimAfter);
  s.framework("small-a").ends(1, "small");
  s.framework("small-b").ends(1, "small");
  s.run_until_nothing_fits();
  EXPECT_TRUE(s.framework("large-a").ask().has_headroom);
  EXPECT_TRUE(s.framework("large-b").ask().has_headroom);
}

TEST(Headroom, GivesWayToAGuaranteeOfARoleBelow) {
  AllocatorScenario s;
  crowd(s, "eng/small", "eng/large");
  s.guarantee("eng/ads", "cpus:1");
  s.advance(kClaimAfter);
  s.framework("small").ends(1, "small");
  s.run_until_nothing_fits();
  ASSERT_TRUE(s.framework("large").ask().has_headroom);
  s.framework("ads").in_role("eng/ads");
  s.framework("ads").asks("cpus:1;mem:1GiB", 2);
  s.run_until_nothing_fits();
  EXPECT_EQ(s.framework("ads").tasks(), 1) << "what is promised, and no more";
}

// Two of the four CPUs are always in use, so three are never free.
TEST(Headroom, IsNotKeptForEverWhereNothingEnds) {
  AllocatorScenario s;
  crowd(s, "eng", "eng");
  s.framework("small").ends(2, "small");
  s.framework("lasting").in_role("eng");
  s.framework("lasting").asks("cpus:1;mem:1GiB", 2);
  s.run_until_nothing_fits();
  ASSERT_EQ(s.framework("lasting").tasks(), 2);
  int64_t used = 0;
  constexpr int64_t kSeconds = 4'000;
  for (int64_t second = 0; second < kSeconds; ++second) {
    while (s.framework("small").tasks("small") > 0) s.framework("small").ends(1, "small");
    s.advance(seconds(1));
    s.run_until_nothing_fits();
    used += s.framework("small").tasks("small");
  }
  EXPECT_EQ(s.framework("large").tasks(), 0);
  EXPECT_GE(used, kSeconds * 2 * 6 / 10) << "most of what is left is used most of the time";
}

// The wait for room grows until it exceeds the run time of the tasks.
TEST(Headroom, ServesAlsoAmongTasksThatRunForLongerThanItIsPatient) {
  AllocatorScenario s;
  crowd(s, "eng", "eng");
  // They run for 200 s each, and do not end together.
  constexpr int64_t kLong = 200;
  std::map<TaskId, int64_t> ends_at;
  for (const auto& task : s.framework("small").running()) {
    ends_at[task.id] = static_cast<int64_t>(ends_at.size() + 1) * 40;
  }
  for (int64_t second = 0; second < kLong * 8; ++second) {
    const auto running = s.framework("small").running();
    for (const auto& task : running) {
      if (ends_at.emplace(task.id, second + kLong).first->second <= second) {
        s.framework("small").ends(task.id);
      }
    }
    s.advance(seconds(1));
    s.run_until_nothing_fits();
    if (s.framework("large").tasks() > 0) return;
  }
  ADD_FAILURE() << "it was never served";
}

}  // namespace
}  // namespace proffer::headroom_test
