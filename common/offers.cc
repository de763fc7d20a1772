#include "common/offers.h"

#include <algorithm>
#include <array>
#include <ostream>
#include <tuple>

#include "common/check.h"

namespace proffer {
namespace {

constexpr std::array<std::string_view, kBandCount> kBandNames = {"free", "batch", "production",
                                                                 "monitoring"};
constexpr std::array<std::string_view, kRevokeReasonCount> kRevokeReasonNames = {
    "reclaimed", "draining", "lent", "estimate"};

bool same_state(const Slice& a, const Slice& b) {
  return a.revocable == b.revocable && a.reserved_for == b.reserved_for;
}

bool has(const Resources& all, const Resources& part) {
  if (!part.amounts.fits_in(all.amounts)) return false;
  return std::all_of(part.gpus.begin(), part.gpus.end(), [&](const GpuDevice& device) {
    const auto at = std::lower_bound(all.gpus.begin(), all.gpus.end(), GpuDevice{device.index, 0});
    return at != all.gpus.end() && at->index == device.index && at->milli >= device.milli;
  });
}

// Slices that one task may use are reserved for roles on one path, so the longer name is the more
// specific one.
bool goes_first(const Slice* a, const Slice* b) {
  const auto key = [](const Slice& s) {
    return std::tuple(s.revocable, -static_cast<int64_t>(s.reserved_for.str().size()));
  };
  const auto ka = key(*a);
  const auto kb = key(*b);
  return ka != kb ? ka < kb : a->reserved_for < b->reserved_for;
}

}  // namespace

void add_slice(std::vector<Slice>& slices, const Slice& slice) {
  if (slice.resources.is_zero()) return;
  for (Slice& other : slices) {
    if (!same_state(other, slice)) continue;
    other.resources += slice.resources;
    return;
  }
  slices.push_back(slice);
}

void remove_slice(std::vector<Slice>& slices, const Slice& slice) {
  if (slice.resources.is_zero()) return;
  const auto at = std::find_if(slices.begin(), slices.end(),
                               [&](const Slice& other) { return same_state(other, slice); });
  CHECK(at != slices.end()) << to_text(slice.resources) << " of a state that is not there";
  at->resources -= slice.resources;
  if (at->resources.is_zero()) slices.erase(at);
}

bool contains(const std::vector<Slice>& slices, const std::vector<Slice>& part) {
  return std::all_of(part.begin(), part.end(), [&](const Slice& wanted) {
    return wanted.resources.amounts.is_zero() ||
           std::any_of(slices.begin(), slices.end(), [&](const Slice& slice) {
             return same_state(slice, wanted) && has(slice.resources, wanted.resources);
           });
  });
}

std::optional<std::vector<Slice>> take(const ResourceVector& shape, std::vector<Slice>& from) {
  ResourceVector sum;
  for (const Slice& slice : from) sum += slice.resources.amounts;
  if (!shape.fits_in(sum)) return std::nullopt;
  std::vector<Slice*> order;
  for (Slice& slice : from) order.push_back(&slice);
  std::sort(order.begin(), order.end(), goes_first);

  // Devices first, since they may not fit.
  std::vector<Resources> parts(order.size());
  const int64_t gpus = shape[ResourceKind::kGpus];
  int64_t gpus_left = gpus;
  for (size_t i = 0; i < order.size() && gpus_left > 0; ++i) {
    const Resources& there = order[i]->resources;
    if (gpus < kWholeDevice) {
      ResourceVector part;
      part[ResourceKind::kGpus] = gpus;
      if (!fits(part, there)) continue;
      parts[i] = carve(part, there);
      gpus_left = 0;
      continue;
    }
    const auto whole =
        std::count_if(there.gpus.begin(), there.gpus.end(),
                      [](const GpuDevice& device) { return device.milli == kWholeDevice; });
    ResourceVector part;
    part[ResourceKind::kGpus] =
        std::min({gpus_left, int64_t{whole} * kWholeDevice,
                  there.amounts[ResourceKind::kGpus] / kWholeDevice * kWholeDevice});
    if (part.is_zero()) continue;
    parts[i] = carve(part, there);
    gpus_left -= part[ResourceKind::kGpus];
  }
  if (gpus_left > 0) return std::nullopt;
  for (const ResourceKind kind : kResourceKinds) {
    if (kind == ResourceKind::kGpus) continue;
    int64_t left = shape[kind];
    for (size_t i = 0; i < order.size() && left > 0; ++i) {
      const int64_t part = std::min(left, order[i]->resources.amounts[kind]);
      parts[i].amounts[kind] = part;
      left -= part;
    }
  }
  std::vector<Slice> taken;
  for (size_t i = 0; i < order.size(); ++i) {
    if (parts[i].is_zero()) continue;
    order[i]->resources -= parts[i];
    taken.push_back({.resources = std::move(parts[i]),
                     .reserved_for = order[i]->reserved_for,
                     .revocable = order[i]->revocable});
  }
  return taken;
}

Resources sum_of(const std::vector<Slice>& slices) {
  Resources sum;
  for (const Slice& slice : slices) sum += slice.resources;
  return sum;
}

std::string_view to_text(Band band) { return kBandNames[static_cast<size_t>(band)]; }

std::optional<Band> parse_band(std::string_view text) {
  const auto at = std::find(kBandNames.begin(), kBandNames.end(), text);
  if (at == kBandNames.end()) return std::nullopt;
  return static_cast<Band>(at - kBandNames.begin());
}

std::string_view to_text(OfferMode mode) { return mode == OfferMode::kAsks ? "asks" : "open"; }

std::optional<OfferMode> parse_offer_mode(std::string_view text) {
  if (text == "asks") return OfferMode::kAsks;
  if (text == "open") return OfferMode::kOpen;
  return std::nullopt;
}

std::string_view to_text(RevokeReason reason) {
  return kRevokeReasonNames[static_cast<size_t>(reason)];
}

std::optional<RevokeReason> parse_revoke_reason(std::string_view text) {
  const auto at = std::find(kRevokeReasonNames.begin(), kRevokeReasonNames.end(), text);
  if (at == kRevokeReasonNames.end()) return std::nullopt;
  return static_cast<RevokeReason>(at - kRevokeReasonNames.begin());
}

std::ostream& operator<<(std::ostream& out, Band band) { return out << to_text(band); }
std::ostream& operator<<(std::ostream& out, OfferMode mode) { return out << to_text(mode); }
std::ostream& operator<<(std::ostream& out, RevokeReason reason) { return out << to_text(reason); }

}  // namespace proffer
