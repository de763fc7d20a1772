#pragma once

// Exact shares: fractions compared by cross-multiplication in 128 bits, never floating point.

#include <compare>
#include <cstdint>
#include <string>

#include "common/resources.h"

namespace proffer {

// used / (total * weight) with weight in milli-weights: a share divided by its weight. It is a
// separate type, so that amounts and shares cannot be confused.
class Share {
 public:
  constexpr Share() = default;  // zero
  // numerator in [0, kAmountMax], denominator in [1, kAmountMax], weight in [kWeightMin,
  // kWeightMax].
  static Share of(int64_t numerator, int64_t denominator, int64_t weight = kWeightOne);

  std::strong_ordering operator<=>(const Share& o) const {
    // nearly always both have the same total and weight
    if (denominator_ == o.denominator_ && weight_ == o.weight_) return numerator_ <=> o.numerator_;
    return compare_exactly(o);
  }
  bool operator==(const Share& o) const { return (*this <=> o) == std::strong_ordering::equal; }

  // The share as a number out of `whole` (1..kAmountMax), rounded up; at most 2^60.
  int64_t parts(int64_t whole) const;
  // In millionths, rounded down, saturating: for status and messages.
  int64_t millionths() const;
  double approximate() const;  // for printing

 private:
  std::strong_ordering compare_exactly(const Share& o) const;

  int64_t numerator_ = 0;
  int64_t denominator_ = 1;
  int64_t weight_ = kWeightOne;
};

// The dominant share of `used`: the largest fraction it is of any kind in `total`, divided by
// `weight`. The leaf with the least share is offered resources next (Ghodsi et al., NSDI 2011,
// section 4.2; weights: section 4.3).
//
// Amounts are milli-units, `weight` milli-weights in [kWeightMin, kWeightMax]. `used` may exceed
// `total` for a moment after an agent is lost. Kinds that the cluster does not have do not count;
// if none counts, the share is zero. Exact: compared as a fraction, never as a floating-point
// number.
Share dominant_share(const ResourceVector& used, const ResourceVector& total,
                     int64_t weight = kWeightOne);
// The kind whose fraction is the dominant share; the first of equals.
ResourceKind dominant_kind(const ResourceVector& used, const ResourceVector& total);

}  // namespace proffer
