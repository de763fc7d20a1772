#include "common/share.h"

#include <algorithm>
#include <limits>

#include "common/check.h"

namespace proffer {
namespace {

__extension__ typedef unsigned __int128 Uint128;

}  // namespace

Share Share::of(int64_t numerator, int64_t denominator, int64_t weight) {
  CHECK(numerator >= 0 && numerator <= kAmountMax) << numerator;
  CHECK(denominator >= 1 && denominator <= kAmountMax) << denominator;
  CHECK(weight >= kWeightMin && weight <= kWeightMax) << weight;
  Share share;
  share.numerator_ = numerator;
  share.denominator_ = denominator;
  share.weight_ = weight;
  return share;
}

// At most 2^50 * 2^50 * 2^20 = 2^120.
std::strong_ordering Share::compare_exactly(const Share& o) const {
  const Uint128 left = Uint128(numerator_) * Uint128(o.denominator_) * Uint128(o.weight_);
  const Uint128 right = Uint128(o.numerator_) * Uint128(denominator_) * Uint128(weight_);
  return left <=> right;
}

// At most 2^50 * 2^50 * 2^10 = 2^110; the addend is below 2^70.
int64_t Share::parts(int64_t whole) const {
  const Uint128 scaled = Uint128(numerator_) * Uint128(whole) * Uint128(kWeightOne);
  const Uint128 divisor = Uint128(denominator_) * Uint128(weight_);
  const Uint128 parts = (scaled + divisor - 1) / divisor;
  constexpr auto kMax = int64_t{1} << 60;
  return parts > Uint128(kMax) ? kMax : static_cast<int64_t>(parts);
}

int64_t Share::millionths() const {
  const Uint128 scaled = Uint128(numerator_) * 1'000'000 * Uint128(kWeightOne);
  const Uint128 whole = scaled / (Uint128(denominator_) * Uint128(weight_));
  constexpr auto kMax = std::numeric_limits<int64_t>::max();
  return whole > Uint128(kMax) ? kMax : static_cast<int64_t>(whole);
}

double Share::approximate() const {                                           // for printing
  return static_cast<double>(numerator_) * kWeightOne /                       // for printing
         (static_cast<double>(denominator_) * static_cast<double>(weight_));  // for printing
}

Share dominant_share(const ResourceVector& used, const ResourceVector& total, int64_t weight) {
  int64_t most = 0;
  int64_t of = 1;
  for (const ResourceKind kind : kResourceKinds) {
    if (total[kind] <= 0 || used[kind] <= 0) continue;
    const int64_t amount = std::min(used[kind], kAmountMax);
    const int64_t whole = std::min(total[kind], kAmountMax);
    if (Uint128(amount) * Uint128(of) <= Uint128(most) * Uint128(whole)) continue;
    most = amount;
    of = whole;
  }
  return Share::of(most, of, weight);
}

ResourceKind dominant_kind(const ResourceVector& used, const ResourceVector& total) {
  ResourceKind best = ResourceKind::kCpus;
  Share largest;
  for (const ResourceKind kind : kResourceKinds) {
    if (total[kind] <= 0) continue;
    const Share share = Share::of(std::clamp<int64_t>(used[kind], 0, kAmountMax),
                                  std::min(total[kind], kAmountMax));
    if (share > largest) {
      largest = share;
      best = kind;
    }
  }
  return best;
}

}  // namespace proffer
