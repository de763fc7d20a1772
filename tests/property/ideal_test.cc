// The oracle itself: worked examples, and fractions that are either exact or marked as inexact.

#include <optional>
#include <vector>

#include <gtest/gtest.h>

#include "tests/property/fair_case.h"
#include "tests/support/seeds.h"

namespace proffer::ideal_test {
namespace {

using fair_case::Tasks;
using fair_case::wants;
using ideal::fill;
using ideal::fill_whole;
using ideal::Fraction;

const ResourceVector kNineAndEighteen = ResourceVector::of(9000, 18000);

// Section 4.1 of the DRF paper: three tasks of <1 CPU, 4 GB> and two of <3 CPUs, 1 GB>.
TEST(Ideal, ExampleOfThePaper) {
  EXPECT_EQ(fill(kNineAndEighteen, {wants(1, 4), wants(3, 1)}), (Tasks{3, 2}));
}

// The weight of b is three times that of a, so its dominant share is too: 6/7 and 2/7, where the
// CPUs end.
TEST(Ideal, ExampleOfThePaperWeighted) {
  const Tasks tasks =
      fill(kNineAndEighteen, {wants(1, 4), wants(3, 1, {}, 3 * kWeightOne)}).value();
  EXPECT_EQ(tasks, (Tasks{Fraction::of(9, 7), Fraction::of(18, 7)}));
}

TEST(Ideal, WhoWantsLessLeavesTheRestToOthers) {
  EXPECT_EQ(fill(kNineAndEighteen, {wants(1, 4, 2), wants(3, 1)}), (Tasks{2, Fraction::of(7, 3)}));
  EXPECT_EQ(fill(kNineAndEighteen, {wants(1, 4, 1), wants(3, 1, 2)}), (Tasks{1, 2}));
}

// When the CPUs are used up, a role that needs none of them continues.
TEST(Ideal, WhoNeedsNothingOfAnExhaustedKindGoesOn) {
  EXPECT_EQ(fill(ResourceVector::of(4000, 4000), {wants(1, 0), wants(1, 1), wants(0, 1)}),
            (Tasks{2, 2, 2}));
  EXPECT_EQ(fill(ResourceVector::of(2000, 4000), {wants(1, 0), wants(1, 1), wants(0, 1)}),
            (Tasks{1, 1, 3}));
}

TEST(Ideal, NobodyRunsWhatNeedsAKindThatIsNotThere) {
  EXPECT_EQ(
      fill(ResourceVector::of(4000, 0), {wants(1, 1), wants(1, 0), wants(0, 0), wants(1, 0, 0)}),
      (Tasks{0, 4, 0, 0}));
  EXPECT_EQ(fill({}, {wants(1, 1)}), (Tasks{0}));
  EXPECT_EQ(fill(kNineAndEighteen, {}), Tasks());
}

// Thirty-two roles whose tasks have no common factor need more than 128 bits: the oracle then gives
// no answer instead of a wrong one.
TEST(Ideal, ACaseThatIsTooLargeForExactFractionsHasNoAnswer) {
  std::vector<ideal::Demand> demands;
  for (int64_t i = 0; i < 32; ++i) {
    demands.push_back({.task = ResourceVector::of(1'000'003 + 2 * i, 1'000'033 + 6 * i)});
  }
  const ResourceVector pool = ResourceVector::of(999'999'999'937, 999'999'999'961);
  EXPECT_EQ(fill(pool, demands), std::nullopt);
  demands.resize(2);
  EXPECT_TRUE(fill(pool, demands).has_value());
}

TEST(IdealWholeTasks, ExampleOfThePaper) {
  const ideal::WholeTasks whole = fill_whole(kNineAndEighteen, {wants(1, 4), wants(3, 1)});
  EXPECT_EQ(whole.tasks, (std::vector<int64_t>{3, 2}));
  EXPECT_EQ(whole.at_first_misfit, (std::vector<int64_t>{3, 2}));
}

// Each has 3 of 8 CPUs, and b is next, since a was served last; two CPUs are not enough for b, so
// a gets them.
TEST(IdealWholeTasks, WhoDoesNotFitLeavesAndTheOthersGoOn) {
  const ideal::WholeTasks whole =
      fill_whole(ResourceVector::of(8000, 0), {wants(1, 0), wants(3, 0)});
  EXPECT_EQ(whole.at_first_misfit, (std::vector<int64_t>{3, 1}));
  EXPECT_EQ(whole.tasks, (std::vector<int64_t>{5, 1}));
}

// Among equals, the one that was served longest ago is next: with 9 CPUs, b gets the last three.
TEST(IdealWholeTasks, EqualsTakeTurns) {
  const ideal::WholeTasks whole =
      fill_whole(ResourceVector::of(9000, 0), {wants(1, 0), wants(3, 0)});
  EXPECT_EQ(whole.tasks, (std::vector<int64_t>{3, 2}));
}

TEST(Fractions, AreReduced) {
  EXPECT_EQ(Fraction::of(6, 4).text(), "3/2");
  EXPECT_EQ(Fraction::of(-6, 4).text(), "-3/2");
  EXPECT_EQ(Fraction::of(0, 7).text(), "0");
  EXPECT_EQ((Fraction::of(1, 6) + Fraction::of(1, 3)).text(), "1/2");
  EXPECT_EQ((Fraction::of(1, 6) - Fraction::of(2, 3)).text(), "-1/2");
  EXPECT_EQ((Fraction::of(2, 3) - Fraction::of(4, 6)).text(), "0");
  EXPECT_EQ((Fraction::of(2, 3) * Fraction::of(9, 4)).text(), "3/2");
  EXPECT_EQ((Fraction::of(2, 3) / Fraction::of(-4, 9)).text(), "-3/2");
}

// Uses continued fractions where cross products would not fit.
TEST(Fractions, AreComparedExactlyWhateverTheirSize) {
  constexpr int64_t kLarge = (int64_t{1} << 61) - 1;
  const Fraction large = Fraction(kLarge) * kLarge;
  const Fraction above = (large + 1) / large;  // just more than one
  const Fraction below = large / (large + 1);
  EXPECT_TRUE(below < 1 && Fraction(1) < above && below < above);
  EXPECT_LT(large / (large + 1), (large - 1) / large + Fraction(1) / large);
  EXPECT_LT((large - 2) / (large - 1), (large - 1) / large);
  EXPECT_GT(Fraction(0) - below, Fraction(0) - above);
  EXPECT_EQ(above, (large + 1) / large);
}

TEST(Fractions, AreTheSameAfterAStepAndItsInverse) {
  for (const uint64_t seed : Seeds(2'000)) {
    Prng random(seed);
    const auto any = [&] {
      const int64_t most = int64_t{1} << random.between(2, 30);
      const Fraction one = Fraction::of(random.between(-most, most), random.between(1, most));
      return one * Fraction::of(random.between(1, most), random.between(1, most));
    };
    const Fraction a = any();
    const Fraction b = any();
    const Fraction sum = a + b;
    const Fraction product = a * b;
    ASSERT_EQ(a<b, (b - a)> 0) << seed;
    ASSERT_EQ(sum, b + a) << seed;
    ASSERT_EQ(sum - b, a) << seed;
    if (b.is_zero()) continue;
    ASSERT_EQ(product / b, a) << seed;
  }
}

TEST(Fractions, ThatOutgrowTheirBoundsSaySo) {
  Fraction power = 1;
  for (int i = 0; i < 125; ++i) power = power * 2;
  EXPECT_TRUE(power.is_exact());
  EXPECT_EQ(power / power, 1);
  EXPECT_FALSE((power * 2).is_exact());
  EXPECT_FALSE((power + power).is_exact());
  EXPECT_FALSE((Fraction(1) / power / 2).is_exact());
  EXPECT_FALSE((power * 2 - power * 2).is_exact());
}

}  // namespace
}  // namespace proffer::ideal_test
