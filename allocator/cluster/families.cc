// Which family an agent joins: join().

#include "allocator/cluster/families.h"

#include <optional>

namespace proffer::fair {
namespace {

__extension__ typedef __int128 Int128;

// A ratio of two totals, kind by kind: the largest one over the smallest.
struct Unlikeness {
  Int128 more = 1;
  Int128 less = 1;
};

// Nothing if only one of them has some kind.
std::optional<Unlikeness> unlikeness(const ResourceVector& a, const ResourceVector& b) {
  std::optional<ResourceKind> most;
  std::optional<ResourceKind> least;
  const auto is_more = [&](ResourceKind k, ResourceKind than) {
    return Int128(a[k]) * b[than] > Int128(a[than]) * b[k];
  };
  for (const ResourceKind kind : kResourceKinds) {
    if ((a[kind] > 0) != (b[kind] > 0)) return std::nullopt;
    if (a[kind] <= 0) continue;
    if (!most || is_more(kind, *most)) most = kind;
    if (!least || is_more(*least, kind)) least = kind;
  }
  if (!most) return Unlikeness{};
  return Unlikeness{Int128(a[*most]) * b[*least], Int128(a[*least]) * b[*most]};
}

bool is_alike(const Unlikeness& of) { return of.more * 2 <= of.less * 3; }

// In 2^-20, rounded down.
Int128 amount_of(const Unlikeness& of) {
  constexpr int kBits = 20;
  return of.more / ((of.less >> kBits) + 1);
}

}  // namespace

size_t Families::join(const ResourceVector& total) {
  const bool has_gpus = total[ResourceKind::kGpus] > 0;
  std::optional<size_t> joined;
  std::optional<Int128> least;  // of the unlikeness to families
  for (size_t i = 0; i < all_.size(); ++i) {
    const std::optional<Unlikeness> its = unlikeness(total, all_[i].total);
    if (its && is_alike(*its)) {
      joined = i;
      break;
    }
    if (all_.size() < kFamiliesMax || all_[i].has_gpus != has_gpus) continue;
    if (joined && (!its || (least && amount_of(*its) >= *least))) continue;
    joined = i;
    if (its) least = amount_of(*its);
  }
  if (!joined) {
    all_.push_back({.total = total, .largest = total, .has_gpus = has_gpus});
    ++version_;
    return all_.size() - 1;
  }
  ResourceVector& largest = all_[*joined].largest;
  if (!total.fits_in(largest)) {
    largest = largest.max(total);
    ++version_;
  }
  return *joined;
}

}  // namespace proffer::fair
