#include "common/literal_map.h"

#include <set>
#include <string>

#include <gtest/gtest.h>

namespace proffer {
namespace {

TEST(LiteralMap, HasAValueForEachAddress) {
  // Adjacent addresses, and more of them than the first capacity.
  static const std::string kBytes(1'000, 'x');
  LiteralMap<size_t> map;
  for (size_t i = 0; i < kBytes.size(); ++i) {
    size_t& value = map[&kBytes[i]];
    EXPECT_EQ(value, 0u) << i;
    value = i + 1;
  }
  for (size_t i = 0; i < kBytes.size(); ++i) EXPECT_EQ(map[&kBytes[i]], i + 1);
  std::set<size_t> all;
  map.each([&](size_t value) { all.insert(value); });
  EXPECT_EQ(all.size(), kBytes.size());
  EXPECT_EQ(*all.begin(), 1u);
  EXPECT_EQ(*all.rbegin(), kBytes.size());
}

}  // namespace
}  // namespace proffer
