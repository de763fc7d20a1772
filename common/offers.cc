#include "common/offers.h"

#include <algorithm>
#include <array>

namespace proffer {
namespace {

constexpr std::array<std::string_view, kBandCount> kBandNames = {"free", "batch", "production",
                                                                 "monitoring"};
constexpr std::array<std::string_view, kRevokeReasonCount> kRevokeReasonNames = {
    "reclaimed", "draining", "lent", "estimate"};

}  // namespace

std::string_view to_text(Band band) { return kBandNames[static_cast<size_t>(band)]; }

std::optional<Band> parse_band(std::string_view text) {
  const auto at = std::find(kBandNames.begin(), kBandNames.end(), text);
  if (at == kBandNames.end()) return std::nullopt;
  return static_cast<Band>(at - kBandNames.begin());
}

std::string_view to_text(RevokeReason reason) {
  return kRevokeReasonNames[static_cast<size_t>(reason)];
}

}  // namespace proffer
