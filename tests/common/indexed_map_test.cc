#include "common/indexed_map.h"

#include <string>

#include <gtest/gtest.h>

#include "common/ids.h"
#include "common/prng.h"

namespace proffer::indexed_map_test {
namespace {

struct AllTheSame {
  size_t operator()(int) const { return 7; }
};
struct FewDifferent {
  size_t operator()(int key) const { return static_cast<size_t>(key % 3); }
};

// Compares it with a plain map over random operations.
template <class Hash>
void behaves_as_a_map(uint64_t seed, int keys, int steps) {
  Prng prng(seed);
  IndexedMap<int, int, Hash> indexed;
  std::map<int, int> plain;
  for (int step = 0; step < steps; ++step) {
    const auto key = static_cast<int>(prng.below(static_cast<uint64_t>(keys)));
    switch (prng.below(5)) {
      case 0:
        ASSERT_EQ(indexed.try_emplace(key, step).second, plain.try_emplace(key, step).second);
        break;
      case 1:
        indexed[key] = step;
        plain[key] = step;
        break;
      case 2:
        ASSERT_EQ(indexed.erase(key), plain.erase(key));
        break;
      case 3: {
        const auto at = indexed.find(key);
        if (at != indexed.end()) indexed.erase(at);
        plain.erase(key);
        break;
      }
      default:
        indexed.insert_or_assign(key, -step);
        plain.insert_or_assign(key, -step);
    }
    const auto probe = static_cast<int>(prng.below(static_cast<uint64_t>(keys)));
    const auto found = indexed.find(probe);
    const auto wanted = plain.find(probe);
    ASSERT_EQ(found == indexed.end(), wanted == plain.end()) << "step " << step;
    if (wanted == plain.end()) continue;
    ASSERT_EQ(found->second, wanted->second) << "step " << step;
  }
  EXPECT_EQ(indexed.map(), plain);
}

TEST(IndexedMap, BehavesAsAMap) {
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    behaves_as_a_map<std::hash<int>>(seed, 10, 500);  // usually too small for an index
    behaves_as_a_map<std::hash<int>>(seed, 300, 3'000);
  }
}

// More entries have one hash than a lookup probes; entries outside the index are still found.
TEST(IndexedMap, FindsWhatCollides) {
  for (uint64_t seed = 1; seed <= 10; ++seed) {
    behaves_as_a_map<AllTheSame>(seed, 100, 2'000);
    behaves_as_a_map<FewDifferent>(seed, 200, 2'000);
  }
}

TEST(IndexedMap, KeepsTheOrderOfKeysAndItsElementsWhereTheyAre) {
  IndexedMap<TaskId, int> tasks;
  int* const first = &tasks[TaskId("b")];
  for (int i = 0; i < 100; ++i) tasks[TaskId("t" + std::to_string(i))] = i;
  tasks[TaskId("a")] = 1;
  EXPECT_EQ(&tasks.find(TaskId("b"))->second, first);
  EXPECT_EQ(tasks.begin()->first, TaskId("a"));
  tasks.clear();
  EXPECT_TRUE(tasks.empty());
  EXPECT_FALSE(tasks.contains(TaskId("b")));
}

}  // namespace
}  // namespace proffer::indexed_map_test
