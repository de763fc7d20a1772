// Quantiles of data in which some values are censored: only a lower bound is known.

#include "master/forecast/censored_quantile.h"

#include <algorithm>

#include <gtest/gtest.h>

#include "common/prng.h"

namespace proffer::master::censored_quantile_test {
namespace {

TEST(CensoredQuantile, OfKnownValuesIsTheirNearestRank) {
  std::vector<int64_t> known;
  for (int64_t i = 1; i <= 200; ++i) known.push_back(i);
  for (int64_t thousandths = 5; thousandths <= 1'000; thousandths += 5) {
    EXPECT_EQ(censored_quantile(known, {}, thousandths), thousandths / 5);
  }
  EXPECT_EQ(censored_quantile({7}, {}, 500), 7);
}

// The textbook example: remissions of 21 patients in weeks; 12 remissions lasted at the end of the
// study (Freireich and others, Blood 1963). The median is 23 weeks.
TEST(CensoredQuantile, OfRemissionsIsThatOfTheTextbooks) {
  const std::vector<int64_t> ended = {6, 6, 6, 7, 10, 13, 16, 22, 23};
  const std::vector<int64_t> last = {6, 9, 10, 11, 17, 19, 20, 25, 32, 32, 34, 35};
  const std::pair<int64_t, int64_t> rows[] = {{100, 6},  {193, 7},  {247, 10}, {309, 13}, {372, 16},
                                              {462, 22}, {500, 23}, {551, 23}, {552, 35}};
  for (const auto& [thousandths, weeks] : rows) {
    EXPECT_EQ(censored_quantile(ended, last, thousandths), weeks) << thousandths;
  }
}

TEST(CensoredQuantile, IsTheLargestValueIfTheKnownOnesDoNotReachIt) {
  EXPECT_EQ(censored_quantile({}, {3, 9, 4}, 500), 9);
  EXPECT_EQ(censored_quantile({5}, {9}, 900), 9);
}

// Values that are observed from different times on, like predictions: many of the large ones are
// not known yet. The known values alone would give about half of the true quantile.
TEST(CensoredQuantile, IsAboutThatOfAllValuesHoweverManyAreNotKnownYet) {
  Prng chance(1);
  std::vector<int64_t> known;
  std::vector<int64_t> larger_than;
  for (int i = 0; i < 5'000; ++i) {
    const int64_t value = chance.between(0, 1'000);
    const int64_t watched = chance.between(0, 1'200);
    if (value <= watched) {
      known.push_back(value);
    } else {
      larger_than.push_back(watched);
    }
  }
  EXPECT_NEAR(static_cast<double>(censored_quantile(known, larger_than, 500)), 500, 30);
  EXPECT_NEAR(static_cast<double>(censored_quantile(known, larger_than, 900)), 900, 30);
  EXPECT_LT(censored_quantile(known, {}, 500), 420);
}

}  // namespace
}  // namespace proffer::master::censored_quantile_test
