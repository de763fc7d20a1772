// Among equals the one that was served, or joined, longest ago comes first. So no framework waits
// forever if there is less than one task for each, regardless of names.

#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "tests/allocator/scenario.h"

namespace proffer::equals_test {
namespace {

// The frameworks that ran, in order, on a cluster with room for one task that ends each second.
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

// Roles take turns first, then the frameworks in them.
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

// Names decide only between frameworks that joined between the same two grants: events of one
// instant have no order.
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

// The same number of tasks at once as one by one.
TEST(Equals, AreGivenTheSameInOneStepAsInMany) {
  AllocatorScenario s;
  s.agent("a1", "cpus:9;mem:9GiB");
  s.framework("a").asks("cpus:1;mem:1GiB", 100);
  s.framework("b").asks("cpus:2;mem:2GiB", 100);
  s.run_until_nothing_fits();
  // Regardless of the first turn, they differ by at most one task.
  EXPECT_EQ(s.framework("a").tasks() + 2 * s.framework("b").tasks(), 9);
  EXPECT_LE(std::abs(s.framework("a").tasks() - 2 * s.framework("b").tasks()), 2);
}

}  // namespace
}  // namespace proffer::equals_test
