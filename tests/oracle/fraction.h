#pragma once

// Exact fractions for the oracle: where the allocator compares shares, the oracle adds, multiplies
// and divides them.

#include <compare>
#include <cstdint>
#include <string>

namespace proffer::ideal {

__extension__ typedef __int128 Int128;

// A reduced fraction, its parts below 2^126. What does not fit is never rounded: the result is then
// not exact, as is all that is computed from it, and may not be compared or printed (CHECKed).
// Comparing is exact whatever the parts.
class Fraction {
 public:
  constexpr Fraction() = default;                                 // zero
  constexpr Fraction(int64_t whole) : numerator_(whole) {}        // a whole number is a fraction
  static Fraction of(int64_t numerator, int64_t denominator);     // CHECKs denominator > 0
  static constexpr Fraction inexact() { return Fraction(0, 0); }  // what outgrew its bounds

  constexpr bool is_exact() const { return denominator_ != 0; }
  constexpr bool is_zero() const { return numerator_ == 0 && is_exact(); }

  Fraction operator+(const Fraction& o) const;
  Fraction operator-(const Fraction& o) const;
  Fraction operator*(const Fraction& o) const;
  Fraction operator/(const Fraction& o) const;  // CHECKs that `o` is not zero
  Fraction& operator+=(const Fraction& o) { return *this = *this + o; }
  Fraction& operator-=(const Fraction& o) { return *this = *this - o; }

  std::strong_ordering operator<=>(const Fraction& o) const;
  bool operator==(const Fraction& o) const { return (*this <=> o) == std::strong_ordering::equal; }

  int64_t floor() const;     // CHECKs that it is exact, not negative and below 2^63
  std::string text() const;  // "7/3", "2", "-1/2"

 private:
  constexpr Fraction(Int128 numerator, Int128 denominator)
      : numerator_(numerator), denominator_(denominator) {}

  Int128 numerator_ = 0;
  Int128 denominator_ = 1;  // above zero; zero if not exact
};

}  // namespace proffer::ideal
