// Families of agents, and which of them an ask prefers.

#include "allocator/cluster/families.h"

#include <string>

#include <gtest/gtest.h>

#include "common/text.h"
#include "tests/allocator/scenario.h"

namespace proffer::families_test {
namespace {

using fair::Families;

TEST(Families, AgentsOfAllSizesWithTheSameProportionsAreOne) {
  Families families;
  const size_t first = families.join(ResourceVector::of(16'000, 64'000'000));
  EXPECT_EQ(families.join(ResourceVector::of(2'000, 8'000'000)), first);
  EXPECT_EQ(families.join(ResourceVector::of(16'000, 62'800'000)), first);
  EXPECT_NE(families.join(ResourceVector::of(16'000, 128'000'000)), first);
  EXPECT_NE(families.join(ResourceVector::of(16'000, 64'000'000, 1'000)), first);
  EXPECT_NE(families.join(ResourceVector::of(16'000, 64'000'000, 0, 1'000)), first);
  EXPECT_EQ(families.all().size(), 4u);
  EXPECT_EQ(families.all()[first].largest, ResourceVector::of(16'000, 64'000'000));
}

TEST(Families, VersionChangesWithAFamilyOrItsLargestAgent) {
  Families families;
  families.join(ResourceVector::of(4'000, 4'000));
  const uint64_t before = families.version();
  families.join(ResourceVector::of(2'000, 2'000));
  EXPECT_EQ(families.version(), before);
  families.join(ResourceVector::of(8'000, 8'000));
  EXPECT_NE(families.version(), before);
}

TEST(Families, BeyondTheBoundAnAgentJoinsTheOneMostLikeIt) {
  Families families;
  for (int64_t i = 0; i < 40; ++i) {
    families.join(ResourceVector::of(1'000, int64_t{1'000} << i));
  }
  ASSERT_EQ(families.all().size(), Families::kFamiliesMax);
  EXPECT_EQ(families.join(ResourceVector::of(1'000, int64_t{1'000} << 45)),
            Families::kFamiliesMax - 1);
  // No family has GPUs yet.
  EXPECT_EQ(families.join(ResourceVector::of(1'000, 1'000, 0, 1'000)), Families::kFamiliesMax);
}

// Two families differ in a kind that the ask does not take: the best fit is among both.
TEST(Families, ThatAreEquallyGoodForAnAskCountAsOne) {
  AllocatorScenario s;
  s.agent("a1", "cpus:12;mem:12GiB;disk:1000");
  s.agent("a2", "cpus:4;mem:4GiB;disk:2000");
  s.agent("a3", "cpus:6;mem:6GiB;disk:3500");
  s.framework("f").asks("cpus:4;mem:4GiB", 2);
  s.run_until_nothing_fits();
  EXPECT_EQ(s.framework("f").tasks_on("a2"), 1);
  EXPECT_EQ(s.framework("f").tasks_on("a3"), 1);
}

// The agent that suits best may be full, or too small for the task.
TEST(Families, TheNextBestOneIsTaken) {
  AllocatorScenario s;
  s.agent("a1", "cpus:2;mem:16GiB");
  s.agent("a2", "cpus:8;mem:8GiB");
  s.agent("a3", "cpus:8;mem:1GiB");
  s.framework("f").asks("cpus:1;mem:8GiB", 3);
  s.run_until_nothing_fits();
  EXPECT_EQ(s.framework("f").tasks_on("a1"), 2);
  EXPECT_EQ(s.framework("f").tasks_on("a2"), 1);
  s.framework("g").asks("cpus:4;mem:256", 1);
  s.run_until_nothing_fits();
  EXPECT_EQ(s.framework("g").tasks_on("a3"), 1);
}

}  // namespace
}  // namespace proffer::families_test
