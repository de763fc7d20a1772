#pragma once

// Exact fractions for the oracle: the allocator only compares shares, but the oracle adds,
// multiplies and divides them.

#include <compare>
#include <cstdint>
#include <string>

namespace proffer::ideal {

__extension__ typedef __int128 Int128;

// A reduced fraction with parts below 2^126. A result that does not fit is never rounded, but
// inexact, as are all results computed from it; an inexact one may not be compared or printed
// (CHECKed). Comparisons are exact for all parts.
class Fraction {
 public:
  constexpr Fraction() = default;                                 // zero
  constexpr Fraction(int64_t whole) : numerator_(whole) {}        // a whole number is a fraction
  static Fraction of(int64_t numerator, int64_t denominator);     // CHECKs denominator > 0
  static constexpr Fraction inexact() { return Fraction(0, 0); }  // a result that does not fit

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
  Int128 denominator_ = 1;  // above zero; zero if inexact
};

}  // namespace proffer::ideal
