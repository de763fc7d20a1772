// Shares compared with reduced fractions in 128 bits, and shares at the bounds.

#include "common/share.h"

#include <cmath>
#include <numeric>

#include <gtest/gtest.h>

#include "common/prng.h"

namespace proffer::share_test {
namespace {

__extension__ typedef unsigned __int128 Uint128;

struct Parts {
  int64_t numerator;
  int64_t denominator;
  int64_t weight;

  Share share() const { return Share::of(numerator, denominator, weight); }
};

// An independent comparison, as in Euclid's algorithm: whole parts first, then the remaining
// fractions. No product exceeds one number.
std::strong_ordering compare(Uint128 a, Uint128 b, Uint128 c, Uint128 d) {
  while (true) {
    const Uint128 whole_left = a / b;
    const Uint128 whole_right = c / d;
    if (whole_left != whole_right) return whole_left <=> whole_right;
    a %= b;
    c %= d;
    if (a == 0 || c == 0) return a == c ? std::strong_ordering::equal : (a != 0) <=> (c != 0);
    // a/b < c/d exactly if d/c < b/a.
    const Uint128 old_a = a;
    const Uint128 old_b = b;
    a = d;
    b = c;
    c = old_b;
    d = old_a;
  }
}

std::strong_ordering expected(const Parts& left, const Parts& right) {
  return compare(static_cast<Uint128>(left.numerator),
                 static_cast<Uint128>(left.denominator) * static_cast<Uint128>(left.weight),
                 static_cast<Uint128>(right.numerator),
                 static_cast<Uint128>(right.denominator) * static_cast<Uint128>(right.weight));
}

TEST(Share, ComparesExactlyAtEveryBound) {
  std::vector<Parts> all;
  for (const int64_t numerator :
       {int64_t{0}, int64_t{1}, int64_t{2}, kAmountMax / 2, kAmountMax - 1, kAmountMax}) {
    for (const int64_t denominator :
         {int64_t{1}, int64_t{2}, int64_t{3}, kAmountMax - 1, kAmountMax}) {
      for (const int64_t weight : {kWeightMin, kWeightOne - 1, kWeightOne, kWeightMax}) {
        all.push_back({numerator, denominator, weight});
      }
    }
  }
  for (const Parts& left : all) {
    for (const Parts& right : all) {
      ASSERT_EQ(left.share() <=> right.share(), expected(left, right))
          << left.numerator << '/' << left.denominator << '/' << left.weight << " and "
          << right.numerator << '/' << right.denominator << '/' << right.weight;
    }
  }
}

TEST(Share, ComparesAsFractionsDo) {
  Prng prng(1);
  const auto parts = [&] {
    return Parts{prng.between(0, kAmountMax >> prng.below(50)),
                 prng.between(1, kAmountMax >> prng.below(50)),
                 prng.between(kWeightMin, kWeightMax >> prng.below(20))};
  };
  for (int i = 0; i < 20'000; ++i) {
    const Parts left = parts();
    Parts right = parts();
    if (prng.chance(1, 4)) right = {left.numerator, left.denominator, right.weight};
    if (prng.chance(1, 4) && left.numerator < kAmountMax / 2 && left.denominator < kAmountMax / 2) {
      right = {left.numerator * 2, left.denominator * 2,
               left.weight};  // an equal fraction in other terms
    }
    ASSERT_EQ(left.share() <=> right.share(), expected(left, right));
    ASSERT_EQ(left.share() == right.share(), expected(left, right) == 0);
  }
}

TEST(Share, PrintsInMillionthsRoundedDownAndSaturating) {
  struct Row {
    Parts parts;
    int64_t millionths;
  };
  const Row rows[] = {
      {{1, 3, 1000}, 333'333},
      {{2, 3, 1000}, 666'666},
      {{1, 1, 1000}, 1'000'000},
      {{1, 2, 500}, 1'000'000},
      {{1, 2, 2000}, 250'000},
      {{0, 5, 1}, 0},
      {{1, kAmountMax, 1'000'000}, 0},
      {{kAmountMax, 1, 1}, std::numeric_limits<int64_t>::max()},
      {{kAmountMax, kAmountMax, 1}, 1'000'000'000},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(row.parts.share().millionths(), row.millionths)
        << row.parts.numerator << '/' << row.parts.denominator << '/' << row.parts.weight;
  }
  EXPECT_DOUBLE_EQ(Share::of(1, 4, 2000).approximate(), 0.125);
  EXPECT_EQ(Share().millionths(), 0);
  EXPECT_EQ(Share(), Share::of(0, 7, 3));
}

TEST(Share, OutOfBoundsIsABug) {
  EXPECT_DEATH(static_cast<void>(Share::of(-1, 1)), "");
  EXPECT_DEATH(static_cast<void>(Share::of(1, 0)), "");
  EXPECT_DEATH(static_cast<void>(Share::of(kAmountMax + 1, 1)), "");
  EXPECT_DEATH(static_cast<void>(Share::of(1, 1, 0)), "");
  EXPECT_DEATH(static_cast<void>(Share::of(1, 1, kWeightMax + 1)), "");
}

TEST(DominantShare, IsTheLargestFractionOfAnyKind) {
  const auto total = ResourceVector::of(9000, 18'000, 0, 4000);
  EXPECT_EQ(dominant_share(ResourceVector::of(3000, 1000), total), Share::of(1, 3));
  EXPECT_EQ(dominant_kind(ResourceVector::of(3000, 1000), total), ResourceKind::kCpus);
  EXPECT_EQ(dominant_share(ResourceVector::of(1000, 4000), total), Share::of(2, 9));
  EXPECT_EQ(dominant_kind(ResourceVector::of(1000, 4000), total), ResourceKind::kMem);
  EXPECT_EQ(dominant_share(ResourceVector::of(0, 0, 0, 1000), total, 500), Share::of(1, 2));
  // A kind that the cluster does not have does not count.
  EXPECT_EQ(dominant_share(ResourceVector::of(0, 0, 5000), total), Share());
  EXPECT_EQ(dominant_share(ResourceVector::of(1, 1), ResourceVector()), Share());
  // Use may exceed the total after an agent was lost.
  EXPECT_EQ(dominant_share(ResourceVector::of(18'000, 0), total), Share::of(2, 1));
  // If fractions are equal, the first kind is dominant.
  EXPECT_EQ(dominant_kind(ResourceVector::of(3000, 6000), total), ResourceKind::kCpus);
  EXPECT_EQ(dominant_kind({}, total), ResourceKind::kCpus);
}

TEST(DominantShare, IsExactWhereFloatingPointIsNot) {
  // These shares differ by one part in 2^100.
  const auto total = ResourceVector::of(kAmountMax, kAmountMax - 1);
  const Share a = dominant_share(ResourceVector::of(kAmountMax - 1, 0), total);
  const Share b = dominant_share(ResourceVector::of(0, kAmountMax - 2), total);
  EXPECT_EQ(a.approximate(), b.approximate());
  EXPECT_GT(a, b);
}

}  // namespace
}  // namespace proffer::share_test
