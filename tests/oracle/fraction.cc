// Arithmetic on reduced fractions. Common factors are removed before numbers are multiplied, so a
// result is inexact only if it, or the plain sum of two reduced fractions, does not fit. Small
// numbers, the usual case, have a fast path.

#include "tests/oracle/fraction.h"

#include <algorithm>
#include <limits>

#include "common/check.h"

namespace proffer::ideal {
namespace {

constexpr Int128 kPartMax = (Int128{1} << 126) - 1;
constexpr Int128 kSmallMax = (Int128{1} << 62) - 1;

bool is_small(Int128 a) { return a <= kSmallMax && a >= -kSmallMax; }
Int128 absolute(Int128 a) { return a < 0 ? -a : a; }

// Both are not negative, and not both zero.
Int128 common_factor(Int128 a, Int128 b) {
  if (is_small(a) && is_small(b)) {
    auto x = static_cast<uint64_t>(a);
    auto y = static_cast<uint64_t>(b);
    while (y != 0) {
      const uint64_t rest = x % y;
      x = y;
      y = rest;
    }
    return static_cast<Int128>(x);
  }
  while (b != 0) {
    const Int128 rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

// a * b, or false if it does not fit.
bool multiply(Int128 a, Int128 b, Int128* product) {
  if (!is_small(a) || !is_small(b)) {
    if (a != 0 && absolute(b) > kPartMax / absolute(a)) return false;
  }
  *product = a * b;
  return *product <= kPartMax && *product >= -kPartMax;
}

Int128 floor_of(Int128 a, Int128 b) {
  const Int128 quotient = a / b;
  return a % b < 0 ? quotient - 1 : quotient;
}

std::string print(Int128 number) {
  if (number == 0) return "0";
  std::string digits;
  for (Int128 rest = absolute(number); rest != 0; rest /= 10) {
    digits.push_back(static_cast<char>('0' + static_cast<int>(rest % 10)));
  }
  if (number < 0) digits.push_back('-');
  std::reverse(digits.begin(), digits.end());
  return digits;
}

}  // namespace

Fraction Fraction::of(int64_t numerator, int64_t denominator) {
  CHECK_GT(denominator, 0);
  const Int128 factor = common_factor(absolute(numerator), denominator);
  return Fraction(numerator / factor, denominator / factor);
}

Fraction Fraction::operator+(const Fraction& o) const {
  if (!is_exact() || !o.is_exact()) return inexact();
  const Int128 factor = common_factor(denominator_, o.denominator_);
  Int128 left;
  Int128 right;
  if (!multiply(numerator_, o.denominator_ / factor, &left) ||
      !multiply(o.numerator_, denominator_ / factor, &right)) {
    return inexact();
  }
  const Int128 sum = left + right;  // each is below 2^126
  // Only factors of `factor` can still be common to both.
  const Int128 rest = common_factor(factor, absolute(sum));
  Int128 denominator;
  if (!multiply(denominator_ / factor, o.denominator_ / rest, &denominator)) return inexact();
  const Int128 numerator = sum / rest;
  if (absolute(numerator) > kPartMax) return inexact();
  return Fraction(numerator, denominator);
}

Fraction Fraction::operator-(const Fraction& o) const {
  return *this + Fraction(-o.numerator_, o.denominator_);
}

Fraction Fraction::operator*(const Fraction& o) const {
  if (!is_exact() || !o.is_exact()) return inexact();
  const Int128 first = common_factor(denominator_, absolute(o.numerator_));
  const Int128 second = common_factor(o.denominator_, absolute(numerator_));
  Fraction product;
  if (!multiply(numerator_ / second, o.numerator_ / first, &product.numerator_) ||
      !multiply(denominator_ / first, o.denominator_ / second, &product.denominator_)) {
    return inexact();
  }
  return product;
}

Fraction Fraction::operator/(const Fraction& o) const {
  CHECK(!o.is_zero()) << "division by zero";
  const Int128 sign = o.numerator_ < 0 ? -1 : 1;
  return *this * Fraction(sign * o.denominator_, sign * o.numerator_);
}

// Compares small fractions by cross-multiplication, others as continued fractions: first the whole
// parts, then the inverses of the rests, in reversed order.
std::strong_ordering Fraction::operator<=>(const Fraction& o) const {
  CHECK(is_exact() && o.is_exact()) << "a fraction that outgrew its bounds has no order";
  Int128 a = numerator_;
  Int128 b = denominator_;
  Int128 c = o.numerator_;
  Int128 d = o.denominator_;
  if (is_small(a) && is_small(b) && is_small(c) && is_small(d)) return a * d <=> c * b;
  while (true) {
    const Int128 left = floor_of(a, b);
    const Int128 right = floor_of(c, d);
    if (left != right) return left <=> right;
    const Int128 left_rest = a - left * b;
    const Int128 right_rest = c - right * d;
    if (left_rest == 0 || right_rest == 0) return left_rest <=> right_rest;
    a = d;
    c = b;
    b = right_rest;
    d = left_rest;
  }
}

int64_t Fraction::floor() const {
  CHECK(is_exact() && numerator_ >= 0) << "no whole part";
  const Int128 whole = numerator_ / denominator_;
  CHECK(whole <= std::numeric_limits<int64_t>::max()) << "too large";
  return static_cast<int64_t>(whole);
}

std::string Fraction::text() const {
  CHECK(is_exact());
  return denominator_ == 1 ? print(numerator_) : print(numerator_) + "/" + print(denominator_);
}

}  // namespace proffer::ideal
