// Who comes first among equals: whoever was served, or came, longest ago. So nobody waits for ever
// where there is less than a task for each, whatever the names.

#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/allocator/scenario.h"

namespace proffer::equals_test {
namespace {

// Who ran, one after the other, on a cluster with room for one task that ends each second.
std::vector<std::string> turns(AllocatorScenario& s, const std::vector<std::string>& frameworks,
                               size_t count) {
  std::vector<std::string> order;
  while (order.size() < count) {
    s.run_until_nothing_fits();
    bool found = false;
    for (const std::string& name : frameworks) {
      if (s.framework(name).running().empty()) continue;
      found = true;
      order.push_back(name);
      s.framework(name).ends(1);
    }
    if (!found) break;
    s.advance(seconds(1));
  }
  return order;
}

using Names = std::vector<std::string>;

TEST(Equals, TakeTurnsWhereThereIsNoTaskForEach) {
  AllocatorScenario s;
  s.agent("a1", "cpus:1;mem:1GiB");
  for (const std::string name : {"a", "b", "c"}) s.framework(name).asks("cpus:1;mem:1GiB");
  EXPECT_EQ(turns(s, {"a", "b", "c"}, 7), (Names{"a", "b", "c", "a", "b", "c", "a"}));
}

// Roles first, then those in them.
TEST(Equals, TakeTurnsAtEachLevel) {
  AllocatorScenario s;
  s.agent("a1", "cpus:1;mem:1GiB");
  for (const std::string name : {"a", "b"}) {
    s.framework(name).in_role("eng");
    s.framework(name).asks("cpus:1;mem:1GiB");
  }
  s.framework("c").in_role("ops");
  s.framework("c").asks("cpus:1;mem:1GiB");
  EXPECT_EQ(turns(s, {"a", "b", "c"}, 8), (Names{"a", "c", "b", "c", "a", "c", "b", "c"}));
}

TEST(Equals, WithGuaranteesTakeTurnsToo) {
  AllocatorScenario s;
  s.agent("a1", "cpus:1;mem:1GiB");
  for (const std::string name : {"a", "b"}) {
    s.guarantee(name, "cpus:1");
    s.framework(name).asks("cpus:1;mem:1GiB");
  }
  EXPECT_EQ(turns(s, {"a", "b"}, 4), (Names{"a", "b", "a", "b"}));
}

TEST(Equals, WhoComesLaterComesAfterThoseWhoWait) {
  AllocatorScenario s;
  s.agent("a1", "cpus:1;mem:1GiB");
  s.framework("m").asks("cpus:1;mem:1GiB");
  s.run_until_nothing_fits();
  s.framework("z").asks("cpus:1;mem:1GiB");
  s.framework("m").ends(1);
  s.run_until_nothing_fits();
  ASSERT_EQ(s.framework("m").tasks(), 1) << "what it had before was given longer ago than z came";
  s.framework("a").asks("cpus:1;mem:1GiB");
  s.framework("m").ends(1);
  EXPECT_EQ(turns(s, {"a", "m", "z"}, 4), (Names{"z", "m", "a", "z"}));
}

// Names decide only between those who came between the same two gifts: what happens at one instant
// has no order.
TEST(Equals, OfOneInstantComeByNameWhateverTheOrderInWhichTheyAreTold) {
  for (const Names& told : {Names{"a", "b"}, Names{"b", "a"}}) {
    AllocatorScenario s;
    s.agent("a1", "cpus:1;mem:1GiB");
    for (const std::string& name : told) s.framework(name).asks("cpus:1;mem:1GiB");
    EXPECT_EQ(turns(s, {"a", "b"}, 3), (Names{"a", "b", "a"}));
  }
}

TEST(Equals, WhoDeclinesHasHadItsTurn) {
  AllocatorScenario s;
  s.agent("a1", "cpus:1;mem:1GiB");
  s.framework("a").asks("cpus:1;mem:1GiB");
  s.framework("b").asks("cpus:1;mem:1GiB");
  s.decide();
  s.framework("a").declines("a1", Duration());
  s.decide();
  EXPECT_EQ(s.framework("b").offers(), Offers{"a1 cpus:1;mem:1024"});
}

// As many tasks at once as it would have got one by one.
TEST(Equals, AreGivenTheSameInOneStepAsInMany) {
  AllocatorScenario s;
  s.agent("a1", "cpus:9;mem:9GiB");
  s.framework("a").asks("cpus:1;mem:1GiB", 100);
  s.framework("b").asks("cpus:2;mem:2GiB", 100);
  s.run_until_nothing_fits();
  // Whoever is first, they are at most one task of the other apart.
  EXPECT_EQ(s.framework("a").tasks() + 2 * s.framework("b").tasks(), 9);
  EXPECT_LE(std::abs(s.framework("a").tasks() - 2 * s.framework("b").tasks()), 2);
}

}  // namespace
}  // namespace proffer::equals_test
